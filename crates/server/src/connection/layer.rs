//! A SASL security layer between a connection and its stream (RFC 4422 §3.7). It consists of packets, each after its
//! length in four octets.

use std::{
    io,
    task::{Context, Poll, ready},
};

use ironbark_directory::{LayerError, SecurityLayer};

/// A layer with its buffers for both directions. They are usually empty.
pub(super) struct Layered {
    layer: Box<dyn SecurityLayer>,
    /// Packets as received.
    packets: Vec<u8>,
    content: Pending,
    outgoing: Pending,
}

/// Octets, of which the first `taken` have been taken.
#[derive(Default)]
struct Pending {
    octets: Vec<u8>,
    taken: usize,
}

/// The stream that packets come from and go to.
pub(super) trait Transport {
    /// Reads the octets that are there. Zero is the end of the stream.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes as many octets as the stream takes.
    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>>;
}

const LENGTH_OCTETS: usize = 4;
/// Octets per read: memory grows with what has arrived, not with the length in a packet.
const READ_OCTETS: usize = 16_384;

impl Layered {
    pub(super) fn new(layer: Box<dyn SecurityLayer>) -> Self {
        Self {
            layer,
            packets: Vec::new(),
            content: Pending::default(),
            outgoing: Pending::default(),
        }
    }

    /// Reads the content of packets. Zero is the end of the stream.
    pub(super) fn poll_read(
        &mut self,
        transport: &mut impl Transport,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let count = self.content.take(buffer);
            if count != 0 || buffer.is_empty() {
                return Poll::Ready(Ok(count));
            }
            if self.open_packet()? {
                continue;
            }
            let kept = self.packets.len();
            self.packets.resize(kept + READ_OCTETS, 0);
            let read = transport.poll_read(cx, self.packets.get_mut(kept..).unwrap_or_default());
            let count = match &read {
                Poll::Ready(Ok(count)) => *count,
                _ => 0,
            };
            self.packets.truncate(kept + count);
            if count == 0 {
                self.packets.shrink_to_fit();
            }
            if ready!(read)? == 0 {
                return Poll::Ready(Ok(0));
            }
        }
    }

    /// Unwraps the first packet if it is complete.
    fn open_packet(&mut self) -> io::Result<bool> {
        let Some((length, rest)) = self.packets.split_first_chunk::<LENGTH_OCTETS>() else {
            return Ok(false);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > self.layer.max_packet() {
            return Err(broken(LayerError("a packet is too long".to_owned())));
        }
        let Some(packet) = rest.get(..length) else {
            return Ok(false);
        };
        self.layer.unwrap(packet, &mut self.content.octets).map_err(broken)?;
        self.packets.drain(..LENGTH_OCTETS + length);
        Ok(true)
    }

    /// Puts some octets into a packet. [`Layered::poll_flush`] makes sure that the packet leaves.
    pub(super) fn poll_write(
        &mut self,
        transport: &mut impl Transport,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(transport, cx))?;
        let count = octets.len().min(self.layer.max_content());
        let out = &mut self.outgoing.octets;
        out.extend_from_slice(&[0; LENGTH_OCTETS]);
        let content = octets.get(..count).unwrap_or_default();
        self.layer.wrap(content, out).map_err(broken)?;
        let length = u32::try_from(out.len() - LENGTH_OCTETS).map_err(io::Error::other)?;
        if let Some(head) = out.first_chunk_mut::<LENGTH_OCTETS>() {
            *head = length.to_be_bytes();
        }
        if let Poll::Ready(Err(error)) = self.poll_flush(transport, cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(count))
    }

    /// Hands all packets over to the stream.
    pub(super) fn poll_flush(&mut self, transport: &mut impl Transport, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let waiting @ [_, ..] = self.outgoing.rest() {
            match ready!(transport.poll_write(cx, waiting))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.outgoing.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Pending {
    fn rest(&self) -> &[u8] {
        self.octets.get(self.taken..).unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        self.taken += count;
        if self.taken >= self.octets.len() {
            *self = Self::default();
        }
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let count = self.rest().len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), self.rest().get(..count)) {
            to.copy_from_slice(from);
        }
        self.advance(count);
        count
    }
}

fn broken(error: LayerError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, task::Waker};

    use super::*;

    /// Numbers its packets, and refuses a packet out of turn.
    #[derive(Debug, Default)]
    struct Numbered {
        sent: u8,
        received: u8,
    }

    impl SecurityLayer for Numbered {
        fn strength(&self) -> u32 {
            1
        }

        fn max_content(&self) -> usize {
            5
        }

        fn max_packet(&self) -> usize {
            6
        }

        fn wrap(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError> {
            out.push(self.sent);
            out.extend_from_slice(content);
            self.sent += 1;
            Ok(())
        }

        fn unwrap(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError> {
            let (number, content) = packet.split_first().ok_or(LayerError("empty".to_owned()))?;
            if *number != self.received {
                return Err(LayerError("out of turn".to_owned()));
            }
            self.received += 1;
            out.extend_from_slice(content);
            Ok(())
        }
    }

    /// A stream that gives and takes `step` octets at a time, and blocks every other time.
    struct Halting {
        octets: VecDeque<u8>,
        step: usize,
        is_ready: bool,
    }

    impl Halting {
        fn halts(&mut self) -> bool {
            self.is_ready = !self.is_ready;
            !self.is_ready
        }
    }

    impl Transport for Halting {
        fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
            if self.halts() {
                return Poll::Pending;
            }
            let count = self.step.min(self.octets.len()).min(buffer.len());
            for (place, octet) in buffer.iter_mut().zip(self.octets.drain(..count)) {
                *place = octet;
            }
            Poll::Ready(Ok(count))
        }

        fn poll_write(&mut self, _: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
            if self.halts() {
                return Poll::Pending;
            }
            let count = self.step.min(octets.len());
            self.octets.extend(&octets[..count]);
            Poll::Ready(Ok(count))
        }
    }

    fn layered() -> Layered {
        Layered::new(Box::<Numbered>::default())
    }

    fn received(octets: &[u8], step: usize) -> io::Result<Vec<u8>> {
        let (mut layered, mut cx) = (layered(), Context::from_waker(Waker::noop()));
        let octets = octets.iter().copied().collect();
        let mut transport = Halting {
            octets,
            step,
            is_ready: false,
        };
        let (mut all, mut buffer) = (Vec::new(), [0; 3]);
        loop {
            match layered.poll_read(&mut transport, &mut cx, &mut buffer) {
                Poll::Pending => {}
                Poll::Ready(Ok(0)) => return Ok(all),
                Poll::Ready(Ok(count)) => all.extend_from_slice(&buffer[..count]),
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
    }

    #[test]
    fn what_is_written_is_read_however_it_is_cut() {
        let text = b"what is written is read however it is cut";
        for step in 1..60 {
            let (mut layered, mut cx) = (layered(), Context::from_waker(Waker::noop()));
            let mut transport = Halting {
                octets: VecDeque::new(),
                step,
                is_ready: false,
            };
            let mut written = 0;
            while written < text.len() {
                if let Poll::Ready(count) = layered.poll_write(&mut transport, &mut cx, &text[written..]) {
                    written += count.unwrap();
                }
            }
            while layered.poll_flush(&mut transport, &mut cx).is_pending() {}
            let sent: Vec<u8> = transport.octets.into();
            assert_eq!(sent.len(), text.len() + text.len().div_ceil(5) * 5);
            assert_eq!(received(&sent, step).unwrap(), text);
            // The end of the stream inside a packet is an ordinary end.
            let short = received(&sent[..sent.len() - 1], step).unwrap();
            assert_eq!(short.len(), text.len() - text.len() % 5);
        }
    }

    #[test]
    fn packets_that_are_too_long_or_broken_are_refused() {
        for (octets, reason) in [
            (&[0, 0, 0, 7][..], "too long"),
            (&[0xff; 4], "too long"),
            (&[0, 0, 0, 0], "empty"),
            (&[0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "out of turn"),
        ] {
            let error = received(octets, 100).unwrap_err().to_string();
            assert!(error.contains(reason), "{octets:?} {error}");
        }
        assert_eq!(
            received(&[0, 0, 0, 1, 0], 100).unwrap(),
            b"",
            "an empty packet is no end"
        );
    }
}
