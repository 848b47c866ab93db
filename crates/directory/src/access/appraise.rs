//! What the rules of a configuration grant, asked of the rules alone: no database is open, so that no group has members.

use ironbark_config::access::Privileges;
use ironbark_model::{AttributeDescription, Dn, Entry};

use super::{Source, Subject, Target, evaluate::Check};
use crate::{Configuration, Context, OpenError, context::Backend, overlay::Pipeline, reconfigure};

/// The rules of a configuration that nobody serves.
#[derive(Debug)]
pub struct Appraisal {
    configuration: Configuration,
    /// cn=config, then the databases in order.
    contexts: Vec<Context>,
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
        let contexts = (0..).zip(all).map(|(number, settings)| Context {
            number,
            cache: 0,
            settings: settings.clone(),
            overlays: Pipeline::default(),
            backend: Backend::Frontend,
        });
        Ok(Self {
            configuration: reconfigure::without_databases(read)?,
            contexts: contexts.collect(),
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
        let Some(context) = self.contexts.get(number) else {
            return Granted {
                privileges: Privileges::default(),
                rule: None,
            };
        };
        let subject = Subject {
            dn: subject,
            is_root: false,
        };
        let target = attribute.map_or(Target::Entry, |attribute| Target::Attribute(attribute, None));
        let mut all = context
            .settings
            .access
            .iter()
            .chain(&self.configuration.frontend.settings.access);
        let (privileges, rule) =
            Check::new(context, &self.configuration, subject, Source::Memory(entry)).decide(target);
        Granted {
            privileges,
            rule: rule.and_then(|rule| all.position(|other| std::ptr::eq(rule, other))),
        }
    }
}
