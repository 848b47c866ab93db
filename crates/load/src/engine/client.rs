//! A client of the measured server, as its worker sees it.

use std::io::{ErrorKind, Read};

use super::measures::Measures;
use crate::workload::RequestClass;

/// A client: a connection for the whole measurement, or sessions one after the other.
pub(super) trait Client: Send {
    /// Requests without an answer.
    fn under_way(&self) -> usize;

    /// Whether the workload has no more requests for it.
    fn has_ended(&self) -> bool;

    /// Whether it takes a request now.
    fn has_room(&self) -> bool;

    /// Puts one request into the output buffer. Its latency counts from `start_ns`.
    fn send(&mut self, start_ns: u64) -> Sent;

    /// Writes as much as the socket takes.
    ///
    /// # Errors
    /// The client cannot go on.
    fn flush(&mut self) -> Result<(), Lost>;

    /// Reads once into `buffer`. Returns the number of octets, or `None` when there are none.
    ///
    /// # Errors
    /// The client cannot go on.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Lost>;

    /// Takes the answers from the data read at `now_ns`.
    ///
    /// # Errors
    /// The client cannot go on.
    fn take(
        &mut self,
        octets: &[u8],
        now_ns: u64,
        kinds: &[RequestClass],
        measures: &mut Measures,
    ) -> Result<Received, Lost>;
}

/// [`Client::read`] from a stream that never waits.
///
/// # Errors
/// The stream has ended, or failed.
pub(super) fn read_once(stream: &mut impl Read, buffer: &mut [u8]) -> Result<Option<usize>, Lost> {
    loop {
        return match stream.read(buffer) {
            Ok(0) => Err(Lost("closed by the server".to_owned())),
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(Lost(error.to_string())),
        };
    }
}

/// The result of one read.
#[derive(Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) answers: u64,
    pub(super) entries: u64,
}

/// The result of an attempt to send one more request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sent {
    /// It is in the output buffer.
    Yes,
    /// No slot is free, or the workload waits for an answer.
    NotNow,
    /// The workload has no more requests for this client.
    End,
}

/// The client cannot go on.
#[derive(Debug)]
pub(super) struct Lost(pub(super) String);
