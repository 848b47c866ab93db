//! One client of one server: what it sends goes into the ledger with the answer.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use ironbark_client::{
    Change, Client, ClientError, Options, ReceivedResult, SearchEntry,
    proto::{
        ModifyDnRequest, ModifyOperation,
        controls::{Control, PostRead, PreRead},
    },
};
use tokio::sync::watch;

use super::{
    Mode,
    held::Held,
    ledger::{Ledger, Request},
    own::Own,
};
use crate::replication::mesh::Random;

const ROOT: &str = "cn=Manager,dc=example,dc=com";
const POST_READ: &str = "1.3.6.1.1.13.2";
const PRE_READ: &str = "1.3.6.1.1.13.1";

/// A connection, bound as the rootdn. An operation may take as long as its server is stopped by a signal.
pub(super) async fn connect(address: &str) -> Result<Client, ClientError> {
    let options = Options {
        operation_timeout: std::time::Duration::from_mins(5),
        ..Options::default()
    };
    let client = Client::connect_tcp(address, options).await?;
    client.simple_bind(ROOT, b"secret", &[]).await?.success()?;
    Ok(client)
}

/// How an operation ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The entry as the operation left it, or as it was before its delete.
    Done(Held),
    Refused,
    /// The connection is gone: it was made or not.
    Unknown,
}

/// The answer to come.
type Answer = Pin<Box<dyn Future<Output = Result<ReceivedResult, ClientError>> + Send>>;

/// What all clients of a storm share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) mode: Mode,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    /// Operations that were sent in this round, for events in the middle of it.
    pub(super) progress: watch::Sender<usize>,
}

/// A client.
pub(super) struct Writer {
    pub(super) number: usize,
    pub(super) server: usize,
    address: String,
    pub(super) random: Random,
    pub(super) shared: Shared,
    pub(super) connection: Option<Client>,
    pub(super) own: Own,
    /// For names that nobody has used.
    names: usize,
    /// Operations left in this round.
    pub(super) left: usize,
}

impl Writer {
    pub(super) fn new(number: usize, (server, address): (usize, &str), seed: u64, shared: &Shared) -> Self {
        let mut random = Random(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(number as u64 * 0x1234_5677)
                | 1,
        );
        for _ in 0..20 {
            random.below(2);
        }
        Self {
            number,
            server,
            address: address.to_owned(),
            random,
            shared: shared.clone(),
            connection: None,
            own: Own::default(),
            names: 0,
            left: 0,
        }
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() {
            return None;
        }
        from.get(self.random.below(from.len()))
    }

    pub(super) fn is_chosen(&mut self, one_of: usize) -> bool {
        self.random.below(one_of) == 0
    }

    /// Whether a rename takes the old RDN out of the entry.
    pub(super) fn deletes_old_rdn(&mut self) -> bool {
        self.is_chosen(2) || !self.shared.mode.keeps_old_rdns()
    }

    /// A name that nobody has used: letter, number of the client, own number.
    pub(super) fn new_name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}-{}", self.number, self.names)
    }

    /// The connection. `None`: the server is not there.
    pub(super) async fn client(&mut self) -> Option<Client> {
        if self.connection.is_none() {
            self.connection = connect(&self.address).await.ok();
        }
        self.connection.clone()
    }

    /// The result, or `None` without a connection.
    pub(super) fn reached<T>(&mut self, result: Result<T, ClientError>) -> Option<T> {
        if result.is_err() {
            self.connection = None;
        }
        result.ok()
    }

    /// Makes as many operations as this, or fewer if the connection is lost.
    pub(super) async fn burst(mut self, operations: usize) -> Self {
        self.left = operations;
        while self.left > 0 && self.client().await.is_some() {
            let before = self.left;
            if self.own.has_open() {
                self.settle().await;
            } else if self.is_chosen(2) {
                self.write_own().await;
            } else {
                self.write_shared().await;
            }
            if self.left == before {
                self.count();
            }
        }
        let left = std::mem::take(&mut self.left);
        self.shared.progress.send_modify(|done| *done += left);
        self
    }

    fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.shared.progress.send_modify(|done| *done += 1);
    }

    /// Sends a request and takes down the answer. `superior` is the UUID of the entry's superior after it, if that is
    /// known for certain.
    pub(super) async fn send(&mut self, request: Request, superior: Option<&str>) -> Outcome {
        let Some(client) = self.client().await else {
            return Outcome::Refused;
        };
        self.count();
        let answer = execute(&client, &request);
        let result = answer.await;
        let mut ledger = self.shared.ledger.lock().unwrap();
        match result {
            Err(error) => {
                self.connection = None;
                ledger.note_unknown(self.number, request, &error);
                Outcome::Unknown
            }
            Ok(result) if result.is_success() => {
                let held = read_entry(&result);
                ledger.note(self.number, request, held.clone(), superior);
                Outcome::Done(held)
            }
            Ok(result) => {
                ledger.note_refused(self.number, &request, &result);
                Outcome::Refused
            }
        }
    }
}

/// The entry in the answer.
fn read_entry(result: &ReceivedResult) -> Held {
    let value = result.control(POST_READ).or_else(|| result.control(PRE_READ)).unwrap();
    Held::of(&SearchEntry::from_read_entry(value).unwrap())
}

/// Sends it.
fn execute(client: &Client, request: &Request) -> Answer {
    let everything = [&b"*"[..], b"+"];
    let after = Control::critical(PostRead(everything[..].into()));
    match request {
        Request::Add { dn, attributes } => {
            let values: Vec<Vec<&[u8]>> = attributes
                .iter()
                .map(|(_, values)| values.iter().map(String::as_bytes).collect())
                .collect();
            let attributes: Vec<(&str, &[&[u8]])> = attributes
                .iter()
                .zip(&values)
                .map(|((name, _), values)| (name.as_str(), values.as_slice()))
                .collect();
            Box::pin(client.add(dn, &attributes, &[&after]))
        }
        Request::Modify { dn, changes } => {
            let values: Vec<Vec<&[u8]>> = changes
                .iter()
                .map(|(_, _, values)| values.iter().map(String::as_bytes).collect())
                .collect();
            let changes: Vec<Change<'_>> = changes
                .iter()
                .zip(&values)
                .map(|((operation, attribute, _), values)| change(*operation, attribute, values))
                .collect();
            Box::pin(client.modify(dn, &changes, &[&after]))
        }
        Request::Delete { dn } => {
            let before = Control::critical(PreRead(everything[..].into()));
            Box::pin(client.delete(dn, &[&before]))
        }
        Request::Move {
            dn,
            rdn,
            delete_old,
            superior,
        } => {
            let request = ModifyDnRequest {
                entry: dn.as_bytes(),
                new_rdn: rdn.as_bytes(),
                delete_old_rdn: *delete_old,
                new_superior: superior.as_deref().map(str::as_bytes),
            };
            Box::pin(client.modify_dn(&request, &[&after]))
        }
    }
}

fn change<'a>(operation: ModifyOperation, attribute: &'a str, values: &'a [&'a [u8]]) -> Change<'a> {
    Change {
        operation,
        attribute,
        values,
    }
}
