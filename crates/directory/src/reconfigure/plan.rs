//! Before the swap: the parts that the new configuration has and the current one lacks.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc::channel},
};

use ironbark_config::{
    ConfigError, DatabaseConfig, OverlayConfig, SettingError, database::EntryPlace, kinds::NullConfig,
};
use ironbark_model::Schema;
use ironbark_runtime::spawn_named;

use super::{
    factories::Factories,
    renewal::Renewed,
    state::{Planned, RunningDatabase, RunningState, Source},
};
use crate::{
    Configuration, Directory, NamingContext, OpenError,
    backend::{
        external::ExternalDatabase,
        in_memory::InMemoryTree,
        ldif::LdifFiles,
        naming_context::Backend,
        open::{self, OpenDatabase, failed},
        queue,
    },
    overlay::{Overlay, Pipeline, overlays_of},
    write::newest::newest,
};

/// Makes all parts that the new configuration has and the current one lacks. New databases go into `made`.
pub(super) fn plan(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    current: &Configuration,
    read: &ironbark_config::LoadedConfiguration,
    global: &[Arc<Overlay>],
    made: &mut Vec<RunningDatabase>,
) -> Result<Vec<Planned>, OpenError> {
    let mut planned: Vec<Planned> = Vec::new();
    let numbered = std::iter::once(&read.config).chain(&read.databases).zip(0..);
    for (settings, number) in numbered.filter(|(settings, _)| !settings.disabled) {
        let source = match settings.kind.entries {
            EntryPlace::Store if state.renewed.contains(&place(settings, &read.schema)) => {
                Source::External(Arc::new(Renewed))
            }
            EntryPlace::Store | EntryPlace::Files => {
                let source = stored(directory, state, read, settings, made)?;
                let is_twice = planned.iter().any(|other| match (&other.source, &source) {
                    (Source::Kept(one), Source::Kept(other)) => one == other,
                    _ => false,
                });
                if is_twice {
                    return Err(serves_two(settings));
                }
                source
            }
            EntryPlace::Nowhere => Source::Null(*settings.settings::<NullConfig>()?),
            EntryPlace::Elsewhere => Source::External(external(&state.factories, current, settings, &read.schema)?),
            EntryPlace::Memory | EntryPlace::Frontend => match tree(&state.factories, current, settings) {
                Some(tree) => Source::Tree(tree),
                None => continue,
            },
        };
        let former = former(state, current, &source, settings);
        let mut overlays = overlays(&state.factories, current, former, &settings.overlays, read)?;
        if settings.kind.has_suffix() && !settings.kind.is_external() {
            // Those of the frontend stand before those of each database.
            overlays.extend_from_slice(global);
        }
        if settings.cluster.is_some() {
            // It acts first.
            overlays.push(newest());
        }
        planned.push(Planned {
            number,
            settings: settings.clone(),
            overlays: Pipeline::new(overlays),
            source,
        });
    }
    Ok(planned)
}

fn serves_two(settings: &DatabaseConfig) -> OpenError {
    let directory = settings.directory.display();
    let reason = format!("another database already has the directory \"{directory}\"");
    ConfigError::of_setting(&settings.location, "database", reason).into()
}

/// See [`RunningDatabase`].
fn place(settings: &DatabaseConfig, schema: &Schema) -> PathBuf {
    let directory = &settings.directory;
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.clone());
    match settings.kind.entries {
        EntryPlace::Files => directory.join(LdifFiles::new(settings, schema).top(schema)),
        _ => directory,
    }
}

/// The database that runs already, a removed one that is still open for earlier operations, or a new one.
fn stored(
    directory: &Arc<Directory>,
    state: &mut RunningState,
    read: &ironbark_config::LoadedConfiguration,
    settings: &DatabaseConfig,
    made: &mut Vec<RunningDatabase>,
) -> Result<Source, OpenError> {
    let path = place(settings, &read.schema);
    if let Some(at) = state.running.iter().position(|running| running.place == path) {
        return Ok(Source::Kept(at));
    }
    if made.iter().any(|new| new.place == path) {
        return Err(serves_two(settings));
    }
    // For ldif, the files may have changed since.
    let is_ldif = settings.kind.entries == EntryPlace::Files;
    let former = state.closed.iter().find(|(closed, _)| !is_ldif && *closed == path);
    let taken_up = former.and_then(|(_, closed)| closed.take_up(&read.schema, &settings.suffixes));
    let opened = match taken_up {
        Some(database) => {
            // Its writer defines its indexes.
            OpenDatabase {
                database: database.map_err(|source| failed(settings, source))?,
                files: None,
                lock: None,
            }
        }
        None => open::database(settings, &read.schema)?,
    };
    let observed = match settings.cluster {
        Some(_) => directory.follow_database(&opened.database),
        None => directory.observe_database(&opened.database),
    };
    observed.map_err(|source| failed(settings, source))?;
    let (writer, orders) = queue::queue();
    let (first, its_first) = channel();
    let for_writer = Arc::clone(directory);
    let cache = state.next_cache();
    let name = format!("writer-{cache}");
    let thread = spawn_named(&name, move || {
        crate::write::run_stored(&for_writer, &its_first, &orders);
    })
    .map_err(|error| SettingError::Unavailable(format!("starting a writer: {error}")))?;
    made.push(RunningDatabase {
        place: path,
        database: Arc::new(opened.database),
        files: opened.files.map(Arc::new),
        _lock: opened.lock,
        cache,
        writer,
        thread,
        first: Some(first),
    });
    Ok(Source::New(made.len() - 1))
}

/// The tree of cn=config or cn=Monitor, made when it is served for the first time.
fn tree(factories: &Factories, current: &Configuration, settings: &DatabaseConfig) -> Option<Arc<dyn InMemoryTree>> {
    let same = |context: &&Arc<NamingContext>| {
        context.settings.kind == settings.kind && context.settings.suffixes == settings.suffixes
    };
    let kept = current
        .contexts
        .iter()
        .find(same)
        .and_then(|context| context.backend.tree().map(Arc::clone));
    kept.or_else(|| (factories.trees)(settings))
}

/// What serves a database whose entries are elsewhere: what does so already, unless something about it has changed.
fn external(
    factories: &Factories,
    current: &Configuration,
    settings: &DatabaseConfig,
    schema: &Arc<Schema>,
) -> Result<Arc<dyn ExternalDatabase>, OpenError> {
    let is_same = |context: &&Arc<NamingContext>| {
        Arc::ptr_eq(&current.schema, schema) && context.settings.is_served_like(settings)
    };
    let kept = current.contexts.iter().find(is_same);
    if let Some(Backend::External(database)) = kept.map(|context| &context.backend) {
        return Ok(Arc::clone(database));
    }
    let made = (factories.external)(settings, schema);
    Ok(made.map_err(|error| ConfigError::of_setting(&settings.location, "database", error))?)
}

/// What has served the same before.
fn former<'c>(
    state: &RunningState,
    current: &'c Configuration,
    source: &Source,
    settings: &DatabaseConfig,
) -> Option<&'c Arc<NamingContext>> {
    current.contexts.iter().find(|context| match source {
        Source::Kept(at) => state
            .running
            .get(*at)
            .is_some_and(|running| running.cache == context.cache),
        Source::New(_) => false,
        Source::Null(_) | Source::External(_) => {
            context.settings.kind == settings.kind && context.settings.suffixes.first() == settings.suffixes.first()
        }
        Source::Tree(_) => context.settings.kind == settings.kind,
    })
}

/// The overlays of the frontend, which all databases share.
pub(super) fn global_overlays(
    factories: &Factories,
    current: &Configuration,
    read: &ironbark_config::LoadedConfiguration,
) -> Result<Vec<Arc<Overlay>>, OpenError> {
    overlays(
        factories,
        current,
        Some(&current.frontend),
        &read.frontend.overlays,
        read,
    )
}

/// The overlays of a context: its present ones if nothing about them has changed, otherwise new ones.
fn overlays(
    factories: &Factories,
    current: &Configuration,
    former: Option<&Arc<NamingContext>>,
    settings: &[OverlayConfig],
    read: &ironbark_config::LoadedConfiguration,
) -> Result<Vec<Arc<Overlay>>, OpenError> {
    let mut known: Vec<_> = former
        .filter(|_| Arc::ptr_eq(&current.schema, &read.schema))
        .map(|context| {
            context
                .settings
                .overlays
                .iter()
                .zip(overlays_of(context).configured())
                .collect()
        })
        .unwrap_or_default();
    let mut overlays: Vec<Arc<Overlay>> = Vec::new();
    for overlay in settings {
        let same = known.iter().position(|(config, _)| config.is_like(overlay));
        overlays.push(if let Some(at) = same {
            Arc::clone(known.remove(at).1)
        } else {
            let made = (factories.overlays)(overlay, &read.schema);
            Arc::new(made.map_err(|error| ConfigError::of_overlay(&overlay.location, error))?)
        });
    }
    Ok(overlays)
}
