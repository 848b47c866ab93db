//! The record of an entry: its bytes (`codec`), compact value forms (`packed`), an editable image (`image`).

pub(crate) mod codec;
mod digits;
pub(crate) mod image;
pub(crate) mod packed;
