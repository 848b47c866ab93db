//! The thread `config`: executes the changes of all trees in memory, and those of null databases, one after the other.

use std::sync::{Arc, mpsc::Receiver};

use super::{Order, Outcome, Queued, Served, begin, conclude, end_sequence};
use crate::{Configuration, Context, Directory, OperationError, context::Backend, overlay::Pipeline};

/// Executes until it is told to end. Each change is made under the configuration that is then in force: the one before may have changed it.
pub(crate) fn run(directory: &Arc<Directory>, orders: &Receiver<Order>) {
    let mut last = directory.configuration();
    while let Ok(order) = orders.recv() {
        match order {
            Order::Job(queued) => serve(directory, *queued),
            // It serves no configuration of its own.
            Order::Pause(pause) => drop(pause),
            Order::Close => break,
        }
        let now = directory.configuration();
        if !Arc::ptr_eq(&now, &last) {
            for former in trees(&last) {
                let next = trees(&now).find(|next| {
                    let (next, former) = (&next.settings, &former.settings);
                    next.kind == former.kind && next.suffixes.first() == former.suffixes.first()
                });
                let none = Pipeline::default();
                former.overlays.close_except(next.map_or(&none, |next| &next.overlays));
            }
            last = now;
        }
    }
    for context in trees(&last) {
        context.overlays.close_except(&Pipeline::default());
    }
}

/// The contexts that it serves.
fn trees(configuration: &Configuration) -> impl Iterator<Item = &Arc<Context>> {
    configuration
        .contexts
        .iter()
        .filter(|context| matches!(context.backend, Backend::Virtual { .. } | Backend::Null { .. }))
}

fn serve(directory: &Arc<Directory>, mut queued: Queued) {
    queued.job.origin.taken_micros = directory.monotonic_micros();
    let job = &queued.job;
    let served = match job.request.served(&directory.configuration()) {
        Ok(served) => served,
        Err(error) => return refuse(directory, queued, error),
    };
    let Served { configuration, context } = &served;
    let executed = begin(job).and_then(|()| {
        let mut origin = job.origin.clone();
        let read_again = job
            .request
            .under((&job.configuration, configuration), context, &mut origin)?;
        let request = read_again.as_ref().unwrap_or(&job.request);
        request.execute_in_memory(directory, &served, &origin)
    });
    let outcome = match executed {
        Ok((success, executed)) => Outcome::Done(success, executed),
        Err(error) => {
            end_sequence(job, &error);
            Outcome::Refused(error)
        }
    };
    conclude(directory, context, queued, outcome);
}

fn refuse(directory: &Arc<Directory>, queued: Queued, error: OperationError) {
    let configuration = directory.configuration();
    conclude(directory, &configuration.frontend, queued, Outcome::Refused(error));
}
