//! The thread `config`: executes the changes of all trees in memory and of null databases, one after the other.

use std::sync::{Arc, Weak, mpsc::Receiver};

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
    let none = Pipeline::default();
    let (mut last, mut seen) = trees(&directory.configuration());
    for context in &last {
        followers::open(directory, context, &none);
    }
    while let Ok(order) = orders.recv() {
        match order {
            WriterCommand::Task(queued) => serve(directory, governor, queued),
            // It has no configuration of its own.
            WriterCommand::Pause(pause) => drop(pause),
            // No tree has a log.
            WriterCommand::Received => {}
            WriterCommand::Close => break,
        }
        let (now, configuration) = trees(&directory.configuration());
        if !configuration.ptr_eq(&seen) {
            for former in &last {
                let next = now.iter().find(|next| is_same(next, former));
                former
                    .overlays()
                    .close_except(next.map_or(&none, |next| next.overlays()));
            }
            for next in &now {
                let former = last.iter().find(|former| is_same(next, former));
                followers::open(directory, next, former.map_or(&none, |former| former.overlays()));
            }
            (last, seen) = (now, configuration);
        }
    }
    for context in &last {
        context.overlays().close_except(&none);
    }
}

/// The contexts that it serves. The configuration itself is not kept: it would keep databases open that are gone.
fn trees(configuration: &Arc<Configuration>) -> (Vec<Arc<NamingContext>>, Weak<Configuration>) {
    let contexts = configuration.contexts.iter();
    let served = contexts.filter(|context| context.backend.shares_writer());
    (served.cloned().collect(), Arc::downgrade(configuration))
}

/// Whether two contexts are one database under two configurations.
fn is_same(one: &NamingContext, other: &NamingContext) -> bool {
    let (one, other) = (&one.settings, &other.settings);
    one.kind == other.kind && one.suffixes.first() == other.suffixes.first()
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
            followers::tell(directory, &served.context, std::slice::from_ref(&executed.record));
            Outcome::Done(success, executed)
        }
        Err(error) => Outcome::Refused(error),
    };
    queued.task.conclude(&served.context, outcome);
}
