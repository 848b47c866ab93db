//! slapd-sock(5) as an overlay: a program is asked about requests before the database, and told of its answers.
//!
//! Who may see what: the program is trusted. It is asked when access rules grant what a `database sock` needs, and what
//! it answers to a search is judged by the rules of the database.

mod feed;
mod rows;
mod settings;

use std::sync::Arc;

use ironbark_backends::sock::{
    conversation::{self, Audience, Ending},
    program::{Program, busy},
    request::Preamble,
};
use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Answers, ExternalAsker, OperationResult, RequestContext,
    overlay::{
        Decision, DetachedRequest, ExternalAnswer, IncomingRequest, Overlay, RequestHooks, ResponseHooks, ResponseWait,
        SentResult, UnbindHooks,
    },
};
use ironbark_ldap_proto::Operation;
use ironbark_model::{Dn, Entry, ResultCode, Schema};
use tokio::sync::oneshot;

use self::{
    feed::Feed,
    settings::{Response, SockOverlayConfig},
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "sock",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcOvSocketConfig"],
            oid: "2.7.2",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<SockOverlayConfig>,
        schema: "",
        introduction: "A program of your own is asked about requests before the database: see [sock.md](sock.md).",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay. Requests under way keep the program, and a configuration that they were begun under keeps this.
struct Sock {
    settings: SockOverlayConfig,
    schema: Arc<Schema>,
    program: Arc<Program>,
    feed: Feed,
}

fn make(settings: &SockOverlayConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let program = Program::new(&settings.program.socket)
        .map_err(|error| SettingError::Unavailable(format!("starting a thread: {error}")))?;
    let feed = Feed::new(&program);
    let unbinds = settings.operations.contains(Operation::Unbind);
    let asks = settings.operations.0.iter().any(|word| *word != Operation::Unbind);
    let sock = Arc::new(Sock {
        settings: settings.clone(),
        schema: Arc::clone(schema),
        program: Arc::new(program),
        feed,
    });
    let is_told = !settings.responses.0.is_empty();
    Ok(Overlay {
        requests: asks.then(|| Arc::clone(&sock) as _),
        unbinds: unbinds.then(|| Arc::clone(&sock) as _),
        responses: is_told.then(|| Arc::clone(&sock) as _),
        ..Overlay::new("sock")
    })
}

impl Sock {
    fn is_for(&self, name: &[u8]) -> bool {
        let pattern = self.settings.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.is_match(name))
    }

    fn preamble(&self, suffixes: &[Dn]) -> Preamble {
        let suffixes = suffixes.iter().map(|suffix| suffix.pretty().to_owned());
        Preamble {
            extensions: self.settings.program.extensions,
            suffixes: suffixes.collect(),
        }
    }
}

impl RequestHooks for Sock {
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision {
        if !self.settings.operations.contains(request.operation) || !self.is_for(request.dn.normalized()) {
            return Decision::Continue;
        }
        let (reply, decided) = oneshot::channel();
        let listener = Listener {
            takes_entries: request.operation == Operation::Search,
            state: State::Undecided(reply),
        };
        let preamble = self.preamble(request.context.suffixes());
        let (program, request) = (Arc::clone(&self.program), request.detach());
        self.program.spawn(async move {
            ask(&program, &request, &preamble, listener).await;
        });
        Decision::Elsewhere(decided)
    }
}

impl UnbindHooks for Sock {
    fn unbind(&self, asker: &ExternalAsker, suffixes: &[Dn]) {
        if self.is_for(b"") {
            // In order with the responses before it.
            self.feed.tell(&self.program, self.preamble(suffixes).unbind(asker));
        }
    }
}

impl ResponseHooks for Sock {
    fn takes_results(&self) -> bool {
        self.settings.responses.contains(Response::Result)
    }

    fn takes_entries(&self) -> bool {
        self.settings.responses.contains(Response::Entry)
    }

    fn result(&self, origin: &RequestContext, result: &SentResult<'_>) {
        let text = self.preamble(&[]).result(&ExternalAsker::of(origin), result);
        self.feed.tell(&self.program, text);
    }

    fn entry(&self, origin: &RequestContext, entry: &Entry) -> Option<ResponseWait> {
        let asker = ExternalAsker::of(origin);
        let text = self.preamble(&[]).entry(&self.schema, &asker, entry);
        self.feed.tell_entry(&self.program, text)
    }
}

/// Reads a request and asks the program about it.
async fn ask(program: &Program, request: &DetachedRequest, preamble: &Preamble, mut listener: Listener) {
    let asked = match request.read() {
        Ok(asked) => asked,
        // It does not go on: the program has not been asked.
        Err(refusal) => return listener.end(Ending::Result(refusal.into())),
    };
    let schema = request.schema();
    let text = preamble.request(schema, &asked.asker, &asked.operation);
    let ending = match program.take(text) {
        Some(taken) => conversation::lead(taken, schema, asked.time, &mut listener).await,
        None => Ending::Result(busy()),
    };
    listener.end(ending);
}

/// Who waits for the decision about a request, and then for entries.
struct Listener {
    takes_entries: bool,
    state: State,
}

enum State {
    /// Nothing has come yet.
    Undecided(oneshot::Sender<Decision>),
    /// Entries have.
    Entries(Answers),
    /// Nobody waits.
    Gone,
}

impl Listener {
    fn end(self, ending: Ending) {
        match (self.state, ending) {
            (State::Undecided(reply), ending) => {
                let decision = match ending {
                    Ending::Continue => Decision::Continue,
                    Ending::Result(result) => Decision::External(ExternalAnswer::Result(result)),
                };
                // The connection may be gone.
                let _ = reply.send(decision);
            }
            (State::Entries(answers), Ending::Result(result)) => answers.end(result),
            (State::Entries(answers), Ending::Continue) => {
                let text = "CONTINUE came behind entries";
                answers.end(OperationResult::new(ResultCode::OTHER, text));
            }
            (State::Gone, _) => {}
        }
    }
}

impl Audience for Listener {
    fn takes_entries(&self) -> bool {
        self.takes_entries
    }

    async fn entry(&mut self, entry: Entry, octets: usize) -> bool {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Undecided(reply) => {
                let (answers, stream) = Answers::of_search();
                match reply.send(Decision::External(ExternalAnswer::Entries(stream))) {
                    Ok(()) => State::Entries(answers),
                    Err(_) => return false,
                }
            }
            state => state,
        };
        match &mut self.state {
            State::Entries(answers) => answers.entry(entry, octets).await,
            State::Undecided(_) | State::Gone => false,
        }
    }

    async fn unwanted(&mut self) {
        match &mut self.state {
            State::Undecided(reply) => reply.closed().await,
            State::Entries(answers) => answers.unwanted().await,
            State::Gone => {}
        }
    }
}
