//! Base64 in place: the decoded bytes replace their text.

use base64::{
    Engine,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Padding may be missing: OpenLDAP's writers always pad, but others do not. As in slapd, the bits behind the last
/// octet are ignored: some writers leave others than zeros there.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Calls `take` with the text of `plain`, piece by piece.
pub(crate) fn encode_pieces(plain: &[u8], take: &mut dyn FnMut(&[u8])) {
    let mut text = [0; 256];
    for piece in plain.chunks(text.len() / 4 * 3) {
        let length = ENGINE.encode_slice(piece, &mut text).unwrap_or_default();
        take(text.get(..length).unwrap_or_default());
    }
}

/// Text bytes of a full piece.
const TEXT_PIECE: usize = 4096;
/// Plain bytes of a full piece.
const PLAIN_PIECE: usize = TEXT_PIECE / 4 * 3;

/// Decodes `text` in place. The result is at its start. White space is skipped.
pub(crate) fn decode_in_place(text: &mut [u8]) -> Option<&mut [u8]> {
    let text = squeeze(text);
    let (mut read, mut written) = (0, 0);
    let mut plain = [0; PLAIN_PIECE];
    while read < text.len() {
        let end = text.len().min(read + TEXT_PIECE);
        let piece = text.get(read..end)?;
        if end < text.len() && piece.contains(&b'=') {
            return None;
        }
        let length = ENGINE.decode_slice(piece, &mut plain).ok()?;
        text.get_mut(written..written + length)?
            .copy_from_slice(plain.get(..length)?);
        read = end;
        written += length;
    }
    text.get_mut(..written)
}

fn squeeze(text: &mut [u8]) -> &mut [u8] {
    if !text.iter().any(u8::is_ascii_whitespace) {
        return text;
    }
    let mut kept = 0;
    for at in 0..text.len() {
        let Some(&byte) = text.get(at) else { break };
        if !byte.is_ascii_whitespace() {
            if let Some(slot) = text.get_mut(kept) {
                *slot = byte;
            }
            kept += 1;
        }
    }
    text.get_mut(..kept).unwrap_or_default()
}
