//! One connection: its socket, its buffers, and the requests under way on it.

use std::io::ErrorKind;

use super::{
    client::{Client, Lost, Received, Sent, read_once},
    measures::{Answered, Measures},
};
use crate::{
    target::BoundStream,
    wire::{FirstMessage, RequestSlot, next_answer},
    workload::{Next, RequestClass, Requests},
};

/// A connection of a worker, for the whole measurement.
pub(super) struct Connection {
    stream: Box<dyn BoundStream>,
    requests: Box<dyn Requests>,
    slots: Vec<UnderWay>,
    free: Vec<RequestSlot>,
    /// Encoded requests. Those from `written` on are not sent yet.
    output: Vec<u8>,
    written: usize,
    /// The start of a message whose rest has not arrived.
    partial: Vec<u8>,
    /// Octets of an entry that have not arrived yet.
    skip: usize,
    /// The workload has no more requests for it.
    has_ended: bool,
}

#[derive(Clone, Copy, Default)]
struct UnderWay {
    is_busy: bool,
    kind: u8,
    entries: u32,
    start_ns: u64,
}

impl Connection {
    pub(super) fn new(stream: Box<dyn BoundStream>, requests: Box<dyn Requests>, in_flight: u16) -> Self {
        // The lowest slot is taken first.
        let free: Vec<RequestSlot> = (0..in_flight).rev().filter_map(RequestSlot::new).collect();
        Self {
            stream,
            requests,
            slots: vec![UnderWay::default(); free.len()],
            free,
            output: Vec::new(),
            written: 0,
            partial: Vec::new(),
            skip: 0,
            has_ended: false,
        }
    }

    /// Returns the rest: the start of a message.
    fn answers<'b>(
        &mut self,
        mut octets: &'b [u8],
        now_ns: u64,
        kinds: &[RequestClass],
        measures: &mut Measures,
        received: &mut Received,
    ) -> Result<&'b [u8], Lost> {
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(octets.len());
                self.skip -= skipped;
                octets = octets.get(skipped..).unwrap_or_default();
            }
            match next_answer(octets).map_err(|error| Lost(error.to_string()))? {
                FirstMessage::Incomplete => return Ok(octets),
                FirstMessage::Part { id, is_entry, length } => {
                    let (_, under_way) = self.slot_of(id)?;
                    if is_entry {
                        under_way.entries += 1;
                        received.entries += 1;
                    }
                    self.skip = length;
                }
                FirstMessage::Result { id: 0, code, .. } => {
                    return Err(Lost(format!("notice of disconnection with result code {code}")));
                }
                FirstMessage::Result { id, code, length } => {
                    let (slot, under_way) = self.slot_of(id)?;
                    under_way.is_busy = false;
                    let answered = Answered {
                        kind: under_way.kind,
                        start_ns: under_way.start_ns,
                        code,
                        entries: under_way.entries,
                    };
                    measures.answered(now_ns, answered, kinds);
                    self.free.push(slot);
                    self.requests.answered(slot, answered.kind, code);
                    received.answers += 1;
                    octets = octets.get(length..).unwrap_or_default();
                }
            }
        }
    }

    fn slot_of(&mut self, id: u32) -> Result<(RequestSlot, &mut UnderWay), Lost> {
        let unknown = || Lost("an answer to no request of ours".to_owned());
        let slot = RequestSlot::of_message_id(id).ok_or_else(unknown)?;
        let under_way = self.slots.get_mut(usize::from(slot.number()));
        let under_way = under_way.filter(|under_way| under_way.is_busy).ok_or_else(unknown)?;
        Ok((slot, under_way))
    }
}

impl Client for Connection {
    fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn has_room(&self) -> bool {
        !self.has_ended && !self.free.is_empty()
    }

    #[inline]
    fn send(&mut self, start_ns: u64) -> Sent {
        if self.has_ended {
            return Sent::End;
        }
        let Some(slot) = self.free.pop() else {
            return Sent::NotNow;
        };
        let kind = match self.requests.next(slot, &mut self.output) {
            Next::Sent(kind) => kind,
            Next::Wait => {
                self.free.push(slot);
                return Sent::NotNow;
            }
            Next::End => {
                self.free.push(slot);
                self.has_ended = true;
                return Sent::End;
            }
        };
        if let Some(under_way) = self.slots.get_mut(usize::from(slot.number())) {
            *under_way = UnderWay {
                is_busy: true,
                kind,
                entries: 0,
                start_ns,
            };
        }
        Sent::Yes
    }

    fn flush(&mut self) -> Result<(), Lost> {
        while self.written < self.output.len() {
            match self.stream.write(self.output.get(self.written..).unwrap_or_default()) {
                Ok(0) => return Err(Lost("nothing can be written".to_owned())),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Lost(error.to_string())),
            }
        }
        self.output.clear();
        self.written = 0;
        loop {
            return match self.stream.flush() {
                Ok(()) => Ok(()),
                // The poll tells when there is room for the rest.
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(Lost(error.to_string())),
            };
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Lost> {
        read_once(&mut self.stream, buffer)
    }

    fn take(
        &mut self,
        octets: &[u8],
        now_ns: u64,
        kinds: &[RequestClass],
        measures: &mut Measures,
    ) -> Result<Received, Lost> {
        let mut received = Received::default();
        if self.partial.is_empty() {
            let rest = self.answers(octets, now_ns, kinds, measures, &mut received)?;
            self.partial.extend_from_slice(rest);
        } else {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(octets);
            let rest = self.answers(&whole, now_ns, kinds, measures, &mut received)?.len();
            whole.drain(..whole.len() - rest);
            self.partial = whole;
        }
        measures.received(now_ns, received.entries, u64::try_from(octets.len()).unwrap_or(0));
        Ok(received)
    }
}
