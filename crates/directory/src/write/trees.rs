//! The thread `config`: executes the changes of all trees in memory and of null databases, one after the other.

use std::{
    cell::OnceCell,
    collections::VecDeque,
    sync::{Arc, Weak, mpsc::Receiver},
};

use ironbark_ldap_proto::Operation;
use ironbark_model::{AttributeDescription, Entry, Schema};
use ironbark_store::{ChangeKind, Csn};

use super::{followers, tree_records::Told};
use crate::{
    Configuration, Directory, NamingContext, WellKnown,
    backend::{
        in_memory::{ChangeAuthor, Governor},
        queue::{Outcome, Queued, Served, WriterCommand},
    },
    overlay::{Pipeline, overlays_of, record, tree_effects::TreeState},
    request::context::{RequestContext, RequestKind},
};

/// Executes changes until it is told to end. Each change is made under the configuration in force at that time: the
/// change before may have replaced it.
pub(crate) fn run(directory: &Arc<Directory>, governor: &dyn Governor, orders: &Receiver<WriterCommand>) {
    let none = Pipeline::default();
    let (mut last, mut seen) = trees(&directory.configuration());
    for context in &last {
        followers::open(directory, context, &none);
    }
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Ok(first) = orders.recv() else { break };
            waiting.push_back(first);
            waiting.extend(orders.try_iter());
            // What came until now may share one answer of the cluster.
            let trees = last.iter().filter_map(|context| context.tree());
            trees.for_each(|tree| tree.begin_batch());
        }
        let Some(order) = waiting.pop_front() else { continue };
        match order {
            WriterCommand::Task(queued) => serve(directory, governor, queued),
            // It has no configuration of its own.
            WriterCommand::Pause(pause) => drop(pause),
            WriterCommand::Received => {
                for context in &last {
                    catch_up(directory, governor, context);
                }
            }
            WriterCommand::Close => break,
        }
        let (now, configuration) = trees(&directory.configuration());
        if !configuration.ptr_eq(&seen) {
            for former in &last {
                let next = now.iter().find(|next| is_same(next, former));
                overlays_of(former).close_except(next.map_or(&none, |next| overlays_of(next)));
            }
            for next in &now {
                let former = last.iter().find(|former| is_same(next, former));
                followers::open(directory, next, former.map_or(&none, |former| overlays_of(former)));
            }
            (last, seen) = (now, configuration);
        }
    }
    for context in &last {
        overlays_of(context).close_except(&none);
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

/// How often a change is made anew because another server of the cluster came before it.
const TRIES: u32 = 16;

/// Executes a task, anew if another server of the cluster came before it.
fn serve(directory: &Arc<Directory>, governor: &dyn Governor, mut queued: Queued) {
    queued.task.taken(directory.monotonic_micros());
    let mut tries = 0;
    loop {
        let configuration = directory.configuration();
        let served = match queued.task.served(&configuration) {
            Ok(served) => served,
            Err(error) => return queued.task.conclude(&configuration.frontend, Outcome::Refused(error)),
        };
        tries += 1;
        let outcome = match queued.task.execute_in_memory(&served, governor) {
            Ok((success, executed)) => {
                followers::tell(directory, &served.context, std::slice::from_ref(&executed.record));
                Outcome::Done(success, executed)
            }
            Err(_) if tries < TRIES && served.context.tree().is_some_and(|tree| tree.must_repeat()) => {
                catch_up(directory, governor, &served.context);
                continue;
            }
            Err(error) => Outcome::Refused(error),
        };
        return queued.task.conclude(&served.context, outcome);
    }
}

/// Puts what another server of the cluster has made of a tree into force, and tells the followers.
fn catch_up(directory: &Arc<Directory>, governor: &dyn Governor, context: &Arc<NamingContext>) {
    let Some(tree) = context.tree().filter(|_| context.settings.cluster.is_some()) else {
        return;
    };
    let configuration = directory.configuration();
    let before = tree.entries(&configuration);
    let served = Served {
        configuration: Arc::clone(&configuration),
        context: Arc::clone(context),
    };
    let author = context.suffixes().first().cloned().unwrap_or_default();
    let origin = RequestContext {
        request: RequestKind::of(Operation::Modify),
        ..RequestContext::of_server(author.clone())
    };
    let stamp = directory.next_stamp();
    let whole = record::begin(directory, context, &origin, &stamp, ChangeKind::Modify);
    let announced = OnceCell::new();
    let announce = |schema: &Schema, entries: &[Entry]| {
        let Some(known) = WellKnown::of(schema) else { return };
        csns_of(&known.entry_csn, entries).for_each(|csn| directory.follow_csn(csn));
        if context.is_followed() {
            let after = TreeState {
                schema,
                known: &known,
                entries,
            };
            let cookie: Vec<_> = csns_of(&known.context_csn, entries).collect();
            let told = Told {
                served: &served,
                cookie: &cookie,
                via: 0,
                logged: &[],
            };
            let records: &Vec<_> = announced.get_or_init(|| told.records(&before, after, &whole));
            followers::announce(directory, context, records);
        }
    };
    let by = ChangeAuthor {
        governor,
        randomness: directory.randomness(),
        configuration: &configuration,
        dn: author.pretty(),
        stamp,
        announce: &announce,
    };
    match tree.catch_up(&by) {
        Ok(true) => followers::tell(directory, context, &announced.into_inner().unwrap_or_default()),
        Ok(false) => {}
        // The tree has said why.
        Err(error) => tracing::debug!(target: "any", "cluster: {}", error.diagnostic_message),
    }
}

/// The CSNs that an attribute of entries has.
fn csns_of<'e>(attribute: &'e AttributeDescription, entries: &'e [Entry]) -> impl Iterator<Item = Csn> + 'e {
    let values = entries.iter().filter_map(|entry| entry.attribute(attribute));
    values
        .flat_map(|attribute| &attribute.values)
        .filter_map(|value| Csn::parse(value))
}
