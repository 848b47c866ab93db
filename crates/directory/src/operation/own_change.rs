//! Changes of cn=config by the server itself.

use std::sync::Arc;

use ironbark_config::kinds::CONFIG;
use ironbark_store::WriteTransaction;
use tokio::sync::oneshot;

use super::{change::Change, in_memory};
use crate::{
    Configuration, Directory, Modification, NamingContext, OperationError,
    backend::{
        in_memory::Governor,
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    refusal::{Failure, WriteRefusal},
    request::{context::RequestContext, controls::WriteControls},
    write::request::OnTree,
};

struct OwnChange {
    directory: Arc<Directory>,
    change: Change,
    reply: oneshot::Sender<Result<(), OperationError>>,
}

/// Changes the entry `cn=config`, as a request of its rootdn would. It takes no room from clients: wait for its end
/// before the next one. The receiver gets the result when the change is in force.
///
/// # Errors
/// `unavailable`; `unwillingToPerform` if cn=config is not served.
pub fn change_settings(
    directory: &Arc<Directory>,
    modifications: Vec<Modification>,
) -> Result<oneshot::Receiver<Result<(), OperationError>>, OperationError> {
    let configuration = directory.configuration();
    let context = config_of(&configuration).ok_or(WriteRefusal::UnsupportedInContext)?;
    let writer = context
        .backend
        .tree_writer()
        .ok_or(WriteRefusal::UnsupportedInContext)?;
    let dn = context.suffixes().first().cloned().unwrap_or_default();
    let (reply, receiver) = oneshot::channel();
    let change = OwnChange {
        directory: Arc::clone(directory),
        change: Change::Modify(dn, modifications),
        reply,
    };
    writer.submit_own(Box::new(change))?;
    Ok(receiver)
}

fn config_of(configuration: &Configuration) -> Option<&Arc<NamingContext>> {
    let mut contexts = configuration.contexts.iter();
    contexts.find(|context| context.settings.kind == &CONFIG)
}

impl WriteTask for OwnChange {
    fn octets(&self) -> usize {
        0
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, _: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        Err(Refusal {
            error: WriteRefusal::UnsupportedInContext.into(),
            dirty: false,
            wanted: None,
        })
    }

    fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        let context = config_of(configuration).ok_or(WriteRefusal::UnsupportedInContext)?;
        Ok(Served {
            configuration: Arc::clone(configuration),
            context: Arc::clone(context),
        })
    }

    fn execute_in_memory(
        &self,
        served: &Served,
        governor: &dyn Governor,
    ) -> Result<(Success, Executed), OperationError> {
        let origin = RequestContext::of_server(served.context.settings.root_dn.clone().unwrap_or_default());
        let on = OnTree {
            directory: &self.directory,
            governor,
            served,
            origin: &origin,
        };
        in_memory::execute(on, &self.change, WriteControls::default())
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let result = match outcome {
            Outcome::Done(..) => Ok(()),
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(Failure::Unexpected.into()),
        };
        // The caller may be gone.
        let _ = self.reply.send(result);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
