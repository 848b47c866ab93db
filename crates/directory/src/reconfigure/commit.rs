//! The commit of a prepared configuration: one store puts it into force, then writers continue, and removed parts end.

use std::sync::{Arc, MutexGuard};

use super::{
    continuing,
    pause::Other,
    restrictions::Restricted,
    state::{NewDatabases, RunningState},
};
use crate::{
    Configuration, Directory, NamingContext,
    backend::{
        in_memory::PreparedConfiguration,
        queue::{Pausing, Served},
    },
    overlay::overlays_of,
    refusal::QueueRefusal,
};

/// A configuration with all its parts open, while all writers wait. See [`Service::prepare`](crate::Service::prepare).
#[must_use = "dropped, it changes nothing"]
pub struct Prepared<'s> {
    /// The writers of running databases. When this is dropped, they continue as before. Like all following fields, it
    /// is dropped before `state`.
    pub(super) paused: Vec<Pausing>,
    pub(super) made: NewDatabases,
    /// The new state of each running database; `None`: unchanged.
    pub(super) others: Vec<Option<Other>>,
    pub(super) current: Arc<Configuration>,
    pub(super) next: Arc<Configuration>,
    pub(super) server_id: u16,
    /// The configuration as it was read.
    pub(super) read: ironbark_config::LoadedConfiguration,
    pub(super) restricted: Vec<Restricted>,
    pub(super) directory: &'s Arc<Directory>,
    pub(super) state: MutexGuard<'s, RunningState>,
}

impl Prepared<'_> {
    /// Puts the configuration into force. When this returns, removed databases have answered their last write.
    pub fn commit(self) {
        let Self {
            paused,
            mut made,
            others,
            current,
            next,
            server_id,
            read,
            restricted,
            directory,
            mut state,
        } = self;
        for context in &next.contexts {
            watch_definitions(context);
        }
        directory.swap(Arc::clone(&next), server_id);
        (state.read, state.restricted, state.server_id) = (Some(read), restricted, Some(server_id));
        for (running, other) in state.running.iter_mut().zip(others) {
            if let Some(other) = other {
                (running.database, running.cache) = (other.database, other.cache);
            }
        }
        let (mut gone, mut resumed) = (Vec::new(), Vec::new());
        for (running, paused) in std::mem::take(&mut state.running).into_iter().zip(paused) {
            if let Some(served) = served(&next, running.cache) {
                resumed.push(paused.resume(served));
                state.running.push(running);
            } else {
                gone.push(running);
            }
        }
        for mut new in made.0.drain(..) {
            if let (Some(first), Some(served)) = (new.first.take(), served(&next, new.cache)) {
                // The writer waits for it.
                let _ = first.send(served);
            }
            state.running.push(new);
        }
        for writer in resumed {
            writer.wait();
        }
        for running in gone {
            running.writer.close(QueueRefusal::Removed);
            state.closed.push((running.place.clone(), running.database.closed()));
            running.end();
        }
        for writer in current
            .contexts
            .iter()
            .filter_map(|context| context.backend.own_writer().or(context.backend.tree_writer()))
        {
            writer.feed().call();
        }
        directory.trees().nudge();
        continuing::tell_of_later(&current, &next.contexts);
    }
}

impl PreparedConfiguration for Prepared<'_> {
    fn commit(self: Box<Self>) {
        Prepared::commit(*self);
    }
}

/// The context and database that a writer serves under a configuration.
fn served(configuration: &Arc<Configuration>, cache: u64) -> Option<Served> {
    let context = configuration.contexts.iter().find(|context| context.cache == cache)?;
    Some(Served {
        configuration: Arc::clone(configuration),
        context: Arc::clone(context),
    })
}

/// Tells the database which entries the facts of its overlays depend on.
fn watch_definitions(context: &NamingContext) {
    if let Some(database) = context.database() {
        let derivations = overlays_of(context)
            .derivations
            .iter()
            .map(|(_, derivation)| derivation);
        let (mut types, mut classes) = (Vec::new(), Vec::new());
        for derivation in derivations {
            types.extend(derivation.depends_on().iter().map(|attribute| attribute.attribute_type));
            classes.extend_from_slice(derivation.depends_on_classes());
        }
        database.watch(types, classes);
    }
}
