//! Signals that ask a process to end: awaited by the server, polled by tools.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level::unregister};
use tokio::signal::unix::{self, SignalKind, signal};

/// A signal that the server acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: shut down.
    Terminate,
    /// SIGINT: shut down (Ctrl-C in the foreground).
    Interrupt,
    /// SIGHUP: shut down, gently if so configured, or take up replaced files.
    Hangup,
}

/// Signals that arrive before a server can act on them. They end nothing.
#[derive(Debug)]
pub struct HeldSignals {
    /// The number of the last one; 0: none came.
    last: Arc<AtomicUsize>,
    holders: Vec<SigId>,
}

/// The signals as they arrive, first the one that was held. Their default action is disabled from [`HeldSignals::hold`]
/// to the end of the process.
#[derive(Debug)]
pub struct Signals {
    held: Option<Signal>,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
}

/// Tells a long-running tool that the user wants it to end.
///
/// The first SIGTERM, SIGINT or SIGHUP sets the flag, so that the tool can end cleanly; a second one ends it at once.
#[derive(Debug, Clone)]
pub struct StopFlag(Arc<AtomicBool>);

impl HeldSignals {
    /// Takes over SIGTERM, SIGINT and SIGHUP.
    ///
    /// # Errors
    /// The operating system refused a handler.
    pub fn hold() -> io::Result<Self> {
        let last = Arc::<AtomicUsize>::default();
        let mut holders = Vec::new();
        for (number, value) in [(SIGTERM, TERMINATE), (SIGINT, INTERRUPT), (SIGHUP, HANGUP)] {
            holders.push(flag::register_usize(number, Arc::clone(&last), value)?);
        }
        Ok(Self { last, holders })
    }

    /// Begins to wait for signals. Call this inside a tokio runtime that has I/O enabled.
    ///
    /// # Errors
    /// The operating system refused a handler.
    pub fn install(self) -> io::Result<Signals> {
        let mut signals = Signals {
            held: None,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        };
        for holder in self.holders {
            unregister(holder);
        }
        signals.held = match self.last.load(Ordering::Relaxed) {
            TERMINATE => Some(Signal::Terminate),
            INTERRUPT => Some(Signal::Interrupt),
            HANGUP => Some(Signal::Hangup),
            _ => None,
        };
        Ok(signals)
    }
}

const TERMINATE: usize = 1;
const INTERRUPT: usize = 2;
const HANGUP: usize = 3;

impl Signals {
    /// Waits for the next signal. Several signals of one kind that arrive before the call count as one. The future may
    /// be dropped without losing a signal.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Signal> {
        if let Some(held) = self.held.take() {
            return Poll::Ready(held);
        }
        for (stream, name) in [
            (&mut self.terminate, Signal::Terminate),
            (&mut self.interrupt, Signal::Interrupt),
            (&mut self.hangup, Signal::Hangup),
        ] {
            if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                return Poll::Ready(name);
            }
        }
        Poll::Pending
    }
}

impl StopFlag {
    /// Takes over SIGTERM, SIGINT and SIGHUP for the rest of the process.
    ///
    /// # Errors
    /// The operating system refused a handler.
    pub fn install() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            // Handlers run in this order. The default action happens only when an earlier signal has set the flag.
            flag::register_conditional_default(signal, Arc::clone(&stop))?;
            flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Self(stop))
    }

    /// True from the first signal on.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{Signal as Number, raise};

    use super::*;

    #[test]
    fn each_signal_is_seen_once_under_its_name() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let held = HeldSignals::hold().unwrap();
            raise(Number::SIGTERM).unwrap();
            let mut signals = held.install().unwrap();
            assert_eq!(signals.next().await, Signal::Terminate, "it came early");
            raise(Number::SIGHUP).unwrap();
            assert_eq!(signals.next().await, Signal::Hangup);
            raise(Number::SIGINT).unwrap();
            raise(Number::SIGTERM).unwrap();
            let mut seen = [signals.next().await, signals.next().await];
            seen.sort_by_key(|signal| *signal as u8);
            assert_eq!(seen, [Signal::Terminate, Signal::Interrupt]);
        });
    }
}
