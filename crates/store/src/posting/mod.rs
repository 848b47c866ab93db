//! Posting lists: for each index key the entry IDs that have it, in chunks.

pub(crate) mod chunk;
pub(crate) mod cursor;
mod deltas;
pub(crate) mod edit;
pub(crate) mod list;
mod reader;
pub(crate) mod set;

pub(crate) use cursor::{Cursor, ListName};
pub(crate) use set::{FewIds, IdSet};
