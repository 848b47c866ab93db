//! The thread `config`: executes the changes of all trees in memory and of null databases, one after the other.

use std::sync::{Arc, mpsc::Receiver};

use super::followers;
use crate::{
    Configuration, Directory, NamingContext,
    backend::{
        in_memory::Governor,
        queue::{Outcome, Queued, WriterCommand},
    },
    overlay::Pipeline,
};

/// Executes changes until it is told to end. Each change is made under the configuration in force at that time: the
/// change before may have replaced it.
pub(crate) fn run(directory: &Arc<Directory>, governor: &dyn Governor, orders: &Receiver<WriterCommand>) {
    let mut last = directory.configuration();
    while let Ok(order) = orders.recv() {
        match order {
            WriterCommand::Task(queued) => serve(directory, governor, queued),
            // It has no configuration of its own.
            WriterCommand::Pause(pause) => drop(pause),
            WriterCommand::Close => break,
        }
        let now = directory.configuration();
        if !Arc::ptr_eq(&now, &last) {
            for former in trees(&last) {
                let next = trees(&now).find(|next| {
                    let (next, former) = (&next.settings, &former.settings);
                    next.kind == former.kind && next.suffixes.first() == former.suffixes.first()
                });
                let none = Pipeline::default();
                former
                    .overlays()
                    .close_except(next.map_or(&none, |next| next.overlays()));
            }
            last = now;
        }
    }
    for context in trees(&last) {
        context.overlays().close_except(&Pipeline::default());
    }
}

/// The contexts that it serves.
fn trees(configuration: &Configuration) -> impl Iterator<Item = &Arc<NamingContext>> {
    configuration
        .contexts
        .iter()
        .filter(|context| context.backend.shares_writer())
}

fn serve(directory: &Arc<Directory>, governor: &dyn Governor, mut queued: Queued) {
    queued.task.taken(directory.monotonic_micros());
    let configuration = directory.configuration();
    let served = match queued.task.served(&configuration) {
        Ok(served) => served,
        Err(error) => return queued.task.conclude(&configuration.frontend, Outcome::Refused(error)),
    };
    let outcome = match queued.task.execute_in_memory(&served, governor) {
        Ok((success, executed)) => {
            followers::tell(directory, &served.context, &executed.record);
            Outcome::Done(success, executed)
        }
        Err(error) => Outcome::Refused(error),
    };
    queued.task.conclude(&served.context, outcome);
}
