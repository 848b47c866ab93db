//! The immutable value from what was read and what serves it.

use std::sync::{Arc, atomic::AtomicU32};

use ironbark_config::{SchemaKind, SchemaStatement};
use ironbark_ldap_proto::DecodeLimits;
use ironbark_model::Dn;

use crate::{
    Configuration, Context, OpenError,
    access::Rules,
    context::Backend,
    dse::{self, RootDseAddition},
    overlay::Pipeline,
    password,
    well_known::WellKnown,
};

/// A configuration that serves the root DSE alone: the one before the first.
pub(crate) fn without_databases(read: &ironbark_config::Configuration) -> Result<Configuration, OpenError> {
    configuration(read.clone(), Vec::new(), &[], Arc::default())
}

/// The same with contexts that nobody serves.
pub(crate) fn with_contexts(
    read: &ironbark_config::Configuration,
    contexts: Vec<Arc<Context>>,
) -> Result<Configuration, OpenError> {
    configuration(read.clone(), contexts, &[], Arc::default())
}

/// Keeps the schema when the definitions are the same: everything that was resolved against the new one means the same under the old.
pub(super) fn keep_equal_schema(current: &Configuration, read: &mut ironbark_config::Configuration) {
    fn content(statement: &SchemaStatement) -> (SchemaKind, &str, &[String]) {
        (statement.kind, &statement.text, &statement.words)
    }
    let (old, new) = (&current.schema_definitions, &read.schema_definitions);
    if old.iter().map(content).eq(new.iter().map(content)) {
        read.schema = Arc::clone(&current.schema);
    }
}

/// The configuration as operations use it. `sorts` counts those that the overlay of the frontend limits.
pub(super) fn configuration(
    read: ironbark_config::Configuration,
    contexts: Vec<Arc<Context>>,
    root_dse: &[RootDseAddition],
    sorts: Arc<AtomicU32>,
) -> Result<Configuration, OpenError> {
    let schema = read.schema;
    let well_known = WellKnown::of(&schema)
        .ok_or_else(|| OpenError::Configuration("the schema lacks the built-in definitions".to_owned()))?;
    let schema_dn = read.frontend.schema_dn.clone().unwrap_or_else(|| {
        // Parses with every schema: cn is built in.
        Dn::parse(&schema, b"cn=Subschema").unwrap_or_default()
    });
    let password_schemes: Vec<_> = read
        .global
        .password_hash
        .iter()
        .filter_map(|name| password::Scheme::from_name(name.trim_matches(['{', '}']).as_bytes()))
        .collect();
    let frontend = Context {
        number: -1,
        cache: 0,
        settings: read.frontend,
        overlays: Pipeline::default(),
        backend: Backend::Frontend,
        sorts,
    };
    let mut configuration = Configuration {
        decode_limits: DecodeLimits {
            filter_depth: usize::try_from(read.global.max_filter_depth).unwrap_or(usize::MAX),
            ..DecodeLimits::default()
        },
        well_known,
        settings: read.global,
        schema_definitions: read.schema_definitions,
        contexts,
        frontend: Arc::new(frontend),
        rules: Vec::new(),
        password_schemes,
        root_dse: Arc::default(),
        root_dses: Vec::new(),
        subschema: Arc::default(),
        schema,
    };
    configuration.rules = rules(&configuration)?;
    configuration.subschema = Arc::new([dse::subschema(&configuration, schema_dn)]);
    let root = dse::root(&configuration, root_dse)?;
    configuration.root_dses = dse::for_all(&configuration, &root);
    configuration.root_dse = Arc::new([root]);
    Ok(configuration)
}

/// The access rules of all naming contexts, those of the frontend behind each one's own.
fn rules(configuration: &Configuration) -> Result<Vec<Arc<Rules>>, OpenError> {
    let frontend = &configuration.frontend;
    let schema = &configuration.schema;
    let mut rules = Vec::new();
    for context in std::iter::once(frontend).chain(&configuration.contexts) {
        let place = usize::try_from(context.number + 1).unwrap_or_default();
        let own = if Arc::ptr_eq(context, frontend) {
            &[][..]
        } else {
            &context.settings.access
        };
        let all = own.iter().chain(&frontend.settings.access);
        let compiled = Rules::compile(schema, all).map_err(OpenError::Configuration)?;
        if rules.len() <= place {
            // Numbers of disabled databases have none.
            rules.resize_with(place + 1, Arc::<Rules>::default);
        }
        if let Some(slot) = rules.get_mut(place) {
            *slot = compiled;
        }
    }
    Ok(rules)
}
