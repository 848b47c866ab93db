//! Which entries have a role.

use std::collections::HashSet;

use ironbark_directory::overlay::{Derive, DerivingEntry, DerivingLook};
use ironbark_model::{AttributeDescription, Dn};
use ironbark_store::{Derived, DerivedCandidates, DitScope, FilterItem, Location, Purpose, StoreError, Wanted};

use super::definition::{Kind, Reach, Role, Roles};

/// Steps for looking whether an entry has a role.
const ROLE_STEPS: u64 = 5;

impl Roles {
    /// Whether an entry has a role.
    fn has(&self, entry: &DerivingEntry<'_>, position: usize) -> Result<bool, StoreError> {
        let (mut unread, mut seen) = (vec![position], HashSet::new());
        while let Some(position) = unread.pop() {
            if !entry.look.view.spend(ROLE_STEPS) {
                break;
            }
            let Some(role) = self.all.get(position) else { continue };
            if !role.reaches(entry)? {
                continue;
            }
            // What the role tells of the entry is what its author may know.
            let look = entry.look.for_author(&role.author);
            let may_read = |attribute, name: &Dn| {
                let value = name.pretty().as_bytes();
                let is_readable = look.readable(&entry.record, |readable| readable.has(attribute, Some(value)));
                role.author.is_trusted() || is_readable == Some(true)
            };
            let has = match &role.kind {
                Kind::Managed => match entry.record.values(&self.known.role_dn) {
                    Some(named) => {
                        named.holds_normalized(role.dn.normalized())? && may_read(&self.known.role_dn, &role.dn)
                    }
                    None => false,
                },
                Kind::Filtered(filter) => look.matches(&entry.record, filter),
                Kind::Nested(inner) => {
                    if seen.insert(position) {
                        let roles = inner.iter().filter(|inner| {
                            let inner = self.all.get(**inner);
                            inner.is_some_and(|inner| may_read(&self.known.role, &inner.dn))
                        });
                        unread.extend(roles);
                    }
                    false
                }
            };
            if has {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entries that may have one of some roles.
    fn may_have(
        &self,
        look: &DerivingLook<'_>,
        mut unread: Vec<usize>,
        most: u64,
    ) -> Result<DerivedCandidates, StoreError> {
        let (mut may, mut seen) = (DerivedCandidates::nothing(), HashSet::new());
        while let Some(position) = unread.pop() {
            let Some(role) = self.all.get(position).filter(|_| seen.insert(position)) else {
                continue;
            };
            let more = match &role.kind {
                Kind::Managed => look.may_have(&self.known.role_dn, [role.dn.normalized().to_vec()], most)?,
                Kind::Filtered(filter) => look.view.may_match(filter, most)?,
                Kind::Nested(inner) => {
                    unread.extend_from_slice(inner);
                    continue;
                }
            };
            may = may.or(more);
        }
        Ok(may)
    }
}

impl Role {
    fn reaches(&self, entry: &DerivingEntry<'_>) -> Result<bool, StoreError> {
        let base = match &self.reach {
            Reach::Entry(base) => *base,
            Reach::Named(name) => match entry.look.view.locate(name)? {
                Location::Entry(base) => base,
                Location::Missing { .. } => return Ok(false),
            },
        };
        entry.record.is_in_scope(base, DitScope::Subtree)
    }
}

impl Derive for Roles {
    fn attributes(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.known.role)
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let mut names = Vec::new();
        for (position, role) in self.all.iter().enumerate() {
            if self.has(entry, position)? {
                names.push(role.dn.pretty().as_bytes().to_vec());
            }
        }
        if !names.is_empty() {
            found.replace(&self.known.role, names);
        }
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        _: &AttributeDescription,
        normal: &[u8],
        _: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        match self.by_name.get(normal) {
            Some(role) => self.has(entry, *role).map(Some),
            None => Ok(Some(false)),
        }
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let mut roles: Vec<usize> = Vec::new();
        match item.equalities(look.view) {
            _ if item.is_chain() => return Ok(DerivedCandidates::Unknown),
            Some(names) => roles.extend(names.into_iter().filter_map(|name| self.by_name.get(name).copied())),
            None => {
                let asked = |role: &Role| {
                    let name = role.dn.pretty().as_bytes().to_vec();
                    item.holds(look.view, &self.known.role, &[name])
                };
                roles.extend(
                    (0..)
                        .zip(&self.all)
                        .filter(|(_, role)| asked(role))
                        .map(|(position, _)| position),
                );
            }
        }
        self.may_have(look, roles, item.most())
    }
}
