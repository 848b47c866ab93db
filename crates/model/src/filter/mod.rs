//! Search filters: syntax tree, text form (RFC 4515), compilation against a schema, three-valued evaluation (RFC 4511
//! §4.5.1.7).

use std::borrow::Cow;

use crate::budget::cost_of;

mod clone;
pub mod compiled;
mod evaluate;
mod forms;
mod item;
pub mod log;
mod one_value;
mod ordered;
mod print;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub use compiled::{Answering, AnsweringValue, CompiledFilter, FilterNode, Guard, Slot, Truth, ValueSource};
pub use item::rule_applies;
pub(crate) use text::hex_pair;
pub use text::{FilterError, FilterErrorKind};
pub use walk::{FilterStep, FilterSteps};

/// The deepest nesting of `&`, `|` and `!` that a filter may have. The functions that the compiler generates (drop,
/// comparison) are recursive.
pub const MAX_DEPTH: usize = 4096;

/// A filter as it came in: attribute descriptions and values are not interpreted.
#[derive(PartialEq, Eq, Debug)]
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
    /// `(a:dn:rule:=v)`; without rule and attribute it is Undefined.
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

impl Filter<'_> {
    /// Steps of a [`crate::Budget`] for normalizing the values of this node, without those of its operands.
    pub(crate) fn cost(&self) -> u64 {
        match self {
            Self::And(_) | Self::Or(_) | Self::Not(_) | Self::Present(_) => 1,
            Self::Equality(assertion)
            | Self::GreaterOrEqual(assertion)
            | Self::LessOrEqual(assertion)
            | Self::Approx(assertion) => cost_of(&assertion.value),
            Self::Extensible { value, .. } => cost_of(value),
            Self::Substrings {
                initial, any, r#final, ..
            } => {
                let parts = initial.iter().chain(any).chain(r#final);
                parts.map(|part| cost_of(part)).sum()
            }
        }
    }
}

impl<'a> Filter<'a> {
    /// Parses the text form of RFC 4515.
    ///
    /// As in ldap-utils, an item may lack its parentheses, spaces may stand between the parts of a list, and the
    /// escapes `\(`, `\)`, `\*`, `\\` of RFC 1960 are accepted. `max_depth` bounds the nesting of `&`, `|`, `!`. A
    /// `max_depth` above [`MAX_DEPTH`] acts as [`MAX_DEPTH`].
    pub fn parse(text: &'a [u8], max_depth: usize) -> Result<Self, FilterError> {
        text::parse(text, max_depth.min(MAX_DEPTH))
    }
    /// Enters and leaves every node in preorder, without recursion.
    pub fn steps(&self) -> FilterSteps<'_, 'a> {
        FilterSteps::new(self)
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
