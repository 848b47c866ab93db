//! slapd-sock(5): a program that listens on a local socket answers the requests of a database.
//!
//! Each request is a connection: the program reads the request, writes its answer and closes. What access rules say of
//! the entries that it sends is judged by the directory.

pub mod answer;
pub mod entry;
pub mod program;
pub mod request;
mod rows;
pub mod settings;

use std::{sync::Arc, time::Duration};

use ironbark_config::{
    DatabaseConfig,
    database::{DatabaseDescriptor, OwnSettings},
};
use ironbark_directory::{Answers, ExternalAsker, ExternalDatabase, ExternalRequest, OperationResult};
use ironbark_model::{ResultCode, Schema};
use tokio::time::timeout;

use self::{
    answer::Part,
    program::{Program, Taken, first},
    request::Preamble,
    settings::SockConfig,
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: DatabaseDescriptor {
        name: "sock",
        modules: &[],
        class: &["olcDbSocketConfig"],
        oid: "2.7.1",
        settings: rows::ROWS,
        fresh: OwnSettings::of::<SockConfig>,
        introduction: "A program of your own answers all requests: see [sock.md](sock.md).",
    },
    make,
};

/// A database that a program serves.
struct Sock {
    schema: Arc<Schema>,
    preamble: Preamble,
    program: Program,
}

fn make(config: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Arc<dyn ExternalDatabase>, String> {
    let settings: &SockConfig = config.own()?;
    let suffixes = config.suffixes.iter().map(|suffix| suffix.pretty().to_owned());
    let preamble = Preamble {
        extensions: settings.extensions,
        suffixes: suffixes.collect(),
    };
    let program = Program::new(&settings.socket).map_err(|error| format!("starting a thread: {error}"))?;
    Ok(Arc::new(Sock {
        schema: Arc::clone(schema),
        preamble,
        program,
    }))
}

impl ExternalDatabase for Sock {
    fn begin(&self, request: ExternalRequest, mut answers: Answers) {
        let text = self.preamble.request(&self.schema, &request.asker, &request.operation);
        let Some(taken) = self.program.take(text) else {
            return answers.end(busy());
        };
        let schema = Arc::clone(&self.schema);
        self.program.spawn(async move {
            let asked = ask(taken, &schema, &mut answers);
            let result = match request.time {
                Some(time) => timeout(time, asked).await.unwrap_or_else(|_| time_is_up()),
                None => asked.await,
            };
            answers.end(result);
        });
    }

    fn unbind(&self, asker: ExternalAsker) {
        // Who floods the server with goodbyes is not worth a word.
        let Some(taken) = self.program.take(self.preamble.unbind(&asker)) else {
            return;
        };
        self.program.spawn(async move {
            // There is no answer; what went wrong is in the log.
            let _ = timeout(GOODBYE, taken.begin()).await;
        });
    }
}

/// Asks the program, and hands its entries on, until it has said its result or nobody waits for it any more.
async fn ask(taken: Taken, schema: &Arc<Schema>, answers: &mut Answers) -> OperationResult {
    let begun = first(taken.begin(), unwanted(answers)).await;
    let mut conversation = match begun {
        Ok(conversation) => conversation,
        Err(result) => return result,
    };
    loop {
        let part = first(conversation.part(), unwanted(answers)).await;
        let refused = |text: &'static str| OperationResult::new(ResultCode::OTHER, text);
        let paragraph = match part {
            Ok(Part::Entry(paragraph)) => paragraph,
            Ok(Part::Result(result)) | Err(result) => return result,
            Ok(Part::Continue) => return refused("CONTINUE is only valid when operating as an overlay"),
        };
        let octets = paragraph.len();
        let entry = match entry::read(schema, paragraph) {
            Ok(entry) if answers.takes_entries() => entry,
            Ok(_) => return refused("the program has sent an entry that nobody asked for"),
            Err(reason) => {
                tracing::warn!(target: "any", "sock: the program has sent an entry that cannot be read: {reason}");
                return refused("str2entry failed");
            }
        };
        if !answers.entry(entry, octets).await {
            return given_up();
        }
    }
}

/// Ends when nobody waits for the answers any more.
async fn unwanted<T>(answers: &mut Answers) -> Result<T, OperationResult> {
    answers.unwanted().await;
    Err(given_up())
}

/// Nobody will see it.
fn given_up() -> OperationResult {
    OperationResult::new(ResultCode::OTHER, "")
}

fn time_is_up() -> OperationResult {
    OperationResult::new(ResultCode::TIME_LIMIT_EXCEEDED, "")
}

fn busy() -> OperationResult {
    OperationResult::new(ResultCode::BUSY, "too many requests wait for the program")
}

/// How long a goodbye may wait for the program.
const GOODBYE: Duration = Duration::from_secs(10);
