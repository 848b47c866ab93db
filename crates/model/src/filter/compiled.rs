//! A filter resolved against a schema, and its evaluation.

use std::{ops::ControlFlow, ops::Range};

use crate::{AttributeDescription, Filter, Schema, matching::MatchingRule};

/// Three-valued logic (RFC 4511 §4.5.1.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// The entry matches.
    True,
    /// It does not.
    False,
    /// Cannot be decided: unknown attribute or rule, malformed assertion value.
    Undefined,
}

/// Number of an attribute description within one compiled filter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u16);

/// One node, in preorder. `end` is the index one past the node's last descendant.
#[derive(Clone, Debug)]
pub enum Node {
    /// All children.
    And {
        /// One past the last descendant.
        end: u32,
    },
    /// Any child.
    Or {
        /// One past the last descendant.
        end: u32,
    },
    /// The one child negated.
    Not {
        /// One past the last descendant.
        end: u32,
    },
    /// Always this.
    Constant(Truth),
    /// Some value of the attribute or its subtypes.
    Present(Slot),
    /// Equality (also approximate match for rules that have no phonetic form, and extensible match with `attr:rule:=`).
    Equality {
        /// Attribute.
        slot: Slot,
        /// Rule: the attribute's own, or the one the filter names.
        rule: &'static MatchingRule,
        /// Normalized assertion value, in `bytes`.
        value: Range<u32>,
        /// Whether the attribute's DN components count as values (`:dn:`).
        dn_attributes: bool,
    },
    /// `>=`.
    GreaterOrEqual {
        /// Attribute.
        slot: Slot,
        /// Ordering rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
    },
    /// `<=`.
    LessOrEqual {
        /// Attribute.
        slot: Slot,
        /// Ordering rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
    },
    /// `~=` through the phonetic codes of `matching::approx`.
    Approx {
        /// Attribute.
        slot: Slot,
        /// Phonetic codes of the words of the assertion, joined by spaces.
        value: Range<u32>,
    },
    /// Substrings.
    Substrings {
        /// Attribute.
        slot: Slot,
        /// Substrings rule.
        rule: &'static MatchingRule,
        /// Normalized parts.
        initial: Option<Range<u32>>,
        /// Indexes into [`CompiledFilter::parts`].
        any: Range<u32>,
        /// Last part.
        r#final: Option<Range<u32>>,
    },
    /// `:rule:=` without attribute: any attribute the rule applies to.
    AnyAttribute {
        /// Rule.
        rule: &'static MatchingRule,
        /// Normalized assertion value.
        value: Range<u32>,
        /// Whether DN components count.
        dn_attributes: bool,
    },
    /// LDAP_MATCHING_RULE_IN_CHAIN 1.2.840.113556.1.4.1941: decided by [`ValueSource::in_chain`].
    InChain {
        /// A DN-valued attribute.
        slot: Slot,
        /// Normalized DN.
        value: Range<u32>,
    },
}

/// A filter resolved against one schema. Reusable: [`CompiledFilter::compile`] keeps the memory it has.
#[derive(Clone, Debug, Default)]
pub struct CompiledFilter {
    /// Nodes in preorder; node 0 is the root.
    pub nodes: Vec<Node>,
    /// Attribute descriptions by slot.
    pub slots: Vec<AttributeDescription>,
    /// Ranges of `any` parts.
    pub parts: Vec<Range<u32>>,
    /// Normalized assertion values.
    pub bytes: Vec<u8>,
}

/// Where evaluation gets values from: a stored record or an entry in memory.
pub trait ValueSource {
    /// Calls `visit` with each value of the attribute of `slot`, its subtypes and its option supersets (RFC 4512 §2.5), as stored
    /// (not normalized), until it breaks.
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>);
    /// Calls `visit` with the values of every attribute whose syntax `rule` applies to.
    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>);
    /// Calls `visit` with the values in the entry's DN whose type is that of `slot` (`None`: any type that `rule` applies to).
    fn dn_values(
        &self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    );
    /// Whether a value set that is too big to scan holds a value with this normal form. `None`: not such a set, scan it.
    fn holds_normalized(&self, slot: Slot, normalized: &[u8]) -> Option<bool>;
    /// Whether the entry reaches the DN `target` through the DN-valued attribute of `slot`, in any number of steps.
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth;
}

impl CompiledFilter {
    /// Resolves `filter`. What cannot be resolved becomes `Constant(Undefined)`; this never fails.
    pub fn compile(&mut self, schema: &Schema, filter: &Filter<'_>) {
        let _ = (schema, filter);
        todo!()
    }
    /// Evaluates against one entry. `scratch` is working memory that is reused.
    pub fn evaluate(&self, schema: &Schema, source: &dyn ValueSource, scratch: &mut Vec<u8>) -> Truth {
        let _ = (schema, source, scratch);
        todo!()
    }
    /// The bytes of a range.
    pub fn value(&self, range: &Range<u32>) -> &[u8] {
        self.bytes
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }
}
