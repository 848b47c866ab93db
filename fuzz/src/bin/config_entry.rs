//! Entries of slapd.d.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_config::fuzz::config_entry(data, &ironbark_overlays::registry());
});
