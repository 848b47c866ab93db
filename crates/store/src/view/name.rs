//! Names: from a DN to an entry and back, subordinates, scopes.

use std::ops::Bound;

use ironbark_model::Dn;

use super::{Location, View};
use crate::{
    DitScope, EntryId, StoreError, names,
    record::codec::{self, FLAG_PLACEHOLDER},
    varint,
};

/// Longest chain of superiors that is followed, so that damage cannot cause an endless loop.
const MAX_DEPTH: usize = 10_000;

impl<'t> View<'t> {
    /// Resolves a DN that is within one of the suffixes, one RDN at a time.
    pub fn locate(&self, dn: &Dn) -> Result<Location, StoreError> {
        let (location, _) = self.locate_stored(dn)?;
        match location {
            Location::Entry(id) if self.is_placeholder(id)? => self.missing(id, dn.depth()),
            Location::Missing {
                ancestor: Some((id, depth)),
            } if self.is_placeholder(id)? => self.missing(id, depth),
            other => Ok(other),
        }
    }
    /// The closest superior of a placeholder that is an entry.
    fn missing(&self, mut id: EntryId, mut depth: usize) -> Result<Location, StoreError> {
        while self.is_placeholder(id)? {
            id = self.parent(id)?.unwrap_or(0);
            depth = depth.saturating_sub(1);
            if id == 0 {
                return Ok(Location::Missing { ancestor: None });
            }
        }
        Ok(Location::Missing {
            ancestor: Some((id, depth)),
        })
    }
    fn is_placeholder(&self, id: EntryId) -> Result<bool, StoreError> {
        let header = self
            .record_bytes(id)?
            .and_then(|mut bytes| codec::take_header(&mut bytes));
        Ok(header.is_some_and(|header| header.flags & FLAG_PLACEHOLDER != 0))
    }
    /// As [`View::locate`], with placeholders. Also returns the parent ID for the name of the first missing RDN.
    pub(crate) fn locate_stored(&self, dn: &Dn) -> Result<(Location, Option<EntryId>), StoreError> {
        let none = (Location::Missing { ancestor: None }, None);
        let suffixes = &self.ground.options.suffixes;
        let Some(suffix) = suffixes.iter().find(|suffix| dn.is_within(suffix)) else {
            return Ok(none);
        };
        let mut key = names::Key::new();
        let mut level = dn.depth();
        let mut at: Option<EntryId> = None;
        if suffix.depth() > 0 || dn.depth() == 0 {
            at = self.child(0, suffix.normalized(), &mut key)?;
            if at.is_none() {
                return Ok((
                    Location::Missing { ancestor: None },
                    (dn.depth() == suffix.depth()).then_some(0),
                ));
            }
            level -= suffix.depth();
        }
        while level > 0 {
            level -= 1;
            let Some((_, rdn)) = dn.rdn(level) else { return Ok(none) };
            let Some(next) = self.child(at.unwrap_or(0), rdn, &mut key)? else {
                let ancestor = at.map(|id| (id, dn.depth() - level - 1));
                return Ok((Location::Missing { ancestor }, (level == 0).then_some(at.unwrap_or(0))));
            };
            at = Some(next);
        }
        Ok((at.map_or(none.0, Location::Entry), None))
    }
    /// The entry below `parent` with this normalized RDN.
    pub(crate) fn child(
        &self,
        parent: EntryId,
        normalized_rdn: &[u8],
        key: &mut names::Key,
    ) -> Result<Option<EntryId>, StoreError> {
        names::key(parent, normalized_rdn, key);
        self.tables()
            .names
            .get(self.txn, key)?
            .map(|value| varint::read(value).ok_or_else(|| StoreError::damaged("a row of `names`")))
            .transpose()
    }
    /// The entry below `parent` (which is an entry, not 0) with this normalized RDN.
    pub fn subordinate(&self, parent: EntryId, normalized_rdn: &[u8]) -> Result<Option<EntryId>, StoreError> {
        self.child(parent, normalized_rdn, &mut names::Key::new())
    }
    /// IDs of the immediate subordinates, in no order.
    pub fn children(
        &self,
        id: EntryId,
    ) -> Result<impl Iterator<Item = Result<EntryId, StoreError>> + use<'t>, StoreError> {
        let children = self.children_behind(id, &[])?;
        Ok(children.map(|child| child.map(|(_, id)| id)))
    }
    /// The immediate subordinates behind a place, each with its own place. An empty place is before all of them. A
    /// place means the same in each version of the database, whether its entry is still there or not.
    pub fn children_behind(
        &self,
        id: EntryId,
        place: &[u8],
    ) -> Result<impl Iterator<Item = Result<(&'t [u8], EntryId), StoreError>> + use<'t>, StoreError> {
        let (parent, _) = self.name_parent(id)?;
        let prefix = varint::Key::new(parent);
        // The entry `""` of the empty suffix lies among its subordinates: the prefix alone is its key.
        let behind = if place.is_empty() { prefix.bytes() } else { place };
        let bounds = (Bound::Excluded(behind), Bound::Unbounded);
        let rows = self.tables().names.range(self.txn, &bounds)?;
        let is_child = move |row: &Result<(&[u8], _), _>| match row {
            Ok((key, _)) => key.starts_with(prefix.bytes()),
            Err(_) => true,
        };
        Ok(rows.take_while(is_child).map(|row| {
            let (key, value) = row?;
            let child = varint::read(value).ok_or_else(|| StoreError::damaged("a row of `names`"))?;
            Ok((key, child))
        }))
    }
    /// The parent ID that an entry's subordinates have in `names`, and whether it is the root.
    pub(crate) fn name_parent(&self, id: EntryId) -> Result<(EntryId, bool), StoreError> {
        if id == 0 {
            return Ok((0, true));
        }
        let header = self
            .record_bytes(id)?
            .and_then(|mut bytes| codec::take_header(&mut bytes));
        let is_root = header.is_some_and(|header| header.parent == 0 && header.rdn.is_empty());
        Ok(if is_root { (0, true) } else { (id, false) })
    }
    /// Whether the entry has subordinates.
    pub fn has_subordinates(&self, id: EntryId) -> Result<bool, StoreError> {
        let (parent, _) = self.name_parent(id)?;
        let prefix = varint::Key::new(parent);
        // The prefix alone is the key of the entry `""`.
        let next = self.tables().names.get_greater_than(self.txn, prefix.bytes())?;
        Ok(next.is_some_and(|(key, _)| key.starts_with(prefix.bytes())))
    }
    /// The DN of an entry, rebuilt from `names` upwards.
    pub fn dn(&self, id: EntryId) -> Result<Dn, StoreError> {
        let mut text = Vec::with_capacity(128);
        self.pretty_dn(id, &mut text)?;
        Dn::parse(&self.catalog.schema, &text).map_err(|_| StoreError::damaged("the name of an entry"))
    }
    /// Appends the pretty DN of an entry. Cheaper than [`View::dn`], because nothing is normalized.
    pub fn pretty_dn(&self, id: EntryId, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut at = id;
        for step in 0..MAX_DEPTH {
            let header = self
                .record_bytes(at)?
                .and_then(|mut bytes| codec::take_header(&mut bytes))
                .ok_or_else(|| StoreError::damaged("an entry has no superior record"))?;
            if step > 0 && !header.rdn.is_empty() {
                out.push(b',');
            }
            out.extend_from_slice(header.rdn.as_bytes());
            if header.parent == 0 {
                return Ok(());
            }
            at = header.parent;
        }
        Err(StoreError::damaged("superiors form a loop"))
    }
    /// Whether `id` lies within the scope of `base`.
    pub fn in_scope(&self, id: EntryId, base: EntryId, scope: DitScope) -> Result<bool, StoreError> {
        match scope {
            DitScope::Base => Ok(id == base),
            DitScope::OneLevel => {
                let (parent, _) = self.name_parent(base)?;
                Ok(id != base && self.parent(id)? == Some(parent))
            }
            DitScope::Children if id == base => Ok(false),
            DitScope::Subtree | DitScope::Children => self.is_below(id, base),
        }
    }
    fn is_below(&self, id: EntryId, base: EntryId) -> Result<bool, StoreError> {
        if base == 0 {
            return Ok(true);
        }
        let mut at = id;
        for _ in 0..MAX_DEPTH {
            if at == base {
                return Ok(true);
            }
            match self.parent(at)? {
                None => return Ok(false),
                Some(0) => return Ok(self.name_parent(base)?.1),
                Some(parent) => at = parent,
            }
        }
        Err(StoreError::damaged("superiors form a loop"))
    }
}
