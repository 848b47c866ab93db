//! slapd-sock(5): a program that listens on a local socket answers the requests of a database.
//!
//! Each request is a connection: the program reads the request, writes its answer and closes. What access rules say of
//! the entries that it sends is judged by the directory.

pub mod answer;
pub mod conversation;
pub mod entry;
pub mod program;
pub mod request;
pub mod rows;
pub mod settings;

use std::sync::Arc;

use ironbark_config::{
    DatabaseConfig, SettingError,
    database::{ClassAttributes, DatabaseClass, DatabaseDescriptor, EntryPlace, SuffixRule},
};
use ironbark_directory::{Answers, ExternalAsker, ExternalDatabase, ExternalRequest, OperationResult};
use ironbark_model::{ResultCode, Schema};

use self::{conversation::Ending, program::Program, request::Preamble, settings::SockConfig};
use crate::BackendRow;

pub(crate) const ROW: BackendRow = BackendRow {
    descriptor: DatabaseDescriptor {
        name: "sock",
        aliases: &[],
        modules: &[],
        entries: EntryPlace::Elsewhere,
        suffix: SuffixRule::Many,
        classes: &[DatabaseClass {
            names: &["olcDbSocketConfig"],
            oid: "2.7.1",
            attributes: ClassAttributes::OfSettings,
        }],
        backend_class: None,
        settings: &[rows::ROWS],
        begin: DatabaseConfig::begin::<SockConfig>,
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

fn make(config: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Arc<dyn ExternalDatabase>, SettingError> {
    let settings: &SockConfig = config.settings()?;
    let suffixes = config.suffixes.iter().map(|suffix| suffix.pretty().to_owned());
    let preamble = Preamble {
        extensions: settings.extensions,
        suffixes: suffixes.collect(),
    };
    let program = Program::new(&settings.socket)
        .map_err(|error| SettingError::Unavailable(format!("starting a thread: {error}")))?;
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
            return answers.end(program::busy());
        };
        let schema = Arc::clone(&self.schema);
        self.program.spawn(async move {
            let ending = conversation::lead(taken, &schema, request.time, &mut answers).await;
            answers.end(match ending {
                Ending::Result(result) => result,
                Ending::Continue => {
                    let text = "CONTINUE is only valid when operating as an overlay";
                    OperationResult::new(ResultCode::OTHER, text)
                }
            });
        });
    }

    fn unbind(&self, asker: ExternalAsker) {
        self.program.tell(self.preamble.unbind(&asker));
    }
}
