//! URLs of listeners.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_server::fuzz::listener_url(data);
});
