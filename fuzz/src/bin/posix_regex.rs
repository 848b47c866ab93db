//! POSIX expressions and what they match.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_model::fuzz::posix_regex(data);
});
