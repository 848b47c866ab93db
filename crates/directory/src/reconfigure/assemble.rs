//! Builds the immutable configuration from the configuration as it was read and the parts that serve it.

use std::sync::Arc;

use ironbark_config::{
    ConfigError, GlobalConfig, Registry, SchemaKind, SchemaStatement, SettingError,
    access::{AccessRule, AttributeTarget},
    overlay::OverlayConfig,
};
use ironbark_ldap_proto::{DecodeLimits, controls::OverlayRow};
use ironbark_model::AttributeDescription;
use ironbark_runtime::Clock;

use crate::{
    Configuration, Directory, NamingContext, OpenError,
    backend::{
        configuration::OfOverlays,
        naming_context::{Attached, Backend},
        root_dse::RootDseAddition,
        tree_attributes::TreeAttributes,
        well_known::WellKnown,
    },
    frontend::root_dse,
    overlay::{Pipeline, overlays_of},
    password,
    request::bound::BoundControls,
    rules::{OperationRules, Rules, controls::control_kind},
    stamp::generalized_time,
};

/// The configuration before the first one. It has no subschema subentry, and nobody is served with it.
pub(crate) fn without_databases(read: &ironbark_config::LoadedConfiguration) -> Result<Configuration, OpenError> {
    let clock = Clock::system();
    configuration(read.clone(), clock, Vec::new(), &[], Pipeline::default(), |_| ())
}

/// The same with contexts that no server uses.
pub(crate) fn with_contexts(
    read: &ironbark_config::LoadedConfiguration,
    contexts: Vec<Arc<NamingContext>>,
) -> Result<Configuration, OpenError> {
    let clock = Clock::system();
    configuration(read.clone(), clock, contexts, &[], Pipeline::default(), |made| {
        made.subschema = Arc::new([root_dse::subschema(made)]);
    })
}

/// Keeps the schema if the definitions are the same: everything that was resolved against the new schema means the same
/// under the old one.
pub(super) fn keep_equal_schema(current: &Configuration, read: &mut ironbark_config::LoadedConfiguration) {
    fn content(statement: &SchemaStatement) -> (SchemaKind, &str, &[String]) {
        (statement.kind, &statement.text, &statement.words)
    }
    let (old, new) = (&current.schema_definitions, &read.schema_definitions);
    let has_same_names = current.schema.takes_unknown_types_like(&read.schema);
    let has_same_booleans = current.schema.takes_any_case_booleans() == read.schema.takes_any_case_booleans();
    if has_same_names && has_same_booleans && old.iter().map(content).eq(new.iter().map(content)) {
        read.schema = Arc::clone(&current.schema);
    }
}

/// The configuration that follows `current`, with the date of its schema.
pub(super) fn dated(
    directory: &Directory,
    current: &Configuration,
    read: ironbark_config::LoadedConfiguration,
    contexts: Vec<Arc<NamingContext>>,
    root_dse: &[RootDseAddition],
    overlays: Pipeline,
) -> Result<Configuration, OpenError> {
    let now = generalized_time::text(directory.clock().now().unix_seconds());
    let publish = |next: &mut Configuration| root_dse::publish_schema(next, current, &now);
    configuration(read, directory.clock().clone(), contexts, root_dse, overlays, publish)
}

/// The configuration in the form for operations, with the overlays of the frontend. `publish` sets the subschema
/// subentry, which the root DSE names.
fn configuration(
    read: ironbark_config::LoadedConfiguration,
    clock: Clock,
    contexts: Vec<Arc<NamingContext>>,
    root_dse: &[RootDseAddition],
    overlays: Pipeline,
    publish: impl FnOnce(&mut Configuration),
) -> Result<Configuration, OpenError> {
    let schema = read.schema;
    let well_known =
        WellKnown::of(&schema).ok_or_else(|| SettingError::from("the schema lacks the built-in definitions"))?;
    let password_schemes: Vec<_> = read
        .global
        .password_hash
        .iter()
        .filter_map(|name| password::Scheme::from_name(name.trim_matches(['{', '}']).as_bytes()))
        .collect();
    let frontend = NamingContext {
        number: -1,
        cache: 0,
        settings: read.frontend,
        has_followers: overlays.has_followers(),
        attached: Attached::new(overlays),
        backend: Backend::Frontend,
    };
    let mut of_overlays = of_overlays(&read.registry, &contexts);
    // Of the root DSE, also without a database.
    of_overlays.has_search_hooks |= !overlays_of(&frontend).searches.is_empty();
    let mut configuration = Configuration {
        verifies_credentials: loads(&read.registry, &read.global, "vc"),
        registry: read.registry,
        clock,
        decode_limits: DecodeLimits {
            filter_depth: usize::try_from(read.global.max_filter_depth).unwrap_or(usize::MAX),
            ..DecodeLimits::default()
        },
        tree_attributes: TreeAttributes::new(&well_known, None),
        well_known,
        settings: read.global,
        schema_definitions: read.schema_definitions,
        contexts,
        frontend: Arc::new(frontend),
        of_overlays,
        rules: Vec::new(),
        operation_rules: Vec::new(),
        password_schemes,
        root_dse: Arc::default(),
        root_dses: Vec::new(),
        subschema: Arc::default(),
        schema,
    };
    configuration.rules = rules(&configuration)?;
    configuration.operation_rules = operation_rules(&configuration)?;
    publish(&mut configuration);
    configuration.tree_attributes = TreeAttributes::new(&configuration.well_known, configuration.subschema_dn());
    let root = root_dse::root(&configuration, root_dse)?;
    configuration.root_dses = root_dse::for_all(&configuration, &root);
    configuration.root_dse = Arc::new([root]);
    Ok(configuration)
}

/// Whether a module is loaded.
fn loads(registry: &Registry, settings: &GlobalConfig, module: &str) -> bool {
    let mut arguments = settings
        .modules
        .iter()
        .filter_map(|line| line.split_whitespace().next());
    arguments.any(|argument| {
        registry
            .parts()
            .module(argument)
            .is_some_and(|part| part.name == module)
    })
}

/// The additions of the overlays of all databases.
fn of_overlays(registry: &Registry, contexts: &[Arc<NamingContext>]) -> OfOverlays {
    let (mut all, mut bound) = (OfOverlays::default(), BoundControls::default());
    for pipeline in contexts.iter().map(|context| overlays_of(context)) {
        all.controls = all.controls.and(pipeline.controls);
        all.has_request_hooks |= !pipeline.requests.is_empty();
        all.keeps_messages |= pipeline
            .responses
            .as_ref()
            .is_some_and(|responses| responses.takes_messages());
        all.has_search_hooks |= !pipeline.searches.is_empty();
        for overlay in &pipeline.entry_controls {
            all.entry_controls = all.entry_controls.and(overlay.asked_by());
        }
        all.extended.extend(pipeline.extended.iter().map(|hooks| hooks.oid()));
        for control in &pipeline.own_controls {
            // The overlay's descriptor does not name it, so there is no such control.
            let Some(kind) = control_kind(registry, control.descriptor.oid) else {
                continue;
            };
            if all.own_controls.iter().all(|row| row.kind != kind) {
                all.own_controls.push(OverlayRow { kind, control });
            }
        }
        for hooks in &pipeline.bound {
            if let Some(kind) = control_kind(registry, hooks.asked_by().oid) {
                bound.add(kind, Arc::clone(hooks));
            }
        }
    }
    all.bound = Arc::new(bound);
    all
}

/// The access rules of all naming contexts: each context's own rules, then those of the frontend.
fn rules(configuration: &Configuration) -> Result<Vec<Arc<Rules>>, OpenError> {
    let frontend = &configuration.frontend;
    by_place(configuration, |context| {
        let own = if Arc::ptr_eq(context, frontend) {
            &[][..]
        } else {
            &context.settings.access
        };
        let all = own.iter().chain(&frontend.settings.access);
        let secrets = secrets(configuration, context, &all);
        Rules::compile(&configuration.registry, &configuration.schema, all, secrets)
    })
}

/// The attributes that overlays of a database keep for their entries, but for those that a rule names.
fn secrets<'a>(
    configuration: &Configuration,
    context: &NamingContext,
    rules: &(impl Iterator<Item = &'a AccessRule> + Clone),
) -> Vec<AttributeDescription> {
    let schema = &configuration.schema;
    let names = context.settings.overlays.iter().flat_map(OverlayConfig::secrets);
    let kept = names.filter_map(|name| schema.attribute_description(name.as_bytes()).ok());
    let is_named = |secret: &AttributeDescription| {
        let mut targets = rules.clone().flat_map(|rule| &rule.what.attributes);
        targets.any(|target| match target {
            AttributeTarget::Attribute(general) => schema.is_description_subtype(secret, general),
            _ => false,
        })
    };
    kept.filter(|secret| !is_named(secret)).collect()
}

/// The `restrictop` rules of all naming contexts: each context's own rules, or those of the frontend.
fn operation_rules(configuration: &Configuration) -> Result<Vec<Arc<OperationRules>>, OpenError> {
    by_place(configuration, |context| {
        let own = Some(&context.settings.operation_rules).filter(|own| !own.is_empty());
        let rules = own.unwrap_or(&configuration.frontend.settings.operation_rules);
        OperationRules::compile(&configuration.registry, rules)
    })
}

/// Makes one value for the frontend and for each naming context, by [`NamingContext::number`] plus one. Numbers of
/// disabled databases have none.
fn by_place<T: Default>(
    configuration: &Configuration,
    make: impl Fn(&Arc<NamingContext>) -> Result<Arc<T>, ConfigError>,
) -> Result<Vec<Arc<T>>, OpenError> {
    let mut all = Vec::new();
    for context in std::iter::once(&configuration.frontend).chain(&configuration.contexts) {
        let place = usize::try_from(context.number + 1).unwrap_or_default();
        if all.len() <= place {
            all.resize_with(place + 1, Arc::<T>::default);
        }
        if let Some(slot) = all.get_mut(place) {
            *slot = make(context)?;
        }
    }
    Ok(all)
}
