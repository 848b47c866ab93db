//! Tools that want to change a database which this server has open: slapadd, slapmodify, slapindex.
//!
//! A process writes to a database alone. So the tool sends its operations here, by the local socket of the database's
//! folder, and the server executes them as its own: with their records in the log of changes, and with its overlays.
//!
//! Who may do what: only processes of root and of the server's user are spoken to. They could change all files of the
//! server as well, so no rule and no restriction binds them. The owner of one database's folder could not. Each
//! connection has a thread, a few at a time. So clients wait for a tool in the queue of the writer alone.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::Shutdown,
    ops::ControlFlow,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    thread::JoinHandle,
    time::Duration,
};

use ironbark_directory::{Configuration, Identity, NamingContext, Peer, Service, Session, Started, Submitted, Worker};
use ironbark_ldap_proto::{
    ExtendedResponse, LdapResult, MessageId, Request, RequestMessage, ResultCode, encode_extended_response,
    encode_result, frame, tool,
};
use ironbark_model::Dn;
use ironbark_runtime::{is_of_own_user, listen_for_tools, own_user_is_shared, spawn_named};
use ironbark_store::Csn;

use crate::repeated_notice::RepeatedNotice;

/// Tools at the same time. More are turned away.
const MOST_CONNECTIONS: usize = 8;
/// Octets of a request.
const MOST_OCTETS: usize = 256 << 20;
/// Operations, and octets of operations, whose results are awaited.
const MOST_WAITING: usize = 2_048;
const MOST_WAITING_OCTETS: usize = 16 << 20;
/// The name of the author in a database without a rootdn.
const NO_ROOT: &str = "cn=tool";

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A folder and its socket.
type Listening = (PathBuf, tokio::net::UnixListener);

/// The sockets for tools, and their connections.
pub(crate) struct Tools {
    /// Those that were bound at the start.
    first: Mutex<Vec<(PathBuf, UnixListener)>>,
    open: Mutex<Vec<(UnixStream, JoinHandle<()>)>>,
    /// Whether the server ends.
    ends: Arc<AtomicBool>,
    told: RepeatedNotice,
}

impl Tools {
    /// Listens for the folders of a configuration. From then on tools find the server.
    pub(crate) fn listen(configuration: &Configuration) -> Self {
        if let Some(user) = own_user_is_shared() {
            tracing::warn!(target: "any", "daemon: user {user} stands for all that have no number in this user namespace: tools are served for root alone");
        }
        let folders = folders(configuration).into_iter();
        Self {
            first: Mutex::new(
                folders
                    .filter_map(|folder| Some((folder.clone(), bind(&folder)?)))
                    .collect(),
            ),
            open: Mutex::default(),
            ends: Arc::default(),
            told: RepeatedNotice::default(),
        }
    }

    /// Accepts tools for all stored databases. Never ends.
    pub(crate) async fn accept(&self, directory: &Arc<Service>) {
        let mut changes = directory.configuration_changes();
        let first = std::mem::take(&mut *self.first.lock().unwrap_or_else(PoisonError::into_inner));
        let mut listening: Vec<Listening> = Vec::new();
        listening.extend(
            first
                .into_iter()
                .filter_map(|(folder, listener)| Some((folder, registered(listener)?))),
        );
        loop {
            let wanted = folders(&directory.configuration());
            listening.retain(|(folder, _)| wanted.contains(folder));
            for folder in wanted {
                if !listening.iter().any(|(known, _)| *known == folder) {
                    listening.extend(bind(&folder).and_then(|listener| Some((folder, registered(listener)?))));
                }
            }
            tokio::select! {
                (folder, accepted) = next_tool(&listening) => {
                    let served = accepted.and_then(|stream| self.serve(folder, stream, directory));
                    let Err(error) = served else { continue };
                    if self.told.is_due(directory.clock()) {
                        tracing::warn!(target: "any", "daemon: a tool cannot be served: {error}");
                    }
                    // Out of descriptors or threads: trying again at once is useless.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                Ok(()) = changes.changed() => {}
            }
        }
    }

    fn serve(&self, folder: PathBuf, stream: tokio::net::UnixStream, directory: &Arc<Service>) -> io::Result<()> {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        let mut open = self.open();
        open.retain(|(_, thread)| !thread.is_finished());
        if open.len() >= MOST_CONNECTIONS || !is_of_own_user(&stream)? {
            return Ok(());
        }
        let (own, directory) = (stream.try_clone()?, Arc::clone(directory));
        let (at_end, ends) = (stream.try_clone()?, Arc::clone(&self.ends));
        let thread = spawn_named("tool", move || {
            // A tool that goes away ends its connection, and so does one that talks nonsense.
            let _ = Connection::new(stream, &folder, &directory, &ends).serve();
            let _ = at_end.shutdown(Shutdown::Both);
        })?;
        open.push((own, thread));
        Ok(())
    }

    /// Ends all connections, after the operations that were begun. Of indexes that are built anew, this is one step.
    pub(crate) fn close(&self) {
        self.ends.store(true, Ordering::Relaxed);
        let open = std::mem::take(&mut *self.open());
        for (stream, thread) in open {
            // It may be closed already; a panic was logged before.
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<(UnixStream, JoinHandle<()>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next tool that comes, or why none can.
async fn next_tool(listening: &[Listening]) -> (PathBuf, io::Result<tokio::net::UnixStream>) {
    std::future::poll_fn(|cx| {
        for (folder, listener) in listening {
            if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                return Poll::Ready((folder.clone(), accepted.map(|(stream, _)| stream)));
            }
        }
        Poll::Pending
    })
    .await
}

/// The folders of the stored databases.
fn folders(configuration: &Configuration) -> Vec<PathBuf> {
    let stored = configuration
        .contexts
        .iter()
        .filter(|context| context.database().is_some());
    stored.map(|context| context.settings.directory.clone()).collect()
}

fn bind(folder: &Path) -> Option<UnixListener> {
    let listener = listen_for_tools(folder).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    let told = listener.inspect_err(|error| {
        let folder = folder.display();
        tracing::warn!(target: "any", "daemon: tools cannot reach this server for {folder}: {error}");
    });
    told.ok()
}

fn registered(listener: UnixListener) -> Option<tokio::net::UnixListener> {
    let registered = tokio::net::UnixListener::from_std(listener);
    let told = registered.inspect_err(|error| {
        tracing::warn!(target: "any", "daemon: tools cannot reach this server: {error}");
    });
    told.ok()
}

/// One tool.
struct Connection<'d> {
    stream: UnixStream,
    directory: &'d Arc<Service>,
    /// Whether the server ends.
    ends: &'d AtomicBool,
    worker: Worker,
    session: Session,
    waiting: VecDeque<Waiting>,
    waiting_octets: usize,
    out: Vec<u8>,
}

/// An operation whose response has come, or is awaited.
struct Waiting {
    submitted: Option<Submitted>,
    response: Vec<u8>,
    octets: usize,
}

/// Why a request of tools is refused.
type Refusal = (ResultCode, String);

/// The answer to a request of tools.
type Told = Result<(), Refusal>;

impl<'d> Connection<'d> {
    fn new(stream: UnixStream, folder: &Path, directory: &'d Arc<Service>, ends: &'d AtomicBool) -> Self {
        let peer = Peer {
            name: format!("TOOL={}", folder.display()).into(),
            socket_name: "tools".into(),
            listener_url: "".into(),
            domain: None,
            address: None,
            credentials: None,
        };
        Self {
            stream,
            directory,
            ends,
            worker: directory.worker(),
            session: Session::new(0, Arc::new(peer)),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            out: Vec::new(),
        }
    }

    fn serve(mut self) -> io::Result<()> {
        let (mut buffer, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let mut begin = 0;
            while let Some(length) = frame(buffer.get(begin..).unwrap_or_default(), MOST_OCTETS).map_err(invalid)? {
                let end = begin + length;
                self.request(buffer.get(begin..end).unwrap_or_default())?;
                begin = end;
            }
            buffer.drain(..begin);
            // The tool may wait for the answers before it sends more.
            self.settle(|waiting| waiting.waiting.is_empty());
            // It may be slow to take them.
            self.worker.rest();
            self.flush()?;
            let read = self.stream.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            buffer.extend_from_slice(chunk.get(..read).unwrap_or_default());
        }
    }

    /// Begins one request.
    fn request(&mut self, pdu: &[u8]) -> io::Result<()> {
        let configuration = self.directory.configuration();
        let message = RequestMessage::decode(pdu, &configuration.decode_limits).map_err(invalid)?;
        let target = match &message.operation {
            Request::Add(request) => request.entry,
            Request::Delete(name) => name,
            Request::Modify(request) => request.object,
            Request::ModifyDn(request) => request.entry,
            Request::Extended(request) => {
                self.settle(|waiting| waiting.waiting.is_empty());
                let told = self.extended(&configuration, request.name, request.value);
                put(message.id, &told, &mut self.out);
                return Ok(());
            }
            Request::Unbind => return Err(io::ErrorKind::ConnectionAborted.into()),
            other => {
                let result = LdapResult::new(ResultCode::UNWILLING_TO_PERFORM).with_diagnostic("not for tools");
                let kind = other.operation();
                self.settle(|waiting| waiting.waiting.is_empty());
                encode_result(&mut self.out, message.id, kind, &result, &[]);
                return Ok(());
            }
        };
        self.act_for(&configuration, target);
        self.settle(Self::has_room);
        let mut response = Vec::new();
        let started = self.worker.start(&mut self.session, pdu, &mut response);
        let submitted = match started {
            Started::Submitted(submitted) => Some(submitted),
            Started::Answered => None,
            _ => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        self.waiting_octets += pdu.len();
        self.waiting.push_back(Waiting {
            submitted,
            response,
            octets: pdu.len(),
        });
        Ok(())
    }

    /// Acts as the rootdn of the database that holds a name.
    fn act_for(&mut self, configuration: &Configuration, target: &[u8]) {
        let schema = &configuration.schema;
        let context = Dn::parse(schema, target)
            .ok()
            .and_then(|dn| configuration.context_of(&dn).cloned());
        let root = context.and_then(|context| context.settings.root_dn.clone());
        let root = root.or_else(|| Dn::parse(schema, NO_ROOT.as_bytes()).ok());
        self.session.identity = Arc::new(Identity {
            dn: root.unwrap_or_default(),
            is_tool: true,
            ..Identity::default()
        });
    }

    fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING && self.waiting_octets < MOST_WAITING_OCTETS
    }

    /// Waits for the results of the first operations until there is enough room.
    fn settle(&mut self, enough: impl Fn(&Self) -> bool) {
        while !enough(self)
            && let Some(mut first) = self.waiting.pop_front()
        {
            self.waiting_octets -= first.octets;
            if let Some(submitted) = first.submitted
                && let Ok(completion) = submitted.receiver.blocking_recv()
            {
                self.worker.finish(&mut self.session, completion, &mut first.response);
            }
            self.out.append(&mut first.response);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Executes what only tools ask for.
    fn extended(&mut self, configuration: &Configuration, name: &[u8], value: Option<&[u8]>) -> Told {
        let words = tool::decode_words(value).map_err(|fault| (fault.code, fault.diagnostic.to_owned()))?;
        match std::str::from_utf8(name).unwrap_or_default() {
            tool::BEGIN => {
                if words.contains(&&b"stop"[..]) {
                    self.session.stop_at_refusal();
                }
                let tool = words
                    .first()
                    .map(|name| String::from_utf8_lossy(name))
                    .unwrap_or_default();
                tracing::info!(target: "any", "{} is served: {}", tool.escape_default(), self.session.peer.name);
                Ok(())
            }
            tool::REINDEX => reindex(configuration, &words, self.ends),
            tool::RAISE_CONTEXT => raise_context(self.directory, configuration, &words),
            _ => Err((ResultCode::PROTOCOL_ERROR, "not a request of tools".to_owned())),
        }
    }
}

/// The database whose naming context is the first of the words, and the rest of them.
fn database_of<'c, 'w>(
    configuration: &'c Configuration,
    words: &'w [&'w [u8]],
) -> Result<(&'c NamingContext, &'w [&'w [u8]]), Refusal> {
    let missing = || (ResultCode::NO_SUCH_OBJECT, "the server has no such database".to_owned());
    let (suffix, rest) = words.split_first().ok_or_else(missing)?;
    let suffix = Dn::parse(&configuration.schema, suffix).map_err(|_| missing())?;
    let mut contexts = configuration.contexts.iter();
    let context = contexts
        .find(|context| context.suffixes().contains(&suffix))
        .ok_or_else(missing)?;
    Ok((context, rest))
}

/// Builds indexes anew, until that is done or the server ends. Its writer goes on when it has started again.
fn reindex(configuration: &Configuration, words: &[&[u8]], ends: &AtomicBool) -> Told {
    let failed = |error: &dyn std::fmt::Display| (ResultCode::OTHER, error.to_string());
    let (context, attributes) = database_of(configuration, words)?;
    let attributes: Vec<&str> = attributes
        .iter()
        .filter_map(|name| std::str::from_utf8(name).ok())
        .collect();
    let Some(database) = context.database().filter(|_| !attributes.is_empty()) else {
        return Ok(());
    };
    let mut goes_on = |_| {
        if ends.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let is_complete = database.reindex(&attributes, &mut goes_on);
    if is_complete.map_err(|error| failed(&error))? {
        return Ok(());
    }
    let text = "the server ends; it goes on with the indexes when it has started again";
    Err((ResultCode::UNAVAILABLE, text.to_owned()))
}

fn raise_context(directory: &Service, configuration: &Configuration, words: &[&[u8]]) -> Told {
    let failed = |error: &dyn std::fmt::Display| (ResultCode::OTHER, error.to_string());
    let (context, csns) = database_of(configuration, words)?;
    let csns: Vec<Csn> = csns.iter().filter_map(|csn| Csn::parse(csn)).collect();
    let Some(database) = context.database().filter(|_| !csns.is_empty()) else {
        return Ok(());
    };
    if context.settings.cluster.is_some() {
        let text = "the log of a cluster would not have it";
        return Err((ResultCode::UNWILLING_TO_PERFORM, text.to_owned()));
    }
    let mut transaction = database.write().map_err(|error| failed(&error))?;
    transaction.merge_context(csns).map_err(|error| failed(&error))?;
    transaction.commit().map_err(|error| failed(&error))?;
    // New changes get greater CSNs.
    directory.observe_database(database).map_err(|error| failed(&error))
}

fn put(id: MessageId, told: &Told, out: &mut Vec<u8>) {
    let result = match told {
        Ok(()) => LdapResult::new(ResultCode::SUCCESS),
        Err((code, text)) => LdapResult::new(*code).with_diagnostic(text),
    };
    let response = ExtendedResponse {
        result,
        name: None,
        value: None,
    };
    encode_extended_response(out, id, &response, &[]);
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use ironbark_config::MemoryFiles;
    use ironbark_directory::{Factories, OpenOptions};
    use ironbark_runtime::{Clock, Randomness};

    use super::*;

    #[test]
    fn a_socket_that_cannot_accept_is_told_of() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let told = runtime.unwrap().block_on(async {
            // It says that something has come, but it is connected and does not listen.
            let (socket, mut other) = UnixStream::pair().unwrap();
            other.write_all(b"x").unwrap();
            let listener = UnixListener::from(OwnedFd::from(socket));
            listener.set_nonblocking(true).unwrap();
            let listening = [(PathBuf::new(), registered(listener).unwrap())];
            tokio::time::timeout(Duration::from_secs(20), next_tool(&listening)).await
        });
        assert!(told.unwrap().1.is_err());
    }

    #[test]
    fn indexes_are_not_built_to_the_end_when_the_server_ends() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().display();
        let text = format!("database mdb\nsuffix cn=x\nindex cn eq\ndirectory {directory}\n");
        let source = MemoryFiles::file("slapd.conf", text);
        let service = Service::open(OpenOptions {
            bare: false,
            configuration: ironbark_config::load("slapd.conf", &source, &ironbark_overlays::registry()).unwrap(),
            clock: Clock::system(),
            randomness: Randomness::system(),
            factories: Factories::default(),
        });
        let service = service.unwrap();
        let told = |ends| reindex(&service.configuration(), &[b"cn=x", b"cn"], &AtomicBool::new(ends));
        assert_eq!(told(true).unwrap_err().0, ResultCode::UNAVAILABLE);
        assert_eq!(told(false), Ok(()));
        service.close();
    }
}
