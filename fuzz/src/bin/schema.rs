//! Schema files and definitions.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_model::fuzz::schema(data);
});
