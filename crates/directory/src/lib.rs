//! THROW-AWAY: the interface of `directory` with nothing behind it, so that `server` compiles and its sockets can be tried. Not to be merged.
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used)]

mod session;
use std::sync::{Arc, RwLock, atomic::{AtomicU64, AtomicBool, Ordering}};
use ironbark_ldap_proto::{*, };
use ironbark_model::{Dn, Entry, ResultCode, Schema};
pub use session::*;
use tokio::sync::oneshot;

pub struct PagedCursor;
#[derive(Default)]
pub struct Statistics { initiated: [AtomicU64; 10], completed: [AtomicU64; 10] }
impl Statistics {
    fn slot(op: Operation) -> usize { Operation::ALL.iter().position(|o| *o == op).unwrap() }
    pub fn initiated(&self, op: Operation) -> u64 { self.initiated[Self::slot(op)].load(Ordering::Relaxed) }
    pub fn completed(&self, op: Operation) -> u64 { self.completed[Self::slot(op)].load(Ordering::Relaxed) }
    pub fn bytes(&self) -> u64 { 0 }
    pub fn pdus(&self) -> u64 { 0 }
    pub fn entries(&self) -> u64 { 0 }
    pub fn referrals(&self) -> u64 { 0 }
}
pub struct Context { pub number: usize, pub suffixes: Vec<Dn>, pub read_only: bool, pub backend: Backend }
pub enum Backend { Stored {}, Virtual(Arc<dyn VirtualContext>) }
pub struct Configuration { pub schema: Arc<Schema>, pub settings: ironbark_config::GlobalConfig, pub contexts: Vec<Arc<Context>>, pub frontend: Arc<Context> }
pub trait VirtualContext: Send + Sync {
    fn suffix(&self) -> &Dn;
    fn entries(&self, configuration: &Configuration) -> Vec<Entry>;
}
pub struct Directory { configuration: Arc<Configuration>, statistics: Statistics, refuse: AtomicBool, virtuals: RwLock<Vec<Arc<dyn VirtualContext>>> }
#[derive(Debug, thiserror::Error)]
#[error("cannot open")]
pub struct OpenError;
impl Directory {
    pub fn open(config: ironbark_config::Configuration, clock: ironbark_runtime::Clock) -> Result<Arc<Self>, OpenError> {
        let _ = clock;
        let frontend = Arc::new(Context { number: 0, suffixes: vec![], read_only: false, backend: Backend::Stored {} });
        Ok(Arc::new(Self { configuration: Arc::new(Configuration { schema: config.schema, settings: config.global, contexts: vec![], frontend }),
            statistics: Statistics::default(), refuse: AtomicBool::new(false), virtuals: RwLock::default() }))
    }
    pub fn statistics(&self) -> &Statistics { &self.statistics }
    pub fn configuration(&self) -> Arc<Configuration> { Arc::clone(&self.configuration) }
    pub fn register_virtual(&self, context: Arc<dyn VirtualContext>) { self.virtuals.write().unwrap().push(context) }
    pub fn refuse_writes(&self) { self.refuse.store(true, Ordering::Relaxed) }
    pub fn close(&self) {}
}
pub struct SearchRun { id: MessageId, left: u32 }
pub struct Completion { id: MessageId, operation: Operation }
pub struct Submitted { pub receiver: oneshot::Receiver<Completion>, pub blocks_connection: bool }
pub enum Started { Answered, Search(Box<SearchRun>), Submitted(Submitted), Disconnect(&'static str) }
pub enum Progress { More, Done }
pub struct Worker { directory: Arc<Directory> }
impl Worker {
    pub fn new(directory: Arc<Directory>) -> Self { Self { directory } }
    pub fn start(&mut self, session: &mut Session, pdu: &[u8], out: &mut Vec<u8>) -> Started {
        let message = match RequestMessage::decode(pdu, &DecodeLimits::default()) {
            Ok(message) => message,
            Err(_) => { encode_notice_of_disconnection(out, ResultCode::PROTOCOL_ERROR, "decoding error"); return Started::Disconnect("connection lost"); }
        };
        session.next_operation += 1;
        let refuse = |out: &mut Vec<u8>, op| encode_result(out, message.id, op, &LdapResult::new(ResultCode::UNWILLING_TO_PERFORM), &[]);
        let op = match &message.operation {
            Request::Unbind => return Started::Disconnect(""),
            Request::Abandon(_) => return Started::Answered,
            // A search that sends `size_limit` slices of 20 KB, so that flow can be tried.
            Request::Search(search) if search.size_limit > 0 => return Started::Search(Box::new(SearchRun { id: message.id, left: search.size_limit as u32 })),
            Request::Search(_) => Operation::Search,
            Request::Compare(_) => Operation::Compare,
            Request::Bind(_) => {
                let (sender, receiver) = oneshot::channel();
                let id = message.id;
                std::thread::Builder::new().spawn(move || { let _ = sender.send(Completion { id, operation: Operation::Bind }); }).unwrap();
                return Started::Submitted(Submitted { receiver, blocks_connection: true });
            }
            Request::Delete(_) => {
                let (sender, receiver) = oneshot::channel();
                let id = message.id;
                std::thread::Builder::new().spawn(move || { std::thread::park_timeout(std::time::Duration::from_millis(300)); let _ = sender.send(Completion { id, operation: Operation::Delete }); }).unwrap();
                return Started::Submitted(Submitted { receiver, blocks_connection: false });
            }
            Request::Add(_) => Operation::Add,
            Request::Modify(_) => Operation::Modify,
            Request::ModifyDn(_) => Operation::ModifyDn,
            Request::Extended(_) => Operation::Extended,
        };
        let _ = &self.directory;
        refuse(out, op);
        Started::Answered
    }
    pub fn step(&mut self, _session: &mut Session, run: &mut SearchRun, out: &mut Vec<u8>) -> Progress {
        if run.left == 0 {
            encode_result(out, run.id, Operation::Search, &LdapResult::new(ResultCode::SUCCESS), &[]);
            return Progress::Done;
        }
        run.left -= 1;
        let text = "x".repeat(20_000);
        encode_result(out, run.id, Operation::Search, &LdapResult::new(ResultCode::BUSY).with_diagnostic(&text), &[]);
        Progress::More
    }
    pub fn finish(&mut self, _session: &mut Session, completion: Completion, out: &mut Vec<u8>) {
        encode_result(out, completion.id, completion.operation, &LdapResult::new(ResultCode::SUCCESS), &[]);
    }
}
