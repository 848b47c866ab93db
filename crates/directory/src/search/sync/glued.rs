//! A synchronization of databases that are glued together: one position for each, and one cookie for all.
//!
//! Each phase works on one member after the other. A cookie goes out only between them: it covers what is committed in
//! all members, and what the consumer was sent of all. Changes themselves carry none. After an absence the consumer
//! gets what is newer than its cookie, and the names of the rest; the logs are not read, as their positions say nothing
//! of each other.

use std::{collections::VecDeque, sync::Arc};

use ironbark_model::Dn;
use ironbark_store::{ContextVector, DitScope, EntryId};

use super::{Persisting, Sync};
use crate::{Configuration, Directory, NamingContext, OperationError, refusal::SyncRefusal};

/// The databases of a synchronization, besides the one that is at work.
#[derive(Default)]
pub(super) struct Glued {
    others: VecDeque<Member>,
    /// What may be told when all members have been read to their ends: their vector before the first was read, and how
    /// many are still to be read.
    round: Option<(ContextVector, usize)>,
}

/// What is kept for each database.
struct Member {
    context: Arc<NamingContext>,
    base: Dn,
    scope: DitScope,
    base_id: Option<EntryId>,
    is_subordinate: bool,
    last: u64,
    persisting: Option<Persisting>,
}

/// What all members have.
pub(super) struct GluedState {
    pub(super) vector: ContextVector,
    /// The CSNs of moves of subtrees.
    pub(super) moves: ContextVector,
    /// Whether one of them is being refreshed itself.
    pub(super) is_uncovered: bool,
}

impl Glued {
    /// The databases glued below a base.
    pub(super) fn below(configuration: &Configuration, context: &NamingContext, base: &Dn, scope: DitScope) -> Self {
        let mut others = VecDeque::new();
        for subordinate in configuration.subordinates_of(context) {
            let is_provided = subordinate.settings.keeps_changes() && subordinate.database().is_some();
            for suffix in subordinate.suffixes().iter().filter(|_| is_provided) {
                let below = suffix.depth() > base.depth() && suffix.is_within(base);
                let (included, scope) = match scope {
                    DitScope::Base => (false, DitScope::Base),
                    DitScope::OneLevel => (below && suffix.depth() == base.depth() + 1, DitScope::Base),
                    DitScope::Subtree | DitScope::Children => (below, DitScope::Subtree),
                };
                if included {
                    others.push_back(Member {
                        context: Arc::clone(subordinate),
                        base: suffix.clone(),
                        scope,
                        base_id: None,
                        is_subordinate: true,
                        last: 0,
                        persisting: None,
                    });
                }
            }
        }
        Self { others, round: None }
    }

    /// Databases besides the one that is at work.
    pub(super) fn others(&self) -> usize {
        self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.others.is_empty()
    }
}

impl Sync {
    pub(super) fn is_glued(&self) -> bool {
        !self.glued.is_empty()
    }

    /// Goes to the next member.
    pub(super) fn turn(&mut self) {
        let Some(next) = self.glued.others.pop_front() else {
            return;
        };
        let now = Member {
            context: std::mem::replace(&mut self.context, next.context),
            base: std::mem::replace(&mut self.base, next.base),
            scope: std::mem::replace(&mut self.scope, next.scope),
            base_id: std::mem::replace(&mut self.base_id, next.base_id),
            is_subordinate: std::mem::replace(&mut self.is_subordinate, next.is_subordinate),
            last: std::mem::replace(&mut self.refresh.last, next.last),
            persisting: std::mem::replace(&mut self.persisting, next.persisting),
        };
        self.glued.others.push_back(now);
    }

    /// Does something for each member.
    pub(super) fn for_each_member<E>(&mut self, mut act: impl FnMut(&mut Self) -> Result<(), E>) -> Result<(), E> {
        for _ in 0..=self.glued.others.len() {
            act(self)?;
            self.turn();
        }
        Ok(())
    }

    /// What all members have, and the places of their logs. What the vector covers is committed in all of them before
    /// any of their logs is looked at.
    pub(super) fn glued_state(&mut self, directory: &Directory) -> Result<GluedState, OperationError> {
        let own = directory.server_id();
        let last = directory.last_drawn();
        let mut bound = last;
        let _: Result<(), ()> = self.for_each_member(|sync| {
            if let Some(writer) = sync.context.backend.own_writer() {
                bound = bound.min(writer.fence().bound(last));
            }
            Ok(())
        });
        let (mut vectors, mut moves, mut is_uncovered) = (Vec::new(), ContextVector::default(), false);
        // The other servers of a cluster change one of the databases under the same server ID.
        let mut is_sole = true;
        self.for_each_member(|sync| {
            is_sole &= sync.context.settings.cluster.is_none();
            let Some(database) = sync.context.database() else {
                return Err(OperationError::from(SyncRefusal::NoProvider));
            };
            let snapshot = database.snapshot()?;
            let view = snapshot.view();
            vectors.push(view.context_vector()?.unwrap_or_default());
            moves.merge_all(&view.moves()?);
            is_uncovered |= view.first_uncovered()?.is_some();
            sync.refresh.last = view.log_state()?.last;
            Ok(())
        })?;
        Ok(GluedState {
            vector: merged(&vectors, own, is_sole.then_some(bound)),
            moves,
            is_uncovered,
        })
    }

    /// What was told of the members when the first of them was read, once all have been read to their ends; `Err`:
    /// the next one is to be read.
    pub(super) fn end_of_member(&mut self) -> Option<ContextVector> {
        self.turn();
        let (_, left) = self.glued.round.as_mut()?;
        *left = left.saturating_sub(1);
        if *left > 0 {
            return None;
        }
        self.glued.round.take().map(|(vector, _)| vector)
    }

    /// Begins to read all members, if none is being read.
    pub(super) fn begin_round(&mut self, directory: &Directory) -> Result<(), OperationError> {
        if self.is_glued() && self.glued.round.is_none() {
            let last = self.refresh.last;
            let state = self.glued_state(directory)?;
            self.refresh.last = last;
            self.glued.round = Some((state.vector, self.glued.others.len() + 1));
        }
        Ok(())
    }

    /// Whether everything of all members was sent.
    pub(super) fn is_drained(&self) -> bool {
        let others = self.glued.others.iter().filter_map(|member| member.persisting.as_ref());
        let mut all = self.persisting.iter().chain(others).peekable();
        all.peek().is_some() && self.glued.round.is_none() && all.all(|persisting| persisting.is_drained)
    }

    /// All places of members that follow their logs.
    pub(super) fn all_persisting(&mut self) -> impl Iterator<Item = &mut Persisting> {
        let others = self
            .glued
            .others
            .iter_mut()
            .filter_map(|member| member.persisting.as_mut());
        self.persisting.iter_mut().chain(others)
    }

    /// Goes on under another configuration, for which `now` was prepared.
    ///
    /// # Errors
    /// `unavailable`: the members are others.
    pub(super) fn go_under(&mut self, now: &mut Self) -> Result<(), OperationError> {
        let gone = || OperationError::from(SyncRefusal::NoProvider);
        if self.glued.others.len() != now.glued.others.len() {
            return Err(gone());
        }
        // The member that is at work may be any.
        self.for_each_member(|sync| {
            let environment = sync.context.database().map(|database| database.environment());
            let mut found = None;
            for _ in 0..=now.glued.others.len() {
                let is_its = now.context.database().map(|database| database.environment()) == environment;
                if is_its && now.base == sync.base {
                    found = Some(Arc::clone(&now.context));
                }
                now.turn();
            }
            sync.context = found.ok_or_else(gone)?;
            Ok::<(), OperationError>(())
        })?;
        self.provider = now.provider;
        Ok(())
    }

    /// Takes over the places of another synchronization of the same members.
    ///
    /// # Errors
    /// `unavailable`: the members are others.
    pub(super) fn continue_members(&mut self, before: &mut Self) -> Result<(), OperationError> {
        let gone = || OperationError::from(SyncRefusal::NoProvider);
        if self.glued.others.len() != before.glued.others.len() {
            return Err(gone());
        }
        // Both begin with the superior again.
        for _ in 0..=before.glued.others.len() {
            if before.is_subordinate {
                before.turn();
            }
        }
        let known = std::mem::take(&mut before.known);
        for _ in 0..=self.glued.others.len() {
            let is_same = match (self.context.database(), before.context.database()) {
                (Some(now), Some(then)) => now.is_same_file(then),
                _ => false,
            };
            if !is_same {
                return Err(gone());
            }
            (self.persisting, self.base_id) = (before.persisting.take(), before.base_id);
            self.turn();
            before.turn();
        }
        self.known = known;
        Ok(())
    }
}

/// The vector of all members. Of this server: the last change of any, but none behind `bound`. Of another server, whose
/// changes several members got: the least, as one of them may lack changes that another has. Without `bound` this
/// server ID is that of others too, and the least counts if all members have one.
fn merged(vectors: &[ContextVector], own: u16, bound: Option<(i64, u32)>) -> ContextVector {
    let mut all = ContextVector::default();
    for csn in vectors.iter().flat_map(ContextVector::iter) {
        let is_own = csn.server_id() == own;
        let known = || vectors.iter().filter_map(|one| one.of_server(csn.server_id()));
        let covered = match bound.filter(|_| is_own) {
            Some(bound) => Some(csn.at_most(bound.0, bound.1)),
            None if is_own && known().count() < vectors.len() => None,
            None => known().min(),
        };
        if let Some(covered) = covered {
            all.merge(covered);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use ironbark_store::Csn;

    use super::*;

    fn csn(micros: u32, server: u16) -> Csn {
        Csn::parse(format!("20260101000000.{micros:06}Z#000000#{server:03x}#000000").as_bytes()).unwrap()
    }

    #[test]
    fn the_vector_of_all_covers_nothing_that_one_may_lack() {
        let [one, other] = [[csn(5, 1), csn(9, 2)], [csn(7, 1), csn(3, 2)]].map(|csns| csns.into_iter().collect());
        let vectors: [ContextVector; 2] = [one, other];
        let at = |micros| csn(micros, 1).unix_micros();
        let of = |micros| merged(&vectors, 1, Some((at(micros), 0)));
        assert_eq!(of(8).of_server(1), Some(csn(7, 1)), "never more than was committed");
        assert_eq!(of(6).of_server(1), Some(csn(6, 1)), "a change under way holds it back");
        assert_eq!(of(8).of_server(2), Some(csn(3, 2)));
    }

    #[test]
    fn the_vector_of_databases_of_a_cluster_covers_nothing_that_another_server_may_have_done() {
        let [one, other] = [[csn(5, 1), csn(9, 2)], [csn(7, 1), csn(3, 2)]].map(|csns| csns.into_iter().collect());
        let vectors: [ContextVector; 3] = [one, other, ContextVector::default()];
        assert_eq!(merged(&vectors[..2], 1, None).of_server(1), Some(csn(5, 1)));
        assert_eq!(merged(&vectors, 1, None).of_server(1), None);
        assert_eq!(merged(&vectors, 1, None).of_server(2), Some(csn(3, 2)));
    }
}
