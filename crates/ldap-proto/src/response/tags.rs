//! Identifier octets of responses (RFC 4511 §4).

pub(super) const BIND: u8 = 0x61;
pub(super) const SEARCH_ENTRY: u8 = 0x64;
pub(super) const SEARCH_DONE: u8 = 0x65;
pub(super) const MODIFY: u8 = 0x67;
pub(super) const ADD: u8 = 0x69;
pub(super) const DELETE: u8 = 0x6b;
pub(super) const MODIFY_DN: u8 = 0x6d;
pub(super) const COMPARE: u8 = 0x6f;
pub(super) const SEARCH_REFERENCE: u8 = 0x73;
pub(super) const EXTENDED: u8 = 0x78;
pub(super) const INTERMEDIATE: u8 = 0x79;
