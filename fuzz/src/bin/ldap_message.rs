//! Requests, responses, controls and extended operations.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_ldap_proto::fuzz::ldap_message(data);
});
