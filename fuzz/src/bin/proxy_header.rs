//! Headers of the PROXY protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_server::fuzz::proxy_header(data);
});
