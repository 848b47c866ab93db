//! Remembered decisions: on one thread, for one subject under one configuration, by the answers to the rules' questions
//! about an entry, and by attribute.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, number_map::NumberMap};
use ironbark_store::{Database, EntryId, HeldSnapshot, Location, StoreError, Version, View};
use smallvec::SmallVec;

use super::{
    extent::Extent,
    set_memory::{Followed, SetAnswers},
    subject::Subject,
    target::Target,
};
use crate::{
    Configuration, NamingContext,
    backend::snapshots::Snapshots,
    request::{
        context::RequestKind,
        identity::{Identity, Peer, Strength},
    },
    rules::access::Rules,
};

/// A subject with all remembered decisions about it.
#[derive(Debug)]
pub(crate) struct SubjectDecisions {
    /// Tells these decisions from all others that this process has made.
    serial: u64,
    /// Entries by the answers to the questions.
    kinds: RefCell<NumberMap<Rc<EntryDecisions>>>,
    types: usize,
    /// The state of the database in which rules have looked up groups and sets; `None`: they look up none.
    version: Option<Version>,
    /// The states of other databases in which they have.
    consulted: RefCell<SmallVec<[Consulted; 1]>>,
    /// The snapshots of other databases.
    others: Rc<Snapshots>,
    /// The results of sets for the subject that do not depend on the entry.
    pub(super) sets: SetAnswers,
    /// The values that sets have found in other entries.
    pub(super) followed: RefCell<Followed>,
    /// The subject's own entry in the database, and the [`View::version`] under which it was found.
    own: Cell<(Option<Version>, Option<EntryId>)>,
    /// Memory for the name of an entry.
    spare_name: RefCell<Dn>,
    /// An entry below which the subject may search, and the version under which that was decided.
    base: Cell<(Option<Version>, EntryId)>,
    /// How much of the database the subject may read.
    extent: Cell<Option<Extent>>,
}

/// A database in which something was looked up, and the version of it.
type Consulted = (Arc<Database>, Version);

/// Decisions for entries with the same answers.
#[derive(Debug)]
pub(crate) struct EntryDecisions {
    /// By attribute type; `entry` and `children` come last.
    places: Box<[Cell<u16>]>,
    /// Whether attributes are shown in answers, by their numbers in the database: 0 unknown, 1 no, 2 yes.
    shown: [Cell<u8>; NUMBERS],
}

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

/// Nothing has been decided.
const UNKNOWN: u16 = 0;
/// Each value must be decided on its own.
const VALUE: u16 = 1;
/// Privileges follow.
const KNOWN: u16 = 2;
/// Each entry must be decided on its own.
const ENTRY: u16 = 3;
const STATE: u16 = 3;
const SHIFT: u32 = 2;

impl SubjectDecisions {
    fn new(types: usize, version: Option<Version>, others: &Rc<Snapshots>) -> Self {
        Self {
            serial: NEXT_SERIAL.fetch_add(1, Relaxed),
            kinds: RefCell::default(),
            types,
            version,
            consulted: RefCell::default(),
            others: Rc::clone(others),
            sets: SetAnswers::default(),
            followed: RefCell::default(),
            own: Cell::default(),
            spare_name: RefCell::default(),
            base: Cell::default(),
            extent: Cell::default(),
        }
    }

    /// A number that no other decisions have. What follows from decisions is valid while they have the same number.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Whether everything that was looked up is still so, where `version` is asked about.
    fn is_of(&self, version: Option<Version>) -> bool {
        let is_same = |(database, seen): &Consulted| {
            let now = self.others.of(database);
            now.is_ok_and(|snapshot| snapshot.version() == *seen)
        };
        self.version == version && self.consulted.borrow().iter().all(is_same)
    }

    /// The snapshot in which entries of another database are looked up.
    pub(super) fn consult(&self, database: &Arc<Database>) -> Result<Rc<HeldSnapshot>, StoreError> {
        let snapshot = self.others.of(database)?;
        let version = snapshot.version();
        let mut consulted = self.consulted.borrow_mut();
        if !consulted.iter().any(|(_, seen)| *seen == version) {
            consulted.push((Arc::clone(database), version));
        }
        Ok(snapshot)
    }

    /// The subject's own entry in the database.
    pub(super) fn own_entry(&self, view: View<'_>, name: &Dn) -> Result<Option<EntryId>, StoreError> {
        let version = view.version();
        let (known, id) = self.own.get();
        if known == version && known.is_some() {
            return Ok(id);
        }
        let id = match view.locate(name)? {
            Location::Entry(id) => Some(id),
            Location::Missing { .. } => None,
        };
        self.own.set((version, id));
        Ok(id)
    }

    pub(super) fn spare_name(&self) -> &RefCell<Dn> {
        &self.spare_name
    }

    /// Whether the subject is known to have search access below an entry.
    pub(crate) fn may_search_below(&self, view: View<'_>, base: EntryId) -> bool {
        view.version().is_some() && self.base.get() == (view.version(), base)
    }

    /// Remembers that the subject may search below an entry.
    pub(crate) fn remember_base(&self, view: View<'_>, base: EntryId) {
        self.base.set((view.version(), base));
    }

    /// How much of the database the subject may read, if it is known.
    pub(super) fn extent(&self) -> Option<Extent> {
        self.extent.get()
    }

    /// Remembers how much of the database the subject may read.
    pub(super) fn remember_extent(&self, extent: Extent) {
        self.extent.set(Some(extent));
    }

    /// The remembered decisions about entries with these answers.
    pub(super) fn kind(&self, answers: u64) -> Rc<EntryDecisions> {
        let mut kinds = self.kinds.borrow_mut();
        if kinds.len() >= MAX_KINDS && !kinds.contains_key(&answers) {
            kinds.clear();
        }
        let new = || {
            let places = std::iter::repeat_with(|| Cell::new(UNKNOWN)).take(self.types + 2);
            Rc::new(EntryDecisions {
                places: places.collect(),
                shown: [const { Cell::new(0) }; NUMBERS],
            })
        };
        Rc::clone(kinds.entry(answers).or_insert_with(new))
    }
}

impl EntryDecisions {
    /// Where a decision about a target is kept; `None` for attributes with options.
    pub(super) fn place(&self, target: Target<'_>) -> Option<usize> {
        let types = self.places.len().saturating_sub(2);
        match target {
            Target::Entry => Some(types),
            Target::Children => Some(types + 1),
            Target::Attribute(description, _) | Target::Asserted(description, _) => description
                .options
                .is_empty()
                .then_some(description.attribute_type.0 as usize)
                .filter(|number| *number < types),
        }
    }

    /// Whether an attribute is shown, by its number in the database.
    #[inline]
    pub(crate) fn shows(&self, number: u16) -> Option<bool> {
        match self.shown.get(usize::from(number)).map(Cell::get) {
            None | Some(0) => None,
            Some(held) => Some(held == 2),
        }
    }

    /// Remembers whether entries of this kind show all values of the attribute with this number, or none.
    pub(crate) fn remember_shown(&self, number: u16, is_shown: bool) {
        if let Some(cell) = self.shown.get(usize::from(number)) {
            cell.set(1 + u8::from(is_shown));
        }
    }

    pub(super) fn known(&self, place: usize) -> Known {
        match self.places.get(place).map(Cell::get) {
            None => Known::Nothing,
            Some(held) => match held & STATE {
                VALUE => Known::Value,
                ENTRY => Known::Entry,
                KNOWN => Known::All(Privileges(u32::from(held >> SHIFT))),
                _ => Known::Nothing,
            },
        }
    }

    pub(super) fn remember(&self, place: usize, known: Known) {
        let Some(cell) = self.places.get(place) else { return };
        cell.set(match known {
            Known::Nothing => UNKNOWN,
            Known::Value => VALUE,
            Known::Entry => ENTRY,
            Known::All(privileges) => u16::try_from(privileges.0 << SHIFT).map_or(ENTRY, |bits| bits | KNOWN),
        });
    }
}

/// The remembered decision about an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    Nothing,
    /// Each value must be decided on its own.
    Value,
    /// Each entry must be decided on its own, but not each value.
    Entry,
    /// The privileges on all values.
    All(Privileges),
}

/// The properties that distinguish subjects.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Key {
    context: i32,
    dn: Vec<u8>,
    real_dn: Option<Vec<u8>>,
    strength: Strength,
    /// Name, our side, URL and name in DNS, if rules use them.
    peer: Option<[Box<str>; 4]>,
    request: Option<RequestKind>,
}

/// The subjects of one thread.
#[derive(Debug, Default)]
pub(crate) struct DecisionCache {
    /// The configuration under which all decisions were made.
    configuration: Option<Arc<Configuration>>,
    known: HashMap<Key, Rc<SubjectDecisions>>,
    last: Option<Last>,
    /// The snapshots of databases that rules look up in while another one is asked about.
    others: Rc<Snapshots>,
}

/// The subject of the last question: the next one is usually by the same.
#[derive(Debug)]
struct Last {
    context: i32,
    identity: Arc<Identity>,
    peer: Arc<Peer>,
    strength: Strength,
    request: RequestKind,
    standing: Rc<SubjectDecisions>,
}

impl DecisionCache {
    /// The snapshots of databases that rules look up in while another one is asked about.
    pub(crate) fn others(&self) -> &Snapshots {
        &self.others
    }

    /// The remembered decisions for a request's subject about the entries that `view` shows; `None` if it may do
    /// everything, or if there are no rules.
    pub(crate) fn of(
        &mut self,
        configuration: &Arc<Configuration>,
        context: &NamingContext,
        origin: &crate::request::context::RequestContext,
        view: View<'_>,
    ) -> Option<Rc<SubjectDecisions>> {
        let rules = configuration.rules_of(context);
        if rules.is_empty() {
            return None;
        }
        let subject = Subject::of(origin, context);
        if subject.is_root {
            return None;
        }
        if !self
            .configuration
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, configuration))
        {
            self.known.clear();
            self.last = None;
            self.configuration = Some(Arc::clone(configuration));
        }
        let version = view.version().filter(|_| rules.uses_data);
        if rules.uses_data && version.is_none() {
            // An open write transaction: nothing may be remembered.
            return Some(Rc::new(self.none(configuration, version)));
        }
        if let Some(last) = &self.last
            && last.context == context.number
            && Arc::ptr_eq(&last.identity, &origin.identity)
            && Arc::ptr_eq(&last.peer, &origin.peer)
            && last.strength == origin.strength
            && last.request == origin.request
            && last.standing.is_of(version)
        {
            return Some(Rc::clone(&last.standing));
        }
        let standing = self.look_up(configuration, rules, context, subject, version);
        self.last = Some(Last {
            context: context.number,
            identity: Arc::clone(&origin.identity),
            peer: Arc::clone(&origin.peer),
            strength: origin.strength,
            request: origin.request,
            standing: Rc::clone(&standing),
        });
        Some(standing)
    }

    /// No decisions.
    fn none(&self, configuration: &Configuration, version: Option<Version>) -> SubjectDecisions {
        SubjectDecisions::new(configuration.schema.attribute_types().len(), version, &self.others)
    }

    fn look_up(
        &mut self,
        configuration: &Configuration,
        rules: &Rules,
        context: &NamingContext,
        subject: Subject<'_>,
        version: Option<Version>,
    ) -> Rc<SubjectDecisions> {
        let peer = subject.peer.filter(|_| rules.uses_peer);
        let is_other = |real: &&Dn| *real != subject.dn;
        let key = Key {
            context: context.number,
            dn: subject.dn.normalized().to_vec(),
            real_dn: Some(subject.real_dn)
                .filter(is_other)
                .map(|dn| dn.normalized().to_vec()),
            strength: subject.strength,
            peer: peer.map(|peer| {
                let domain = peer.domain.clone().unwrap_or_default();
                [
                    peer.name.clone(),
                    peer.socket_name.clone(),
                    peer.listener_url.clone(),
                    domain,
                ]
            }),
            request: rules.uses_request.then_some(subject.request),
        };
        if let Some(standing) = self.known.get(&key).filter(|standing| standing.is_of(version)) {
            return Rc::clone(standing);
        }
        if self.known.len() >= MAX_STANDINGS {
            self.known.clear();
        }
        let standing = Rc::new(self.none(configuration, version));
        self.known.insert(key, Rc::clone(&standing));
        standing
    }
}

/// Subjects whose decisions each thread remembers. Beyond this number, it starts over.
const MAX_STANDINGS: usize = 256;
/// Kinds of entries of one subject; each takes two octets for each attribute type of the schema, and [`NUMBERS`].
const MAX_KINDS: usize = 64;
/// Attributes of a database that are remembered by their numbers. Numbers are given in the order of first use.
const NUMBERS: usize = 512;
