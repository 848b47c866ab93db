//! What executes the operations: a directory in this process, or the server that has the database open.

use std::sync::Arc;

use ironbark_directory::{Identity, Peer, Service, Session, Started, Submitted, Worker};
use ironbark_model::{Dn, ResultCode};

use super::waiting::Sent;
use crate::shared::running::{RunningServer, result_of};

/// What executes the operations.
pub(super) enum Executor {
    Here(Box<Here>),
    Server(RunningServer),
}

/// A directory in this process.
pub(super) struct Here {
    worker: Worker,
    session: Session,
    directory: Arc<Service>,
}

/// How far an operation is.
pub(super) enum Progress {
    /// Its response has come.
    Answered,
    /// The writer has it.
    Submitted(Submitted),
    /// The server has it.
    Sent,
}

impl Executor {
    /// A directory in this process. `stops`: no operation is executed after one that was refused.
    pub(super) fn here(directory: Arc<Service>, stops: bool) -> Self {
        let mut session = Session::new(0, Arc::new(peer()));
        if stops {
            session.stop_at_refusal();
        }
        Self::Here(Box::new(Here {
            worker: directory.worker(),
            session,
            directory,
        }))
    }

    /// From here on, operations are those of this rootdn. The server knows its own.
    pub(super) fn act_for(&mut self, root: Dn) {
        if let Self::Here(here) = self {
            here.session.identity = Arc::new(Identity {
                dn: root,
                ..Identity::default()
            });
        }
    }

    /// Begins an operation. Returns what has come of its response.
    ///
    /// # Errors
    /// The server has ended.
    pub(super) fn start(&mut self, request: &[u8]) -> Result<(Progress, Vec<u8>), String> {
        match self {
            Self::Here(here) => {
                let mut response = Vec::new();
                let progress = match here.worker.start(&mut here.session, request, &mut response) {
                    Started::Submitted(submitted) => Progress::Submitted(submitted),
                    _ => Progress::Answered,
                };
                Ok((progress, response))
            }
            Self::Server(server) => {
                server.send(request).map_err(|text| format!("slapmodify: {text}"))?;
                Ok((Progress::Sent, Vec::new()))
            }
        }
    }

    /// Waits for the result of the first operation whose result is awaited: its code and text.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn result(&mut self, sent: &mut Sent) -> Result<(ResultCode, String), String> {
        match (self, std::mem::replace(&mut sent.progress, Progress::Answered)) {
            (Self::Here(here), Progress::Submitted(submitted)) => {
                let completion = submitted.receiver.blocking_recv();
                let completion = completion.map_err(|_| "the writer has ended".to_owned())?;
                here.worker.finish(&mut here.session, completion, &mut sent.response);
            }
            (Self::Server(server), Progress::Sent) => server.receive(&mut sent.response)?,
            _ => {}
        }
        result_of(&sent.response)
    }

    /// Closes the directory in this process. Returns the server otherwise.
    pub(super) fn end(self) -> Option<RunningServer> {
        match self {
            Self::Here(here) => {
                let Here { worker, directory, .. } = *here;
                drop(worker);
                directory.close();
                None
            }
            Self::Server(server) => Some(server),
        }
    }
}

fn peer() -> Peer {
    Peer {
        name: "slapmodify".into(),
        socket_name: "slapmodify".into(),
        listener_url: "".into(),
        domain: None,
        address: None,
        credentials: None,
    }
}
