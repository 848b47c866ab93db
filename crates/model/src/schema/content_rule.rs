//! DIT content rules (RFC 4512 §4.1.6), resolved.

use super::{ClassNumber, TypeNumber};

/// What entries of one structural class may hold in addition to what their classes allow.
#[derive(Clone, Debug)]
pub struct ContentRule {
    /// The structural class that the rule governs.
    pub structural_class: ClassNumber,
    /// NAMEs in order.
    pub names: Vec<Box<str>>,
    /// OBSOLETE: the rule is not enforced.
    pub obsolete: bool,
    /// AUX: the only auxiliary classes that entries may have.
    pub auxiliary: Vec<ClassNumber>,
    /// MUST.
    pub must: Vec<TypeNumber>,
    /// MAY.
    pub may: Vec<TypeNumber>,
    /// NOT.
    pub not: Vec<TypeNumber>,
    /// The definition as published.
    pub definition: Box<str>,
    /// The definition with its macros, as cn=config shows it.
    pub unexpanded_definition: Box<str>,
}

impl ContentRule {
    /// The first NAME, or nothing.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", |name| name)
    }
}
