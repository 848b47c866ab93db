//! Definitions as they were read.

use super::Source;

/// A definition and where it was read.
#[derive(Clone, Debug)]
pub(super) struct Sourced<T> {
    pub(super) definition: T,
    pub(super) source: Source,
    pub(super) hidden: bool,
}

/// An `objectidentifier` macro as written.
#[derive(Clone, Debug)]
pub(super) struct MacroDefinition {
    pub(super) name: Box<str>,
    pub(super) value: Box<str>,
}
