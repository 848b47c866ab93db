//! Databases whose entries are elsewhere: a program or another server answers their requests, and may take its time.
//!
//! Invariants: beginning a request never waits; every request that was begun is answered once, even when what answers
//! it is gone; entries wait for the client in a bounded room, so that a client that does not read holds back what sends
//! them.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ironbark_ldap_proto::controls::{ControlKind, ControlSet};
use ironbark_model::{Dn, Entry, ResultCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::tree_change::TreeChange;
use crate::{OperationError, request::context::RequestContext, result::OperationResult};

/// What answers the requests of a database whose entries are elsewhere. It ends when this is dropped; what is under way
/// then is answered with `unavailable`.
pub trait ExternalDatabase: Send + Sync {
    /// Begins a request, of which access, restrictions and controls have been checked. It returns at once; what takes
    /// time goes on elsewhere.
    fn begin(&self, request: ExternalRequest, answers: Answers);

    /// A client says goodbye, whatever database it has used. Nothing is answered.
    fn unbind(&self, asker: ExternalAsker) {
        let _ = asker;
    }
}

/// A request to a database whose entries are elsewhere.
#[derive(Debug)]
pub struct ExternalRequest {
    /// Who asks.
    pub asker: ExternalAsker,
    /// What is asked.
    pub operation: ExternalOperation,
    /// How long it may take, by the limits of who asks; `None`: as long as it takes.
    pub time: Option<Duration>,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalAsker {
    /// Message ID of the request.
    pub message_id: i32,
    /// `conn=` of the log.
    pub connection: u64,
    /// Authorization identity; empty for anonymous.
    pub dn: String,
    /// As the log names the peer: `IP=127.0.0.1:12345` or `PATH=/run/ldapi`.
    pub peer: Box<str>,
    /// Security strength factor.
    pub ssf: u32,
}

impl ExternalAsker {
    /// Who has sent a request.
    pub fn of(origin: &RequestContext) -> Self {
        Self {
            message_id: origin.message_id,
            connection: origin.connection,
            dn: origin.identity.dn.pretty().to_owned(),
            peer: origin.peer.name.clone(),
            ssf: origin.strength.ssf,
        }
    }
}

/// What is asked. Names are in pretty form, names of attributes those of the schema.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one for each request; a box for each would cost more"
)]
pub enum ExternalOperation {
    /// A simple bind.
    Bind {
        /// Whose name.
        dn: Dn,
        /// The password.
        password: Vec<u8>,
    },
    /// A search.
    Search(ExternalSearch),
    /// A comparison.
    Compare {
        /// The entry.
        dn: Dn,
        /// The attribute.
        attribute: String,
        /// The value in normal form.
        value: Vec<u8>,
    },
    /// A write.
    Write(TreeChange),
    /// An extended operation on an entry of the database.
    Extended {
        /// `requestName`.
        oid: String,
        /// `requestValue`.
        value: Option<Vec<u8>>,
    },
}

/// A search. What answers it judges scope and filter; access rules, attribute selection and limits are the server's.
#[derive(Debug)]
pub struct ExternalSearch {
    /// The base object.
    pub base: Dn,
    /// As the protocol numbers it: 0 base, 1 one level, 2 subtree, 3 subordinate subtree.
    pub scope: u8,
    /// `derefAliases`, 0 to 3.
    pub dereference: u8,
    /// Entries that may be returned, by the request and the limits of who asks.
    pub size_limit: Option<u32>,
    /// Seconds that it may take.
    pub time_limit: Option<u32>,
    /// The filter as text, assertion values in normal form.
    pub filter: String,
    /// Whether only names of attributes are asked for.
    pub types_only: bool,
    /// The attributes that are asked for, as the client wrote them; empty: all user attributes.
    pub attributes: Vec<Vec<u8>>,
}

/// Where the answers of a request go. Dropped without an end, it answers with `unavailable`.
pub struct Answers(Option<Waiting>);

/// Who waits for the answers.
enum Waiting {
    /// A search.
    Search {
        entries: mpsc::Sender<SentEntry>,
        room: Arc<Semaphore>,
        end: oneshot::Sender<OperationResult>,
    },
    /// Another operation.
    Other(Box<dyn Recipient>),
}

/// Who waits for the result of an operation that returns no entries.
pub(crate) trait Recipient: Send {
    /// Answers the client.
    fn answer(self: Box<Self>, result: OperationResult);

    /// Ready when the client is gone.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// An entry on its way, with its share of the room.
#[derive(Debug)]
pub(crate) struct SentEntry {
    pub(crate) entry: Entry,
    _share: OwnedSemaphorePermit,
}

/// The end of [`Answers`] at which a search takes entries. Dropped, it tells the other end.
#[derive(Debug)]
pub struct AnswerStream {
    pub(crate) entries: mpsc::Receiver<SentEntry>,
    pub(crate) end: oneshot::Receiver<OperationResult>,
    room: Arc<Semaphore>,
}

impl Drop for AnswerStream {
    /// Who waits for room is told that nobody will make any.
    fn drop(&mut self) {
        self.room.close();
    }
}

impl Answers {
    /// For a search, and where it takes them.
    pub fn of_search() -> (Self, AnswerStream) {
        let (entries, its_entries) = mpsc::channel(MOST_WAITING);
        let (end, its_end) = oneshot::channel();
        let room = Arc::new(Semaphore::new(ROOM_OCTETS as usize));
        let stream = AnswerStream {
            entries: its_entries,
            end: its_end,
            room: Arc::clone(&room),
        };
        (Self(Some(Waiting::Search { entries, room, end })), stream)
    }

    /// For another operation.
    pub(crate) fn of_other(recipient: impl Recipient + 'static) -> Self {
        Self(Some(Waiting::Other(Box::new(recipient))))
    }

    /// Whether entries may be sent.
    pub fn takes_entries(&self) -> bool {
        matches!(self.0, Some(Waiting::Search { .. }))
    }

    /// Sends an entry that takes so many octets; waits while too many wait for the client. Access rules decide what the
    /// client sees of it. False: nobody waits for it.
    pub async fn entry(&mut self, entry: Entry, octets: usize) -> bool {
        let Some(Waiting::Search { entries, room, .. }) = &self.0 else {
            return false;
        };
        // A big entry waits for all of the room.
        let share = u32::try_from(octets).unwrap_or(u32::MAX).clamp(1, ROOM_OCTETS);
        let Ok(share) = Arc::clone(room).acquire_many_owned(share).await else {
            return false;
        };
        let sent = entries.send(SentEntry { entry, _share: share });
        sent.await.is_ok()
    }

    /// Ends when nobody waits for the answers any more: the client is gone, or has given the search up.
    pub async fn unwanted(&mut self) {
        match &mut self.0 {
            Some(Waiting::Search { entries, .. }) => entries.closed().await,
            Some(Waiting::Other(recipient)) => std::future::poll_fn(|cx| recipient.poll_gone(cx)).await,
            None => {}
        }
    }

    /// Ends the request.
    pub fn end(mut self, result: OperationResult) {
        self.conclude(result);
    }

    fn conclude(&mut self, result: OperationResult) {
        let result = result.without_empty_referral();
        // Who waited may be gone.
        match self.0.take() {
            Some(Waiting::Search { end, entries, .. }) => {
                let _ = end.send(result);
                // Behind the end, so that whoever sees that there are no more entries finds it.
                drop(entries);
            }
            Some(Waiting::Other(recipient)) => recipient.answer(result),
            None => {}
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.conclude(OperationResult::new(
            ResultCode::UNAVAILABLE,
            "the database has been closed",
        ));
    }
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

/// Refuses critical controls that no such database obeys, as slapd does; others are ignored.
///
/// # Errors
/// `unavailableCriticalExtension`.
pub(crate) fn refuse_controls(origin: &RequestContext) -> Result<(), OperationError> {
    let kept = origin.critical_controls.minus(origin.dropped_controls);
    if kept.meets(UNSUPPORTED) {
        return Err(OperationError::new(
            ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "critical control unavailable in context",
        ));
    }
    Ok(())
}

/// Controls that need the entries.
pub(crate) const UNSUPPORTED: ControlSet = ControlSet::OF_OVERLAYS
    .with(ControlKind::Assertion)
    .with(ControlKind::PreRead)
    .with(ControlKind::PostRead)
    .with(ControlKind::PagedResults)
    .with(ControlKind::ServerSideSort)
    .with(ControlKind::PermissiveModify)
    .with(ControlKind::TreeDelete)
    .with(ControlKind::Subentries)
    .with(ControlKind::NoOp)
    .with(ControlKind::RelaxRules)
    .with(ControlKind::Dereference);

/// Entries of one search that may wait for its client.
const MOST_WAITING: usize = 64;
/// Octets that they may have, unless one alone has more.
pub(crate) const ROOM_OCTETS: u32 = 256 << 10;
