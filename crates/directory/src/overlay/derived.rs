//! All derived attributes of a database, for one request.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{AttributeDescription, Schema, schema::Usage};
use ironbark_store::{
    Derived, DerivedAttributes, DerivedCandidates, FilterItem, Purpose, Record, StoreError, View, Wanted,
};

use super::{Derive, DerivingEntry, DerivingLook, Entries, Execution, derivation::TOP_LEVEL};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Requester, assertion::check_assertion_on_record},
    backend::tree_attributes::TreeAttributes,
};

/// What derives the attributes of a database as one state of it has them.
pub(crate) struct Facts {
    /// Each with its level, in the order in which they add values: the lowest level first.
    all: Vec<(u8, Arc<dyn Derive>)>,
    /// For each level: the types that derivations below it give, and the supertypes of these.
    covered: Vec<TypeSet>,
    /// Whether user attributes are derived: a search for all of them then derives.
    gives_user_attributes: bool,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts")
            .field("derivations", &self.all.len())
            .finish_non_exhaustive()
    }
}

/// Attribute types.
#[derive(Clone, Default, Debug)]
struct TypeSet(Vec<u64>);

impl TypeSet {
    fn insert(&mut self, number: u32) {
        let at = number as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        if let Some(word) = self.0.get_mut(at) {
            *word |= 1 << (number % 64);
        }
    }

    #[inline]
    fn has(&self, asked: &AttributeDescription) -> bool {
        let number = asked.attribute_type.0;
        self.0
            .get(number as usize / 64)
            .is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

impl Facts {
    /// Reads the facts of a state of a database, with the server's rights; `None`: no overlay derives attributes.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn read(
        configuration: &Configuration,
        context: &NamingContext,
        view: View<'_>,
    ) -> Result<Option<Self>, StoreError> {
        let derivations = &context.overlays().derivations;
        if derivations.is_empty() {
            return Ok(None);
        }
        let tree = &configuration.tree_attributes;
        let entries = Entries::new(configuration, context, view.without_budget().deriving(tree));
        let mut all = Vec::new();
        for derivation in derivations {
            all.push((derivation.level().min(TOP_LEVEL), derivation.facts(entries)?));
        }
        all.sort_by_key(|(level, _)| *level);
        Ok(Some(Self::new(&configuration.schema, tree, all)))
    }

    fn new(schema: &Schema, tree: &TreeAttributes, all: Vec<(u8, Arc<dyn Derive>)>) -> Self {
        let mut covered = Vec::new();
        for below in 0..=TOP_LEVEL + 1 {
            let mut types = TypeSet::default();
            let given = all.iter().filter(|(level, _)| *level < below);
            let given = given.flat_map(|(_, one)| one.attributes());
            for description in tree.all().into_iter().chain(given) {
                let mut at = Some(description.attribute_type);
                while let Some(number) = at {
                    types.insert(number.0);
                    at = schema.attribute_type(number).superior;
                }
            }
            covered.push(types);
        }
        let is_user =
            |one: &AttributeDescription| schema.attribute_type(one.attribute_type).usage == Usage::UserApplications;
        let gives_user_attributes = all.iter().any(|(_, one)| one.attributes().iter().any(is_user));
        Self {
            all,
            covered,
            gives_user_attributes,
        }
    }

    /// Whether an attribute, or a subtype of it, is derived.
    #[inline]
    pub(crate) fn cover(&self, asked: &AttributeDescription) -> bool {
        self.covered.last().is_some_and(|types| types.has(asked))
    }

    /// Whether some user attribute is derived.
    pub(crate) fn give_user_attributes(&self) -> bool {
        self.gives_user_attributes
    }
}

impl NamingContext {
    /// Tells the database which entries the facts of its overlays depend on.
    pub(crate) fn watch_definitions(&self) {
        if let Some(database) = self.database() {
            let derivations = self.overlays().derivations.iter();
            let attributes = derivations.flat_map(|derivation| derivation.depends_on());
            database.watch(attributes.map(|attribute| attribute.attribute_type).collect());
        }
    }
}

/// The facts of a database that were read last, and the state that they are of.
#[derive(Default, Debug)]
pub(crate) struct KnownFacts(Mutex<Option<Known>>);

/// Facts, and the [`View::derived_version`] that they are of.
type Known = ((u64, u64), Arc<Facts>);

impl KnownFacts {
    /// The facts of a snapshot; `None`: no overlay derives attributes.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn of(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        view: View<'_>,
    ) -> Result<Option<Arc<Facts>>, StoreError> {
        if context.overlays().derivations.is_empty() {
            return Ok(None);
        }
        let version = view.derived_version()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, facts)) = &*known
            && *of == version
        {
            return Ok(Some(Arc::clone(facts)));
        }
        let facts = Facts::read(configuration, context, view)?.map(Arc::new);
        *known = facts.clone().map(|facts| (version, facts));
        Ok(facts)
    }
}

/// The derived attributes of a database's entries, for one client.
pub(crate) struct DerivedFor<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) context: &'a NamingContext,
    /// `None`: no overlay derives attributes, or this client sees only those that follow from the tree.
    pub(crate) facts: Option<&'a Facts>,
    /// `None`: the server itself.
    pub(crate) asker: Option<Requester<'a>>,
    pub(crate) manages_dsa_it: bool,
}

/// What derivations below a level give.
struct Below<'a> {
    all: &'a DerivedFor<'a>,
    level: u8,
}

impl DerivedFor<'_> {
    fn active(&self, below: u8) -> impl Iterator<Item = (u8, &dyn Derive)> {
        let all = self.facts.map_or(&[][..], |facts| &facts.all);
        let all = all.iter().map(|(level, one)| (*level, &**one));
        all.filter(move |(level, one)| *level < below && !(self.manages_dsa_it && one.is_off_under_manage_dsa_it()))
    }

    fn look<'l>(&'l self, view: View<'l>) -> DerivingLook<'l> {
        DerivingLook {
            view,
            configuration: self.configuration,
            context: self.context,
            asker: self.asker,
        }
    }
}

impl DerivedAttributes for Below<'_> {
    fn covers(&self, asked: &AttributeDescription) -> bool {
        match self.all.facts {
            None => self.all.configuration.tree_attributes.covers(asked),
            Some(facts) => {
                let types = facts.covered.get(usize::from(self.level));
                types.is_some_and(|types| types.has(asked))
            }
        }
    }

    fn derive(&self, of: &Record<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        for (level, one) in self.all.active(self.level) {
            if !one.attributes().iter().any(|one| wanted.has(one)) {
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
        let mut giving = self.all.active(self.level).filter(|(_, one)| {
            let mut attributes = one.attributes().iter();
            attributes.any(|given| schema.is_description_subtype(given, asked))
        });
        // Who alone gives it knows all.
        let (Some((level, one)), None) = (giving.next(), giving.next()) else {
            return Ok(None);
        };
        let mut given = one.attributes().iter();
        // A subtype, or an attribute with options, would answer too.
        if given.any(|given| given != asked && schema.is_description_subtype(given, asked))
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
        if tree.covers(asked) {
            may = may.or(tree.candidates(view, item)?);
        }
        Ok(may)
    }
}

impl DerivedAttributes for DerivedFor<'_> {
    #[inline]
    fn covers(&self, asked: &AttributeDescription) -> bool {
        match self.facts {
            None => self.configuration.tree_attributes.covers(asked),
            Some(facts) => facts.cover(asked),
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
    pub(crate) fn facts(&self, view: View<'_>) -> Result<Option<Facts>, StoreError> {
        // Not from a cache: the transaction may have changed definitions.
        Facts::read(self.configuration, self.context, view)
    }

    /// The derived attributes that the client sees.
    pub(crate) fn derived<'f>(&'f self, facts: Option<&'f Facts>) -> DerivedFor<'f> {
        DerivedFor {
            configuration: self.configuration,
            context: self.context,
            facts,
            asker: Some(self.requester()),
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
        let derived = self.derived(facts.as_ref());
        let (view, record) = (view.deriving(&derived), record.deriving(&derived));
        check_assertion_on_record(self.requester(), &record, view, filter)
    }
}
