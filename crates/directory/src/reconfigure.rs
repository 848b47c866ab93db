//! From one configuration to the next while serving: what is new is made, all writers wait for a moment, the configuration is swapped.
//!
//! Invariant: until the swap nothing has changed that a client could see, and nothing after it can fail.

mod assemble;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    thread::JoinHandle,
};

use ironbark_config::{DatabaseConfig, DatabaseKind, EnvironmentFlags};
use ironbark_runtime::spawn_named;
use ironbark_store::{ClosedDatabase, Database, StoreError};

use crate::{
    Configuration, Context, Directory, OpenError,
    context::{Backend, ReferralPresence},
    open,
    overlay::{Overlay, Pipeline},
    schema_use,
    tree::VirtualContext,
    writer::{self, Pausing, REMOVED, SHUTTING_DOWN, Served, WriterHandle},
};

pub(crate) use assemble::without_databases;

/// What runs for the configuration in force.
#[derive(Default)]
pub(crate) struct Live {
    running: Vec<Running>,
    /// Databases that are no longer served, and may be in use by searches that began before.
    closed: Vec<(PathBuf, ClosedDatabase)>,
    last_cache: u64,
    /// The server ends.
    has_ended: bool,
}

/// A database and its writer.
struct Running {
    /// Without symbolic links.
    directory: PathBuf,
    database: Arc<Database>,
    /// See [`Context::cache`].
    cache: u64,
    writer: WriterHandle,
    thread: JoinHandle<()>,
    /// Tells the writer what to serve at first.
    first: Option<Sender<Served>>,
}

/// What serves one context of the new configuration.
enum Source {
    /// Position in [`Live::running`].
    Kept(usize),
    /// Position among the new databases.
    New(usize),
    Tree(Arc<dyn VirtualContext>),
}

/// A context of the new configuration before its database is known under the new schema.
struct Planned {
    number: i32,
    settings: DatabaseConfig,
    overlays: Pipeline,
    source: Source,
}

impl Live {
    /// Ends all writers.
    pub(crate) fn close(&mut self) {
        self.has_ended = true;
        for running in &self.running {
            running.writer.close(SHUTTING_DOWN);
        }
        for running in self.running.drain(..) {
            running.end();
        }
    }

    fn next_cache(&mut self) -> u64 {
        self.last_cache += 1;
        self.last_cache
    }
}

impl Running {
    /// Waits for the writer, which has been told to end.
    fn end(self) {
        drop(self.first);
        // A writer that panicked has said so already.
        let _ = self.thread.join();
    }
}

/// See [`Directory::reconfigure`].
pub(crate) fn reconfigure(
    directory: &Arc<Directory>,
    live: &mut Live,
    mut read: ironbark_config::Configuration,
) -> Result<(), OpenError> {
    if live.has_ended {
        return Err(OpenError::Configuration(SHUTTING_DOWN.to_owned()));
    }
    let current = directory.configuration();
    assemble::keep_equal_schema(&current, &mut read);
    live.closed.retain(|(_, closed)| !closed.is_gone());
    let mut made = Vec::new();
    let opened = plan(directory, live, &current, &read, &mut made)
        .and_then(|planned| {
            Ok((
                planned,
                (directory.factories().root_dse)(&read.global).map_err(OpenError::Configuration)?,
            ))
        })
        .and_then(|(planned, root_dse)| {
            check_schema_use(live, &current, &read)?;
            go_over(directory, live, &current, read, planned, &mut made, &root_dse)
        });
    if opened.is_err() {
        for new in made {
            new.writer.close(REMOVED);
            new.end();
        }
    }
    opened
}

/// Makes everything that the new configuration has and the current one has not. New databases go into `made`.
fn plan(
    directory: &Arc<Directory>,
    live: &mut Live,
    current: &Configuration,
    read: &ironbark_config::Configuration,
    made: &mut Vec<Running>,
) -> Result<Vec<Planned>, OpenError> {
    let mut planned: Vec<Planned> = Vec::new();
    let numbered = std::iter::once(&read.config).chain(&read.databases).zip(0..);
    for (settings, number) in numbered.filter(|(settings, _)| !settings.disabled) {
        let source = match settings.kind {
            DatabaseKind::Mdb => {
                let source = stored(directory, live, read, settings, made)?;
                let is_twice = planned.iter().any(|other| match (&other.source, &source) {
                    (Source::Kept(one), Source::Kept(other)) => one == other,
                    _ => false,
                });
                if is_twice {
                    return Err(serves_two(settings));
                }
                source
            }
            DatabaseKind::Monitor | DatabaseKind::Config | DatabaseKind::Frontend => {
                match tree(directory, current, settings) {
                    Some(tree) => Source::Tree(tree),
                    None => continue,
                }
            }
        };
        let former = former(live, current, &source, settings);
        let overlays = overlays(directory, current, former, settings, read)?;
        planned.push(Planned {
            number,
            settings: settings.clone(),
            overlays,
            source,
        });
    }
    Ok(planned)
}

fn serves_two(settings: &DatabaseConfig) -> OpenError {
    let (place, directory) = (&settings.location, settings.mdb.directory.display());
    OpenError::Configuration(format!(
        "{}: line {}: directory \"{directory}\" is that of another database already",
        place.file, place.line
    ))
}

/// The directory without symbolic links, as far as it exists.
fn canonical(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

/// The database that runs already, one that is still open for operations that began before it was removed, or a new one.
fn stored(
    directory: &Arc<Directory>,
    live: &mut Live,
    read: &ironbark_config::Configuration,
    settings: &DatabaseConfig,
    made: &mut Vec<Running>,
) -> Result<Source, OpenError> {
    let path = canonical(&settings.mdb.directory);
    if let Some(at) = live.running.iter().position(|running| running.directory == path) {
        return Ok(Source::Kept(at));
    }
    if made.iter().any(|new| new.directory == path) {
        return Err(serves_two(settings));
    }
    let former = live.closed.iter().find(|(closed, _)| *closed == path);
    let taken_up = former.and_then(|(_, closed)| closed.take_up(&read.schema, &settings.suffixes));
    let database = match taken_up {
        Some(database) => {
            let database = database.map_err(|source| failed(settings, source))?;
            let indexes = open::options(settings).indexes;
            database
                .define_indexes(&indexes)
                .map_err(|source| failed(settings, source))?;
            database
        }
        None => open::database(settings, &read.schema)?,
    };
    let (writer, orders) = writer::queue();
    let (first, its_first) = channel();
    let for_writer = Arc::clone(directory);
    let name = format!("writer-{}", live.next_cache());
    let cache = live.last_cache;
    let thread = spawn_named(&name, move || writer::run_stored(&for_writer, &its_first, &orders))
        .map_err(|error| OpenError::Configuration(format!("starting a writer: {error}")))?;
    made.push(Running {
        directory: path,
        database: Arc::new(database),
        cache,
        writer,
        thread,
        first: Some(first),
    });
    Ok(Source::New(made.len() - 1))
}

fn failed(settings: &DatabaseConfig, source: StoreError) -> OpenError {
    OpenError::Store {
        suffix: settings
            .suffixes
            .first()
            .map_or_else(String::new, |suffix| suffix.pretty().to_owned()),
        source,
    }
}

/// The tree of cn=config or cn=Monitor, made when it is served for the first time.
fn tree(directory: &Directory, current: &Configuration, settings: &DatabaseConfig) -> Option<Arc<dyn VirtualContext>> {
    let same = |context: &&Arc<Context>| {
        context.settings.kind == settings.kind && context.settings.suffixes == settings.suffixes
    };
    let kept = current
        .contexts
        .iter()
        .find(same)
        .and_then(|context| match &context.backend {
            Backend::Virtual { tree, .. } => Some(Arc::clone(tree)),
            Backend::Stored { .. } | Backend::Frontend => None,
        });
    kept.or_else(|| (directory.factories().trees)(settings))
}

/// What has served the same before.
fn former<'c>(
    live: &Live,
    current: &'c Configuration,
    source: &Source,
    settings: &DatabaseConfig,
) -> Option<&'c Arc<Context>> {
    current.contexts.iter().find(|context| match source {
        Source::Kept(at) => live
            .running
            .get(*at)
            .is_some_and(|running| running.cache == context.cache),
        Source::New(_) => false,
        Source::Tree(_) => context.settings.kind == settings.kind,
    })
}

/// The overlays of a context, with those of the frontend: those that it has where nothing about them has changed, otherwise new ones.
fn overlays(
    directory: &Directory,
    current: &Configuration,
    former: Option<&Arc<Context>>,
    settings: &DatabaseConfig,
    read: &ironbark_config::Configuration,
) -> Result<Pipeline, OpenError> {
    let mut known: Vec<_> = former
        .filter(|_| Arc::ptr_eq(&current.schema, &read.schema))
        .map(|context| {
            context
                .settings
                .overlays
                .iter()
                .zip(context.overlays.configured())
                .collect()
        })
        .unwrap_or_default();
    let mut overlays: Vec<Arc<dyn Overlay>> = Vec::new();
    // Those of the frontend stand before those of each database.
    let global = match settings.kind {
        DatabaseKind::Mdb => read.frontend.overlays.as_slice(),
        _ => &[],
    };
    for overlay in settings.overlays.iter().chain(global) {
        let same = known.iter().position(|(config, _)| config.settings == overlay.settings);
        overlays.push(match same {
            Some(at) => Arc::clone(known.remove(at).1),
            None => (directory.factories().overlays)(overlay, &read.schema).map_err(|reason| {
                let place = &overlay.location;
                OpenError::Configuration(format!("{}: line {}: {reason}", place.file, place.line))
            })?,
        });
    }
    Ok(Pipeline::new(overlays))
}

/// Refuses a schema that lacks what entries use. Writes go on meanwhile, so that this is asked once more when they wait.
fn check_schema_use(
    live: &Live,
    current: &Configuration,
    read: &ironbark_config::Configuration,
) -> Result<(), OpenError> {
    if Arc::ptr_eq(&current.schema, &read.schema) {
        return Ok(());
    }
    for running in &live.running {
        let database = &running.database;
        let lost = database.lost_attributes(&read.schema);
        let used = schema_use::find(database, &read.schema, &lost);
        let suffix = || {
            database
                .options()
                .suffixes
                .first()
                .map_or("", |suffix| suffix.pretty())
                .to_owned()
        };
        if let Some(what) = used.map_err(|source| OpenError::Store {
            suffix: suffix(),
            source,
        })? {
            return Err(OpenError::Configuration(format!("database {}: {what}", suffix())));
        }
    }
    Ok(())
}

/// The swap, with all writers waiting.
fn go_over(
    directory: &Arc<Directory>,
    live: &mut Live,
    current: &Configuration,
    read: ironbark_config::Configuration,
    planned: Vec<Planned>,
    made: &mut Vec<Running>,
    root_dse: &[(String, Vec<Vec<u8>>)],
) -> Result<(), OpenError> {
    let paused = pause(live)?;
    check_schema_use(live, current, &read)?;
    let databases = databases(live, current, &read, &planned)?;
    let server_id = (directory.factories().server_id)(&read.global);
    let contexts = contexts(directory, live, made, planned, &databases);
    tell_of_later(current, &contexts);
    let configuration = Arc::new(assemble::configuration(read, contexts, root_dse)?);
    define_indexes(&configuration, current, live)?;
    for (running, database) in live.running.iter_mut().zip(databases) {
        if let Some((database, cache)) = database {
            running.database = database;
            running.cache = cache;
        }
    }
    directory.swap(Arc::clone(&configuration), server_id);
    let mut gone = Vec::new();
    for (running, paused) in std::mem::take(&mut live.running).into_iter().zip(paused) {
        match served(&configuration, running.cache) {
            Some(served) => {
                paused.resume(served);
                live.running.push(running);
            }
            None => {
                drop(paused);
                gone.push(running);
            }
        }
    }
    for mut new in made.drain(..) {
        if let (Some(first), Some(served)) = (new.first.take(), served(&configuration, new.cache)) {
            // The writer waits for it.
            let _ = first.send(served);
        }
        live.running.push(new);
    }
    for running in gone {
        running.writer.close(REMOVED);
        live.closed.push((running.directory.clone(), running.database.closed()));
        running.end();
    }
    Ok(())
}

/// Lets all writers end what they have been given, and wait.
fn pause(live: &Live) -> Result<Vec<Pausing>, OpenError> {
    let ended = || OpenError::Configuration(SHUTTING_DOWN.to_owned());
    let paused: Option<Vec<Pausing>> = live.running.iter().map(|running| running.writer.pause()).collect();
    let paused = paused.ok_or_else(ended)?;
    if paused.iter().all(Pausing::is_reached) {
        Ok(paused)
    } else {
        Err(ended())
    }
}

/// For each running database whether it is another one from now on: under another schema, or with other naming contexts.
fn databases(
    live: &mut Live,
    current: &Configuration,
    read: &ironbark_config::Configuration,
    planned: &[Planned],
) -> Result<Vec<Option<(Arc<Database>, u64)>>, OpenError> {
    let has_same_schema = Arc::ptr_eq(&current.schema, &read.schema);
    let mut databases = Vec::new();
    for at in 0..live.running.len() {
        let settings = planned
            .iter()
            .find(|planned| matches!(planned.source, Source::Kept(kept) if kept == at));
        let (Some(running), Some(Planned { settings, .. })) = (live.running.get(at), settings) else {
            databases.push(None);
            continue;
        };
        if has_same_schema && running.database.options().suffixes == settings.suffixes {
            databases.push(None);
            continue;
        }
        let database = &running.database;
        let another = database
            .retire(&database.lost_attributes(&read.schema))
            .and_then(|()| database.under(Arc::clone(&read.schema), settings.suffixes.clone()))
            .map_err(|source| failed(settings, source))?;
        let cache = live.next_cache();
        databases.push(Some((Arc::new(another), cache)));
    }
    Ok(databases)
}

fn contexts(
    directory: &Directory,
    live: &Live,
    made: &[Running],
    planned: Vec<Planned>,
    databases: &[Option<(Arc<Database>, u64)>],
) -> Vec<Arc<Context>> {
    let mut contexts = Vec::new();
    for Planned {
        number,
        settings,
        overlays,
        source,
    } in planned
    {
        let stored = |running: &Running, another: Option<&(Arc<Database>, u64)>| {
            let (database, cache) = match another {
                Some((database, cache)) => (database, *cache),
                None => (&running.database, running.cache),
            };
            let backend = Backend::Stored {
                database: Arc::clone(database),
                writer: running.writer.clone(),
                referrals: ReferralPresence::default(),
            };
            (backend, cache)
        };
        let found = match source {
            Source::Kept(at) => live
                .running
                .get(at)
                .map(|running| stored(running, databases.get(at).and_then(Option::as_ref))),
            Source::New(at) => made.get(at).map(|running| stored(running, None)),
            Source::Tree(tree) => {
                let writer = directory.trees().clone();
                Some((Backend::Virtual { tree, writer }, 0))
            }
        };
        // Each source is the position of something that is there.
        if let Some((backend, cache)) = found {
            contexts.push(Arc::new(Context {
                number,
                cache,
                settings,
                overlays,
                backend,
            }));
        }
    }
    contexts
}

/// What a writer serves under a configuration.
fn served(configuration: &Arc<Configuration>, cache: u64) -> Option<Served> {
    let context = configuration.contexts.iter().find(|context| context.cache == cache)?;
    Some(Served {
        configuration: Arc::clone(configuration),
        context: Arc::clone(context),
    })
}

/// Defines the indexes of databases that go on; when one cannot have its own, the others get back theirs.
fn define_indexes(configuration: &Configuration, current: &Configuration, live: &Live) -> Result<(), OpenError> {
    let mut changed: Vec<&Arc<Context>> = Vec::new();
    for context in &configuration.contexts {
        let Some(database) = context.database() else { continue };
        let was_open = live
            .running
            .iter()
            .any(|running| running.database.is_same_file(database));
        if !was_open {
            continue;
        }
        if let Err(source) = database.define_indexes(&open::options(&context.settings).indexes) {
            for context in changed {
                take_back(context, current);
            }
            return Err(failed(&context.settings, source));
        }
        changed.push(context);
    }
    Ok(())
}

fn take_back(context: &Context, current: &Configuration) {
    let Some(database) = context.database() else { return };
    let is_former = |former: &&Arc<Context>| former.database().is_some_and(|other| other.is_same_file(database));
    let Some(former) = current.contexts.iter().find(is_former) else {
        return;
    };
    if let Some(database) = former.database()
        && let Err(error) = database.define_indexes(&open::options(&former.settings).indexes)
    {
        tracing::error!(target: "any", "restoring the indexes of a database: {error}");
    }
}

/// Says which settings of databases that go on come into force only when the file is opened anew.
fn tell_of_later(current: &Configuration, contexts: &[Arc<Context>]) {
    for context in contexts {
        let Some(database) = context.database() else { continue };
        let is_former = |former: &&Arc<Context>| former.database().is_some_and(|other| other.is_same_file(database));
        let Some(former) = current.contexts.iter().find(is_former) else {
            continue;
        };
        let (old, new) = (&former.settings.mdb, &context.settings.mdb);
        let flags = |flags: EnvironmentFlags| {
            [
                EnvironmentFlags::NO_SYNC,
                EnvironmentFlags::MAP_ASYNC,
                EnvironmentFlags::NO_META_SYNC,
                EnvironmentFlags::NO_READ_AHEAD,
            ]
            .map(|flag| flags.contains(flag))
        };
        let later: Vec<&str> = [
            ("maxsize", old.max_size != new.max_size),
            ("maxreaders", old.max_readers != new.max_readers),
            ("mode", old.mode != new.mode),
            ("envflags", flags(old.flags) != flags(new.flags)),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect();
        if !later.is_empty() {
            let suffix = context.suffixes().first().map_or("", |suffix| suffix.pretty());
            tracing::warn!(target: "any", "{suffix}: {} will be in force when the server is started again", later.join(", "));
        }
    }
}
