//! Attributes that entries have without holding them. An upper floor computes them; planning and evaluation ask it
//! through a [`View`] that carries it.

use ironbark_model::{
    Attribute, AttributeDescription, CompiledFilter, Dn, Entry, Truth,
    entry::EntrySource,
    filter::{FilterNode, compiled::Slot},
};
use roaring::RoaringTreemap;
use smallvec::SmallVec;

use crate::{EntryId, Record, StoreError, View};

/// Computes the derived attributes of entries.
pub trait DerivedAttributes {
    /// Whether entries may have derived values that answer a description: of its type or a subtype (RFC 4512 §2.5.2).
    /// A quick look, as every item of a filter is asked about.
    fn covers(&self, asked: &AttributeDescription, purpose: Purpose) -> bool;

    /// Adds the wanted derived attributes of an entry to `found`.
    ///
    /// # Errors
    /// The storage failed.
    fn derive(&self, of: &Record<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError>;

    /// Whether an entry has a value with this normal form that answers a description, held or derived. `None`: that
    /// costs no less than a look at all values. Not asked for [`Purpose::Show`].
    ///
    /// # Errors
    /// The storage failed.
    fn holds(
        &self,
        _of: &Record<'_>,
        _asked: &AttributeDescription,
        _normal: &[u8],
        _purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        Ok(None)
    }

    /// The entries that may satisfy an item by a derived value. Asked for items that are covered.
    ///
    /// # Errors
    /// The storage failed.
    fn candidates(&self, view: View<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError>;
}

/// What is wanted of an entry.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// What for.
    pub purpose: Purpose,
    /// The name that the entry is about to get, if it is not the stored one.
    pub new_name: Option<&'a Dn>,
    /// Which attributes.
    pub attributes: &'a dyn Fn(&AttributeDescription) -> bool,
    /// Which of them also if they are operational in this entry, whatever their type says.
    pub operational: &'a dyn Fn(&AttributeDescription) -> bool,
}

impl Wanted<'_> {
    /// Whether an attribute is wanted.
    pub fn has(&self, description: &AttributeDescription) -> bool {
        (self.attributes)(description)
    }

    /// Whether an attribute is wanted that is operational in this entry, whatever its type says.
    pub fn has_operational(&self, description: &AttributeDescription) -> bool {
        self.has(description) && (self.operational)(description)
    }
}

/// What derived attributes are wanted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A filter or an assertion.
    Match,
    /// The compare operation.
    Compare,
    /// An answer, or its order.
    Show,
}

/// Derived attributes of one entry, each description once, in the order in which they were first given.
#[derive(Clone, Default, Debug)]
pub struct Derived {
    attributes: SmallVec<[DerivedAttribute; 2]>,
}

/// A derived attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivedAttribute {
    /// Type and options.
    pub description: AttributeDescription,
    /// The derived values. The stored values stand before them, if they count. None: to a compare, the entry has the
    /// attribute all the same, unless that is hidden.
    pub values: Vec<Vec<u8>>,
    /// Whether the stored values do not count.
    pub replaces: bool,
}

impl Derived {
    /// Adds values to an attribute.
    pub fn add(&mut self, description: &AttributeDescription, values: impl IntoIterator<Item = Vec<u8>>) {
        self.change(description, |held| held.values.extend(values));
    }

    /// Gives an attribute these values in place of all others, the stored ones too. Without values the attribute is
    /// hidden.
    pub fn replace(&mut self, description: &AttributeDescription, values: Vec<Vec<u8>>) {
        self.change(description, |held| (held.values, held.replaces) = (values, true));
    }

    fn change(&mut self, description: &AttributeDescription, change: impl FnOnce(&mut DerivedAttribute)) {
        let mut all = self.attributes.iter_mut();
        if let Some(held) = all.find(|held| held.description == *description) {
            return change(held);
        }
        let mut new = DerivedAttribute {
            description: description.clone(),
            values: Vec::new(),
            replaces: false,
        };
        change(&mut new);
        self.attributes.push(new);
    }

    /// The attribute of exactly this description.
    pub fn get(&self, description: &AttributeDescription) -> Option<&DerivedAttribute> {
        self.attributes.iter().find(|held| held.description == *description)
    }

    /// Whether the stored values of an attribute count.
    pub fn keeps_stored(&self, description: &AttributeDescription) -> bool {
        self.get(description).is_none_or(|held| !held.replaces)
    }

    /// All attributes.
    pub fn attributes(&self) -> &[DerivedAttribute] {
        &self.attributes
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }
}

/// One item of a filter.
#[derive(Clone, Copy)]
pub struct FilterItem<'f> {
    pub(crate) filter: &'f CompiledFilter,
    pub(crate) at: usize,
    pub(crate) slot: Slot,
    pub(crate) most: u64,
}

impl<'f> FilterItem<'f> {
    /// The attribute that is asked for.
    pub fn asked(&self) -> Option<&'f AttributeDescription> {
        self.filter.slot(self.slot)
    }

    /// Of more candidates than this the planner makes no use: `Unknown` is as good then, and costs less.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// What is asked.
    pub fn node(&self) -> Option<&'f FilterNode> {
        self.filter.nodes.get(self.at)
    }

    /// The normal forms in an item that asks for equality with any of them, by the attribute's own rule. A chain asks
    /// for its target. `None`: it asks for something else.
    pub fn equalities(&self, view: View<'_>) -> Option<Vec<&'f [u8]>> {
        let own = view.schema().attribute_type(self.asked()?.attribute_type).equality;
        match self.node()? {
            FilterNode::Equality {
                rule,
                value,
                dn_attributes: false,
                ..
            } if own == Some(rule) => Some(vec![self.filter.value(value)]),
            FilterNode::InChain { value, .. } => Some(vec![self.filter.value(value)]),
            FilterNode::AnyOf { rule, values, .. } if own == Some(rule) => {
                Some(self.filter.part_values(values).collect())
            }
            _ => None,
        }
    }

    /// Whether it asks for presence alone.
    pub fn is_presence(&self) -> bool {
        matches!(self.node(), Some(FilterNode::Present(_)))
    }

    /// Whether it follows a chain (`LDAP_MATCHING_RULE_IN_CHAIN`).
    pub fn is_chain(&self) -> bool {
        matches!(self.node(), Some(FilterNode::InChain { .. }))
    }

    /// Whether an entry that had nothing but this attribute would satisfy the item. A chain is followed no further.
    pub fn holds(&self, view: View<'_>, attribute: &AttributeDescription, values: &[Vec<u8>]) -> bool {
        let mut entry = Entry::new(Dn::root());
        entry.attributes.push(Attribute {
            description: attribute.clone(),
            values: values.to_vec(),
        });
        let source = EntrySource::new(view.schema(), self.filter, &entry).within(view.budget());
        let truth = self
            .filter
            .evaluate_item(self.at, view.schema(), &source, &mut Vec::new());
        truth == Truth::True
    }
}

/// The entries that may satisfy an item by a derived value: all that do, and perhaps others.
#[derive(Clone, Debug)]
pub enum DerivedCandidates {
    /// Any entry, because of what the item asks.
    Everything,
    /// No index can tell.
    Unknown,
    /// At most these.
    Ids(RoaringTreemap),
}

impl DerivedCandidates {
    /// No entry.
    pub fn nothing() -> Self {
        Self::Ids(RoaringTreemap::new())
    }

    /// One entry at most.
    pub fn one(id: Option<EntryId>) -> Self {
        Self::Ids(id.into_iter().collect())
    }

    /// The entries of either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Ids(one), Self::Ids(other)) => Self::Ids(one | other),
        }
    }

    /// The entries that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ids(one), Self::Ids(other)) => Self::Ids(one & other),
            (Self::Ids(one), _) | (_, Self::Ids(one)) => Self::Ids(one),
            (Self::Everything, Self::Everything) => Self::Everything,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}
