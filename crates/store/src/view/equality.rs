//! Equality indexes: which one serves an assertion, and the list of a value.

use ironbark_model::{AttributeDescription, matching::MatchingRule};
use smallvec::SmallVec;

use super::View;
use crate::{
    StoreError,
    ahead::{EqualityList, SnapshotAhead},
    catalog::{Index, IndexKind},
    hash,
    keys::KeySet,
    posting::{IdSet, ListName, list},
};

impl<'t> View<'t> {
    /// The index that an equality assertion is looked up in. `None`: there is none.
    pub(crate) fn equality_index(&self, asked: &AttributeDescription, rule: &MatchingRule) -> Option<&'t Index> {
        let kinds = [IndexKind::EqualityHash, IndexKind::EqualityOrdered];
        let index = self.serving_index(asked, &kinds)?;
        // Values may match by what stands behind their `{n}`, or by a function: no index knows that.
        let is_ordered = || self.catalog.schema.attribute_type(asked.attribute_type).is_ordered;
        (index.rule == Some(rule) && rule.evaluate.is_none() && !is_ordered()).then_some(index)
    }

    /// The list that an equality assertion is looked up in, for `HeldSnapshot::look_ahead`. `normal` is the value as
    /// the rule's `assertion` makes it. `None`: no index serves it.
    pub fn equality_list(
        &self,
        asked: &AttributeDescription,
        rule: &MatchingRule,
        normal: &[u8],
    ) -> Option<EqualityList> {
        let index = self.equality_index(asked, rule)?;
        Some(EqualityList(list_of(index, normal)))
    }

    /// A list, if one look-up gives it: it is empty or has one ID. `None`: it is longer.
    #[inline]
    pub(crate) fn sole(&self, list: &[u8]) -> Result<Option<IdSet>, StoreError> {
        let ahead = self.ahead.and_then(SnapshotAhead::get);
        match ahead.and_then(|ahead| ahead.sole(list)) {
            Some(id) => Ok(Some(IdSet::One(id))),
            None => list::sole(self.txn, &self.tables().index, list),
        }
    }
}

/// The list of a normalized value in an equality index.
pub(crate) fn list_of(index: &Index, normal: &[u8]) -> ListName {
    let mut name: ListName = SmallVec::from_slice(&index.prefix);
    if index.stored.kind == IndexKind::EqualityHash {
        name.extend_from_slice(&hash::index_hash(normal));
        return name;
    }
    let mut keys = KeySet::default();
    keys.add_normal(index, normal);
    SmallVec::from_slice(keys.iter().next().unwrap_or_default())
}
