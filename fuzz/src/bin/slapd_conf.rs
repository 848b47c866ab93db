//! slapd.conf, its survey, and cn=config made of it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_config::fuzz::slapd_conf(data, &ironbark_overlays::registry());
});
