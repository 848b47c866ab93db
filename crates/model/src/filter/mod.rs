//! Search filters: syntax tree, text form (RFC 4515), compilation against a schema, three-valued evaluation (RFC 4511 §4.5.1.7).

use std::borrow::Cow;

pub mod compiled;
mod evaluate;
mod item;
pub mod log;
mod print;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub use compiled::{CompiledFilter, Node, Slot, Truth, ValueSource};
pub use item::rule_applies;
pub(crate) use text::hex_pair;
pub use text::{FilterError, FilterErrorKind};
pub use walk::{Step, Steps};

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

impl<'a> Filter<'a> {
    /// Parses the text form of RFC 4515.
    ///
    /// As ldap-utils do, it takes an item without its parentheses, spaces between the parts of a list, and the escapes `\(`,
    /// `\)`, `\*`, `\\` of RFC 1960. `max_depth` bounds how many `&`, `|`, `!` may be nested.
    pub fn parse(text: &'a [u8], max_depth: usize) -> Result<Self, FilterError> {
        text::parse(text, max_depth)
    }
    /// The same filter with all its bytes owned.
    pub fn into_owned(self) -> Filter<'static> {
        fn own(bytes: Cow<'_, [u8]>) -> Cow<'static, [u8]> {
            Cow::Owned(bytes.into_owned())
        }
        fn assertion(assertion: Assertion<'_>) -> Assertion<'static> {
            Assertion {
                attribute: own(assertion.attribute),
                value: own(assertion.value),
            }
        }
        match self {
            Self::And(filters) => Filter::And(filters.into_iter().map(Filter::into_owned).collect()),
            Self::Or(filters) => Filter::Or(filters.into_iter().map(Filter::into_owned).collect()),
            Self::Not(filter) => Filter::Not(Box::new(filter.into_owned())),
            Self::Equality(a) => Filter::Equality(assertion(a)),
            Self::GreaterOrEqual(a) => Filter::GreaterOrEqual(assertion(a)),
            Self::LessOrEqual(a) => Filter::LessOrEqual(assertion(a)),
            Self::Approx(a) => Filter::Approx(assertion(a)),
            Self::Present(attribute) => Filter::Present(own(attribute)),
            Self::Substrings {
                attribute,
                initial,
                any,
                r#final,
            } => Filter::Substrings {
                attribute: own(attribute),
                initial: initial.map(own),
                any: any.into_iter().map(own).collect(),
                r#final: r#final.map(own),
            },
            Self::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => Filter::Extensible {
                rule: rule.map(own),
                attribute: attribute.map(own),
                value: own(value),
                dn_attributes,
            },
        }
    }
    /// Enters and leaves every node in preorder, without recursion.
    pub fn steps(&self) -> Steps<'_, 'a> {
        Steps::new(self)
    }
    /// The operands of `&`, `|`, `!`; nothing for items.
    pub fn children(&self) -> &[Filter<'a>] {
        match self {
            Self::And(filters) | Self::Or(filters) => filters,
            Self::Not(filter) => std::slice::from_ref(filter),
            _ => &[],
        }
    }
}
