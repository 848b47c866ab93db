//! LDIF: both readers and the writer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_ldif::fuzz::ldif(data);
});
