//! What the rules of a configuration grant, asked of the rules alone: no database is open, so that no group has members.

use std::sync::Arc;

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::Operation;
use ironbark_model::{AttributeDescription, Dn, Entry};

use super::{Check, Source, Subject, Target};
use crate::{Configuration, Context, OpenError, context::Backend, overlay::Pipeline, reconfigure};

/// The rules of a configuration that nobody serves.
#[derive(Debug)]
pub struct Appraisal {
    /// Its contexts are cn=config, then the databases in order.
    configuration: Configuration,
}

/// What a subject may do with an attribute of an entry.
#[derive(Clone, Debug)]
pub struct Granted {
    /// All that is granted.
    pub privileges: Privileges,
    /// The rule that decides, by its position among those of the database and, behind them, the frontend's; `None`: there are no rules, or
    /// none is about this.
    pub rule: Option<usize>,
}

impl Appraisal {
    /// The rules of `read`.
    ///
    /// # Errors
    /// The schema lacks what is built in.
    pub fn new(read: &ironbark_config::Configuration) -> Result<Self, OpenError> {
        let all = std::iter::once(&read.config).chain(&read.databases);
        let contexts = (0..).zip(all).map(|(number, settings)| {
            Arc::new(Context {
                number,
                cache: 0,
                settings: settings.clone(),
                overlays: Pipeline::default(),
                backend: Backend::Frontend,
                sorts: Arc::default(),
            })
        });
        Ok(Self {
            configuration: reconfigure::with_contexts(read, contexts.collect())?,
        })
    }

    /// What the rules of database `number` (0: cn=config, 1: the first) grant `subject` on an attribute of `entry`; `None`: on the entry
    /// itself. Nothing where there is no such database.
    pub fn granted(
        &self,
        number: usize,
        subject: &Dn,
        entry: &Entry,
        attribute: Option<&AttributeDescription>,
    ) -> Granted {
        let Some(context) = self.configuration.contexts.get(number) else {
            return Granted {
                privileges: Privileges::default(),
                rule: None,
            };
        };
        let subject = Subject {
            dn: subject,
            real_dn: subject,
            ..Subject::nobody(Operation::Search)
        };
        let target = attribute.map_or(Target::Entry, |attribute| Target::Attribute(attribute, None));
        let rules = self.configuration.rules_of(context);
        let decision = Check::new(&self.configuration, rules, subject, Source::Memory(entry)).decide(target);
        Granted {
            privileges: decision.privileges,
            rule: decision.by.map(|(rule, _)| rule),
        }
    }
}
