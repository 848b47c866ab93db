//! An operation under way.

use ironbark_ldap_proto::{MessageId, Operation};
use tokio::sync::mpsc;

use crate::{BindReply, Client, Error, ExtendedReply, LdapResult, SearchItem, connection::Incoming};

/// A request that was sent. Dropping it before its result has arrived abandons the operation.
#[derive(Debug)]
pub struct Pending {
    client: Client,
    id: MessageId,
    operation: Operation,
    receiver: mpsc::UnboundedReceiver<Incoming>,
    finished: bool,
}

impl Pending {
    pub(crate) const fn new(
        client: Client,
        id: MessageId,
        operation: Operation,
        receiver: mpsc::UnboundedReceiver<Incoming>,
    ) -> Self {
        Self {
            client,
            id,
            operation,
            receiver,
            finished: false,
        }
    }

    /// Message ID of the request, for Cancel.
    pub const fn id(&self) -> MessageId {
        self.id
    }

    /// Waits for the result of an add, delete, modify, modify DN or compare; intermediate responses are skipped.
    pub async fn result(mut self) -> Result<LdapResult, Error> {
        loop {
            match self.next().await? {
                Incoming::Done(result) => return Ok(result),
                Incoming::Item(SearchItem::Intermediate { .. }) => {}
                other => return Err(self.unexpected(&other)),
            }
        }
    }

    /// Waits for the answer to a bind request.
    pub async fn bind_reply(mut self) -> Result<BindReply, Error> {
        match self.next().await? {
            Incoming::Bind(reply) => Ok(reply),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Waits for the answer to an extended request; intermediate responses are skipped.
    pub async fn extended_reply(mut self) -> Result<ExtendedReply, Error> {
        loop {
            match self.next().await? {
                Incoming::Extended(reply) => return Ok(reply),
                Incoming::Item(SearchItem::Intermediate { .. }) => {}
                other => return Err(self.unexpected(&other)),
            }
        }
    }

    /// Abandons the operation (RFC 4511 §4.11): no response will be seen.
    pub fn abandon(self) {
        drop(self);
    }

    pub(crate) async fn next(&mut self) -> Result<Incoming, Error> {
        let timeout = self.client.options().operation_timeout;
        let Ok(received) = tokio::time::timeout(timeout, self.receiver.recv()).await else {
            self.client.connection().forget(self.id, true);
            self.finished = true;
            return Err(Error::Timeout(timeout));
        };
        let incoming = received.ok_or_else(|| {
            self.finished = true;
            self.client.closed().unwrap_or(Error::Closed {
                reason: "the operation was abandoned".to_owned(),
            })
        })?;
        self.finished = !matches!(incoming, Incoming::Item(_));
        Ok(incoming)
    }

    pub(crate) fn unexpected(&self, incoming: &Incoming) -> Error {
        let kind = match incoming {
            Incoming::Item(_) => "a part of a search result",
            Incoming::Done(_) => "a result",
            Incoming::Bind(_) => "a bind response",
            Incoming::Extended(_) => "an extended response",
        };
        Error::Protocol(format!("{kind} in answer to {:?} {}", self.operation, self.id))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.finished {
            // RFC 4511 §4.11: bind cannot be abandoned.
            let abandon = !matches!(self.operation, Operation::Bind | Operation::Unbind | Operation::Abandon);
            self.client.connection().forget(self.id, abandon);
        }
    }
}
