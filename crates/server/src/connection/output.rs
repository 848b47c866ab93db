//! Bytes on their way to the client. The buffer belongs to the reactor while the client takes everything.

use std::{io, task::Context, task::Poll};

use super::Stream;
use crate::round::MAX_HELD_BACK;

/// A reactor's empty buffers.
#[derive(Debug, Default)]
pub(crate) struct SpareBuffers {
    buffers: Vec<Vec<u8>>,
}

/// Output that the client has not taken.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    sent: usize,
    has_progressed: bool,
    /// The stream has taken bytes that have not left it (TLS).
    is_unflushed: bool,
    /// Bytes that the client has taken since [`Output::take_counted`].
    counted: u64,
}

impl Output {
    /// Takes a buffer of the reactor, unless we have one of our own.
    pub(super) fn borrow(&mut self, spare: &mut SpareBuffers) {
        if self.bytes.capacity() == 0 {
            self.bytes = spare.buffers.pop().unwrap_or_default();
        }
    }

    /// Gives an empty buffer back to the reactor. A buffer that has grown too large is freed.
    pub(super) fn give_back(&mut self, spare: &mut SpareBuffers) {
        if self.waiting() == 0 {
            self.sent = 0;
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            // One large buffer serves searches with much output. More than one would waste memory.
            let is_first = spare.buffers.is_empty() && bytes.capacity() <= MAX_KEPT_BYTES;
            if is_first || (spare.buffers.len() <= MAX_HELD_BACK && bytes.capacity() <= MANY_KEPT_BYTES) {
                spare.buffers.push(bytes);
            }
        }
    }

    /// The buffer to which responses are appended.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent >= COMPACT_AT_BYTES {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.bytes
    }

    /// Whether the client has taken everything.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting() == 0 && !self.is_unflushed
    }

    /// Bytes that wait for the client.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Bytes of memory of the connection's own buffer.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether the client has taken something since the last call.
    pub(super) fn take_progress(&mut self) -> bool {
        std::mem::take(&mut self.has_progressed)
    }

    /// Bytes that the client has taken since the last call.
    pub(super) fn take_counted(&mut self) -> u64 {
        std::mem::take(&mut self.counted)
    }

    /// Sends until nothing waits (true), or until the socket takes no more (false: the task is woken when it does).
    pub(super) fn poll_flush(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> io::Result<bool> {
        while let Some(waiting @ [_, ..]) = self.bytes.get(self.sent..) {
            match stream.poll_write(cx, waiting) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    self.sent += count;
                    self.counted += count as u64;
                    self.has_progressed = true;
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(false),
            }
        }
        self.is_unflushed = stream.poll_flush(cx)?.is_pending();
        Ok(!self.is_unflushed)
    }
}

/// Larger buffers are never kept. `MANY_KEPT_BYTES` applies if another buffer is kept already.
const MAX_KEPT_BYTES: usize = 1 << 20;
const MANY_KEPT_BYTES: usize = 64 << 10;
const COMPACT_AT_BYTES: usize = 64 << 10;
