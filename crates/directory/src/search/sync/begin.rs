//! The begin of a refresh: which way it goes.

use ironbark_ldap_proto::controls::EntryState;
use ironbark_store::{ContextVector, Location, StoreError, Subtrees, View};

use super::{Meeting, Phase, Sync, least::LogBegin};
use crate::{
    Directory, OperationError,
    refusal::SyncRefusal,
    search::{
        run::{SearchRun, Walked},
        work::Step,
    },
};

/// What a consumer gets.
#[derive(Clone, Copy)]
enum Way {
    /// Nothing: it has everything.
    Nothing,
    /// The changes from this number on.
    Changes(u64),
    /// What is newer than its cookie; what it has is named.
    Newer,
    /// Every entry. Where it has a cookie, entries that are not sent are gone.
    All,
}

impl SearchRun {
    /// Decides from the cookie and the log.
    pub(super) fn begin_sync(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let own = step.scratch.directory().server_id();
        // Each phase makes its own.
        self.targets.clear();
        self.note_allowance();
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        if sync.notices.is_some() {
            return self.begin_notices(step);
        }
        if sync.is_glued() {
            let way = sync.choose_glued(step.scratch.directory());
            sync.go(way?);
            return Ok(Walked::Through);
        }
        let context = std::sync::Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Ok(Walked::Finish);
        };
        let way = sync.choose(snapshot.view(), own);
        step.scratch.keep_snapshot(snapshot);
        sync.go(way?);
        Ok(Walked::Through)
    }
}

impl Sync {
    /// The way where databases are glued below the base: everything is compared with the cookie.
    fn choose_glued(&mut self, directory: &Directory) -> Result<Way, OperationError> {
        let state = self.glued_state(directory)?;
        self.refresh.vector = state.vector;
        let (known, vector) = (&self.known, &self.refresh.vector);
        if known.is_empty() {
            let has_nothing = vector.is_empty() && !state.is_uncovered;
            return Ok(if has_nothing { Way::Nothing } else { Way::All });
        }
        if vector.is_empty() {
            return Err(SyncRefusal::NoState.into());
        }
        let own = directory.server_id();
        if vector.of_server(own).is_some() && known.of_server(own) > vector.of_server(own) {
            return Err(SyncRefusal::NewerConsumer.into());
        }
        if !state.is_uncovered && !is_ahead(vector, known) {
            return Ok(Way::Nothing);
        }
        if self.provider.reload_hint && !self.reload_hint {
            return Err(SyncRefusal::StaleCookie.into());
        }
        let has_moved = self.holds_subtrees() && is_ahead(&state.moves, known);
        Ok(if has_moved { Way::All } else { Way::Newer })
    }

    fn choose(&mut self, view: View<'_>, own: u16) -> Result<Way, OperationError> {
        let vector = view.context_vector()?.unwrap_or_default();
        self.refresh.last = view.log_state()?.last;
        let (known, is_empty) = (&self.known, vector.is_empty());
        self.refresh.vector = vector;
        // What a refresh of this server's own has brought so far has no CSN in the vector.
        let uncovered = view.first_uncovered()?;
        if is_empty && uncovered.is_none() && self.has_entries(view)? {
            return Err(SyncRefusal::NoVectorYet.into());
        }
        if known.is_empty() {
            // Who has nothing yet may follow a log from its first entry on.
            if !self.reload_hint && self.log_begin(view)? == LogBegin::Behind {
                return Err(SyncRefusal::StaleCookie.into());
            }
            let has_nothing = is_empty && uncovered.is_none();
            return Ok(if has_nothing { Way::Nothing } else { Way::All });
        }
        if is_empty {
            return Err(SyncRefusal::NoState.into());
        }
        let vector = &self.refresh.vector;
        if known
            .of_server(own)
            .is_some_and(|known| Some(known) > vector.of_server(own) && vector.of_server(own).is_some())
        {
            return Err(SyncRefusal::NewerConsumer.into());
        }
        // A purge may have deleted entries of a refresh that is still under way. The vector does not cover these yet.
        if uncovered.is_some() || is_ahead(vector, known) {
            match self.log_begin(view)? {
                LogBegin::Behind if !self.reload_hint => return Err(SyncRefusal::StaleCookie.into()),
                LogBegin::Before => self.sends_log = Some(own),
                LogBegin::Behind | LogBegin::Unknown => {}
            }
        }
        let (known, vector) = (&self.known, &self.refresh.vector);
        let missing = if is_ahead(vector, known) {
            match first_missing(view, vector, known)? {
                Some(position) => Some(position + 1),
                None => return self.without_log(view),
            }
        } else {
            None
        };
        let Some(first) = missing.into_iter().chain(uncovered).min() else {
            return Ok(Way::Nothing);
        };
        // The log may have been trimmed since.
        match view.log_state()?.first {
            Some(begin) if begin <= first => Ok(Way::Changes(first)),
            _ => self.without_log(view),
        }
    }

    /// Whether the database has entries that a vector should cover.
    fn has_entries(&self, view: View<'_>) -> Result<bool, StoreError> {
        let Some(suffix) = self.context.suffixes().first() else {
            return Ok(false);
        };
        let Location::Entry(id) = view.locate(suffix)? else {
            return Ok(false);
        };
        // The entry above a log is made with it, before there is any change.
        if self.may_be_log() && !view.has_subordinates(id)? {
            return Ok(false);
        }
        let record = view.record(id)?;
        Ok(record.map(|record| record.entry_csn()).transpose()?.flatten().is_some())
    }

    /// The way where the log does not tell what has changed.
    fn without_log(&mut self, view: View<'_>) -> Result<Way, OperationError> {
        if self.log_begin(view)? == LogBegin::Before {
            return Ok(Way::Newer);
        }
        if self.provider.reload_hint && !self.reload_hint {
            return Err(SyncRefusal::StaleCookie.into());
        }
        // Entries that moved with a superior which the consumer may not have are not newer than its cookie.
        let has_moved = !self.has_everything && self.holds_subtrees() && is_ahead(&view.moves()?, &self.known);
        Ok(if has_moved { Way::All } else { Way::Newer })
    }

    fn go(&mut self, way: Way) {
        self.refresh.is_from_log = matches!(way, Way::Changes(_));
        self.refresh.has_changes = !matches!(way, Way::Nothing);
        self.phase = match way {
            Way::Nothing => Phase::End,
            Way::Changes(next) => Phase::Collect { next },
            Way::Newer | Way::All => Phase::Send,
        };
        self.refresh.names_present =
            matches!(way, Way::Newer | Way::All) && !self.known.is_empty() && !self.provider.no_present;
        // Where others write, it is not enough that a deleted entry is not named: the consumer may have a change of it
        // that is not known here, and who follows the consumer must hear of it even if the consumer never had the
        // entry.
        self.refresh.names_ended = matches!(way, Way::Newer | Way::All) && self.asks_places && self.has_everything;
        self.meeting = match way {
            Way::Newer => Meeting::Compare,
            _ => Meeting::Send(EntryState::Add, None),
        };
    }

    /// Gives up reading the log: it is too long, or does not tell enough.
    pub(super) fn leave_log(&mut self, view: View<'_>) -> Result<(), OperationError> {
        let refresh = &mut self.refresh;
        refresh.changed.clear();
        refresh.below = Subtrees::default();
        refresh.gone = Vec::new();
        let way = self.without_log(view)?;
        self.go(way);
        Ok(())
    }
}

/// Whether `vector` has a change that `known` lacks.
fn is_ahead(vector: &ContextVector, known: &ContextVector) -> bool {
    vector.iter().any(|csn| known.of_server(csn.server_id()) < Some(csn))
}

/// The number behind which all changes stand that a consumer lacks; `None`: the log no longer has all of them.
fn first_missing(view: View<'_>, vector: &ContextVector, known: &ContextVector) -> Result<Option<u64>, StoreError> {
    let mut first = u64::MAX;
    for csn in vector.iter() {
        let position = match known.of_server(csn.server_id()) {
            Some(known) if known >= csn => continue,
            Some(known) => view.position_behind(known)?,
            None => view.position_before_all(csn.server_id())?,
        };
        let Some(position) = position else { return Ok(None) };
        first = first.min(position);
    }
    Ok(Some(first))
}
