//! The configuration in force: an immutable value that is swapped whole. An operation ends under the configuration
//! under which it began.

use std::sync::Arc;

use ironbark_config::{GlobalConfig, Registry, SchemaStatement};
use ironbark_ldap_proto::{
    DecodeLimits,
    controls::{ControlSet, OverlayRow},
    extended::{ExtendedDescriptor, ExtendedOperation, lookup},
};
use ironbark_model::{Dn, Entry, Schema};
use ironbark_runtime::Clock;

use super::{root_dse::RootDse, tree_attributes::TreeAttributes, well_known::WellKnown};
use crate::{
    NamingContext, password,
    request::bound::BoundControls,
    rules::{OperationRules, Rules},
};

/// The configuration, in the form that operations need.
#[derive(Debug)]
pub struct Configuration {
    /// The schema in force.
    pub schema: Arc<Schema>,
    /// The registry: everything that may be configured.
    pub registry: Registry,
    /// The clock of the server.
    pub(crate) clock: Clock,
    /// Attribute descriptions that operations often need.
    pub well_known: WellKnown,
    /// The attributes that stored entries have by their place in the tree.
    pub(crate) tree_attributes: TreeAttributes,
    /// Settings of the server.
    pub settings: GlobalConfig,
    /// Limits for decoding requests.
    pub decode_limits: DecodeLimits,
    /// The definitions that the schema is made of, besides the built-in ones.
    pub schema_definitions: Arc<[SchemaStatement]>,
    /// cn=config, if it is served, and the served databases, in the order of the configuration.
    pub contexts: Vec<Arc<NamingContext>>,
    /// The frontend: root DSE, subschema subentry, and the access rules that follow the rules of each database.
    pub frontend: Arc<NamingContext>,
    /// Access rules of the frontend and of `contexts`. The index is [`NamingContext::number`] plus one.
    pub(crate) rules: Vec<Arc<Rules>>,
    /// `restrictop` rules, with the same index: the database's own, or else the frontend's.
    pub(crate) operation_rules: Vec<Arc<OperationRules>>,
    /// What the overlays of all databases add.
    pub(crate) of_overlays: OfOverlays,
    /// Whether module vc is loaded, which brings Verify Credentials.
    pub(crate) verifies_credentials: bool,
    /// `password-hash`, resolved.
    pub password_schemes: Vec<password::Scheme>,
    /// The root DSE, without SASL mechanisms; one entry.
    pub root_dse: Arc<[Entry]>,
    /// Variants of the root DSE with SASL mechanisms, one for each set of mechanisms that connections are offered.
    pub(crate) root_dses: Vec<RootDse>,
    /// The subschema subentry; one entry.
    pub subschema: Arc<[Entry]>,
}

/// What the overlays of all databases add, in one place.
#[derive(Debug, Default)]
pub(crate) struct OfOverlays {
    /// Controls of the table that overlays bring.
    pub(crate) controls: ControlSet,
    /// Controls that only overlays know.
    pub(crate) own_controls: Vec<OverlayRow>,
    /// Those of them that come with the responses of binds.
    pub(crate) bound: Arc<BoundControls>,
    /// Controls that overlays answer with each entry of a search.
    pub(crate) entry_controls: ControlSet,
    /// Whether an overlay decides about requests.
    pub(crate) has_request_hooks: bool,
    /// Whether an overlay wants messages as they came in when they have ended.
    pub(crate) keeps_messages: bool,
    /// Whether an overlay sees searches before they begin.
    pub(crate) has_search_hooks: bool,
    /// OIDs of extended operations.
    pub(crate) extended: Vec<&'static str>,
}

impl Configuration {
    /// Whether it has a database that was closed when a later configuration came into force.
    pub(crate) fn has_closed_under(&self, later: &Self) -> bool {
        let databases = |one: &Self| -> Vec<_> {
            let databases = one.contexts.iter().filter_map(|context| context.database().cloned());
            databases.collect()
        };
        let open = databases(later);
        let mut own = databases(self).into_iter();
        !own.all(|database| open.iter().any(|other| other.is_same(&database)))
    }

    /// The access rules for entries of a naming context.
    pub(crate) fn rules_of(&self, context: &NamingContext) -> &Rules {
        let place = usize::try_from(context.number + 1).unwrap_or_default();
        // The index is in range for every context of this configuration.
        self.rules
            .get(place)
            .or(self.rules.first())
            .map_or(Rules::none(), |rules| rules)
    }

    /// The extended operation with this name. As in slapd, StartTLS is `None` unless TLS is configured. The operation
    /// of an overlay or of a module is `None` unless that is configured.
    pub(crate) fn extended_operation(&self, name: &[u8]) -> Option<&'static ExtendedDescriptor> {
        let has_tls = self.settings.tls.is_configured() && !self.settings.lacks_tls;
        lookup(name).filter(|row| match row.operation {
            ExtendedOperation::StartTls => has_tls,
            ExtendedOperation::VerifyCredentials => self.verifies_credentials,
            ExtendedOperation::OfOverlay => self.of_overlays.extended.contains(&row.oid),
            _ => true,
        })
    }

    /// The naming context that holds `dn`: the one with the longest suffix. Among equal suffixes, the first one of the
    /// configuration wins.
    pub fn context_of(&self, dn: &Dn) -> Option<&Arc<NamingContext>> {
        let mut best: Option<(usize, &Arc<NamingContext>)> = None;
        for context in self.contexts.iter().filter(|context| !context.settings.hidden) {
            if let Some(suffix) = context.suffix_of(dn)
                && best.is_none_or(|(depth, _)| suffix.depth() > depth)
            {
                best = Some((suffix.depth(), context));
            }
        }
        best.map(|(_, context)| context)
    }

    /// The database whose restrictions and limits apply to searches of `context`. As in slapd, this is the database
    /// that it is glued into, or else itself. Other operations ask the database that holds the entry.
    pub(crate) fn governing<'a>(&'a self, context: &'a NamingContext) -> &'a NamingContext {
        self.glue_root_of(context).map_or(context, |root| root)
    }

    /// The database into which `context` is glued: the nearest superior one that is not glued itself.
    pub fn glue_root_of(&self, context: &NamingContext) -> Option<&Arc<NamingContext>> {
        context.settings.subordinate?;
        let suffix = context.suffixes().first()?;
        let mut best: Option<(usize, &Arc<NamingContext>)> = None;
        for other in self
            .contexts
            .iter()
            .filter(|other| other.settings.subordinate.is_none() && !other.settings.hidden)
        {
            if let Some(found) = other.suffix_of(suffix)
                && found != suffix
                && best.is_none_or(|(depth, _)| found.depth() > depth)
            {
                best = Some((found.depth(), other));
            }
        }
        best.map(|(_, root)| root)
    }

    /// The databases glued into `context`, in configuration order.
    pub fn subordinates_of<'a>(
        &'a self,
        context: &'a NamingContext,
    ) -> impl DoubleEndedIterator<Item = &'a Arc<NamingContext>> {
        self.contexts.iter().filter(move |other| {
            self.glue_root_of(other)
                .is_some_and(|root| root.number == context.number)
        })
    }

    /// The values of `namingContexts` in the root DSE.
    pub fn naming_contexts(&self) -> impl Iterator<Item = &Dn> {
        self.contexts
            .iter()
            .filter(|context| {
                let settings = &context.settings;
                !settings.hidden
                    && settings.subordinate.is_none_or(|subordinate| subordinate.advertise)
                    && settings.kind.has_suffix()
            })
            .flat_map(|context| context.suffixes())
    }

    /// `slowlog` in microseconds.
    pub(crate) fn slow_micros(&self) -> Option<u64> {
        let limit = self.settings.slow_log_ms;
        (limit != 0).then(|| u64::from(limit) * 1_000)
    }

    /// The name of the subschema subentry.
    pub fn subschema_dn(&self) -> Option<&Dn> {
        self.subschema.first().map(|entry| &entry.dn)
    }
}
