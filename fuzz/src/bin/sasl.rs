//! Messages of SASL mechanisms, of both sides.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_sasl::fuzz::sasl(data);
});
