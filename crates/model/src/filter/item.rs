//! Resolving one filter item: attribute, rule and normalized assertion value. `None` is Undefined.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    Assertion, Filter,
    compiled::{CompiledFilter, Compiler, FilterNode, Slot, length},
};
use crate::{
    matching::{self, Expand, IN_CHAIN, MatchingRule, RuleKind, SubstringPart, approx},
    schema::AttributeType,
    syntax::{InvalidValue, oid},
};

/// Whether extensible match may use a rule on an attribute: it is one of the attribute's own rules, or is made for its
/// syntax.
pub fn rule_applies(rule: &'static MatchingRule, attribute: &AttributeType) -> bool {
    [attribute.equality, attribute.ordering, attribute.substrings].contains(&Some(rule))
        || attribute.equality.and_then(approx::rule_of) == Some(rule)
        || rule.is_usable_with(attribute.syntax)
}

/// Substrings rules for which outer spaces mean nothing: `caseIgnoreSubstringsMatch`, `caseExactSubstringsMatch` and
/// those of IA5 strings.
const SPACED: [&str; 4] = [
    "2.5.13.4",
    "2.5.13.7",
    "1.3.6.1.4.1.1466.109.114.3",
    "1.3.6.1.4.1.4203.1.2.1",
];

impl<'c> Compiler<'c> {
    /// The node of an item.
    pub(super) fn item(&mut self, item: &Filter<'_>) -> Option<FilterNode> {
        match item {
            Filter::Equality(Assertion { attribute, value }) => {
                let (slot, attribute) = self.attribute(attribute)?;
                self.equality(slot, attribute, value, false)
            }
            Filter::GreaterOrEqual(Assertion { attribute, value }) => {
                let (slot, attribute) = self.attribute(attribute)?;
                let rule = attribute.ordering?;
                Some(FilterNode::GreaterOrEqual {
                    slot,
                    rule,
                    value: self.assertion(rule, value)?,
                })
            }
            Filter::LessOrEqual(Assertion { attribute, value }) => {
                let (slot, attribute) = self.attribute(attribute)?;
                let rule = attribute.ordering?;
                Some(FilterNode::LessOrEqual {
                    slot,
                    rule,
                    value: self.assertion(rule, value)?,
                })
            }
            Filter::Approx(Assertion { attribute, value }) => {
                let (slot, attribute) = self.attribute(attribute)?;
                self.approx(slot, attribute, value)
            }
            Filter::Present(attribute) => Some(FilterNode::Present(self.attribute(attribute)?.0)),
            Filter::Substrings {
                attribute,
                initial,
                any,
                r#final,
            } => {
                let (slot, attribute) = self.attribute(attribute)?;
                let any = any.iter().map(AsRef::as_ref);
                self.substrings(slot, attribute, initial.as_deref(), any, r#final.as_deref())
            }
            Filter::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => {
                let rule = match rule {
                    Some(name) => Some(matching::find(name)?),
                    None => None,
                };
                let attribute = match attribute {
                    Some(text) => Some(self.attribute(text)?),
                    None => None,
                };
                self.extensible(rule, attribute, value, *dn_attributes)
            }
            Filter::And(_) | Filter::Or(_) | Filter::Not(_) => None,
        }
    }

    fn attribute(&mut self, text: &[u8]) -> Option<(Slot, &'c AttributeType)> {
        let description = self.schema.attribute_description(text).ok()?;
        let attribute = self.schema.attribute_type(description.attribute_type);
        Some((self.slot(description)?, attribute))
    }

    /// Appends a normal form. On an error the buffer is cut back.
    fn append(
        &mut self,
        normalize: impl FnOnce(&crate::Schema, &mut Vec<u8>) -> Result<(), InvalidValue>,
    ) -> Option<Range<u32>> {
        let start = length(&self.filter.bytes);
        if normalize(self.schema, &mut self.filter.bytes).is_err() {
            self.filter.bytes.truncate(start as usize);
            return None;
        }
        Some(start..length(&self.filter.bytes))
    }

    /// A normalized assertion value.
    fn assertion(&mut self, rule: &'static MatchingRule, value: &[u8]) -> Option<Range<u32>> {
        self.append(|schema, out| rule.assertion(schema, value, out))
    }

    fn equality(
        &mut self,
        slot: Slot,
        attribute: &AttributeType,
        value: &[u8],
        dn_attributes: bool,
    ) -> Option<FilterNode> {
        let rule = attribute.equality?;
        let value = self.assertion(rule, value)?;
        if let Some(expand) = rule.expand
            && !dn_attributes
        {
            let asserted: SmallVec<[u8; 64]> = SmallVec::from_slice(self.filter.value(&value));
            if &*attribute.oid == OBJECT_CLASS && asserted.as_slice() == TOP {
                return Some(FilterNode::Present(slot));
            }
            return self.expanded(slot, rule, expand, &asserted);
        }
        Some(FilterNode::Equality {
            slot,
            rule,
            value,
            dn_attributes,
        })
    }

    /// Equality with each form that the rule lists. Undefined when it lists none, as for an unknown class.
    fn expanded(
        &mut self,
        slot: Slot,
        rule: &'static MatchingRule,
        expand: Expand,
        asserted: &[u8],
    ) -> Option<FilterNode> {
        let CompiledFilter { parts, bytes, .. } = &mut *self.filter;
        let start = length(parts);
        expand(self.schema, asserted, &mut |form| {
            let from = length(bytes);
            bytes.extend_from_slice(form);
            parts.push(from..length(bytes));
        });
        let forms = parts.get_mut(start as usize..).filter(|forms| !forms.is_empty())?;
        let form = |part: &Range<u32>| bytes.get(part.start as usize..part.end as usize);
        forms.sort_unstable_by(|a, b| form(a).cmp(&form(b)));
        Some(FilterNode::AnyOf {
            slot,
            rule,
            values: start..length(parts),
        })
    }

    /// Approximate match: by sound where the equality rule has such a rule, otherwise equality.
    fn approx(&mut self, slot: Slot, attribute: &AttributeType, value: &[u8]) -> Option<FilterNode> {
        let equality = attribute.equality?;
        if let Some(rule) = approx::rule_of(equality) {
            let value = self.assertion(rule, value)?;
            return Some(FilterNode::Approx { slot, value });
        }
        if equality.oid == matching::UNIQUE_MEMBER_MATCH {
            let rule = &matching::UNIQUE_MEMBER_APPROXIMATE;
            return Some(FilterNode::Equality {
                slot,
                rule,
                value: self.assertion(rule, value)?,
                dn_attributes: false,
            });
        }
        self.equality(slot, attribute, value, false)
    }

    fn substrings<'v>(
        &mut self,
        slot: Slot,
        attribute: &AttributeType,
        initial: Option<&[u8]>,
        any: impl Iterator<Item = &'v [u8]>,
        r#final: Option<&[u8]>,
    ) -> Option<FilterNode> {
        let rule = attribute.substrings?;
        let part = |compiler: &mut Self, value: &[u8], place| {
            compiler.append(|schema, out| rule.part(schema, attribute.equality, value, place, out))
        };
        let initial = match initial {
            Some(value) => Some(part(self, value, SubstringPart::Initial)?),
            None => None,
        };
        let start = length(&self.filter.parts);
        for value in any {
            let range = part(self, value, SubstringPart::Any)?;
            self.filter.parts.push(range);
        }
        let any = start..length(&self.filter.parts);
        let r#final = match r#final {
            Some(value) => Some(part(self, value, SubstringPart::Final)?),
            None => None,
        };
        // A prepared value ends with a space (RFC 4518 §2.6.1). The compact form leaves that space out.
        let ends_in_space = |range: &Range<u32>| SPACED.contains(&rule.oid) && self.filter.value(range) == b" ";
        if r#final.as_ref().is_some_and(ends_in_space) {
            if initial.is_none() && any.is_empty() {
                return Some(FilterNode::Present(slot));
            }
            return Some(FilterNode::Substrings {
                slot,
                rule,
                initial,
                any,
                r#final: None,
            });
        }
        if initial.is_none() && any.is_empty() && r#final.is_none() {
            return None;
        }
        Some(FilterNode::Substrings {
            slot,
            rule,
            initial,
            any,
            r#final,
        })
    }

    fn extensible(
        &mut self,
        rule: Option<&'static MatchingRule>,
        attribute: Option<(Slot, &AttributeType)>,
        value: &[u8],
        dn_attributes: bool,
    ) -> Option<FilterNode> {
        let (rule, (slot, attribute)) = match (rule, attribute) {
            (None, None) => return None,
            (None, Some((slot, attribute))) => {
                // The attribute's own rule, if extensible match may use it.
                attribute.equality.filter(|rule| rule.extensible)?;
                return self.equality(slot, attribute, value, dn_attributes);
            }
            (Some(rule), Some(attribute)) => (rule, attribute),
            (Some(rule), None) => {
                if rule.oid == IN_CHAIN
                    || !matches!(rule.kind, RuleKind::Equality | RuleKind::Extensible)
                    || !rule.extensible
                {
                    return None;
                }
                let value = self.assertion(rule, value)?;
                return Some(FilterNode::AnyAttribute {
                    rule,
                    value,
                    dn_attributes,
                });
            }
        };
        if rule.oid == IN_CHAIN {
            if !DN_SYNTAXES.contains(&attribute.syntax.oid) {
                return None;
            }
            let value = self.assertion(rule, value)?;
            return Some(FilterNode::InChain { slot, value });
        }
        if !rule.extensible || !rule_applies(rule, attribute) {
            return None;
        }
        match rule.kind {
            RuleKind::Substrings => None,
            RuleKind::Ordering => Some(FilterNode::Less {
                slot,
                rule,
                value: self.assertion(rule, value)?,
                dn_attributes,
            }),
            RuleKind::Extensible if !dn_attributes && attribute.equality.and_then(approx::rule_of) == Some(rule) => {
                self.approx(slot, attribute, value)
            }
            RuleKind::Equality | RuleKind::Extensible => {
                let value = self.assertion(rule, value)?;
                Some(FilterNode::Equality {
                    slot,
                    rule,
                    value,
                    dn_attributes,
                })
            }
        }
    }
}

const OBJECT_CLASS: &str = "2.5.4.0";
const TOP: &[u8] = b"2.5.6.0";
const DN_SYNTAXES: [&str; 2] = [oid::DN, oid::NAME_AND_OPTIONAL_UID];
