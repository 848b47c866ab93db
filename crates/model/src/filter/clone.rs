//! Copying filters in a loop, so that their depth costs no stack.

use std::mem;

use super::{Filter, Step};

impl Clone for Filter<'_> {
    fn clone(&self) -> Self {
        let mut copied = Vec::new();
        // For each connective under way, the copies of what stands before it.
        let mut before = Vec::new();
        for step in self.steps() {
            match step {
                Step::Enter(Self::And(_) | Self::Or(_) | Self::Not(_)) => before.push(mem::take(&mut copied)),
                Step::Enter(item) => copied.push(item.clone_item()),
                Step::Leave(connective) => {
                    let children = mem::replace(&mut copied, before.pop().unwrap_or_default());
                    copied.push(connective.with_children(children));
                }
            }
        }
        copied.pop().unwrap_or(NOTHING)
    }
}

impl Filter<'_> {
    /// The same connective of other operands.
    fn with_children(&self, mut children: Vec<Self>) -> Self {
        match self {
            Self::Or(_) => Self::Or(children),
            Self::Not(_) => Self::Not(Box::new(children.pop().unwrap_or(NOTHING))),
            _ => Self::And(children),
        }
    }

    fn clone_item(&self) -> Self {
        match self {
            Self::Equality(assertion) => Self::Equality(assertion.clone()),
            Self::GreaterOrEqual(assertion) => Self::GreaterOrEqual(assertion.clone()),
            Self::LessOrEqual(assertion) => Self::LessOrEqual(assertion.clone()),
            Self::Approx(assertion) => Self::Approx(assertion.clone()),
            Self::Present(attribute) => Self::Present(attribute.clone()),
            Self::Substrings {
                attribute,
                initial,
                any,
                r#final,
            } => Self::Substrings {
                attribute: attribute.clone(),
                initial: initial.clone(),
                any: any.clone(),
                r#final: r#final.clone(),
            },
            Self::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => Self::Extensible {
                rule: rule.clone(),
                attribute: attribute.clone(),
                value: value.clone(),
                dn_attributes: *dn_attributes,
            },
            Self::And(_) | Self::Or(_) | Self::Not(_) => NOTHING,
        }
    }
}

/// A filter that holds nothing, where there can be none.
const NOTHING: Filter<'static> = Filter::And(Vec::new());
