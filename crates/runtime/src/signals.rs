//! Signals that ask a process to end: awaited by the server, polled by tools.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
pub struct HeldSignals(Vec<Held>);

/// A signal, whether it came, and what notes that.
type Held = (Signal, Arc<AtomicBool>, SigId);

/// The signals as they arrive, first those that were held. Their default action is disabled from [`HeldSignals::hold`]
/// to the end of the process.
#[derive(Debug)]
pub struct Signals {
    held: Vec<Signal>,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
}

/// Tells a long-running tool that the user wants it to end.
///
/// The first SIGTERM, SIGINT or SIGHUP sets the flag, so that the tool can end cleanly; a second one ends it at once.
#[derive(Debug, Clone)]
pub struct SignalFlag(Arc<AtomicBool>);

impl HeldSignals {
    /// Takes over SIGTERM, SIGINT and SIGHUP.
    ///
    /// # Errors
    /// The operating system refused a handler.
    pub fn hold() -> io::Result<Self> {
        let mut held = Vec::new();
        for (number, signal) in [
            (SIGHUP, Signal::Hangup),
            (SIGINT, Signal::Interrupt),
            (SIGTERM, Signal::Terminate),
        ] {
            let came = Arc::<AtomicBool>::default();
            let holder = flag::register(number, Arc::clone(&came))?;
            held.push((signal, came, holder));
        }
        Ok(Self(held))
    }

    /// Begins to wait for signals. Call this inside a tokio runtime that has I/O enabled.
    ///
    /// # Errors
    /// The operating system refused a handler.
    pub fn install(self) -> io::Result<Signals> {
        let mut signals = Signals {
            held: Vec::new(),
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        };
        for (signal, came, holder) in self.0 {
            unregister(holder);
            if came.load(Ordering::Relaxed) {
                signals.held.push(signal);
            }
        }
        Ok(signals)
    }
}

impl Signals {
    /// Waits for the next signal. Several signals of one kind that arrive before the call count as one. The future may
    /// be dropped without losing a signal.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Signal> {
        if let Some(held) = self.held.pop() {
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

impl SignalFlag {
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
            // As systemd sends them with SendSIGHUP=.
            raise(Number::SIGTERM).unwrap();
            raise(Number::SIGHUP).unwrap();
            let mut signals = held.install().unwrap();
            let early = [signals.next().await, signals.next().await];
            assert_eq!(early, [Signal::Terminate, Signal::Hangup]);
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
