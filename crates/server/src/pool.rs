//! The reactors, and accepting, which hands each connection to the reactor with the fewest connections.

use std::{
    io,
    os::fd::{AsRawFd as _, RawFd},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use ironbark_runtime::Clock;
use socket2::Socket;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot, watch},
    task::{AbortHandle, JoinSet},
};

use crate::{
    acceptor::{self, Acceptor},
    arrival::{Accepted, AcceptedSocket},
    connection::Status,
    held::HeldMemory,
    listener::Listener,
    reactor::{Admission, Incoming, Reactor, ReactorThread, World},
    repeated_notice::RepeatedNotice,
    roll_call::RollCall,
    sources::Sources,
};

/// The connections of one reactor, counted from their acceptance.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) current: AtomicUsize,
    /// A connection has ended somewhere.
    pub(crate) changed: Arc<Notify>,
}

/// A listener, as its connections see it.
struct Side {
    name: Arc<str>,
    url: Arc<str>,
    is_local: bool,
    is_tls: bool,
    is_proxied: bool,
}

/// The work of accepting from one listener.
pub(crate) struct Acceptance {
    pool: Arc<Pool>,
    socket: Socket,
    places: Arc<Semaphore>,
    side: Side,
}

/// Accepting on a reactor's thread. Dropping it ends that.
struct HostedAcceptance(AbortHandle);

/// All reactors.
#[derive(Debug)]
pub(crate) struct Pool {
    reactors: Vec<ReactorThread>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stop: watch::Sender<bool>,
    changed: Arc<Notify>,
    /// Number of connections accepted so far.
    total: AtomicU64,
    clock: Clock,
    /// Maximum number of descriptors that the process may open.
    max_descriptors: u64,
    sources: Arc<Sources>,
    /// While it is not 0, clients wait in the queues of the listening sockets.
    suspended: watch::Receiver<usize>,
    roll: RollCall,
    /// When the log last reported that no more connections can be accepted.
    told: RepeatedNotice,
}

impl Pool {
    /// Starts `count` reactors. The process may have `max_descriptors` open.
    pub(crate) fn start(count: usize, world: &World, max_descriptors: u64) -> io::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let (changed, held) = (Arc::<Notify>::default(), Arc::<HeldMemory>::default());
        let (mut reactors, mut threads) = (Vec::new(), Vec::new());
        let (roll, answers) = RollCall::new(count.max(1));
        for (index, answer) in answers.into_iter().enumerate() {
            let counters = Arc::new(Counters {
                current: AtomicUsize::new(0),
                changed: Arc::clone(&changed),
            });
            let (reactor, thread) = ReactorThread::start(
                index,
                world.clone(),
                counters,
                Arc::clone(&held),
                answer,
                stopped.clone(),
            )?;
            reactors.push(reactor);
            threads.push(thread);
        }
        Ok(Self {
            reactors,
            threads: Mutex::new(threads),
            stop,
            changed,
            total: AtomicU64::new(0),
            clock: world.clock.clone(),
            max_descriptors,
            sources: Arc::clone(&world.sources),
            suspended: world.suspended.clone(),
            roll,
            told: RepeatedNotice::default(),
        })
    }

    /// Accepts from all listeners until the returned set is dropped or shut down.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) async fn accept(self: &Arc<Self>, listeners: &[Listener]) -> io::Result<JoinSet<()>> {
        let mut sockets = Vec::new();
        for listener in listeners {
            sockets.push((acceptor::socket(listener)?, listener));
        }
        let highest = sockets.iter().map(|(socket, _)| socket.as_raw_fd()).max();
        let places = Arc::new(Semaphore::new(places(
            self.max_descriptors,
            highest.unwrap_or(0),
            sockets.len(),
        )));
        let mut tasks = JoinSet::new();
        for (socket, listener) in sockets {
            let side = Side {
                name: Arc::clone(&listener.name),
                url: Arc::clone(&listener.url),
                is_local: listener.path.is_some(),
                is_tls: listener.is_tls,
                is_proxied: listener.is_proxied,
            };
            let acceptance = Acceptance {
                pool: Arc::clone(self),
                socket,
                places: Arc::clone(&places),
                side,
            };
            if let [only] = &self.reactors[..] {
                let hosted = only.host(acceptance).await?;
                tasks.spawn(async move {
                    let _until_dropped = hosted;
                    std::future::pending::<()>().await;
                });
            } else {
                tasks.spawn(acceptance.start()?);
            }
        }
        Ok(tasks)
    }

    async fn accept_from(self: Arc<Self>, socket: Acceptor, places: Arc<Semaphore>, side: Side) {
        let mut suspended = self.suspended.clone();
        while let Some(place) = self.place(&places).await {
            let accepted = socket.accept().await;
            // An error means that nobody suspends any more.
            let _ = suspended.wait_for(|number| *number == 0).await;
            match accepted {
                Ok((accepted, address)) => {
                    let number = FIRST_NUMBER + self.total.fetch_add(1, Ordering::Relaxed);
                    self.hand_over(Accepted {
                        socket: AcceptedSocket::Here(accepted),
                        place,
                        address,
                        number,
                        socket_name: Arc::clone(&side.name),
                        listener_url: Arc::clone(&side.url),
                        is_tls: side.is_tls,
                        is_proxied: side.is_proxied,
                    })
                    .await;
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    if self.told.is_due(&self.clock) {
                        tracing::warn!(target: "any", "daemon: accept({}) failed: {error}", side.url);
                    }
                    // Out of descriptors or memory: trying again is useless until a connection ends.
                    let _ = tokio::time::timeout(ACCEPT_PAUSE, self.changed.notified()).await;
                }
            }
        }
    }

    /// Room for one more connection. While there is none, clients wait in the queues of the listening sockets.
    async fn place(&self, places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Some(place);
        }
        if self.told.is_due(&self.clock) {
            let (current, most) = (self.current(), self.max_descriptors);
            tracing::warn!(target: "any", "daemon: {current} connections, no descriptor (of {most}) is left for more, which wait");
        }
        Arc::clone(places).acquire_owned().await.ok()
    }

    async fn hand_over(&self, accepted: Accepted) {
        let fewest = self
            .reactors
            .iter()
            .min_by_key(|reactor| reactor.counters.current.load(Ordering::Relaxed));
        if let Some(reactor) = fewest {
            reactor.counters.current.fetch_add(1, Ordering::Relaxed);
            // Only a lone reactor accepts itself.
            match Reactor::admit_here(accepted) {
                Ok(Admission::GoesOn) => {}
                Ok(Admission::LetsOthersGoFirst) => tokio::task::yield_now().await,
                Err(elsewhere) => {
                    let sent = match elsewhere.released() {
                        Ok(released) => reactor.incoming.send(Incoming::Connection(released)).await.is_ok(),
                        Err(error) => {
                            tracing::warn!(target: "any", "daemon: a connection cannot be handed over: {error}");
                            false
                        }
                    };
                    if !sent {
                        reactor.counters.current.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Number of open connections.
    pub(crate) fn current(&self) -> usize {
        self.reactors
            .iter()
            .map(|reactor| reactor.counters.current.load(Ordering::Relaxed))
            .sum()
    }

    /// Number of connections accepted so far.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The addresses that connections come from.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Tells whether the reactors take turns.
    pub(crate) fn roll(&self) -> &RollCall {
        &self.roll
    }

    /// Number of reactors.
    pub(crate) fn reactors(&self) -> usize {
        self.reactors.len()
    }

    /// Reactors with operations under way.
    pub(crate) fn busy_reactors(&self) -> usize {
        let is_busy = |status: &Arc<Status>| status.executing.load(Ordering::Relaxed) != 0;
        self.reactors
            .iter()
            .filter(|reactor| reactor.registry.all().iter().any(is_busy))
            .count()
    }

    /// The open connections, oldest first.
    pub(crate) fn connections(&self) -> Vec<Arc<Status>> {
        let mut all: Vec<_> = self
            .reactors
            .iter()
            .flat_map(|reactor| reactor.registry.all())
            .collect();
        all.sort_unstable_by_key(|status| status.number);
        all
    }

    /// Whether every reactor still runs. A reactor that has ended by itself no longer serves its connections.
    pub(crate) fn is_alive(&self) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        !threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until all connections have ended.
    pub(crate) async fn emptied(&self) {
        while self.current() != 0 {
            self.changed.notified().await;
        }
    }

    /// Operations under way.
    pub(crate) fn under_way(&self) -> u64 {
        self.connections()
            .iter()
            .map(|status| u64::from(status.executing.load(Ordering::Relaxed)))
            .sum()
    }

    /// Ends all connections after their submitted operations, and then the reactors.
    pub(crate) fn shut_down(&self) {
        let _ = self.stop.send(true);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic was logged before.
            let _ = thread.join();
        }
    }
}

impl Acceptance {
    /// Registers the socket with the runtime of the caller. The future accepts until it is dropped.
    ///
    /// # Errors
    /// Of the system.
    fn start(self) -> io::Result<impl Future<Output = ()>> {
        let acceptor = Acceptor::new(self.socket, self.side.is_local)?;
        Ok(self.pool.accept_from(acceptor, self.places, self.side))
    }

    /// Accepts on the thread of the caller, a reactor's.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn start_here(self) -> io::Result<AbortHandle> {
        Ok(tokio::task::spawn_local(self.start()?).abort_handle())
    }
}

impl ReactorThread {
    /// Accepts on the reactor's own thread. With one reactor, another thread would only add two switches of threads to
    /// each connection. With several, none of them is to hold up new connections of the others.
    async fn host(&self, acceptance: Acceptance) -> io::Result<HostedAcceptance> {
        let ended = || io::Error::other("the reactor has ended");
        let (told, started) = oneshot::channel();
        let sent = self
            .incoming
            .send(Incoming::Acceptance(Box::new(acceptance), told))
            .await;
        sent.map_err(|_| ended())?;
        started.await.map_err(|_| ended())?.map(HostedAcceptance)
    }
}

impl Drop for HostedAcceptance {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The maximum number of connections. The system gives out the lowest free descriptor, so `highest`, the last
/// descriptor that the server opened for itself, tells how many it needs. Each of the `listeners` keeps one place for
/// its next connection.
fn places(max_descriptors: u64, highest: RawFd, listeners: usize) -> usize {
    let own = u64::try_from(highest).unwrap_or(0) + 1 + SPARE_DESCRIPTORS;
    // Zero: the system did not tell.
    let most = if max_descriptors == 0 {
        u64::MAX
    } else {
        max_descriptors
    };
    usize::try_from(most.saturating_sub(own))
        .unwrap_or(usize::MAX)
        .clamp(listeners, Semaphore::MAX_PERMITS)
}

/// Failures that end one connection, but not the accepting.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// As in slapd, so that connection numbers are not mistaken for descriptors.
const FIRST_NUMBER: u64 = 1000;
/// Kept free for files that the server opens later: log files, an audit log, a connection to syslog.
const SPARE_DESCRIPTORS: u64 = 16;
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
