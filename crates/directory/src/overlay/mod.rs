//! Overlays: parts that follow, change or refuse operations without owning data.
//!
//! An overlay is a name and its capabilities, each a trait of its own. A database keeps a list for each capability, so
//! a capability that no overlay has costs nothing. Changes that an overlay makes in the transaction are ordinary
//! effects of the same change record. An overlay never sees a connection.

mod adds;
mod author;
mod binds;
mod comparisons;
mod content;
mod counting;
mod derivation;
pub(crate) mod derived;
mod derived_origins;
mod detached;
mod effects;
mod entries;
mod entry_controls;
mod errands;
mod execution;
mod extended;
pub(crate) mod facts;
mod followers;
mod look;
mod notices;
mod outcome;
pub(crate) mod password_checks;
mod pipeline;
mod provider;
mod question;
pub(crate) mod record;
mod requests;
mod searches;
mod slow_hashes;
mod sorting;
mod timers;
pub(crate) mod tree_effects;
mod unbinds;
mod warnings;
mod whole_pass;

use std::sync::Arc;

use ironbark_ldap_proto::controls::{ControlSet, OverlayControl};

pub use self::{
    adds::AddHooks,
    author::{Author, Reads},
    binds::{BindAttempt, BindHooks, FactorKey, SecondFactor, Spending},
    comparisons::CompareHooks,
    content::{ContentHooks, Renaming},
    counting::{Counted, CountingHooks},
    derivation::{Derivation, Derive, DerivingEntry, Origin, Shown},
    derived_origins::Given,
    detached::{DetachedRequest, ExternalAnswer},
    effects::{AppliedEffect, EffectHooks},
    entries::Entries,
    entry_controls::{EntryControls, FoundEntry},
    errands::Errand,
    execution::{Execution, Passwords},
    extended::{ExtendedHooks, ExtendedWrite},
    followers::{Changes, Follower},
    look::{DerivingLook, Readable, VisitFound, Writable},
    notices::{EntryChangeKind, NoticeHooks, Notices},
    outcome::{Outcome, OutcomeChange, OutcomeHooks},
    pipeline::{Pipeline, overlays_of},
    provider::SyncProvider,
    question::{Question, Rights},
    requests::{Decision, IncomingRequest, RequestHooks},
    searches::{ArrangedEntry, Arrangement, BeginningSearch, SearchHooks},
    sorting::SortLimits,
    timers::TimerHooks,
    tree_effects::tree_shows,
    unbinds::UnbindHooks,
    whole_pass::WholePass,
};
pub(crate) use self::{
    detached::ReadRequest,
    execution::{AccessWork, Heard, Requested, touches_csn},
    outcome::EntryState,
};
pub use crate::{
    authorization::UrlSearch,
    outcome::given::{Answer, Unsolicited},
    request::bound::BoundHooks,
    request::modification::is_text_of_users,
    request::responses::{ResponseHooks, ResponseWait, SentResult},
};

/// One overlay of one database, or of the frontend and so of all databases: its capabilities. A capability that is
/// `None` is never called.
///
/// ```ignore
/// Overlay { content: Some(Arc::new(unique)), ..Overlay::new("unique") }
/// ```
pub struct Overlay {
    /// The name in the configuration.
    pub name: &'static str,
    /// Before an operation begins.
    pub requests: Option<Arc<dyn RequestHooks>>,
    /// Before a write.
    pub content: Option<Arc<dyn ContentHooks>>,
    /// When an entry is to be added that is there.
    pub adds: Option<Arc<dyn AddHooks>>,
    /// Before a write, on the resulting entry.
    pub outcomes: Option<Arc<dyn OutcomeHooks>>,
    /// In the transaction of a write.
    pub effects: Option<Arc<dyn EffectHooks>>,
    /// From the log of changes.
    pub follower: Option<Arc<dyn Follower>>,
    /// After the check of a bind's password.
    pub binds: Option<Arc<dyn BindHooks>>,
    /// Comparisons with one attribute.
    pub comparisons: Option<Arc<dyn CompareHooks>>,
    /// Attributes that entries have without holding them.
    pub derivation: Option<Arc<dyn Derivation>>,
    /// Controls that come with entries.
    pub entry_controls: Option<Arc<dyn EntryControls>>,
    /// When a search begins: changes of the entries that it sends.
    pub searches: Option<Arc<dyn SearchHooks>>,
    /// Limits of sorted searches.
    pub sort_limits: Option<Arc<SortLimits>>,
    /// An extended operation.
    pub extended: Option<Arc<dyn ExtendedHooks>>,
    /// Work at regular times.
    pub timer: Option<Arc<dyn TimerHooks>>,
    /// What is sent to clients.
    pub responses: Option<Arc<dyn ResponseHooks>>,
    /// When a client sends an Unbind request.
    pub unbinds: Option<Arc<dyn UnbindHooks>>,
    /// Content synchronization (RFC 4533) of the database.
    pub provider: Option<Arc<SyncProvider>>,
    /// Whether entries of the database may be dynamic (RFC 2589): the root DSE shows this in `dynamicSubtrees`.
    pub keeps_dynamic_entries: bool,
    /// Whether requests may have empty values of the syntax Directory String. Its [`ContentHooks`] drop them.
    pub drops_empty_strings: bool,
    /// Request controls of the table that exist because the overlay does.
    pub controls: ControlSet,
    /// Request controls that only the overlay knows, of searches and binds alone. Its descriptor names their OIDs.
    pub own_controls: &'static [OverlayControl],
    /// Searches that send numbers in place of what they find.
    pub counting: Option<Arc<dyn CountingHooks>>,
    /// Controls of the responses of binds.
    pub bound: Option<Arc<dyn BoundHooks>>,
    /// Searches that stay and are told of changes.
    pub notices: Option<Arc<dyn NoticeHooks>>,
}

impl Overlay {
    /// An overlay that does nothing.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            requests: None,
            content: None,
            adds: None,
            outcomes: None,
            effects: None,
            follower: None,
            binds: None,
            comparisons: None,
            derivation: None,
            entry_controls: None,
            searches: None,
            sort_limits: None,
            extended: None,
            timer: None,
            responses: None,
            unbinds: None,
            provider: None,
            keeps_dynamic_entries: false,
            drops_empty_strings: false,
            controls: ControlSet::NONE,
            own_controls: &[],
            counting: None,
            bound: None,
            notices: None,
        }
    }
}
