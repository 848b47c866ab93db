//! Access rules, compiled.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_directory::fuzz::access(data);
});
