//! Numbers of definitions in their schema.

/// Index of an attribute type in its [`Schema`](super::Schema). Only meaningful together with that schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TypeNumber(pub u32);

/// Index of an object class in its [`Schema`](super::Schema).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassNumber(pub u32);
