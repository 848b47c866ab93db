//! TLS handshakes. Separate threads compute their steps, so that a flood of handshakes, or a key that signs slowly,
//! holds up no reactor. Addresses and connections take turns.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker, ready},
};

use futures_util::task::AtomicWaker;
use ironbark_directory::ConnectionSource;
use ironbark_runtime::{Claimant, FairPool, Shares, Task};
use tokio::sync::oneshot;
use tokio_rustls::{Accept, server::TlsStream};

use super::{Established, TlsContext};
use crate::connection::Socket;

/// The threads of all handshakes. The first handshake starts them.
pub(crate) struct HandshakeThreads(FairPool<ConnectionSource, Step>);

impl Default for HandshakeThreads {
    fn default() -> Self {
        // The waiting steps are bounded by the connections: each has at most one step under way.
        Self(FairPool::new("tls", Shares::of_cores(usize::MAX)))
    }
}

/// A handshake under way.
pub(crate) struct Handshake {
    state: State,
    context: Arc<TlsContext>,
    claimant: Claimant<ConnectionSource>,
    signal: Arc<Signal>,
}

enum State {
    /// Nothing has come yet.
    New(Box<Accept<Socket>>),
    /// The client, or its socket, has to do something.
    Waiting(Box<Accept<Socket>>),
    /// A step is computed.
    Away(oneshot::Receiver<Stepped>),
    Over,
}

/// The result of a step.
enum Stepped {
    More(Box<Accept<Socket>>),
    Done(io::Result<Secured>),
}

/// The result of a handshake.
pub(crate) type Secured = (Box<TlsStream<Socket>>, Established);

/// A step to be computed.
struct Step {
    accept: Box<Accept<Socket>>,
    context: Arc<TlsContext>,
    signal: Arc<Signal>,
    reply: oneshot::Sender<Stepped>,
}

/// Signals that the socket is ready for the event that the last step waited for.
#[derive(Default)]
struct Signal {
    is_ready: AtomicBool,
    connection: AtomicWaker,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.is_ready.store(true, Ordering::Release);
        self.connection.wake();
    }
}

impl Handshake {
    /// Begins a handshake as the server, for a connection.
    pub(crate) fn new(socket: Socket, context: Arc<TlsContext>, claimant: Claimant<ConnectionSource>) -> Self {
        Self {
            state: State::New(Box::new(context.acceptor().accept(socket))),
            context,
            claimant,
            signal: Arc::default(),
        }
    }

    /// Continues the handshake until it has ended.
    ///
    /// # Errors
    /// The peer does not speak TLS, or speaks it in a way that we must refuse.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Secured>> {
        loop {
            match &mut self.state {
                State::New(accept) => {
                    if let Some(socket) = accept.get_ref() {
                        // The step reports errors of the socket.
                        let _ = ready!(socket.poll_read_ready(cx));
                    }
                }
                State::Waiting(_) => {
                    self.signal.connection.register(cx.waker());
                    if !self.signal.is_ready.swap(false, Ordering::AcqRel) {
                        return Poll::Pending;
                    }
                }
                State::Away(stepped) => {
                    let stepped = ready!(Pin::new(stepped).poll(cx));
                    self.state = State::Over;
                    match stepped {
                        Ok(Stepped::More(accept)) => self.state = State::Waiting(accept),
                        Ok(Stepped::Done(result)) => return Poll::Ready(result),
                        Err(_) => return Poll::Ready(Err(io::Error::other("a step was lost"))),
                    }
                    continue;
                }
                State::Over => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            }
            self.submit()?;
        }
    }

    fn submit(&mut self) -> io::Result<()> {
        let (State::New(accept) | State::Waiting(accept)) = std::mem::replace(&mut self.state, State::Over) else {
            return Ok(());
        };
        let (reply, stepped) = oneshot::channel();
        let step = Step {
            accept,
            context: Arc::clone(&self.context),
            signal: Arc::clone(&self.signal),
            reply,
        };
        let threads = &self.context.threads.0;
        if threads.submit(self.claimant, step).is_err() {
            return Err(io::Error::other("there is no thread for it"));
        }
        self.state = State::Away(stepped);
        Ok(())
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        if matches!(self.state, State::Away(_)) {
            // The step holds the socket. Its descriptor should be free at once.
            self.context.threads.0.forget(&self.claimant);
        }
    }
}

impl Task for Step {
    fn octets(&self) -> usize {
        0
    }

    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn run(mut self) {
        let waker = Waker::from(self.signal);
        let stepped = match Pin::new(&mut *self.accept).poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Stepped::More(self.accept),
            Poll::Ready(result) => Stepped::Done(result.map(|stream| {
                let established = self.context.established(stream.get_ref().1);
                (Box::new(stream), established)
            })),
        };
        // The connection may be gone.
        let _ = self.reply.send(stepped);
    }

    fn refuse(self) {
        // The connection ends with its handshake.
    }
}
