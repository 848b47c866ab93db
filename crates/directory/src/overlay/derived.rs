//! All derived attributes of a database, for one request.

use std::sync::Arc;

use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::AttributeDescription;
use ironbark_store::{
    Derived, DerivedAttributes, DerivedCandidates, FilterItem, Purpose, Record, StoreError, View, Wanted,
};

use super::{
    Derive, DerivingEntry, DerivingLook, Execution,
    derivation::{TOP_LEVEL, gives},
    facts::Facts,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Requester, assertion::check_assertion_on_record},
    overlay::overlays_of,
};

/// The derived attributes of a database's entries, for one client.
pub(crate) struct DerivedFor<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) context: &'a NamingContext,
    /// `None`: no overlay derives attributes, or this client sees only those that follow from the tree.
    pub(crate) facts: Option<&'a Facts>,
    pub(crate) asker: Requester<'a>,
    pub(crate) manages_dsa_it: bool,
}

/// What derivations below a level give.
struct Below<'a> {
    all: &'a DerivedFor<'a>,
    level: u8,
}

impl DerivedFor<'_> {
    fn active(&self, below: u8) -> impl Iterator<Item = (u8, &dyn Derive)> {
        let all = self.facts.into_iter().flat_map(move |facts| facts.below(below));
        all.filter(|(_, one)| !(self.manages_dsa_it && one.is_off_under_manage_dsa_it()))
    }

    /// What derivations below a level give.
    pub(super) fn below(&self, level: u8) -> impl DerivedAttributes + '_ {
        Below { all: self, level }
    }

    pub(super) fn look<'l>(&'l self, view: View<'l>) -> DerivingLook<'l> {
        DerivingLook {
            view,
            configuration: self.configuration,
            context: self.context,
            asker: self.asker,
            others: &[],
        }
    }
}

impl DerivedAttributes for Below<'_> {
    fn covers(&self, asked: &AttributeDescription, purpose: Purpose) -> bool {
        match self.all.facts {
            None => self.all.configuration.tree_attributes.covers(asked, purpose),
            Some(facts) => facts.cover_below(self.level, asked, purpose),
        }
    }

    fn derive(&self, of: &Record<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        for (level, one) in self.all.active(self.level) {
            if !gives(one, wanted.purpose, |given| wanted.has(given)) {
                continue;
            }
            let below = Below { all: self.all, level };
            let record = of.deriving(&below);
            let entry = DerivingEntry {
                record,
                look: self.all.look(record.view()),
            };
            one.derive(&entry, wanted, found)?;
        }
        self.all.configuration.tree_attributes.derive(of, wanted, found)
    }

    fn holds(
        &self,
        of: &Record<'_>,
        asked: &AttributeDescription,
        normal: &[u8],
        purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        let schema = &*self.all.configuration.schema;
        let answers = |given: &AttributeDescription| schema.is_description_subtype(given, asked);
        let giving = self.all.active(self.level);
        let mut giving = giving.filter(|(_, one)| gives(*one, purpose, answers));
        // Who alone gives it knows all.
        let (Some((level, one)), None) = (giving.next(), giving.next()) else {
            return Ok(None);
        };
        // A subtype, or an attribute with options, would answer too.
        if gives(one, purpose, |given| given != asked && answers(given))
            || !one.attributes().contains(asked)
            || of.answering(asked).any(|held| held.description() != asked)
        {
            return Ok(None);
        }
        let below = Below { all: self.all, level };
        let record = of.deriving(&below);
        let look = self.all.look(record.view());
        one.holds(&DerivingEntry { record, look }, asked, normal, purpose)
    }

    fn candidates(&self, view: View<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let Some(asked) = item.asked() else {
            return Ok(DerivedCandidates::Unknown);
        };
        let schema = &*self.all.configuration.schema;
        let answers = |one: &AttributeDescription| schema.is_description_subtype(one, asked);
        let mut may = DerivedCandidates::nothing();
        for (level, one) in self.all.active(self.level) {
            if one.attributes().iter().any(answers) {
                let below = Below { all: self.all, level };
                may = may.or(one.candidates(&self.all.look(view.deriving(&below)), item)?);
            }
        }
        let tree = &self.all.configuration.tree_attributes;
        if tree.covers(asked, Purpose::Match) {
            may = may.or(tree.candidates(view, item)?);
        }
        Ok(may)
    }
}

impl DerivedAttributes for DerivedFor<'_> {
    #[inline]
    fn covers(&self, asked: &AttributeDescription, purpose: Purpose) -> bool {
        match self.facts {
            None => self.configuration.tree_attributes.covers(asked, purpose),
            Some(facts) => facts.cover(asked, purpose),
        }
    }

    fn derive(&self, of: &Record<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let level = TOP_LEVEL + 1;
        Below { all: self, level }.derive(of, wanted, found)
    }

    fn holds(
        &self,
        of: &Record<'_>,
        asked: &AttributeDescription,
        normal: &[u8],
        purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        let level = TOP_LEVEL + 1;
        Below { all: self, level }.holds(of, asked, normal, purpose)
    }

    fn candidates(&self, view: View<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let level = TOP_LEVEL + 1;
        Below { all: self, level }.candidates(view, item)
    }
}

impl Execution<'_, '_> {
    /// What overlays derive attributes from, in a state of the database; `None`: no overlay derives any.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn facts(&self, view: View<'_>) -> Result<Option<Arc<Facts>>, StoreError> {
        let known = &overlays_of(self.context).known_facts;
        known.of_transaction(self.configuration, self.context, view, self.derived_state())
    }

    /// The derived attributes that the client sees.
    pub(crate) fn derived<'f>(&'f self, facts: Option<&'f Facts>) -> DerivedFor<'f> {
        DerivedFor {
            configuration: self.configuration,
            context: self.context,
            facts,
            asker: self.requester(),
            manages_dsa_it: self.controls.has(ControlKind::ManageDsaIt),
        }
    }

    /// Checks the assertion control on a stored entry, if the request has one.
    ///
    /// # Errors
    /// `assertionFailed`; the storage failed.
    pub(crate) fn check_assertion(&self, view: View<'_>, record: &Record<'_>) -> Result<(), OperationError> {
        let Some(filter) = self.controls.assertion() else {
            return Ok(());
        };
        let facts = self.facts(view)?;
        let derived = self.derived(facts.as_deref());
        let (view, record) = (view.deriving(&derived), record.deriving(&derived));
        check_assertion_on_record(self.requester(), &record, view, filter)
    }
}
