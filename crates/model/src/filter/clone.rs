//! Copying filters in a loop, so that their depth costs no stack.

use std::{borrow::Cow, mem};

use super::{Assertion, Filter, FilterStep};

/// Makes the copy of a text.
type Copy<'a, 'c> = fn(&Cow<'a, [u8]>) -> Cow<'c, [u8]>;

impl Clone for Filter<'_> {
    fn clone(&self) -> Self {
        self.copied(Cow::clone)
    }
}

impl<'a> Filter<'a> {
    /// A copy of the filter that owns its memory.
    pub fn to_owned(&self) -> Filter<'static> {
        self.copied(|text| Cow::Owned(text.to_vec()))
    }

    /// A copy, whose texts are made by `copy`.
    fn copied<'c>(&self, copy: Copy<'a, 'c>) -> Filter<'c> {
        let mut copied = Vec::new();
        // For each open connective: the copies of the operands before the current one.
        let mut before = Vec::new();
        for step in self.steps() {
            match step {
                FilterStep::Enter(Self::And(_) | Self::Or(_) | Self::Not(_)) => before.push(mem::take(&mut copied)),
                FilterStep::Enter(item) => copied.push(item.copied_item(copy)),
                FilterStep::Leave(connective) => {
                    let children = mem::replace(&mut copied, before.pop().unwrap_or_default());
                    copied.push(connective.of_others(children));
                }
            }
        }
        copied.pop().unwrap_or(NOTHING)
    }

    /// The same connective with other operands.
    fn of_others<'c>(&self, mut children: Vec<Filter<'c>>) -> Filter<'c> {
        match self {
            Self::Or(_) => Filter::Or(children),
            Self::Not(_) => Filter::Not(Box::new(children.pop().unwrap_or(NOTHING))),
            _ => Filter::And(children),
        }
    }

    fn copied_item<'c>(&self, copy: Copy<'a, 'c>) -> Filter<'c> {
        let copied = |assertion: &Assertion<'a>| Assertion {
            attribute: copy(&assertion.attribute),
            value: copy(&assertion.value),
        };
        match self {
            Self::Equality(assertion) => Filter::Equality(copied(assertion)),
            Self::GreaterOrEqual(assertion) => Filter::GreaterOrEqual(copied(assertion)),
            Self::LessOrEqual(assertion) => Filter::LessOrEqual(copied(assertion)),
            Self::Approx(assertion) => Filter::Approx(copied(assertion)),
            Self::Present(attribute) => Filter::Present(copy(attribute)),
            Self::Substrings {
                attribute,
                initial,
                any,
                r#final,
            } => Filter::Substrings {
                attribute: copy(attribute),
                initial: initial.as_ref().map(copy),
                any: any.iter().map(copy).collect(),
                r#final: r#final.as_ref().map(copy),
            },
            Self::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => Filter::Extensible {
                rule: rule.as_ref().map(copy),
                attribute: attribute.as_ref().map(copy),
                value: copy(value),
                dn_attributes: *dn_attributes,
            },
            Self::And(_) | Self::Or(_) | Self::Not(_) => NOTHING,
        }
    }
}

/// A filter that holds nothing. It stands where a filter is required but none can be.
const NOTHING: Filter<'static> = Filter::And(Vec::new());
