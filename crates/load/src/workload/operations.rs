//! The basic operations, one at a time, on the names of a data set in sequential or random order: the telco table.

use crate::word::UnknownWord;
use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ironbark_ldap_proto::{Authentication, BindRequest, CompareRequest, ModifyOperation, Request};

use super::{
    Next, Population, RequestClass, Requests, Workload, WorkloadError,
    sample::{encode_add, encode_modify, equality, place, search},
};
use crate::{
    generate::{self, EntryName, random::Random},
    target::SimpleCredentials,
    wire::{Pool, RequestSlot},
};

/// The operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// New entries.
    Add,
    /// An equality search for the login.
    Search,
    /// A comparison with the login. It is true.
    Compare,
    /// Simple binds as the entry, with its password.
    Bind,
    /// Simple binds with the connections' own bind name, such as the rootdn.
    BindAdmin,
    /// A replaced value.
    Modify,
}

/// The order in which entries are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryOrder {
    /// One after the other.
    Sequential,
    /// At random.
    Random,
}

/// The workload.
#[derive(Debug)]
pub struct Operations {
    population: Population,
    operation: OperationKind,
    order: EntryOrder,
    kinds: [RequestClass; 1],
    pool: Arc<Pool>,
    names: Arc<Vec<EntryName>>,
    /// The index of the next entry in sequential order.
    turn: Arc<AtomicUsize>,
}

impl Operations {
    /// Encodes the requests in advance where possible. [`OperationKind::BindAdmin`] uses `credentials`.
    ///
    /// # Errors
    /// There are no credentials to bind with.
    pub fn new(
        population: Population,
        operation: OperationKind,
        order: EntryOrder,
        credentials: Option<&SimpleCredentials>,
    ) -> Result<Self, WorkloadError> {
        let mut pool = Pool::default();
        let mut names = Vec::new();
        match operation {
            OperationKind::Add => {}
            OperationKind::Modify => names.extend(population.names()),
            OperationKind::BindAdmin => {
                let missing = || WorkloadError("this operation needs a name and a password".to_owned());
                let credentials = credentials.ok_or_else(missing)?;
                pool.push(&bind(&credentials.dn, &credentials.password));
            }
            OperationKind::Search | OperationKind::Compare | OperationKind::Bind => {
                for name in population.names() {
                    push(&mut pool, &population, operation, &name);
                }
            }
        }
        let codes: &[u32] = if operation == OperationKind::Compare {
            &[6]
        } else {
            &[0]
        };
        let entries = u32::from(operation == OperationKind::Search);
        Ok(Self {
            kinds: [RequestClass::new(operation.name())
                .expecting(codes)
                .least_entries(entries)],
            population,
            operation,
            order,
            pool: Arc::new(pool),
            names: Arc::new(names),
            turn: Arc::default(),
        })
    }
}

fn push(pool: &mut Pool, population: &Population, operation: OperationKind, name: &EntryName) {
    let attribute = login_attribute(population.set().kind());
    match operation {
        OperationKind::Search => {
            let filter = equality(attribute, name.login.as_bytes());
            pool.push(&search(population.set().suffix(), filter, 0));
        }
        OperationKind::Compare => pool.push(&Request::Compare(CompareRequest {
            entry: name.dn.as_bytes(),
            attribute: attribute.as_bytes(),
            value: name.login.as_bytes(),
        })),
        _ => pool.push(&bind(&name.dn, name.login.as_bytes())),
    }
}

/// A simple bind.
pub(super) fn bind<'a>(dn: &'a str, password: &'a [u8]) -> Request<'a> {
    Request::Bind(BindRequest {
        version: 3,
        name: dn.as_bytes(),
        authentication: Authentication::Simple(password),
    })
}

/// The attribute that holds [`EntryName::login`].
pub(super) fn login_attribute(kind: generate::DataSetKind) -> &'static str {
    match kind {
        generate::DataSetKind::Telco => "imsi",
        generate::DataSetKind::Groups => "cn",
        _ => "uid",
    }
}

/// An attribute that every entry may have, and that has no index in the usual configurations.
fn changed_attribute(kind: generate::DataSetKind) -> &'static str {
    match kind {
        generate::DataSetKind::Telco => "servingNode",
        generate::DataSetKind::Groups => "description",
        _ => "telephoneNumber",
    }
}

impl Workload for Operations {
    fn name(&self) -> String {
        let order = match self.order {
            EntryOrder::Sequential => "sequential",
            EntryOrder::Random => "random",
        };
        let (data, operation) = (self.population.set().kind().name(), self.operation.name());
        format!("{data} {operation}, {order}")
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Stream {
            population: self.population.clone(),
            operation: self.operation,
            order: self.order,
            pool: self.pool.clone(),
            names: self.names.clone(),
            turn: self.turn.clone(),
            random: self.population.random(number),
            is_binding: false,
        })
    }
}

struct Stream {
    population: Population,
    operation: OperationKind,
    order: EntryOrder,
    pool: Arc<Pool>,
    names: Arc<Vec<EntryName>>,
    turn: Arc<AtomicUsize>,
    random: Random,
    /// No request may follow a bind until it is answered (RFC 4511 §4.2.1): slapd does not answer such requests.
    is_binding: bool,
}

impl Stream {
    fn choose(&mut self, count: usize) -> usize {
        match self.order {
            EntryOrder::Sequential => self.turn.fetch_add(1, Ordering::Relaxed) % count.max(1),
            EntryOrder::Random => place(&mut self.random, count),
        }
    }
}

impl Requests for Stream {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        match self.operation {
            OperationKind::Add => match self.population.new_entry() {
                Ok(entry) => encode_add(&entry, slot, out),
                Err(_) => return Next::End,
            },
            OperationKind::Modify => {
                let index = self.choose(self.names.len());
                let Some(name) = self.names.get(index) else {
                    return Next::End;
                };
                let value = format!("49{:09}", self.random.below(1_000_000_000));
                let attribute = changed_attribute(self.population.set().kind());
                let operation = ModifyOperation::Replace;
                encode_modify(name.dn.as_bytes(), operation, attribute, value.as_bytes(), slot, out);
            }
            OperationKind::Bind | OperationKind::BindAdmin if self.is_binding => return Next::Wait,
            _ => {
                self.is_binding = true;
                let index = self.choose(self.pool.len());
                self.pool.copy(index, slot, out);
            }
        }
        Next::Sent(0)
    }

    fn answered(&mut self, _slot: RequestSlot, _kind: u8, _code: u32) {
        self.is_binding = false;
    }
}

impl OperationKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Add,
        Self::Search,
        Self::Compare,
        Self::Bind,
        Self::BindAdmin,
        Self::Modify,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Search => "search",
            Self::Compare => "compare",
            Self::Bind => "bind",
            Self::BindAdmin => "bind-admin",
            Self::Modify => "modify",
        }
    }
}

impl FromStr for OperationKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|operation| operation.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            UnknownWord::new("operation", text, names)
        })
    }
}

impl FromStr for EntryOrder {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "sequential" => Ok(Self::Sequential),
            "random" => Ok(Self::Random),
            _ => Err(UnknownWord::new("order", text, "sequential, random")),
        }
    }
}
