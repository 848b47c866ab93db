//! How derivations look at entries.

use std::{borrow::Cow, ops::ControlFlow};

use ironbark_config::access::Privileges;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Truth,
    filter::{Assertion, Guard},
};
use ironbark_runtime::WallTime;
use ironbark_store::{
    DerivedCandidates, DitScope, EntryGuards, EntryId, Evaluation, Location, Record, StoreError, View,
};
use smallvec::SmallVec;

use super::{DerivingEntry, Entries, UrlSearch};
use crate::{
    Configuration, NamingContext,
    access::{AnswerableEntries, Requester, Subject, Target, WriteCheck},
    authorization::{Asking, is_named},
};

/// How a derivation looks at entries.
#[derive(Clone, Copy)]
pub struct DerivingLook<'a> {
    /// The entries of the database, with what lower levels derive.
    pub view: View<'a>,
    pub(crate) configuration: &'a Configuration,
    pub(crate) context: &'a NamingContext,
    pub(crate) asker: Requester<'a>,
    /// Who must be granted the same besides.
    pub(crate) others: &'a [Dn],
}

impl<'a> DerivingLook<'a> {
    /// Who asks. The root DN: an anonymous client.
    pub fn asker(&self) -> &'a Dn {
        self.asker.subject.dn
    }

    /// The time of day.
    pub fn now(&self) -> WallTime {
        self.configuration.clock.now()
    }

    /// Whether who asks is the rootdn of the database.
    pub fn is_asked_by_root(&self) -> bool {
        self.asker.subject.is_root
    }

    /// The same for another identity, on the same connection. The access rules bind it, also if it is a rootdn.
    #[must_use]
    pub fn acting_as<'b>(self, identity: &'b Dn) -> DerivingLook<'b>
    where
        'a: 'b,
    {
        let subject = Subject {
            dn: identity,
            is_root: false,
            sets: None,
            ..self.asker.subject
        };
        DerivingLook {
            asker: Requester { subject, ..self.asker },
            ..self
        }
    }

    /// The same with the server's rights in this database.
    #[must_use]
    pub fn as_server(self) -> Self {
        let subject = Subject {
            is_root: true,
            ..self.asker.subject
        };
        Self {
            asker: Requester { subject, ..self.asker },
            others: &[],
            ..self
        }
    }

    /// Whether one of some rules (OpenLDAP authz syntax) names who asks. The rules look at entries with his rights. A
    /// rule that reads too many entries names nobody.
    pub fn is_named_by(&self, rules: &[Vec<u8>]) -> bool {
        let asking = Asking {
            configuration: self.configuration,
            subject: self.asker.subject,
            look_through: Some(RULE_ENTRIES),
        };
        is_named(asking, rules, self.asker.subject.dn).unwrap_or(false)
    }

    /// Entries of all databases, with the server's rights.
    pub fn entries(&self) -> Entries<'a> {
        Entries::new(self.configuration, self.context, self.view)
    }

    /// The entries that hold a value with this normal form in an attribute. Without an equality index all entries are
    /// looked at.
    ///
    /// # Errors
    /// The storage failed.
    pub fn holders(&self, attribute: &AttributeDescription, normal: &[u8]) -> Result<Vec<EntryId>, StoreError> {
        if let Some(found) = self.view.holders(attribute, normal)? {
            return Ok(found);
        }
        let mut found = Vec::new();
        for record in self.view.entries(0)? {
            let record = record?;
            if !self.view.spend(SCAN_STEPS) {
                break;
            }
            for held in record.answering(attribute) {
                if held.holds_normalized(normal)? {
                    found.push(record.id);
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The entry with a name, if there is one.
    ///
    /// # Errors
    /// The storage failed.
    pub fn find(&self, dn: &Dn) -> Result<Option<Record<'a>>, StoreError> {
        match self.view.locate(dn)? {
            Location::Entry(id) => self.view.record(id),
            Location::Missing { .. } => Ok(None),
        }
    }

    /// Another entry of the database, for the same derivation.
    pub fn below(&self, record: Record<'a>) -> DerivingEntry<'a> {
        DerivingEntry { record, look: *self }
    }

    /// Whether an entry matches a filter for who asks: parts of it that the client may not search are Undefined, and so
    /// is an entry that it may not search. Values that lower levels derive count.
    pub fn matches(&self, record: &Record<'_>, filter: &CompiledFilter) -> bool {
        self.requesters()
            .all(|requester| self.matches_for(requester, record, filter))
    }

    fn matches_for(&self, requester: Requester<'_>, record: &Record<'_>, filter: &CompiledFilter) -> bool {
        let mut scratch = Vec::new();
        if requester.reads_everything() {
            return record.evaluate(filter, &mut scratch) == Truth::True;
        }
        let check = WriteCheck::on_record(requester, record, self.view);
        let guard = check.answerable(Privileges::SEARCH);
        let guards = AnswerableEntries::new(requester, None, Privileges::SEARCH);
        let with = Evaluation {
            guard: guard.as_ref().map(|guard| guard as &dyn Guard),
            guards: guards.as_ref().map(|guards| guards as &dyn EntryGuards),
            ..Evaluation::default()
        };
        record.evaluate_with(with, filter, &mut scratch) == Truth::True
            && check.permits(Target::Entry, Privileges::SEARCH)
    }

    /// Whether who asks may read an entry, and `visit` learns which attributes and values of it.
    pub fn readable<T>(&self, record: &Record<'_>, visit: impl FnOnce(Readable<'_, '_>) -> T) -> Option<T> {
        let bound = self.requesters().filter(|requester| !requester.reads_everything());
        let checks: SmallVec<[WriteCheck<'_>; 1]> = bound
            .map(|requester| WriteCheck::on_record(requester, record, self.view))
            .collect();
        let is_readable = checks
            .iter()
            .all(|check| check.permits(Target::Entry, Privileges::READ));
        is_readable.then(|| visit(Readable(&checks)))
    }

    /// The values of an attribute of an entry that who asks may read; none if the entry may not be read.
    pub fn readable_values(
        &self,
        record: &Record<'_>,
        attribute: &AttributeDescription,
        mut values: Vec<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        let left = self.readable(record, |readable| {
            values.retain(|value| readable.has(attribute, Some(value)));
            values
        });
        left.unwrap_or_default()
    }

    /// What who asks may write of an entry.
    pub fn writable<'r>(&self, record: &'r Record<'r>) -> Writable<'r>
    where
        'a: 'r,
    {
        Writable(WriteCheck::on_record(self.asker, record, self.view))
    }

    /// Calls `visit` with the entries that a search finds for who asks, those of other databases with a look at these,
    /// until it breaks. Referrals are entries like others.
    ///
    /// # Errors
    /// The storage failed, or `visit`.
    pub fn find_all(&self, search: &UrlSearch, visit: &mut VisitFound<'_>) -> Result<(), StoreError> {
        let Some(home) = self.configuration.context_of(&search.base) else {
            return Ok(());
        };
        if self
            .find_at(home, (&search.base, search.scope), search, visit)?
            .is_break()
            || search.scope == DitScope::Base
        {
            return Ok(());
        }
        for glued in self.configuration.subordinates_of(home) {
            let top = glued.suffixes().first().filter(|top| top.is_within(&search.base));
            let scope = match search.scope {
                DitScope::OneLevel => DitScope::Base,
                _ => DitScope::Subtree,
            };
            let is_near = |top: &Dn| scope == DitScope::Subtree || top.is_child_of(&search.base);
            if let Some(top) = top.filter(|top| **top != search.base && is_near(top))
                && self.find_at(glued, (top, scope), search, visit)?.is_break()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The same for the entries of this database alone.
    ///
    /// # Errors
    /// The storage failed, or `visit`.
    pub fn find_in_database(&self, search: &UrlSearch, visit: &mut VisitFound<'_>) -> Result<(), StoreError> {
        self.find_here((&search.base, search.scope), search, visit).map(|_| ())
    }

    fn find_at(
        &self,
        context: &NamingContext,
        place: (&Dn, DitScope),
        search: &UrlSearch,
        visit: &mut VisitFound<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if context.number == self.context.number {
            return self.find_here(place, search, visit);
        }
        let Some(database) = context.database() else {
            return Ok(ControlFlow::Continue(()));
        };
        let snapshot = database.snapshot()?;
        let mut view = snapshot.view().deriving(&self.configuration.tree_attributes);
        if let Some(budget) = self.view.budget() {
            view = view.under(budget);
        }
        let subject = Subject {
            is_root: self.asker.subject.is_root && context.is_root(self.asker.subject.dn),
            ..self.asker.subject
        };
        let there = DerivingLook {
            view,
            configuration: self.configuration,
            context,
            asker: Requester {
                context,
                subject,
                ..self.asker
            },
            others: self.others,
        };
        there.find_here(place, search, visit)
    }

    fn find_here(
        &self,
        (base, scope): (&Dn, DitScope),
        search: &UrlSearch,
        visit: &mut VisitFound<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Location::Entry(base) = self.view.locate(base)? else {
            return Ok(ControlFlow::Continue(()));
        };
        let guards = AnswerableEntries::new(self.asker, None, Privileges::SEARCH);
        let guards = guards.as_ref().map(|guards| guards as &dyn EntryGuards);
        let plan = self.view.plan_guarded(base, scope, &search.filter, guards)?;
        let mut candidates = self.view.candidates(&plan, 0)?;
        while let Some(record) = candidates.next_record()? {
            if !self.view.spend(SCAN_STEPS) {
                return Ok(ControlFlow::Break(()));
            }
            if is_ordinary(&record, search)
                && record.is_in_scope(base, scope)?
                && self.matches(&record, &search.filter)
                && visit(self, &record)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether an entry of the database is in the scope of a search.
    ///
    /// # Errors
    /// The storage failed.
    pub fn is_in_scope(&self, search: &UrlSearch, record: &Record<'_>) -> Result<bool, StoreError> {
        match self.view.locate(&search.base)? {
            Location::Entry(base) => record.is_in_scope(base, search.scope),
            // The database may be glued in below the base.
            Location::Missing { .. } => Ok(search.is_in_scope(&self.view.dn(record.id)?)),
        }
    }

    /// Whether a search finds an entry in its scope for who asks.
    pub fn is_found(&self, search: &UrlSearch, record: &Record<'_>) -> bool {
        is_ordinary(record, search) && self.matches(record, &search.filter)
    }

    /// Whether who asks may read everything in the database.
    pub fn reads_everything(&self) -> bool {
        self.requesters().all(|requester| requester.reads_everything())
    }

    /// The entries of the database that a search may find: all that it finds, and perhaps others. `Unknown` if there
    /// seem to be more than `most`.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_find(&self, search: &UrlSearch, most: u64) -> Result<DerivedCandidates, StoreError> {
        let Location::Entry(base) = self.view.locate(&search.base)? else {
            // The database may be glued in below the base.
            let is_below = self
                .context
                .suffixes()
                .iter()
                .any(|suffix| suffix.is_within(&search.base));
            return match search.scope {
                DitScope::Base => Ok(DerivedCandidates::nothing()),
                _ if is_below => self.view.may_match(&search.filter, most),
                _ => Ok(DerivedCandidates::nothing()),
            };
        };
        let may = self.view.may_match(&search.filter, most)?;
        let limit = match &may {
            DerivedCandidates::Ids(ids) if ids.len() <= FEW => return Ok(may),
            DerivedCandidates::Ids(ids) => ids.len() / 8 + FEW,
            _ => MOST_LISTED.min(most),
        };
        Ok(may.and(self.view.may_be_in_scope(base, search.scope, limit)?))
    }

    /// The entries that may hold or derive one of some names as a value of an attribute. `Unknown` if there seem to be
    /// more than `most`.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_have(
        &self,
        attribute: &AttributeDescription,
        names: impl IntoIterator<Item = Vec<u8>>,
        most: u64,
    ) -> Result<DerivedCandidates, StoreError> {
        let text = self.view.schema().description_text(attribute);
        let equal = |name| {
            Filter::Equality(Assertion {
                attribute: text.as_bytes().into(),
                value: Cow::Owned(name),
            })
        };
        let mut filter = CompiledFilter::default();
        filter.compile(self.view.schema(), &Filter::Or(names.into_iter().map(equal).collect()));
        self.view.may_match(&filter, most)
    }
}

/// Called with each entry that a search finds.
pub type VisitFound<'f> = dyn FnMut(&DerivingLook<'_>, &Record<'_>) -> Result<ControlFlow<()>, StoreError> + 'f;

/// What a client may read of an entry that it may read.
#[derive(Clone, Copy)]
pub struct Readable<'c, 'a>(&'c [WriteCheck<'a>]);

impl Readable<'_, '_> {
    /// Whether it may read an attribute, or one value of it.
    pub fn has(&self, attribute: &AttributeDescription, value: Option<&[u8]>) -> bool {
        let target = Target::Attribute(attribute, value);
        self.0.iter().all(|check| check.permits(target, Privileges::READ))
    }
}

/// What a client may write of an entry.
pub struct Writable<'r>(WriteCheck<'r>);

impl Writable<'_> {
    /// Whether it may add and delete an attribute, or one value of it.
    pub fn has(&self, attribute: &AttributeDescription, value: Option<&[u8]>) -> bool {
        self.0.permits(Target::Attribute(attribute, value), WRITE)
    }
}

/// Whether a search without controls, but manageDSAit, shows such an entry.
fn is_ordinary(record: &Record<'_>, search: &UrlSearch) -> bool {
    !record.is_glue() && (search.scope == DitScope::Base || !record.is_subentry())
}

/// What a modify request needs at most.
const WRITE: Privileges = Privileges::ADD.with(Privileges::DELETE);
/// Steps for looking at an entry.
const SCAN_STEPS: u64 = 10;
/// Entries that a rule of dgAuthz may read.
const RULE_ENTRIES: u32 = 1_000;
/// Candidates that are not worth a look at the scope.
const FEW: u64 = 32;
/// Entries of a scope that are listed as candidates; beyond it all entries are.
const MOST_LISTED: u64 = 100_000;
