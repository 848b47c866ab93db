//! etcd's JSON gateway: transactions, ranges and watches over HTTP/1.1.
//!
//! A client of gRPC would take more to build and to load than the rest of this crate; about a hundred requests a second
//! do not need it.

mod http;
pub(crate) mod json;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ironbark_config::cluster::ClusterConfig;
use serde::{Serialize, de::DeserializeOwned};

use self::{
    http::{Connection, Lines},
    json::{
        Answered, Authenticate, Authenticated, Compaction, LeaseGrant, LeaseGranted, Nothing, Number, Problem,
        RangeRequest, RangeResponse, Status, Txn, TxnResponse, WatchCreate, WatchRequest, Watched,
    },
};

/// How long one attempt may take, before another member of etcd is asked.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Whether etcd may have received the request.
    pub(crate) was_sent: bool,
    /// What happened.
    pub(crate) why: String,
}

impl Failure {
    fn sent(why: impl Into<String>) -> Self {
        Self {
            was_sent: true,
            why: why.into(),
        }
    }

    fn unsent(why: impl Into<String>) -> Self {
        Self {
            was_sent: false,
            why: why.into(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// A client of etcd, with one connection. After a failure the next request goes to the next member.
pub(crate) struct Etcd {
    config: Arc<ClusterConfig>,
    member: usize,
    connection: Option<Connection>,
    token: Token,
    attempt: Duration,
}

/// What proves the user to all members. Clients share it: to get one costs etcd a slow hash.
#[derive(Clone, Default)]
pub(crate) struct Token(Arc<Mutex<Option<String>>>);

impl Token {
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, token: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }
}

impl Etcd {
    pub(crate) fn new(config: Arc<ClusterConfig>) -> Self {
        Self {
            config,
            member: 0,
            connection: None,
            token: Token::default(),
            attempt: ATTEMPT,
        }
    }

    /// With the same proof as others.
    pub(crate) fn sharing(self, token: &Token) -> Self {
        Self {
            token: token.clone(),
            ..self
        }
    }

    /// Asks another member after this time.
    pub(crate) fn with_attempts_of(self, attempt: Duration) -> Self {
        Self { attempt, ..self }
    }

    /// The member that is asked.
    pub(crate) fn member(&self) -> String {
        let endpoints = &self.config.endpoints;
        endpoints
            .get(self.member % endpoints.len().max(1))
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    /// Executes a transaction.
    pub(crate) async fn txn(&mut self, txn: &Txn) -> Result<TxnResponse, Failure> {
        let answer: TxnResponse = self.call("/v3/kv/txn", txn).await?;
        self.checked(answer.header.revision)?;
        Ok(answer)
    }

    /// Reads keys.
    pub(crate) async fn range(&mut self, range: &RangeRequest) -> Result<RangeResponse, Failure> {
        let answer: RangeResponse = self.call("/v3/kv/range", range).await?;
        self.checked(answer.header.revision)?;
        Ok(answer)
    }

    /// Refuses an answer that has no revision. Each of etcd has one; `{}` would otherwise pass for "there is nothing".
    fn checked(&mut self, revision: Number) -> Result<(), Failure> {
        if revision.0 > 0 {
            return Ok(());
        }
        self.distrust();
        Err(Failure::sent(
            "malformed answer of etcd: it has no revision; is this etcd?",
        ))
    }

    /// The next request goes to the next member.
    pub(crate) fn distrust(&mut self) {
        self.connection = None;
        self.member += 1;
    }

    /// How much room the member takes.
    pub(crate) async fn status(&mut self) -> Result<Status, Failure> {
        self.call("/v3/maintenance/status", &Nothing {}).await
    }

    /// A new lease, which ends by itself.
    pub(crate) async fn lease(&mut self, seconds: i64) -> Result<Number, Failure> {
        let request = LeaseGrant {
            seconds: Number(seconds),
        };
        let granted: LeaseGranted = self.call("/v3/lease/grant", &request).await?;
        Ok(granted.id)
    }

    /// Forgets what keys were before a revision, unless that was done. Returns when the room is free.
    pub(crate) async fn compact(&mut self, revision: i64) -> Result<(), Failure> {
        let request = Compaction {
            revision: Number(revision),
            physical: true,
        };
        let done: Result<Answered, Failure> = self.call("/v3/kv/compaction", &request).await;
        match done {
            Err(failure) if !failure.why.contains("has been compacted") => Err(failure),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Watches keys. The watch has a connection of its own.
    pub(crate) async fn watch(&mut self, create_request: WatchCreate) -> Result<Watch, Failure> {
        self.ready().await?;
        let Some(connection) = self.connection.take() else {
            return Err(Failure::unsent("no connection"));
        };
        let (request, token) = (body(&WatchRequest { create_request })?, self.token.get());
        let lines = within(self.attempt, connection.stream("/v3/watch", request, token.as_deref())).await;
        match lines {
            Ok(lines) => Ok(Watch { lines }),
            Err(failure) => {
                self.member += 1;
                Err(failure)
            }
        }
    }

    /// One request. A failure ends the connection.
    async fn call<A: DeserializeOwned>(&mut self, path: &str, request: &impl Serialize) -> Result<A, Failure> {
        let request = body(request)?;
        self.ready().await?;
        let answer = self.exchange(path, request, self.attempt).await;
        if answer.is_err() {
            self.distrust();
        }
        answer
    }

    async fn exchange<A: DeserializeOwned>(
        &mut self,
        path: &str,
        request: Vec<u8>,
        limit: Duration,
    ) -> Result<A, Failure> {
        let token = self.token.get();
        let Some(connection) = &mut self.connection else {
            return Err(Failure::unsent("no connection"));
        };
        let (status, answer) = within(limit, connection.request(path, request, token.as_deref())).await?;
        if status != 200 {
            let problem: Problem = serde_json::from_slice(&answer).unwrap_or_default();
            if problem.is_about_the_token() && self.token.get() == token {
                self.token.set(None);
            }
            return Err(Failure {
                was_sent: !problem.is_refusal(),
                why: format!("etcd says {status}: {}", problem.text()),
            });
        }
        serde_json::from_slice(&answer).map_err(|error| Failure::sent(format!("malformed answer of etcd: {error}")))
    }

    /// Connects and authenticates, if that is not done.
    async fn ready(&mut self) -> Result<(), Failure> {
        if self.connection.as_ref().is_some_and(Connection::is_open) {
            return Ok(());
        }
        let connected = self.connect().await;
        if connected.is_err() {
            self.distrust();
        }
        connected.map_err(|failure| Failure::unsent(failure.why))
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        let config = Arc::clone(&self.config);
        let index = self.member % config.endpoints.len().max(1);
        let endpoint = config
            .endpoints
            .get(index)
            .ok_or_else(|| Failure::unsent("no member is named"))?;
        let connection = within(self.attempt, Connection::open(endpoint, &config.tls)).await?;
        self.connection = Some(connection);
        if let Some((user, password)) = config.user.as_ref().filter(|_| self.token.get().is_none()) {
            let request = body(&Authenticate {
                name: user,
                password: &String::from_utf8_lossy(&password.0),
            })?;
            let answer: Authenticated = self.exchange("/v3/auth/authenticate", request, ATTEMPT).await?;
            self.token.set(Some(answer.token));
        }
        Ok(())
    }
}

/// A watch. Dropping it ends it.
pub(crate) struct Watch {
    lines: Lines,
}

impl Watch {
    /// What it says next, whenever that is.
    pub(crate) async fn next(&mut self) -> Result<Watched, Failure> {
        let line = self.lines.next().await?;
        let message: json::WatchMessage = serde_json::from_slice(&line)
            .map_err(|error| Failure::sent(format!("malformed answer of etcd: {error}")))?;
        match message {
            json::WatchMessage {
                result: Some(watched), ..
            } => Ok(watched),
            json::WatchMessage { error, .. } => {
                let problem = error.unwrap_or_default();
                Err(Failure::sent(format!("the watch has ended: {}", problem.text())))
            }
        }
    }
}

fn body(request: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(request).map_err(|error| Failure::unsent(error.to_string()))
}

async fn within<T>(attempt: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match tokio::time::timeout(attempt, work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::sent("etcd does not answer")),
    }
}
