//! The privileges that the rules of a configuration grant, evaluated without a server.

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    access::{AccessLevel, GrantKind, Privileges},
    overlay::OverlayConfig,
};
use ironbark_ldap_proto::Operation;
use ironbark_model::{AttributeDescription, Dn, Entry, Schema};
use ironbark_store::Database;

use crate::{
    Configuration, NamingContext, OpenError,
    access::{Check, Source, Subject, Target},
    backend::{
        naming_context::{Attached, Backend},
        queue::WriterHandle,
    },
    overlay::{Overlay, Pipeline},
    reconfigure,
    request::identity::{Peer, Strength},
};

/// The rules of a configuration that no server uses.
#[derive(Debug)]
pub struct Appraisal {
    /// Its contexts are cn=config, then the databases in order.
    pub(crate) configuration: Configuration,
}

/// What a subject may do with an attribute of an entry.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    /// All granted privileges.
    pub privileges: Privileges,
    /// The deciding rule, by its position among those of the database and, behind them, the frontend's. `None`: there
    /// are no rules, or none applies.
    pub rule: Option<usize>,
    /// The clause of that rule, from 1 on; 0: no clause matches.
    pub clause: usize,
    /// Whether the clause grants a level, and does not only change what was granted before.
    pub is_level: bool,
}

/// A requester, and its kind of connection.
#[derive(Clone, Debug)]
pub struct Asker {
    /// The identity that it acts as.
    pub dn: Dn,
    /// The identity that it has authenticated as.
    pub real_dn: Dn,
    /// The connection.
    pub peer: Peer,
    /// How well it is protected.
    pub strength: Strength,
}

impl Appraisal {
    /// The rules of `read`. No database is open: no group has members.
    ///
    /// # Errors
    /// The schema lacks a built-in element.
    pub fn new(read: &ironbark_config::LoadedConfiguration) -> Result<Self, OpenError> {
        Self::with_databases(read, Vec::new())
    }

    /// The same with databases that rules may look into. The first belongs to the first `database` line.
    ///
    /// # Errors
    /// As of [`Appraisal::new`].
    pub fn with_databases(
        read: &ironbark_config::LoadedConfiguration,
        databases: Vec<Option<Database>>,
    ) -> Result<Self, OpenError> {
        Self::with_overlays(read, databases, |_, _| Ok(None))
    }

    /// The same with what overlays derive. `overlays` makes those of a database that are wanted.
    ///
    /// # Errors
    /// As of [`Appraisal::new`]; an overlay cannot be made.
    pub fn with_overlays(
        read: &ironbark_config::LoadedConfiguration,
        databases: Vec<Option<Database>>,
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Option<Overlay>, SettingError>,
    ) -> Result<Self, OpenError> {
        let mut databases = std::iter::once(None).chain(databases);
        let all = std::iter::once(&read.config).chain(&read.databases);
        let contexts = (0..).zip(all).map(|(number, settings)| {
            let made = settings.overlays.iter().map(|overlay| overlays(overlay, &read.schema));
            let made = made.filter_map(|made| made.transpose().map(|made| made.map(Arc::new)));
            let pipeline = Pipeline::new(made.collect::<Result<_, _>>()?);
            let backend = match databases.next().flatten() {
                Some(database) => Backend::Stored {
                    database: Arc::new(database),
                    writer: WriterHandle::nowhere(),
                    files: None,
                },
                None => Backend::Frontend,
            };
            Ok(Arc::new(NamingContext {
                number,
                cache: 0,
                settings: settings.clone(),
                has_followers: pipeline.has_followers(),
                attached: Attached::new(pipeline),
                backend,
            }))
        });
        let contexts = contexts.collect::<Result<_, SettingError>>()?;
        Ok(Self {
            configuration: reconfigure::with_contexts(read, contexts)?,
        })
    }

    /// The privileges of `subject` on an attribute of `entry`, by the rules of database `number` (0: cn=config, 1: the
    /// first). `None` for the attribute means the entry itself. Without such a database, nothing is granted.
    pub fn granted(
        &self,
        number: usize,
        subject: &Dn,
        entry: &Entry,
        attribute: Option<&AttributeDescription>,
    ) -> Granted {
        let subject = Subject {
            dn: subject,
            real_dn: subject,
            ..Subject::nobody(Operation::Search)
        };
        let target = attribute.map_or(Target::Entry, |attribute| Target::Attribute(attribute, None));
        self.decide(number, subject, entry, target)
    }

    /// The privileges of somebody on an attribute, or a value of it. `attribute` may be `entry` or `children`. `None`:
    /// there is no such attribute.
    pub fn granted_to(
        &self,
        number: usize,
        asker: &Asker,
        entry: &Entry,
        attribute: &str,
        value: Option<&[u8]>,
    ) -> Option<Granted> {
        let subject = Subject {
            dn: &asker.dn,
            real_dn: &asker.real_dn,
            peer: Some(&asker.peer),
            strength: asker.strength,
            ..Subject::nobody(Operation::Search)
        };
        let description = self.configuration.schema.attribute_description(attribute.as_bytes());
        let target = match (attribute.to_ascii_lowercase().as_str(), &description) {
            ("entry", _) => Target::Entry,
            ("children", _) => Target::Children,
            (_, Ok(description)) => Target::Attribute(description, value),
            (_, Err(_)) => return None,
        };
        Some(self.decide(number, subject, entry, target))
    }

    fn decide(&self, number: usize, subject: Subject<'_>, entry: &Entry, target: Target<'_>) -> Granted {
        let Some(context) = self.configuration.contexts.get(number) else {
            return Granted::default();
        };
        if context.is_root(subject.dn) {
            return Granted {
                privileges: AccessLevel::Manage.privileges(),
                is_level: true,
                ..Granted::default()
            };
        }
        let rules = self.configuration.rules_of(context);
        let decision = Check::new(&self.configuration, rules, subject, Source::Memory(entry)).decide(target);
        let clause = |(rule, clause): (usize, usize)| rules.all.get(rule)?.by.get(clause.checked_sub(1)?);
        let grant = decision.by.map(|place| clause(place).map(|clause| clause.grant.kind));
        Granted {
            // Without rules, everybody has the level `read`.
            is_level: grant.is_none_or(|kind| matches!(kind, Some(GrantKind::Level(_)))),
            privileges: decision.privileges,
            rule: decision.by.map(|(rule, _)| rule),
            clause: decision.by.map_or(0, |(_, clause)| clause),
        }
    }
}
