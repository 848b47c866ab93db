//! BER elements.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_ldap_proto::fuzz::ber(data);
});
