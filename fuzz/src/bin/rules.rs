//! Access rules, limits and mappings of identities, as settings.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_config::fuzz::rules(data, &ironbark_overlays::registry());
});
