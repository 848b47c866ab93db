//! Search filters: syntax tree, text form (RFC 4515), compilation against a schema, three-valued evaluation (RFC 4511 §4.5.1.7).

use std::borrow::Cow;

/// A filter as it came in: attribute descriptions and values are not interpreted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter<'a> {
    /// `(&...)`; empty is True (RFC 4526).
    And(Vec<Filter<'a>>),
    /// `(|...)`; empty is False (RFC 4526).
    Or(Vec<Filter<'a>>),
    /// `(!...)`.
    Not(Box<Filter<'a>>),
    /// `(a=v)`.
    Equality(Assertion<'a>),
    /// `(a=i*x*f)`.
    Substrings {
        /// Attribute description.
        attribute: Cow<'a, [u8]>,
        /// Before the first asterisk.
        initial: Option<Cow<'a, [u8]>>,
        /// Between asterisks.
        any: Vec<Cow<'a, [u8]>>,
        /// After the last asterisk.
        r#final: Option<Cow<'a, [u8]>>,
    },
    /// `(a>=v)`.
    GreaterOrEqual(Assertion<'a>),
    /// `(a<=v)`.
    LessOrEqual(Assertion<'a>),
    /// `(a=*)`.
    Present(Cow<'a, [u8]>),
    /// `(a~=v)`.
    Approx(Assertion<'a>),
    /// `(a:dn:rule:=v)`; at least one of rule and attribute is there.
    Extensible {
        /// Matching rule, name or OID.
        rule: Option<Cow<'a, [u8]>>,
        /// Attribute description.
        attribute: Option<Cow<'a, [u8]>>,
        /// Assertion value.
        value: Cow<'a, [u8]>,
        /// Whether the attributes of the DN count too.
        dn_attributes: bool,
    },
}

/// An attribute value assertion (RFC 4511 §4.1.6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion<'a> {
    /// Attribute description.
    pub attribute: Cow<'a, [u8]>,
    /// Assertion value.
    pub value: Cow<'a, [u8]>,
}

pub mod compiled;

pub use compiled::{CompiledFilter, Slot, Truth, ValueSource};
