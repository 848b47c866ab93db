//! `metrics-listener`: figures for Prometheus, and `/livez` and `/readyz`, over HTTP in its own thread.
//!
//! It cannot harm the server. It has one thread and few connections, each for a short time; when more come, those that
//! wait longest are closed ([`seats`]). Requests are small and their bodies are not read. It reads counters without
//! stopping other threads.

mod ask;
mod clusters;
mod conflicts;
mod consumers;
mod page;
mod seats;
mod sessions;
mod text;

pub use ask::{ReadinessError, ask_whether_ready};
use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use ironbark_directory::Service;
use ironbark_runtime::{WallTime, spawn_named};
use tokio::{net::TcpStream, sync::watch};

use self::seats::Seats;
use crate::{failed_parts::FailedParts, log::Log, pool::Pool, replication::Replication};

/// The data that is shown.
pub(crate) struct Source {
    pub(crate) directory: Arc<Service>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) started: WallTime,
    pub(crate) max_descriptors: u64,
    /// The consumers.
    pub(crate) replication: Arc<Replication>,
    pub(crate) log: Log,
    /// Parts of the server that are missing.
    failed: FailedParts,
    /// Cleared when the server begins to end.
    is_ready: AtomicBool,
}

/// The endpoint. A change of the configuration may move it or remove it.
pub(crate) struct Metrics {
    source: Arc<Source>,
    running: Mutex<Option<Running>>,
}

/// A changed endpoint, prepared for use. If it is dropped, nothing changes.
#[must_use = "dropped, it changes nothing"]
pub(crate) struct PreparedMetrics<'m> {
    metrics: &'m Metrics,
    next: Next,
}

enum Next {
    /// The endpoint stays where it is.
    Same,
    /// The endpoint listens at the new address, or nowhere.
    Other(Option<Running>),
}

impl PreparedMetrics<'_> {
    /// Serves at the new address, and no longer at the old one.
    pub(crate) fn commit(self) {
        let Next::Other(next) = self.next else { return };
        if let Some(running) = &next {
            running.serve();
        }
        let former = std::mem::replace(&mut *self.metrics.running(), next);
        drop(former);
    }
}

/// The endpoint while it listens.
struct Running {
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    pub(crate) fn new(
        directory: Arc<Service>,
        pool: Arc<Pool>,
        started: WallTime,
        max_descriptors: u64,
        replication: Arc<Replication>,
        log: Log,
        failed: FailedParts,
    ) -> Self {
        Self {
            directory,
            pool,
            started,
            max_descriptors,
            replication,
            log,
            failed,
            is_ready: AtomicBool::new(true),
        }
    }

    fn is_alive(&self) -> bool {
        self.pool.is_alive() && self.directory.has_all_writers()
    }

    /// Why no clients should come; `None`: they may.
    fn unready(&self) -> Option<String> {
        if !self.is_ready.load(Ordering::Relaxed) || !self.is_alive() {
            return Some("not ok\n".to_owned());
        }
        let unfilled = self.replication.unfilled().into_iter();
        let unfilled = unfilled.map(|suffix| format!("not ok: the first refresh of {suffix} is not complete\n"));
        let behind = self.replication.behind_clusters().into_iter();
        let behind = behind.map(|suffix| format!("not ok: {suffix} does not have what its cluster has\n"));
        let failed = self.failed.reasons().into_iter();
        Some(unfilled.chain(behind).chain(failed).collect()).filter(|reasons: &String| !reasons.is_empty())
    }
}

/// The instructions for the thread of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Its configuration is not in force yet.
    Waiting,
    Serving,
    Ended,
}

impl Metrics {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source: Arc::new(source),
            running: Mutex::new(None),
        }
    }

    /// Binds the address of another `metrics-listener`. It does not serve yet: clients that connect wait.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn prepare(&self, address: Option<SocketAddr>) -> io::Result<PreparedMetrics<'_>> {
        let now = self.running().as_ref().map(|running| running.address);
        let next = if now == address {
            Next::Same
        } else {
            let started = address.map(|address| Running::start(address, &self.source));
            Next::Other(started.transpose()?)
        };
        Ok(PreparedMetrics { metrics: self, next })
    }

    /// Ends the endpoint.
    pub(crate) fn close(&self) {
        drop(self.running().take());
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server begins to end: `/readyz` reports this from now on.
    pub(crate) fn set_ending(&self) {
        self.source.is_ready.store(false, Ordering::Relaxed);
    }
}

impl Running {
    /// Listens, but does not accept connections yet.
    fn start(address: SocketAddr, source: &Arc<Source>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (phase, told) = watch::channel(Phase::Waiting);
        let source = Arc::clone(source);
        let thread = spawn_named("metrics", move || {
            if let Err(error) = runtime.block_on(accept(listener, &source, told)) {
                tracing::error!(target: "any", "metrics: {error}");
            }
        })?;
        Ok(Self {
            address,
            phase,
            thread: Some(thread),
        })
    }

    fn serve(&self) {
        tracing::info!(target: "any", "metrics: listening on http://{}/metrics", self.address);
        // A thread that has ended has logged the reason.
        let _ = self.phase.send(Phase::Serving);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A thread that has ended needs no message.
        let _ = self.phase.send(Phase::Ended);
        if let Some(thread) = self.thread.take() {
            // A panic was logged before.
            let _ = thread.join();
        }
    }
}

/// Serves from the first message to serve until the message to end.
async fn accept(listener: TcpListener, source: &Arc<Source>, mut told: watch::Receiver<Phase>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // An error means that the sender is gone.
    if told.wait_for(|phase| *phase != Phase::Waiting).await.is_err() {
        return Ok(());
    }
    let mut seats = Seats::default();
    loop {
        tokio::select! {
            // An error means that the sender is gone.
            _ = told.wait_for(|phase| *phase == Phase::Ended) => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // A connection that takes too long is dropped.
                    let task = tokio::spawn(tokio::time::timeout(MAX_LIFE, serve(stream, Arc::clone(source))));
                    seats.take(peer.ip(), task.abort_handle());
                }
                // Usually out of descriptors: trying again at once is useless.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

async fn serve(stream: TcpStream, source: Arc<Source>) {
    let answer = service_fn(|request| {
        let response = respond(&source, &request);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_REQUEST_BYTES)
        .max_headers(MAX_HEADERS)
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_HEADER_WAIT)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that disconnects gets no answer.
    let _ = connection.await;
}

fn respond(source: &Source, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let health = |complaint: Option<String>| match complaint {
        None => plain(StatusCode::OK, "ok\n"),
        Some(complaint) => plain(StatusCode::SERVICE_UNAVAILABLE, complaint),
    };
    match request.uri().path() {
        "/metrics" => {
            let mut response = plain(StatusCode::OK, page::render(source));
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(text::CONTENT_TYPE));
            response
        }
        "/livez" => health((!source.is_alive()).then(|| "not ok\n".to_owned())),
        "/readyz" => health(source.unready()),
        _ => plain(StatusCode::NOT_FOUND, "/metrics, /livez and /readyz are here\n"),
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// From accepting to the last octet of the answer.
const MAX_LIFE: Duration = Duration::from_secs(10);
/// From accepting to the end of the request's headers.
const MAX_HEADER_WAIT: Duration = Duration::from_secs(1);
/// Request line and headers.
const MAX_REQUEST_BYTES: usize = 8192;
const MAX_HEADERS: usize = 64;
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
