//! Received bytes of messages that have not been started. Usually there are none; otherwise they are the beginning of a
//! message, or messages over a limit.

use std::{
    io,
    task::{Context, Poll},
};

use super::Stream;

/// The received bytes that are kept.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    /// Start of the first message that has not been started.
    start: usize,
    /// Bytes that the last read put into the reactor's buffer.
    received: usize,
}

impl Input {
    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// The bytes that are kept.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Bytes of memory.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets everything and frees the memory.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Removes the first `count` bytes, which have been started.
    pub(super) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.bytes.len());
        if self.is_empty() {
            self.clear();
        }
    }

    /// Keeps bytes of the reactor's buffer that have not been started. Nothing else may be kept yet.
    pub(super) fn keep(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.bytes = rest.to_vec();
            self.start = 0;
        }
    }

    /// The number of bytes that the last read put into the reactor's buffer; zero if it read into our own.
    pub(super) fn take_received(&mut self) -> usize {
        std::mem::take(&mut self.received)
    }

    /// Reads into the reactor's buffer `shared`. If bytes are kept, reads behind them into our own buffer. That buffer
    /// grows with the bytes that have arrived, and never with the length in a header.
    pub(super) fn poll_read(
        &mut self,
        stream: &mut Stream,
        shared: &mut [u8],
        limit: usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.is_empty() {
            return stream.poll_read(cx, shared).map_ok(|count| {
                self.received = count;
                count
            });
        }
        if self.start != 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let kept = self.bytes.len();
        let missing = match ironbark_ldap_proto::frame::needed(&self.bytes, limit) {
            Ok(Some(length)) => length.saturating_sub(kept),
            // The header is not complete, or the message will be refused.
            Ok(None) | Err(_) => 0,
        };
        let room = missing.max(MIN_READ_BYTES).min(kept.max(shared.len()));
        if self.bytes.try_reserve(room).is_err() {
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        self.bytes.resize(kept + room, 0);
        let read = stream.poll_read(cx, self.bytes.get_mut(kept..).unwrap_or_default());
        let count = match &read {
            Poll::Ready(Ok(count)) => *count,
            _ => 0,
        };
        self.bytes.truncate(kept + count);
        if count == 0 {
            self.bytes.shrink_to(kept);
        }
        read
    }
}

const MIN_READ_BYTES: usize = 512;
