//! Distinguished names: text, name with UID, DER.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_model::fuzz::dn(data);
});
