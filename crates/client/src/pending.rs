//! An operation under way.

use std::time::Duration;

use ironbark_ldap_proto::{MessageId, Operation};

use crate::{BindReply, Client, ClientError, ExtendedReply, ReceivedResult, SearchItem, incoming::Incoming};

/// A request that was sent. Dropping it before its result has arrived abandons the operation.
#[derive(Debug)]
pub struct Pending {
    client: Client,
    id: MessageId,
    operation: Operation,
    /// Longest wait for the next response.
    timeout: Option<Duration>,
    finished: bool,
}

impl Pending {
    pub(crate) fn new(client: Client, id: MessageId, operation: Operation) -> Self {
        Self {
            timeout: Some(client.options().operation_timeout),
            client,
            id,
            operation,
            finished: false,
        }
    }

    /// The same operation with another limit for the wait for each response; `None`: no limit.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Message ID of the request, for Cancel.
    pub const fn id(&self) -> MessageId {
        self.id
    }

    /// Waits for the result of an add, delete, modify, modify DN or compare; intermediate responses are skipped.
    pub async fn result(mut self) -> Result<ReceivedResult, ClientError> {
        loop {
            match self.next().await? {
                Incoming::Done(result) => return Ok(result),
                Incoming::Item(SearchItem::Intermediate { .. }) => {}
                other => return Err(self.unexpected(&other)),
            }
        }
    }

    /// Waits for the answer to a bind request.
    pub async fn bind_reply(mut self) -> Result<BindReply, ClientError> {
        match self.next().await? {
            Incoming::Bind(reply) => Ok(reply),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Waits for the answer to an extended request; intermediate responses are skipped.
    pub async fn extended_reply(mut self) -> Result<ExtendedReply, ClientError> {
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

    /// Most octets of an answer that is collected.
    pub(crate) fn most_collected(&self) -> usize {
        self.client.options().max_collected
    }

    pub(crate) async fn next(&mut self) -> Result<Incoming, ClientError> {
        let receiving = self.client.connection().receive(self.id);
        let received = match self.timeout {
            None => Ok(receiving.await),
            Some(timeout) => tokio::time::timeout(timeout, receiving)
                .await
                .map_err(|_| ClientError::Timeout(timeout)),
        };
        let received = received.inspect_err(|_| {
            self.finished = true;
            self.client.connection().forget(self.id, self.can_be_abandoned());
        })?;
        let incoming = received.ok_or_else(|| {
            self.finished = true;
            self.client.closed().unwrap_or(ClientError::Closed {
                reason: "the operation was abandoned".to_owned(),
            })
        })?;
        self.finished = !matches!(incoming, Incoming::Item(_));
        Ok(incoming)
    }

    /// RFC 4511 §4.11: bind cannot be abandoned.
    fn can_be_abandoned(&self) -> bool {
        !matches!(self.operation, Operation::Bind | Operation::Unbind | Operation::Abandon)
    }

    pub(crate) fn unexpected(&self, incoming: &Incoming) -> ClientError {
        let kind = match incoming {
            Incoming::Item(_) => "a part of a search result",
            Incoming::Done(_) => "a result",
            Incoming::Bind(_) => "a bind response",
            Incoming::Extended(_) => "an extended response",
        };
        ClientError::Protocol(format!("{kind} in answer to {:?} {}", self.operation, self.id))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.finished {
            self.client.connection().forget(self.id, self.can_be_abandoned());
        }
    }
}
