//! A reactor: one thread that serves many connections. A connection stays on its reactor for its whole life.

use std::{
    cell::{Cell, RefCell, RefMut},
    io,
    rc::{Rc, Weak},
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

use ironbark_directory::{BindFailures, Peer, Service, Statistics, Worker};
use ironbark_model::number_map::NumberMap;
use ironbark_runtime::{Claimant, Clock, spawn_named};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::{AbortHandle, LocalSet},
};

use crate::{
    arrival::{Accepted, Arrival},
    connection::{CloseRequest, Connection, Handle, Registry, SpareBuffers, Status, Stream},
    held::{self, HeldMemory},
    limits::Limits,
    listener::{address_name, host_name, proxy},
    log::{Log, RoundLines},
    pool::{Acceptance, Counters},
    roll_call::RollAnswer,
    round::Round,
    sources::{SourcePlace, Sources},
    tls::Tls,
};

/// What the pool hands to a reactor.
pub(crate) enum Incoming {
    /// A connection.
    Connection(Accepted),
    /// To accept from a listener itself. It tells how to end that.
    Acceptance(Box<Acceptance>, oneshot::Sender<io::Result<AbortHandle>>),
}

/// What comes after an admitted connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// The next one, if there is one.
    GoesOn,
    /// A turn of the connections that are being served.
    LetsOthersGoFirst,
}

/// The pool's side of a reactor.
#[derive(Debug)]
pub(crate) struct ReactorThread {
    pub(crate) incoming: mpsc::Sender<Incoming>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) registry: Arc<Registry>,
}

/// The parts of the server that all reactors share.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) directory: Arc<Service>,
    pub(crate) clock: Clock,
    pub(crate) tls: Arc<Tls>,
    pub(crate) sources: Arc<Sources>,
    /// How many parts of the server want no clients now (`strictrefresh`).
    pub(crate) suspended: watch::Receiver<usize>,
    pub(crate) log: Log,
}

/// The state of a reactor that its connections share. All of them run on one thread.
pub(crate) struct Reactor {
    directory: Arc<Service>,
    clock: Clock,
    tls: Arc<Tls>,
    sources: Arc<Sources>,
    /// Nothing new is served any more.
    is_ending: Cell<bool>,
    work: RefCell<Work>,
    round: Round,
    /// The lines that this thread writes to the log.
    lines: RoundLines,
    limits: Cell<Limits>,
    connections: RefCell<NumberMap<Rc<Handle>>>,
    /// Connections admitted so far.
    admitted: Cell<usize>,
    /// Signals that the last connection has gone.
    is_empty: Notify,
    counters: Arc<Counters>,
    held: Arc<HeldMemory>,
    registry: Arc<Registry>,
}

thread_local! {
    /// The reactor of this thread.
    static REACTOR: RefCell<Weak<Reactor>> = const { RefCell::new(Weak::new()) };
}

/// The tools of the connection whose turn it is.
pub(crate) struct Work {
    pub(crate) worker: Worker,
    /// The buffer for reads from all sockets.
    pub(crate) input: Box<[u8]>,
    /// Empty buffers for responses.
    pub(crate) spare_outputs: SpareBuffers,
}

impl ReactorThread {
    /// Starts a reactor. It ends when `stop` becomes true.
    pub(crate) fn start(
        index: usize,
        world: World,
        counters: Arc<Counters>,
        held: Arc<HeldMemory>,
        answer: RollAnswer,
        stop: watch::Receiver<bool>,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (sender, incoming) = mpsc::channel(MAX_HANDED_OVER);
        let registry = Arc::<Registry>::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .on_thread_park(Reactor::rest)
            .build()?;
        let (shared, its_registry) = (Arc::clone(&counters), Arc::clone(&registry));
        let thread = spawn_named(&format!("reactor {index}"), move || {
            let suspended = world.suspended.clone();
            let reactor = Rc::new(Reactor::new(world, shared, held, its_registry));
            REACTOR.set(Rc::downgrade(&reactor));
            let local = LocalSet::new();
            local.block_on(&runtime, reactor.run(incoming, answer, stop, suspended));
            // This drops connections that have not ended by now.
            drop(local);
        })?;
        Ok((
            Self {
                incoming: sender,
                counters,
                registry,
            },
            thread,
        ))
    }
}

impl Reactor {
    fn new(world: World, counters: Arc<Counters>, held: Arc<HeldMemory>, registry: Arc<Registry>) -> Self {
        let World {
            directory,
            clock,
            tls,
            sources,
            suspended: _,
            log,
        } = world;
        let limits = Limits::of(&directory.configuration());
        Self {
            work: RefCell::new(Work {
                worker: directory.worker(),
                input: Box::default(),
                spare_outputs: SpareBuffers::default(),
            }),
            directory,
            clock,
            tls,
            sources,
            is_ending: Cell::new(false),
            round: Round::default(),
            lines: log.round_lines(),
            limits: Cell::new(limits),
            connections: RefCell::default(),
            admitted: Cell::new(0),
            is_empty: Notify::new(),
            counters,
            held,
            registry,
        }
    }

    /// Called when this thread's reactor has nothing to do and is about to wait.
    fn rest() {
        let Some(reactor) = Self::of_this_thread() else { return };
        if reactor.round.end() {
            return;
        }
        reactor.lines.hand_over();
        if let Ok(mut work) = reactor.work.try_borrow_mut() {
            work.worker.rest();
        }
    }

    async fn run(
        self: Rc<Self>,
        mut incoming: mpsc::Receiver<Incoming>,
        mut answer: RollAnswer,
        mut stop: watch::Receiver<bool>,
        mut suspended: watch::Receiver<usize>,
    ) {
        let mut changes = self.directory.configuration_changes();
        let mut swept = self.clock.coarse_monotonic();
        loop {
            self.limits.set(Limits::of(&self.directory.configuration()));
            let since = self.clock.coarse_monotonic().saturating_since(swept);
            let left = self.sweep_period().saturating_sub(since);
            tokio::select! {
                handed = incoming.recv() => match handed {
                    Some(Incoming::Connection(accepted)) => {
                        if self.admit_in_turn(accepted) == Admission::LetsOthersGoFirst {
                            tokio::task::yield_now().await;
                        }
                    }
                    // An error means that the pool has given up waiting.
                    Some(Incoming::Acceptance(acceptance, told)) => drop(told.send(acceptance.start_here())),
                    None => break,
                },
                number = answer.called() => answer.answer(number),
                // An error means that the pool is gone. The reactor then ends too.
                _ = stop.wait_for(|stop| *stop) => break,
                // When it rests again, it lets go of the former configuration, too.
                Ok(()) = changes.changed() => self.connections.borrow().values().for_each(|handle| handle.let_go()),
                // An error means that nobody suspends any more: the server ends.
                Ok(()) = suspended.changed() => {
                    if *suspended.borrow_and_update() > 0 {
                        self.suspend();
                    }
                }
                // The period counts from the last sweep, so a steady stream of new connections does not delay the next
                // one.
                () = tokio::time::sleep(left) => {
                    self.sweep();
                    if *suspended.borrow() > 0 {
                        self.suspend();
                    }
                    swept = self.clock.coarse_monotonic();
                }
            }
        }
        self.drain().await;
    }

    /// The reactor of the caller's thread.
    fn of_this_thread() -> Option<Rc<Self>> {
        REACTOR.with_borrow(Weak::upgrade)
    }

    /// Takes a new connection on the caller's thread. It is given back if that is no reactor's.
    #[expect(clippy::result_large_err, reason = "it is moved once for each connection")]
    pub(crate) fn admit_here(accepted: Accepted) -> Result<Admission, Accepted> {
        match Self::of_this_thread() {
            Some(own) => Ok(own.admit_in_turn(accepted)),
            None => Err(accepted),
        }
    }

    /// Takes a new connection. New connections, when there are very many, wait for those that are being served.
    fn admit_in_turn(self: &Rc<Self>, accepted: Accepted) -> Admission {
        self.admit(accepted);
        self.admitted.set(self.admitted.get().wrapping_add(1));
        if self.admitted.get().is_multiple_of(MAX_ADMITTED_PER_TURN) {
            Admission::LetsOthersGoFirst
        } else {
            Admission::GoesOn
        }
    }

    /// Takes a new connection. It is served at once, or after its proxy has told the client's address.
    fn admit(self: &Rc<Self>, accepted: Accepted) {
        let (number, is_proxied) = (accepted.number, accepted.is_proxied);
        match accepted.register() {
            Ok(arrival) if is_proxied => {
                tokio::task::spawn_local(Rc::clone(self).admit_proxied(arrival));
            }
            Ok(arrival) => self.welcome(arrival),
            Err(error) => {
                tracing::warn!(target: "any", "conn={number} cannot be served: {error}");
                self.counters.release();
            }
        }
    }

    /// Serves the client of a proxy. Closes the connection if the peer is no proxy, or not a trusted one.
    async fn admit_proxied(self: Rc<Self>, mut arrival: Arrival) {
        let descriptor = arrival.socket.descriptor();
        let configuration = self.directory.configuration();
        let is_trusted = proxy::is_trusted(&configuration.settings.proxy_trusted, arrival.peer.address);
        drop(configuration);
        let via = &arrival.peer.name;
        let read = if is_trusted {
            proxy::read(&mut arrival.socket)
                .await
                .map_err(|error| error.to_string())
        } else {
            Err(format!("{via} is not trusted"))
        };
        match read {
            Ok(proxy::Source::Client(address)) => {
                tracing::info!(target: "stats", "proxyp({descriptor}): via {via}");
                arrival.peer.name = address_name(address).into_boxed_str();
                arrival.peer.address = Some(address.ip());
                self.welcome(arrival);
            }
            Ok(proxy::Source::Proxy) => {
                tracing::debug!(target: "conns", "proxyp({descriptor}): local connection, ignoring proxy data");
                self.welcome(arrival);
            }
            Err(error) => {
                tracing::warn!(target: "any", "proxyp({descriptor}): {error}");
                tracing::warn!(target: "any", "slapd({descriptor}): proxyp failed");
                self.sources.refuse_proxy();
                self.counters.release();
            }
        }
    }

    /// Serves a connection whose address is known. If `reverse-lookup` is on, its host name is looked up first.
    fn welcome(self: &Rc<Self>, mut arrival: Arrival) {
        let (number, descriptor) = (arrival.number, arrival.socket.descriptor());
        let Peer { name, socket_name, .. } = &arrival.peer;
        tracing::info!(target: "stats", "conn={number} fd={descriptor} ACCEPT from {name} ({socket_name})");
        let Some(address) = arrival.peer.address else {
            return self.serve(arrival, None);
        };
        let limit = self.limits.get().connections_per_source;
        let Some(source) = self.sources.enter(address, limit) else {
            return self.refuse(&arrival, "too many connections from this address");
        };
        if !self.directory.configuration().settings.reverse_lookup {
            return self.serve(arrival, Some(source));
        }
        let reactor = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Some(name) = host_name::of(address).await {
                arrival.peer.domain = Some(name);
            }
            reactor.serve(arrival, Some(source));
        });
    }

    fn refuse(&self, arrival: &Arrival, reason: &str) {
        let (number, descriptor) = (arrival.number, arrival.socket.descriptor());
        tracing::info!(target: "stats", "conn={number} fd={descriptor} closed ({reason})");
        self.counters.release();
    }

    /// Serves a connection after the checks of its source.
    fn serve(self: &Rc<Self>, arrival: Arrival, source: Option<SourcePlace>) {
        if self.is_ending.get() {
            return self.refuse(&arrival, "slapd shutdown");
        }
        let context = if arrival.is_tls {
            let Some(context) = self.tls.context() else {
                return self.refuse(&arrival, "TLS negotiation failure");
            };
            Some(context)
        } else {
            None
        };
        let Arrival {
            socket,
            place,
            peer,
            number,
            is_tls: _,
        } = arrival;
        let mut stream = Stream::new(socket);
        if let Some(context) = context {
            let claimant = Claimant {
                source: peer.source(),
                connection: number,
            };
            stream.start_tls(context, claimant);
        }
        let status = Arc::new(Status::new(number, Arc::new(peer), self.clock.now().unix_seconds()));
        let handle = Rc::new(Handle::new(self.clock.coarse_monotonic()));
        self.registry.insert(Arc::clone(&status));
        self.connections.borrow_mut().insert(number, Rc::clone(&handle));
        let connection = Connection::new(Rc::clone(self), stream, place, source, handle, status);
        tokio::task::spawn_local(connection.run());
    }

    /// Closes connections that are idle, and those whose clients do not read.
    fn sweep(&self) {
        let now = self.clock.coarse_monotonic();
        let limits = self.limits.get();
        for handle in self.connections.borrow().values() {
            let last = limits.write.or(handle.is_closing.get().then_some(MAX_CLOSING));
            let is_over = |since, limit| now.saturating_since(since) >= limit;
            if handle
                .blocked_since
                .get()
                .zip(last)
                .is_some_and(|(since, limit)| is_over(since, limit))
            {
                handle.close(CloseRequest::WriteTimeout);
            } else if let Some(limit) = limits.idle
                && !handle.is_busy.get()
                && is_over(handle.active.get(), limit)
            {
                handle.close(CloseRequest::Idle);
            }
        }
    }

    /// Closes connections without an operation under way, as slapd does when it takes no clients for a while.
    fn suspend(&self) {
        let connections = self.connections.borrow();
        for handle in connections.values().filter(|handle| !handle.is_busy.get()) {
            handle.close(CloseRequest::Suspended);
        }
    }

    /// Tells that a connection holds `bytes` now. If all connections together hold too much, some of this reactor are
    /// closed: first those whose clients have neither read nor sent anything for longest.
    pub(crate) fn hold(&self, handle: &Handle, bytes: usize) {
        let before = handle.held.replace(bytes);
        if before == bytes {
            return;
        }
        let all = self.held.change(before, bytes);
        if bytes > before
            && let Some(excess) = held::excess(all, self.limits.get().held_bytes)
        {
            if self.held.told.is_due(&self.clock) {
                tracing::warn!(target: "any", "daemon: clients leave {all} bytes untaken or unfinished, closing those that stall");
            }
            self.shed(excess);
        }
    }

    fn shed(&self, excess: usize) {
        let connections = self.connections.borrow();
        let mut holding: Vec<_> = connections
            .iter()
            .filter(|(_, handle)| handle.held.get() != 0)
            .collect();
        holding.sort_unstable_by_key(|(number, handle)| (handle.stalled_since(), **number));
        let mut freed = 0;
        for (_, handle) in holding {
            if freed >= excess {
                break;
            }
            // A connection's bytes count until it has closed. Until then it may be chosen again.
            freed += handle.held.get();
            handle.close(CloseRequest::Overload);
        }
    }

    /// The period of sweeps: a quarter of the shortest timeout, as in slapd.
    fn sweep_period(&self) -> Duration {
        let limits = self.limits.get();
        let shortest = [limits.idle, limits.write, Some(MAX_CLOSING)]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(MAX_CLOSING);
        (shortest / 4).max(Duration::from_millis(250))
    }

    /// Asks all connections to end, and waits for them up to a limit.
    async fn drain(&self) {
        self.is_ending.set(true);
        for handle in self.connections.borrow().values() {
            handle.close(CloseRequest::Shutdown);
        }
        if !self.connections.borrow().is_empty() {
            // Connections that have not ended by then are dropped with the reactor.
            let _ = tokio::time::timeout(MAX_DRAIN, self.is_empty.notified()).await;
        }
    }

    /// Borrows the tools for the connection whose turn it is.
    pub(crate) fn work(&self) -> RefMut<'_, Work> {
        let mut work = self.work.borrow_mut();
        // A connection that panicked has taken the buffer with it.
        if work.input.is_empty() {
            work.input = vec![0; READ_BYTES].into_boxed_slice();
        }
        work
    }

    pub(crate) fn round(&self) -> &Round {
        &self.round
    }

    /// A connection that has more to do lets others go first. Responses and log lines do not wait until it has ended.
    pub(crate) fn pass_on(&self) {
        self.round.release();
        self.lines.hand_over();
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits.get()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn tls(&self) -> &Tls {
        &self.tls
    }

    pub(crate) fn statistics(&self) -> &Statistics {
        self.directory.statistics()
    }

    /// Failed binds by address.
    pub(crate) fn bind_failures(&self) -> &BindFailures {
        self.directory.bind_failures()
    }

    /// `localSSF`.
    pub(crate) fn local_ssf(&self) -> u32 {
        self.directory.configuration().settings.local_ssf.cast_unsigned()
    }

    /// Removes a connection that has ended.
    pub(crate) fn forget(&self, number: u64) {
        self.registry.remove(number);
        let mut connections = self.connections.borrow_mut();
        connections.remove(&number);
        if connections.is_empty() {
            self.is_empty.notify_waiters();
        }
        self.counters.release();
    }
}

impl Counters {
    fn release(&self) {
        self.current.fetch_sub(1, Ordering::Relaxed);
        self.changed.notify_one();
    }
}

/// Size of the read buffer that all connections of a reactor share.
const READ_BYTES: usize = 64 << 10;
/// New connections of one turn. Then the sockets of all connections are looked at.
const MAX_ADMITTED_PER_TURN: usize = 8;
/// Connections that may wait for a reactor. If there are more, the acceptor waits.
const MAX_HANDED_OVER: usize = 1024;
/// Time that a client has for the last message, even without `writetimeout`.
const MAX_CLOSING: Duration = Duration::from_secs(10);
/// Time that the server waits at its end for operations under way and for clients to read their responses.
const MAX_DRAIN: Duration = Duration::from_secs(10);
