//! What derives the attributes of a database as one state of it has them.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use ironbark_model::{AttributeDescription, Schema, schema::Usage};
use ironbark_store::{DerivedState, Purpose, StoreError, View};

use super::{Derivation, Derive, Entries, Shown, derivation::TOP_LEVEL};
use crate::{Configuration, NamingContext, backend::tree_attributes::TreeAttributes};

/// What derives the attributes of a database as one state of it has them.
pub(crate) struct Facts {
    /// In the order in which they add values: the lowest level first.
    all: Vec<Known>,
    /// For each level: what derivations below it give.
    covered: Vec<Covered>,
    /// Whether user attributes are derived: a search for all of them then derives.
    gives_user_attributes: bool,
}

/// What one overlay derives.
struct Known {
    level: u8,
    overlay: &'static str,
    derive: Arc<dyn Derive>,
}

/// Types that are derived, and the supertypes of these.
#[derive(Default, Debug)]
struct Covered {
    /// To filters.
    matched: TypeSet,
    /// To compares and in answers.
    shown: TypeSet,
    /// Whether any may be, to compares and in answers.
    shows_everything: bool,
}

impl Covered {
    #[inline]
    fn has(&self, asked: &AttributeDescription, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Match => self.matched.has(asked),
            Purpose::Compare | Purpose::Show => self.shows_everything || self.shown.has(asked),
        }
    }
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
    /// Adds a type and its supertypes.
    fn insert_all_above(&mut self, schema: &Schema, description: &AttributeDescription) {
        let mut at = Some(description.attribute_type);
        while let Some(number) = at {
            self.insert(number.0);
            at = schema.attribute_type(number).superior;
        }
    }

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
        derivations: &[NamedDerivation],
    ) -> Result<Option<Self>, StoreError> {
        if derivations.is_empty() {
            return Ok(None);
        }
        let tree = &configuration.tree_attributes;
        let entries = Entries::new(configuration, context, view.without_budget().deriving(tree));
        let mut all = Vec::new();
        for (overlay, derivation) in derivations {
            all.push(Known {
                level: derivation.level().min(TOP_LEVEL),
                overlay,
                derive: derivation.facts(entries)?,
            });
        }
        all.sort_by_key(|known| known.level);
        Ok(Some(Self::new(&configuration.schema, tree, all)))
    }

    fn new(schema: &Schema, tree: &TreeAttributes, all: Vec<Known>) -> Self {
        let covered = (0..=TOP_LEVEL + 1).map(|below| {
            let mut types = Covered::default();
            for description in tree.all() {
                types.matched.insert_all_above(schema, description);
                types.shown.insert_all_above(schema, description);
            }
            for one in all.iter().filter(|known| known.level < below) {
                let one = &one.derive;
                for description in one.attributes() {
                    types.matched.insert_all_above(schema, description);
                    types.shown.insert_all_above(schema, description);
                }
                match one.shown() {
                    Shown::These(more) => {
                        for description in more {
                            types.shown.insert_all_above(schema, description);
                        }
                    }
                    Shown::Everything => types.shows_everything = true,
                }
            }
            types
        });
        let covered = covered.collect();
        let is_user =
            |one: &AttributeDescription| schema.attribute_type(one.attribute_type).usage == Usage::UserApplications;
        let gives_user_attributes = all.iter().any(|known| {
            let one = &known.derive;
            let shows = match one.shown() {
                Shown::These(more) => more.iter().any(is_user),
                Shown::Everything => true,
            };
            shows || one.attributes().iter().any(is_user)
        });
        Self {
            all,
            covered,
            gives_user_attributes,
        }
    }

    /// Those below a level.
    pub(super) fn below(&self, level: u8) -> impl Iterator<Item = (u8, &dyn Derive)> {
        let all = self.all.iter().map(|known| (known.level, &*known.derive));
        all.filter(move |(at, _)| *at < level)
    }

    /// All of them, with the names of their overlays.
    pub(super) fn named(&self) -> impl Iterator<Item = (u8, &'static str, &dyn Derive)> {
        self.all
            .iter()
            .map(|known| (known.level, known.overlay, &*known.derive))
    }

    /// Whether an attribute, or a subtype of it, is derived for a purpose.
    #[inline]
    pub(crate) fn cover(&self, asked: &AttributeDescription, purpose: Purpose) -> bool {
        self.covered.last().is_some_and(|covered| covered.has(asked, purpose))
    }

    /// The same below a level.
    pub(super) fn cover_below(&self, level: u8, asked: &AttributeDescription, purpose: Purpose) -> bool {
        let covered = self.covered.get(usize::from(level));
        covered.is_some_and(|covered| covered.has(asked, purpose))
    }

    /// Whether some user attribute is derived.
    pub(crate) fn give_user_attributes(&self) -> bool {
        self.gives_user_attributes
    }
}

/// The facts of a database that were read last. Two threads may read them at the same time: none waits for the other.
#[derive(Default)]
pub(crate) struct KnownFacts {
    derivations: Vec<NamedDerivation>,
    committed: ArcSwapOption<KnownState>,
    /// Those of the open write transaction. Requests that are executed in one transaction share them.
    open: ArcSwapOption<OpenState>,
}

/// Facts of an open write transaction.
#[derive(Debug)]
struct OpenState {
    state: DerivedState,
    facts: Arc<Facts>,
}

/// Facts, and the [`View::derived_version`] that they are of.
#[derive(Debug)]
struct KnownState {
    version: (u64, u64),
    facts: Arc<Facts>,
}

/// A derivation, with the name of its overlay.
pub(crate) type NamedDerivation = (&'static str, Arc<dyn Derivation>);

impl KnownFacts {
    /// Nothing is known yet of what these derive from.
    pub(super) fn new(derivations: Vec<NamedDerivation>) -> Self {
        Self {
            derivations,
            ..Self::default()
        }
    }

    /// The facts of a snapshot, or of a write transaction that has not changed them; `None`: no overlay derives
    /// attributes.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn of(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        view: View<'_>,
    ) -> Result<Option<Arc<Facts>>, StoreError> {
        if self.derivations.is_empty() {
            return Ok(None);
        }
        let version = view.derived_version()?;
        if let Some(known) = &*self.committed.load()
            && known.version == version
        {
            return Ok(Some(Arc::clone(&known.facts)));
        }
        let facts = Facts::read(configuration, context, view, &self.derivations)?.map(Arc::new);
        if let Some(facts) = &facts {
            let facts = Arc::clone(facts);
            self.committed.store(Some(Arc::new(KnownState { version, facts })));
        }
        Ok(facts)
    }

    /// The facts of an open write transaction, which may never be committed. Readers do not get these.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn of_transaction(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        view: View<'_>,
        state: Option<DerivedState>,
    ) -> Result<Option<Arc<Facts>>, StoreError> {
        let Some(state) = state else {
            return self.of(configuration, context, view);
        };
        if let Some(known) = &*self.open.load()
            && known.state == state
        {
            return Ok(Some(Arc::clone(&known.facts)));
        }
        let facts = Facts::read(configuration, context, view, &self.derivations)?.map(Arc::new);
        let known = facts.clone().map(|facts| Arc::new(OpenState { state, facts }));
        self.open.store(known);
        Ok(facts)
    }
}
