//! A consumer of cn=config: what a refresh sends is kept until its end, and then becomes one change. So half a schema
//! is never in force, and a configuration that the loader refuses changes nothing.

use std::{collections::BTreeSet, sync::Arc};

use ironbark_directory::{Incoming, OperationError, ReplicaMapping, ReplicatedEntry, ReplicatedTree};
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn};

use crate::{ConsumerAction, ConsumerStop, LogEntry};

/// Octets of a whole configuration. The queue of the thread `config` takes as much.
const MOST_OCTETS: usize = 64 << 20;
/// Octets of changes that a log tells of and that are put into force together.
const MOST_LOGGED_OCTETS: usize = 16 << 20;
/// Octets of a UUID in a set, about.
const UUID_OCTETS: usize = 64;

/// What a refresh of cn=config has sent so far.
#[derive(Debug, Default)]
pub(crate) struct TreeRefresh {
    entries: Vec<ReplicatedEntry>,
    /// Changes of the provider's log.
    logged: Vec<(Incoming, Csn)>,
    gone: Vec<[u8; 16]>,
    present: BTreeSet<[u8; 16]>,
    cookie: Vec<Csn>,
    /// Whether entries that were not named are gone.
    deletes_others: bool,
    covered: ContextVector,
    octets: usize,
}

/// What has become of an order.
pub(crate) enum Taken {
    /// It waits for the end of the refresh.
    Kept,
    /// The refresh has ended, and is to be put into force.
    Complete,
    /// The log has told so much that it is to be put into force before the rest.
    Full,
    /// It is not about entries.
    Passed(ConsumerAction),
}

impl TreeRefresh {
    /// Takes an order.
    ///
    /// # Errors
    /// The configuration of the provider is too large.
    pub(crate) fn take(&mut self, order: ConsumerAction) -> Result<Taken, ConsumerStop> {
        match order {
            ConsumerAction::Put {
                uuid,
                dn,
                attributes,
                cookie,
                ..
            } => {
                let dn = dn.into();
                let entry = ReplicatedEntry { uuid, dn, attributes };
                self.octets += entry.octets();
                self.entries.push(entry);
                self.cookie.extend(cookie);
            }
            ConsumerAction::Delete { uuid, cookie, .. } => {
                self.octets += UUID_OCTETS;
                self.gone.push(uuid);
                self.cookie.extend(cookie);
            }
            ConsumerAction::Remember(uuids) => {
                self.octets += uuids.len() * UUID_OCTETS;
                self.present.extend(uuids);
            }
            ConsumerAction::TakeIn(csns) => self.cookie.extend(csns),
            ConsumerAction::EndRefresh { deletes_others, vector } => {
                self.deletes_others = deletes_others && !vector.is_empty();
                self.cookie.extend(vector.iter());
                self.covered = vector;
                return Ok(Taken::Complete);
            }
            ConsumerAction::Make { change, csn, cookie } => {
                self.cookie.extend(cookie);
                let change = incoming(*change);
                self.octets += change.octets();
                self.logged.push((change, csn));
                if self.octets > MOST_LOGGED_OCTETS {
                    return Ok(Taken::Full);
                }
            }
            ConsumerAction::Search(_) => return Ok(Taken::Passed(order)),
        }
        if self.octets > MOST_OCTETS {
            let text = "the configuration of the provider is too large";
            return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text).into());
        }
        Ok(Taken::Kept)
    }

    /// The whole refresh as one change.
    pub(crate) fn into_change(mut self, mapping: &Arc<ReplicaMapping>) -> ReplicatedTree {
        // Superiors first: the names of those below are longer.
        self.entries.sort_by_key(|entry| entry.dn.matches(',').count());
        ReplicatedTree {
            entries: self.entries,
            logged: self.logged,
            gone: self.gone,
            present: self.deletes_others.then_some(self.present),
            covered: self.covered,
            cookie: self.cookie,
            via: 0,
            mapping: Arc::clone(mapping),
        }
    }

    /// A change after the refresh; the order, if it is none.
    pub(crate) fn single(
        order: ConsumerAction,
        mapping: &Arc<ReplicaMapping>,
    ) -> Result<ReplicatedTree, ConsumerAction> {
        let mut one = Self::default();
        match order {
            ConsumerAction::Put {
                uuid,
                dn,
                attributes,
                cookie,
                ..
            } => {
                let dn = dn.into();
                one.entries.push(ReplicatedEntry { uuid, dn, attributes });
                one.cookie = cookie;
            }
            ConsumerAction::Delete { uuid, cookie, .. } => (one.gone, one.cookie) = (vec![uuid], cookie),
            ConsumerAction::Make { change, csn, cookie } => {
                one.logged.push((incoming(*change), csn));
                one.cookie = cookie;
            }
            ConsumerAction::TakeIn(csns) => one.cookie = csns,
            order => return Err(order),
        }
        Ok(one.into_change(mapping))
    }
}

fn incoming(change: LogEntry) -> Incoming {
    match change {
        LogEntry::Add(entry) => Incoming::Entry(entry),
        LogEntry::Change(change) => Incoming::Logged(change),
    }
}
