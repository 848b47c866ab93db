//! Attribute types in names that no definition describes: see `unknown_types.rs`.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

/// The types of a schema.
#[derive(Clone, Debug, Default)]
pub(super) struct UnknownTypes {
    /// In upper case, as slapd prints them.
    pub(super) taken: BTreeSet<Box<str>>,
    /// Collects new types while a configuration is read.
    pub(super) gathered: Option<Arc<Mutex<BTreeSet<Box<str>>>>>,
}
