//! The name of the entry at hand. Most rules do not need the whole name.

use std::cell::RefCell;

use ironbark_config::access::{NameMatch, NameScope};
use ironbark_model::{Dn, PosixRegex};
use smallvec::SmallVec;

use super::{check::Check, place::EntryPlace, target::Source};

impl Check<'_> {
    /// The whole name.
    pub(super) fn dn(&self) -> &Dn {
        self.dn.name.get_or_init(|| {
            let mut dn = self.dn.home.map(RefCell::take).unwrap_or_default();
            if let Some(EntryPlace { parent, rdn }) = self.place
                && dn.parse_into(&self.configuration.schema, rdn.as_bytes()).is_ok()
            {
                dn.put_below(parent);
                return dn;
            }
            match self.source {
                Source::Record(record, view) => view.dn(record.id).unwrap_or_default(),
                Source::Memory(entry) => entry.dn.clone(),
            }
        })
    }

    /// Whether a name pattern includes the entry. The superior's name decides, unless pattern and entry are at the same
    /// level.
    pub(super) fn is_named(&self, pattern: &NameMatch) -> bool {
        let NameMatch { scope, dn } = pattern;
        let whole = || scope.holds(dn, self.dn());
        let Some(EntryPlace { parent, .. }) = self.place.filter(|place| !place.parent.is_root()) else {
            return whole();
        };
        match scope {
            NameScope::Subtree => {
                parent.is_within(dn) || (parent.depth() + 1 == dn.depth() && dn.is_within(parent) && whole())
            }
            NameScope::Children => parent.is_within(dn),
            NameScope::OneLevel => parent == dn,
            NameScope::Base => dn.is_child_of(parent) && whole(),
            NameScope::Level(_) => whole(),
        }
    }

    /// Whether an expression matches the name. The name is not built if the attribute type of its RDN rules out a
    /// match.
    pub(super) fn is_name_match(&self, regex: &PosixRegex) -> bool {
        let is_ruled_out = self.place.is_some_and(|EntryPlace { rdn, .. }| {
            // With a `+` there may be more than one type, in another order.
            let is_one = memchr::memchr(b'+', rdn.as_bytes()).is_none();
            let name = memchr::memchr(b'=', rdn.as_bytes()).and_then(|end| rdn.get(..end).filter(|_| is_one));
            let found = name.and_then(|name| self.configuration.schema.find_attribute_type(name.as_bytes()));
            found.is_some_and(|found| {
                let mut beginning: SmallVec<[u8; 32]> = SmallVec::from_slice(found.name().as_bytes());
                beginning.push(b'=');
                !regex.may_match_after(&beginning)
            })
        });
        !is_ruled_out && regex.is_match(self.dn().normalized())
    }

    /// Whether the entry is the subject's own; `None`: only the name can tell.
    pub(super) fn is_own(&self) -> Option<bool> {
        let (Source::Record(record, view), Some(standing)) = (self.source, self.standing) else {
            return None;
        };
        let own = standing.own_entry(view, self.subject.dn).ok()?;
        Some(own == Some(record.id))
    }
}
