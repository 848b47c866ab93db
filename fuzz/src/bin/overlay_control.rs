//! Values of controls that overlays describe.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    ironbark_overlays::fuzz::overlay_control(data);
});
