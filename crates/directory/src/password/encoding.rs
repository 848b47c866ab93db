//! Base64 in stored hashes.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};

/// Base64 as found in stored hashes: surrounding white space and a missing padding are tolerated.
pub(super) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    STANDARD.decode(text).ok().or_else(|| {
        let unpadded: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'=').collect();
        STANDARD_NO_PAD.decode(unpadded).ok()
    })
}
