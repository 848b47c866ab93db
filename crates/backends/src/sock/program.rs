//! The program behind a local socket: a connection for each request, in bounded number, on a thread of their own.

use std::{
    future::Future,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use ironbark_directory::OperationResult;
use ironbark_model::ResultCode;
use ironbark_runtime::spawn_named;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    runtime::{Builder, Handle},
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{sleep, timeout},
};

use super::answer::{AnswerPart, AnswerReader, MOST_OCTETS, TooLong};

/// A program that answers requests. Dropped, it gives up what is under way.
#[derive(Debug)]
pub struct Program {
    path: Arc<Path>,
    /// Starts work on the thread.
    handle: Handle,
    /// Connections to the program.
    places: Arc<Semaphore>,
    /// Octets of the requests that wait or are under way, in units of [`UNIT_OCTETS`].
    room: Arc<Semaphore>,
    thread: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// A request that has been taken on.
#[derive(Debug)]
pub struct Taken {
    path: Arc<Path>,
    request: Vec<u8>,
    places: Arc<Semaphore>,
    _room: OwnedSemaphorePermit,
}

/// A conversation with the program about one request. Its connection ends when this is dropped.
#[derive(Debug)]
pub struct Conversation {
    stream: UnixStream,
    reader: AnswerReader,
    buffer: Vec<u8>,
    /// What of the buffer has not been read.
    left: std::ops::Range<usize>,
    _place: OwnedSemaphorePermit,
}

impl Program {
    /// A program that listens at `path`, now or later. Starts a thread.
    ///
    /// # Errors
    /// Of the system: there are no more threads or descriptors.
    pub fn new(path: &Path) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = spawn_named("sock", move || {
            // An error means that the sender is gone, which is as good as a word.
            let _ = runtime.block_on(ended);
        })?;
        Ok(Self {
            path: Arc::from(PathBuf::from(path)),
            handle,
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            room: Arc::new(Semaphore::new(ROOM_OCTETS / UNIT_OCTETS)),
            thread: Some((end, thread)),
        })
    }

    /// Takes a request on; `None`: too many wait.
    pub fn take(&self, request: Vec<u8>) -> Option<Taken> {
        let units = request.len().div_ceil(UNIT_OCTETS).clamp(1, ROOM_OCTETS / UNIT_OCTETS);
        let room = Arc::clone(&self.room).try_acquire_many_owned(u32::try_from(units).ok()?);
        Some(Taken {
            path: Arc::clone(&self.path),
            request,
            places: Arc::clone(&self.places),
            _room: room.ok()?,
        })
    }

    /// Tells the program something that has no answer. A client that floods the server with it is not worth a word.
    pub fn tell(&self, text: Vec<u8>) {
        let Some(taken) = self.take(text) else { return };
        self.spawn(async move {
            // What went wrong is in the log.
            let _ = timeout(LONGEST_TELLING, taken.begin()).await;
        });
    }

    /// Does something on the program's thread. It is dropped, wherever it is, when the program is.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            // What it was at may have been the last to know of this.
            if thread.thread().id() != std::thread::current().id() {
                // It never waits for the program. Where it panicked, it has said so.
                let _ = thread.join();
            }
        }
    }
}

impl Taken {
    /// Connects, once there is a place, and sends the request.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub async fn begin(self) -> Result<Conversation, OperationResult> {
        let closed = || OperationResult::new(ResultCode::UNAVAILABLE, "the database has been closed");
        let place = self.places.acquire_owned().await.map_err(|_| closed())?;
        let mut stream = connect(&self.path).await.map_err(|error| {
            tracing::warn!(target: "any", "socket connect({}) failed: {error}", self.path.display());
            OperationResult::new(ResultCode::OTHER, "could not open socket")
        })?;
        // A program that has seen enough may answer without reading on.
        if let Err(error) = stream.write_all(&self.request).await {
            tracing::debug!(target: "trace", "sock: writing to {}: {error}", self.path.display());
        }
        Ok(Conversation {
            stream,
            reader: AnswerReader::default(),
            buffer: vec![0; READ_OCTETS],
            left: 0..0,
            _place: place,
        })
    }
}

impl Conversation {
    /// The next part of the answer. Behind a result there is none.
    ///
    /// # Errors
    /// The answer is too long.
    pub async fn part(&mut self) -> Result<AnswerPart, OperationResult> {
        loop {
            let mut octets = self.buffer.get(self.left.clone()).unwrap_or_default();
            let part = self.reader.read(&mut octets).map_err(|TooLong| {
                tracing::warn!(target: "any", "sock: the program's answer has a paragraph of more than {MOST_OCTETS} octets");
                OperationResult::new(ResultCode::OTHER, "the program's answer is too long")
            })?;
            self.left.start = self.left.end - octets.len();
            if let Some(part) = part {
                return Ok(part);
            }
            match self.stream.read(&mut self.buffer).await {
                Ok(read @ 1..) => self.left = 0..read,
                Ok(0) => return Ok(std::mem::take(&mut self.reader).end()),
                Err(error) => {
                    tracing::warn!(target: "any", "sock: reading the program's answer: {error}");
                    return Ok(std::mem::take(&mut self.reader).end());
                }
            }
        }
    }
}

/// Connects; waits while the program has not taken the connections before.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    let mut pause = FIRST_PAUSE;
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            connected => return connected,
        }
    }
}

/// The result of a request that [`Program::take`] does not take.
pub fn busy() -> OperationResult {
    OperationResult::new(ResultCode::BUSY, "too many requests wait for the program")
}

/// How long a message without an answer may wait for the program.
const LONGEST_TELLING: Duration = Duration::from_secs(10);
/// Connections to one program at a time; further requests wait.
const MOST_CONNECTIONS: usize = 64;
/// Octets of requests that may wait for one program or be under way; past it the answer is `busy`.
const ROOM_OCTETS: usize = 64 << 20;
/// Octets that a request counts for at least: 16,384 of them may wait.
const UNIT_OCTETS: usize = 4 << 10;
const READ_OCTETS: usize = 16 << 10;
/// Between two attempts to connect to a program that has many connections to take.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
