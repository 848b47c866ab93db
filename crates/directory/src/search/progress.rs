//! What a search has done so far, whatever the configuration.
//!
//! A search is prepared anew for each page, and for its next slice when another configuration is in force. So
//! restrictions, limits, access rules and schema are always those in force, and nothing of a former configuration is
//! kept. What was done already comes from here: which entries were considered, collected and sent.

use std::{collections::VecDeque, sync::Arc};

use ironbark_config::Operations;
use ironbark_model::Dn;
use ironbark_store::{DitScope, EntryId, EnvironmentNumber, Plan};

use super::{
    alias::AliasBase,
    list_view::ListView,
    page::Page,
    prepare::limits_again,
    run::SearchRun,
    sort::Sorting,
    tally::Tally,
    target::{Base, MemoryWalk, StoredWalk, Target, Walk},
    work::Work,
};
use crate::{Configuration, NamingContext, OperationError, admission::check_restrictions, refusal::SearchRefusal};

/// What a search has done so far.
pub(crate) struct SearchProgress {
    /// The rest of the walk. `None`: it has not begun.
    targets: Option<Vec<TargetProgress>>,
    /// The databases of the collected entries, which have the numbers of their databases.
    databases: Vec<(i32, EnvironmentNumber)>,
    sort: Option<Sorting>,
    view: Option<ListView>,
    alias_bases: Vec<AliasBase>,
    /// The page under way. `None`: the next one begins.
    page: Option<Page>,
    sent: u32,
    references: u32,
    tally: Tally,
    /// What is left of the steps. `None`: the next page has its own.
    work: Option<Work>,
}

/// How far the walk over a target is.
enum TargetProgress {
    Stored {
        database: EnvironmentNumber,
        base: Base,
        scope: DitScope,
        position: EntryId,
        /// A plan that is not made for the filter, but for entries that are given.
        given: Option<Plan>,
    },
    Memory {
        /// The name of the last entry that was considered.
        last: Option<Dn>,
        position: usize,
    },
}

impl SearchProgress {
    /// Entries that were sent on the pages before this one.
    pub(super) fn sent_on_earlier_pages(&self) -> u32 {
        self.tally.before
    }

    /// The sort, whose place among the limited ones the next page takes over.
    pub(super) fn sort_mut(&mut self) -> Option<&mut Sorting> {
        self.sort.as_mut()
    }

    pub(super) fn sort(&self) -> Option<&Sorting> {
        self.sort.as_ref()
    }
}

impl SearchRun {
    /// Takes what the run has done, for its next page.
    pub(super) fn progress_of_page(&mut self) -> SearchProgress {
        let sent = self.sent;
        let progress = self.progress();
        SearchProgress {
            page: None,
            work: None,
            references: 0,
            tally: Tally::after(sent),
            ..progress
        }
    }

    /// Takes what the run has done, for its next slice.
    pub(crate) fn progress(&mut self) -> SearchProgress {
        let has_begun = self.deferred.as_ref().is_none_or(|deferred| deferred.continues);
        let databases = self.configuration.contexts.iter();
        let databases = databases.filter_map(|context| Some((context.number, context.database()?.environment())));
        let databases = databases.collect();
        let targets = std::mem::take(&mut self.targets);
        let extras = self.extras.as_deref_mut();
        let (mut sort, mut view, mut page, mut alias_bases) = (None, None, None, Vec::new());
        if let Some(extras) = extras {
            sort = extras.sort.take();
            view = extras.view.take();
            page = extras.paged.take();
            alias_bases = std::mem::take(&mut extras.alias_bases);
        }
        SearchProgress {
            targets: has_begun.then(|| targets.into_iter().filter_map(TargetProgress::of).collect()),
            databases: if sort.is_some() { databases } else { Vec::new() },
            sort,
            view,
            alias_bases,
            page,
            sent: self.sent,
            references: self.references,
            tally: std::mem::take(&mut self.tally),
            work: Some(self.work),
        }
    }

    /// Goes on from what was done. The run was prepared for the same request.
    ///
    /// # Errors
    /// `unavailable`: a database or the base object is another one, or is not a part of the search any more.
    pub(crate) fn continue_from(&mut self, progress: SearchProgress) -> Result<(), SearchRefusal> {
        let extents = || self.targets.iter().filter_map(Target::extent).collect();
        let covered = progress.targets.is_some().then(extents);
        if let Some(targets) = progress.targets {
            let mut own = std::mem::take(&mut self.targets);
            if !targets.iter().all(|target| target.is_among(&own)) {
                return Err(SearchRefusal::Reconfigured);
            }
            for target in targets {
                let target = target.under(&self.configuration, &mut own)?;
                self.targets.push_back(target);
            }
            self.follow_again(!progress.alias_bases.is_empty())?;
            if !progress.alias_bases.is_empty() {
                self.extras.get_or_insert_default().alias_bases = progress.alias_bases;
            }
        }
        if let Some(mut sort) = progress.sort {
            // Databases come and go beside the search, and others get their numbers.
            let present = |(number, database): &(i32, EnvironmentNumber)| {
                let mut contexts = self.configuration.contexts.iter();
                let its = contexts.find(|one| one.database().is_some_and(|one| one.environment() == *database));
                its.map(|one| (*number, one.number))
            };
            let known: Vec<_> = progress.databases.iter().filter_map(present).collect();
            let is_alike = known.len() == progress.databases.len() && known.iter().all(|(former, now)| former == now);
            if !is_alike && !sort.renumber(&known) {
                return Err(SearchRefusal::Reconfigured);
            }
            let extras = self.extras.get_or_insert_default();
            match &mut extras.sort {
                Some(own) => own.continue_from(sort, covered),
                None => return Err(SearchRefusal::Reconfigured),
            }
            extras.view = progress.view.or(extras.view.take());
        }
        if let Some(page) = progress.page {
            self.extras.get_or_insert_default().paged = Some(page);
        }
        (self.sent, self.references) = (progress.sent, progress.references);
        self.tally = progress.tally;
        if let Some(former) = progress.work {
            self.work = former.within(self.work);
        }
        Ok(())
    }

    /// Leaves to the first step what must be asked anew of aliases: what they led to is among the targets already, but
    /// another entry may be the base now, and the requester may not know of an alias any more.
    fn follow_again(&mut self, has_followed: bool) -> Result<(), SearchRefusal> {
        let Some(deferred) = &mut self.deferred else {
            return if has_followed {
                Err(SearchRefusal::Reconfigured)
            } else {
                Ok(())
            };
        };
        if !has_followed {
            deferred.aliases = None;
        } else if deferred.aliases.is_none() {
            return Err(SearchRefusal::Reconfigured);
        }
        deferred.continues = true;
        if deferred.is_done() {
            self.deferred = None;
        }
        Ok(())
    }
}

impl SearchRun {
    /// Whether its entries come from elsewhere, or were given to it: they cannot be asked for again.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.targets.iter().any(Target::is_elsewhere)
    }

    /// Whether only its result is left to send.
    pub(crate) fn is_through(&self) -> bool {
        let is_sorted = || self.extras.as_ref().is_some_and(|extras| extras.sort.is_some());
        self.targets.is_empty() && self.deferred.is_none() && !self.is_synchronizing() && !is_sorted()
    }

    /// Goes on under another configuration with the entries that were asked for. Their attributes are those of the
    /// schema.
    ///
    /// # Errors
    /// The operation is refused there. `unavailable`: the database or the schema is another one.
    pub(crate) fn adopt(&mut self, configuration: &Arc<Configuration>) -> Result<(), OperationError> {
        let gone = || OperationError::from(SearchRefusal::Reconfigured);
        if self.is_through() {
            self.configuration = Arc::clone(configuration);
            return Ok(());
        }
        if !Arc::ptr_eq(&self.configuration.schema, &configuration.schema) {
            return Err(gone());
        }
        for target in &mut self.targets {
            let mut contexts = configuration.contexts.iter();
            let context = contexts.find(|context| context.suffixes() == target.context.suffixes());
            let context = context.ok_or_else(gone)?;
            let governing = configuration.governing(context);
            check_restrictions(governing, configuration, Operations::SEARCH, &mut self.origin)?;
            target.context = Arc::clone(context);
        }
        if let Some(first) = self.targets.front() {
            let governing = configuration.governing(&first.context);
            let pdu = self.request.as_deref().ok_or_else(gone)?;
            (self.limits, self.work) = limits_again(self, configuration, governing, pdu)?;
        }
        self.configuration = Arc::clone(configuration);
        Ok(())
    }
}

impl TargetProgress {
    fn of(target: Target) -> Option<Self> {
        Some(match target.walk {
            Walk::Stored(walk) => Self::Stored {
                database: target.context.database()?.environment(),
                base: walk.base,
                scope: walk.scope,
                position: walk.position,
                given: walk.plan.filter(|_| walk.is_given),
            },
            Walk::Memory(walk) => Self::Memory {
                last: walk
                    .position
                    .checked_sub(1)
                    .and_then(|last| Some(walk.entries.get(last)?.dn.clone())),
                position: walk.position,
            },
            Walk::External(_) => return None,
        })
    }

    /// Whether the search still covers it: `own` are the targets of the run that was prepared anew. So what was asked
    /// about the base object then is true of this one. Aliases are followed again later.
    fn is_among(&self, own: &VecDeque<Target>) -> bool {
        let Self::Stored { database, base, .. } = self else {
            return true;
        };
        own.iter().any(|target| {
            let is_same = |one: &StoredWalk| base.earlier_bases > 0 || one.base.id == base.id;
            matches!(&target.walk, Walk::Stored(one) if is_same(one))
                && target
                    .context
                    .database()
                    .is_some_and(|one| one.environment() == *database)
        })
    }

    /// The target under a configuration. `own`: the targets of the run that was prepared under it.
    fn under(self, configuration: &Configuration, own: &mut VecDeque<Target>) -> Result<Target, SearchRefusal> {
        match self {
            Self::Stored {
                database,
                base,
                scope,
                position,
                given,
            } => {
                let is_its =
                    |context: &&Arc<NamingContext>| context.database().is_some_and(|one| one.environment() == database);
                let context = configuration
                    .contexts
                    .iter()
                    .find(is_its)
                    .ok_or(SearchRefusal::Reconfigured)?;
                let mut target = Target::stored(Arc::clone(context), base.id, scope);
                if let Walk::Stored(walk) = &mut target.walk {
                    *walk = StoredWalk {
                        is_given: given.is_some(),
                        plan: given,
                        base,
                        position,
                        ..*walk
                    };
                }
                Ok(target)
            }
            Self::Memory { last, position } => {
                let mut target = own.pop_front().ok_or(SearchRefusal::Reconfigured)?;
                let Walk::Memory(walk) = &mut target.walk else {
                    return Err(SearchRefusal::Reconfigured);
                };
                walk.position = behind(walk, last.as_ref(), position);
                Ok(target)
            }
        }
    }
}

/// The place behind the last entry that was considered, in a tree that may have changed.
fn behind(walk: &MemoryWalk, last: Option<&Dn>, position: usize) -> usize {
    let Some(last) = last else { return 0 };
    let place = walk.entries.iter().position(|entry| entry.dn == *last);
    place.map_or(position.min(walk.entries.len()), |place| place + 1)
}
