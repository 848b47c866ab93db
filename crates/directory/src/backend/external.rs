//! Databases whose entries are elsewhere. A program or another server answers their requests, and may take its time.
//!
//! Invariants: to begin a request never waits. Every request that was begun is answered once, even if the answering
//! side is gone. Entries wait for the client in bounded memory, so a client that does not read slows the sender down.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ironbark_ldap_proto::controls::{ControlKind, ControlSet};
use ironbark_model::{Dn, Entry, ResultCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::tree_change::TreeChange;
use crate::{OperationError, refusal::ControlRefusal, request::context::RequestContext, result::OperationResult};

/// The answering side of a database whose entries are elsewhere. It ends when this value is dropped; requests under way
/// are then answered with `unavailable`.
pub trait ExternalDatabase: Send + Sync {
    /// Begins a request. Access, restrictions and controls have been checked. This returns at once; slow work continues
    /// elsewhere.
    fn begin(&self, request: ExternalRequest, answers: Answers);

    /// Tells that a client has sent an unbind request, whatever database it used. There is no answer.
    fn unbind(&self, asker: ExternalAsker) {
        let _ = asker;
    }
}

/// A request to a database whose entries are elsewhere.
#[derive(Debug)]
pub struct ExternalRequest {
    /// The requester.
    pub asker: ExternalAsker,
    /// The operation.
    pub operation: ExternalOperation,
    /// Time limit of the requester; `None`: no limit.
    pub time: Option<Duration>,
}

/// The requester, as told to the answering side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalAsker {
    /// Message ID of the request.
    pub message_id: i32,
    /// `conn=` of the log; the greatest number for what is of no connection.
    pub connection: u64,
    /// Authorization identity; empty for anonymous.
    pub dn: String,
    /// Name of the peer, as in the log: `IP=127.0.0.1:12345` or `PATH=/run/ldapi`.
    pub peer: Box<str>,
    /// Security strength factor.
    pub ssf: u32,
}

impl ExternalAsker {
    /// Who has sent a request.
    pub fn of(origin: &RequestContext) -> Self {
        Self {
            message_id: origin.message_id,
            // A program that keeps books about connections must not take this bind for one of the connection's.
            connection: match origin.verification {
                Some(_) => u64::MAX,
                None => origin.connection,
            },
            dn: origin.identity.dn.pretty().to_owned(),
            peer: origin.peer.name.clone(),
            ssf: origin.strength.ssf,
        }
    }
}

/// The operation of a request. Names are in pretty form; attribute names are those of the schema.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one for each request; a box for each would cost more"
)]
pub enum ExternalOperation {
    /// A simple bind.
    Bind {
        /// The name.
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

/// A search. The answering side evaluates scope and filter. The server applies access rules, attribute selection and
/// limits.
#[derive(Debug)]
pub struct ExternalSearch {
    /// The base object.
    pub base: Dn,
    /// Number of the scope in the protocol: 0 base, 1 one level, 2 subtree, 3 subordinate subtree.
    pub scope: u8,
    /// `derefAliases`, 0 to 3.
    pub dereference: u8,
    /// Number of entries that may be returned, by the request and the limits of the requester.
    pub size_limit: Option<u32>,
    /// Time limit in seconds.
    pub time_limit: Option<u32>,
    /// The filter as text, with assertion values in normal form.
    pub filter: String,
    /// Whether the client wants attribute names only.
    pub types_only: bool,
    /// The requested attributes as the client wrote them; empty: all user attributes.
    pub attributes: Vec<Vec<u8>>,
}

/// The way of a request's answers to its client. If it is dropped before the end, the answer is `unavailable`.
pub struct Answers(Option<Waiting>);

/// The receiver of the answers.
enum Waiting {
    /// A search, which takes entries.
    Search {
        entries: mpsc::Sender<SentEntry>,
        room: Arc<Semaphore>,
        end: oneshot::Sender<OperationResult>,
    },
    /// An operation that has only a result.
    Other(Box<dyn Recipient>),
}

/// The receiver of the result of an operation that returns no entries.
pub(crate) trait Recipient: Send {
    /// Answers the client.
    fn answer(self: Box<Self>, result: OperationResult);

    /// Ready when the client is gone.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// An entry on its way to the client, with its share of the memory.
#[derive(Debug)]
pub(crate) struct SentEntry {
    pub(crate) entry: Entry,
    _share: OwnedSemaphorePermit,
}

/// The receiving side of [`Answers`] for a search. If it is dropped, the other side is told.
#[derive(Debug)]
pub struct AnswerStream {
    pub(crate) entries: mpsc::Receiver<SentEntry>,
    pub(crate) end: oneshot::Receiver<OperationResult>,
    room: Arc<Semaphore>,
}

impl Drop for AnswerStream {
    /// Wakes a sender that waits for memory, and tells it that the search is gone.
    fn drop(&mut self) {
        self.room.close();
    }
}

impl Answers {
    /// Makes the two sides for a search.
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

    /// Makes the sending side for another operation.
    pub(crate) fn of_other(recipient: impl Recipient + 'static) -> Self {
        Self(Some(Waiting::Other(Box::new(recipient))))
    }

    /// Whether entries may be sent.
    pub fn takes_entries(&self) -> bool {
        matches!(self.0, Some(Waiting::Search { .. }))
    }

    /// Sends an entry that takes `octets`. Waits while too many entries wait for the client. Access rules decide what
    /// the client sees of it. False: the search is gone.
    pub async fn entry(&mut self, entry: Entry, octets: usize) -> bool {
        let Some(Waiting::Search { entries, room, .. }) = &self.0 else {
            return false;
        };
        // A very large entry takes the whole memory of the search.
        let share = u32::try_from(octets).unwrap_or(u32::MAX).clamp(1, ROOM_OCTETS);
        let Ok(share) = Arc::clone(room).acquire_many_owned(share).await else {
            return false;
        };
        let sent = entries.send(SentEntry { entry, _share: share });
        sent.await.is_ok()
    }

    /// Ends when the answers are no longer wanted: the client is gone, or has abandoned the search.
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
        // The receiver may be gone.
        match self.0.take() {
            Some(Waiting::Search { end, entries, .. }) => {
                let _ = end.send(result);
                // The channel closes after the result is sent: a search that sees no more entries then finds the
                // result.
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

/// Refuses critical controls that no such database obeys, as slapd does. Others are ignored.
///
/// # Errors
/// `unavailableCriticalExtension`.
pub(crate) fn refuse_controls(origin: &RequestContext) -> Result<(), OperationError> {
    let kept = origin.critical_controls.minus(origin.dropped_controls);
    if kept.meets(UNSUPPORTED) {
        return Err(ControlRefusal::Unavailable.into());
    }
    Ok(())
}

/// Controls that only a database with entries can obey.
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
/// Octets of these entries. A single larger entry is let through.
pub(crate) const ROOM_OCTETS: u32 = 256 << 10;
