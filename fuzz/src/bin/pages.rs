//! Walks over LMDB's pages.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_store::fuzz::pages(data);
});
