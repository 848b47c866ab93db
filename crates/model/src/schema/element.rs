//! The definitions that a schema is made of, resolved.

use std::sync::Arc;

use super::{ClassNumber, TypeNumber};
use crate::{matching::MatchingRule, syntax::Syntax};

/// `usage` of an attribute type (RFC 4512 §4.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// A user attribute.
    UserApplications,
    /// Operational, of the directory.
    DirectoryOperation,
    /// Operational, shared by servers.
    DistributedOperation,
    /// Operational, of this server.
    DsaOperation,
}

/// `kind` of an object class (RFC 4512 §2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassKind {
    /// Superclass only.
    Abstract,
    /// Every entry has exactly one chain of classes of this kind.
    Structural,
    /// Additional attributes.
    Auxiliary,
}

/// An attribute type with everything inherited from its superiors resolved.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a keyword of the definition")]
pub struct AttributeType {
    /// Position in the schema.
    pub number: TypeNumber,
    /// Dotted-decimal OID.
    pub oid: Box<str>,
    /// NAMEs in order; the first is the one printed. Empty when the definition has none (then the OID is printed).
    pub names: Vec<Box<str>>,
    /// DESC.
    pub description: Option<Box<str>>,
    /// OBSOLETE.
    pub obsolete: bool,
    /// SUP.
    pub superior: Option<TypeNumber>,
    /// EQUALITY, own or inherited.
    pub equality: Option<&'static MatchingRule>,
    /// ORDERING, own or inherited.
    pub ordering: Option<&'static MatchingRule>,
    /// SUBSTR, own or inherited.
    pub substrings: Option<&'static MatchingRule>,
    /// SYNTAX, own or inherited.
    pub syntax: &'static Syntax,
    /// The `{n}` of SYNTAX. Advisory, never enforced (RFC 4512 §4.1.2).
    pub minimum_upper_bound: Option<u32>,
    /// SINGLE-VALUE.
    pub single_value: bool,
    /// COLLECTIVE.
    pub collective: bool,
    /// NO-USER-MODIFICATION.
    pub no_user_modification: bool,
    /// USAGE.
    pub usage: Usage,
    /// `X-` extensions in order, values as written.
    pub extensions: Vec<(Box<str>, Vec<Box<str>>)>,
    /// The definition as the subschema subentry publishes it.
    pub definition: Box<str>,
    /// The definition with its macros, as cn=config shows it.
    pub unexpanded_definition: Box<str>,
    /// Kept out of the subschema subentry: slapd's internal types.
    pub hidden: bool,
    /// Part of the system schema.
    pub built_in: bool,
    /// `X-ORDERED`: `{n}` before a value gives its place, and filters need not name it.
    pub is_ordered: bool,
}

impl AttributeType {
    /// What it is called in answers: the first NAME, or the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }

    /// Whether it is operational (RFC 4512 §3.4): every usage but `userApplications`.
    pub fn is_operational(&self) -> bool {
        self.usage != Usage::UserApplications
    }

    /// Why the type may not name an entry. `relax`: whether the relax rules control is in force.
    pub fn naming_fault(&self, relax: bool) -> Option<&'static str> {
        if self.is_operational() {
            Some("is operational")
        } else if self.collective {
            Some("is collective")
        } else if self.obsolete && !relax {
            Some("is obsolete")
        } else if self.equality.is_none() {
            Some("has no equality matching rule")
        } else {
            None
        }
    }

    /// The first value of an extension, such as `X-ORDERED`.
    pub fn extension(&self, name: &str) -> Option<&str> {
        let (_, values) = self.extensions.iter().find(|(found, _)| &**found == name)?;
        values.first().map(|value| &**value)
    }

    /// `X-ORDERED 'VALUES'`: its values have an order, and `{n}` before each is not part of it.
    pub fn has_ordered_values(&self) -> bool {
        self.extensions.iter().any(|(name, values)| {
            name.eq_ignore_ascii_case("X-ORDERED") && values.iter().any(|value| value.eq_ignore_ascii_case("VALUES"))
        })
    }
}

/// An object class.
#[derive(Clone, Debug)]
pub struct ObjectClass {
    /// Position in the schema.
    pub number: ClassNumber,
    /// Dotted-decimal OID.
    pub oid: Box<str>,
    /// NAMEs in order.
    pub names: Vec<Box<str>>,
    /// DESC.
    pub description: Option<Box<str>>,
    /// OBSOLETE.
    pub obsolete: bool,
    /// SUPs, direct.
    pub superiors: Vec<ClassNumber>,
    /// Kind.
    pub kind: ClassKind,
    /// MUST, own only; see [`Schema::superclasses`](super::Schema::superclasses) for the closure.
    pub must: Vec<TypeNumber>,
    /// MAY, own only.
    pub may: Vec<TypeNumber>,
    /// `X-` extensions.
    pub extensions: Vec<(Box<str>, Vec<Box<str>>)>,
    /// The definition as published.
    pub definition: Box<str>,
    /// The definition with its macros, as cn=config shows it.
    pub unexpanded_definition: Box<str>,
    /// Kept out of the subschema subentry: slapd's internal classes.
    pub hidden: bool,
    /// Part of the system schema.
    pub built_in: bool,
}

impl ObjectClass {
    /// What it is called in answers: the first NAME, or the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }
}

/// Where a definition came from: shown in every refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name or the DN of a cn=schema entry; `built-in` for the system schema.
    pub file: Arc<str>,
    /// Line, from 1; 0 when there is none.
    pub line: u32,
}

/// An `objectidentifier` macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidMacro {
    /// Name.
    pub name: Box<str>,
    /// As written: an OID or another macro with a suffix.
    pub value: Box<str>,
    /// Expanded.
    pub oid: Box<str>,
}

/// One syntax of a schema.
#[derive(Clone, Debug)]
pub struct SyntaxRow {
    /// The syntax.
    pub syntax: &'static Syntax,
    /// The definition as published.
    pub definition: Box<str>,
    /// The definition with its macros, as cn=config shows it.
    pub unexpanded_definition: Box<str>,
    /// Part of the system schema.
    pub built_in: bool,
    /// Kept out of the subschema subentry.
    pub hidden: bool,
}
