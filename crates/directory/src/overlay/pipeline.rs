//! The overlays of a database, by capability.

use std::sync::{Arc, LazyLock};

use ironbark_ldap_proto::controls::{ControlSet, OverlayControl};
use ironbark_model::AttributeDescription;

use super::{
    AddHooks, BindHooks, BoundHooks, CompareHooks, ContentHooks, CountingHooks, EffectHooks, EntryControls,
    ExtendedHooks, Follower, NoticeHooks, OutcomeHooks, Overlay, Reads, RequestHooks, SearchHooks, SortLimits,
    SyncProvider, TimerHooks, UnbindHooks,
    facts::{KnownFacts, NamedDerivation},
};
use crate::{NamingContext, request::responses::Responses};

/// The overlays of a database. Each list has them in the order in which they act: last configured, first called, as in
/// slapd.
#[derive(Clone, Default)]
pub struct Pipeline {
    /// As configured.
    overlays: Vec<Arc<Overlay>>,
    pub(crate) requests: Vec<Arc<dyn RequestHooks>>,
    pub(crate) content: Vec<Arc<dyn ContentHooks>>,
    pub(crate) adds: Vec<Arc<dyn AddHooks>>,
    pub(crate) outcomes: Vec<Arc<dyn OutcomeHooks>>,
    /// Overlays that act last stand behind the others.
    pub(crate) effects: Vec<Arc<dyn EffectHooks>>,
    pub(crate) followers: Vec<Arc<dyn Follower>>,
    pub(crate) binds: Vec<Arc<dyn BindHooks>>,
    pub(crate) comparisons: Vec<Arc<dyn CompareHooks>>,
    /// With the names of their overlays.
    pub(crate) derivations: Vec<NamedDerivation>,
    /// What they have found in the database.
    pub(crate) known_facts: Arc<KnownFacts>,
    pub(crate) entry_controls: Vec<Arc<dyn EntryControls>>,
    pub(crate) searches: Vec<Arc<dyn SearchHooks>>,
    /// The limits of the overlay that was configured first: the database's own come before those of the frontend.
    pub(crate) sort_limits: Option<Arc<SortLimits>>,
    pub(crate) extended: Vec<Arc<dyn ExtendedHooks>>,
    pub(crate) timers: Vec<Arc<dyn TimerHooks>>,
    /// `None`: no overlay is told of responses.
    pub(crate) responses: Option<Arc<Responses>>,
    pub(crate) unbinds: Vec<Arc<dyn UnbindHooks>>,
    /// `None`: the database is not synchronized.
    pub(crate) provider: Option<Arc<SyncProvider>>,
    /// Whether some overlay drops empty strings from requests.
    pub(crate) drops_empty_strings: bool,
    /// Controls of the table that exist because of overlays.
    pub(crate) controls: ControlSet,
    /// Controls that only these overlays know.
    pub(crate) own_controls: Vec<&'static OverlayControl>,
    pub(crate) counting: Vec<Arc<dyn CountingHooks>>,
    pub(crate) bound: Vec<Arc<dyn BoundHooks>>,
    pub(crate) notices: Vec<Arc<dyn NoticeHooks>>,
    /// Attributes whose former values some overlay wants.
    pub(crate) watched: Vec<AttributeDescription>,
    /// Attributes whose values some overlay makes.
    pub(crate) maintained: Vec<AttributeDescription>,
}

/// The pipeline without overlays.
static NO_OVERLAYS: LazyLock<Pipeline> = LazyLock::new(Pipeline::default);

/// The overlays of this database.
pub fn overlays_of(context: &NamingContext) -> &Pipeline {
    context.attached.get().unwrap_or(&NO_OVERLAYS)
}

impl Pipeline {
    /// Builds it from the overlays in the configured order.
    pub fn new(configured: Vec<Arc<Overlay>>) -> Self {
        let mut pipeline = Self::default();
        for overlay in configured.iter().rev() {
            pipeline.requests.extend(overlay.requests.clone());
            pipeline.content.extend(overlay.content.clone());
            pipeline.adds.extend(overlay.adds.clone());
            pipeline.outcomes.extend(overlay.outcomes.clone());
            pipeline.effects.extend(overlay.effects.clone());
            pipeline.followers.extend(overlay.follower.clone());
            pipeline.binds.extend(overlay.binds.clone());
            pipeline.comparisons.extend(overlay.comparisons.clone());
            let derivation = overlay.derivation.clone();
            pipeline
                .derivations
                .extend(derivation.map(|derivation| (overlay.name, derivation)));
            pipeline.entry_controls.extend(overlay.entry_controls.clone());
            pipeline.searches.extend(overlay.searches.clone());
            pipeline.extended.extend(overlay.extended.clone());
            pipeline.timers.extend(overlay.timer.clone());
            pipeline.unbinds.extend(overlay.unbinds.clone());
            pipeline.drops_empty_strings |= overlay.drops_empty_strings;
            pipeline.controls = pipeline.controls.and(overlay.controls);
            pipeline.own_controls.extend(overlay.own_controls);
            pipeline.counting.extend(overlay.counting.clone());
            pipeline.bound.extend(overlay.bound.clone());
            pipeline.notices.extend(overlay.notices.clone());
            if overlay.provider.is_some() {
                pipeline.provider.clone_from(&overlay.provider);
            }
            if overlay.sort_limits.is_some() {
                pipeline.sort_limits.clone_from(&overlay.sort_limits);
            }
        }
        let responses = configured.iter().rev().filter_map(|overlay| overlay.responses.clone());
        pipeline.responses = Responses::of(responses.collect());
        pipeline.effects.sort_by_key(|effects| effects.acts_last());
        let watched = pipeline.effects.iter().flat_map(|effects| effects.watched()).cloned();
        pipeline.watched = watched.collect();
        pipeline.watched.sort_unstable();
        pipeline.watched.dedup();
        let maintained = pipeline
            .effects
            .iter()
            .flat_map(|effects| effects.maintained())
            .cloned();
        pipeline.maintained = maintained.collect();
        pipeline.known_facts = Arc::new(KnownFacts::new(pipeline.derivations.clone()));
        pipeline.overlays = configured;
        pipeline
    }

    /// Whether an overlay follows the changes.
    pub(crate) fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }

    /// In the configured order.
    pub(crate) fn configured(&self) -> impl Iterator<Item = &Arc<Overlay>> {
        self.overlays.iter()
    }

    /// Whether `modifiersName` says by whose rights something is derived: changes by overlays then leave it alone.
    pub(crate) fn asks_for_authors(&self) -> bool {
        self.derivations
            .iter()
            .any(|(_, derivation)| derivation.reads() == Reads::AsAuthors)
    }

    /// Whether entries may be dynamic.
    pub(crate) fn keeps_dynamic_entries(&self) -> bool {
        self.overlays.iter().any(|overlay| overlay.keeps_dynamic_entries)
    }

    /// The hooks in the transaction that do not act last.
    pub(crate) fn first_in_transaction(&self) -> impl Iterator<Item = &Arc<dyn EffectHooks>> {
        self.effects.iter().filter(|effects| !effects.acts_last())
    }

    /// Whether a connection that must change its password may do nothing else.
    pub(crate) fn restricts(&self) -> bool {
        self.binds.iter().any(|binds| binds.restricts())
    }

    /// Whether an overlay answers comparisons with this attribute.
    pub(crate) fn compares(&self, description: &AttributeDescription) -> bool {
        self.comparisons.iter().any(|hooks| hooks.attribute() == description)
    }

    /// Whether simple binds may need more than a stored password.
    pub(crate) fn asks_second_factor(&self) -> bool {
        self.binds.iter().any(|binds| binds.asks_second_factor())
    }

    /// The followers that are not among those of `former`.
    pub(crate) fn followers_beside<'p>(&'p self, former: &'p Self) -> impl Iterator<Item = &'p Arc<dyn Follower>> {
        let is_new = |follower: &&Arc<dyn Follower>| !former.followers.iter().any(|known| Arc::ptr_eq(known, follower));
        self.followers.iter().filter(is_new)
    }

    /// Closes the followers that are not among those of `next`.
    pub(crate) fn close_except(&self, next: &Self) {
        self.followers_beside(next).for_each(|follower| follower.close());
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.overlays.iter().map(|overlay| overlay.name))
            .finish()
    }
}
