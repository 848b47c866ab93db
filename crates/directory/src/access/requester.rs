//! The requester, the database and the configuration: every question about access begins with them.

use super::subject::Subject;
use crate::{Configuration, NamingContext, request::context::RequestContext, rules::Rules};

/// A requester of entries in a database.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    pub(crate) configuration: &'a Configuration,
    /// The database.
    pub(crate) context: &'a NamingContext,
    /// The subject; whether it is the rootdn refers to this database.
    pub(crate) subject: Subject<'a>,
}

impl<'a> Requester<'a> {
    /// The identity that a request speaks for.
    pub(crate) fn of(configuration: &'a Configuration, context: &'a NamingContext, origin: &'a RequestContext) -> Self {
        Self {
            configuration,
            context,
            subject: Subject::of(origin, context),
        }
    }

    /// The access rules of the database.
    pub(super) fn rules(&self) -> &'a Rules {
        self.configuration.rules_of(self.context)
    }

    /// Whether it may read everything there: it is the rootdn, or there are no rules.
    pub(crate) fn reads_everything(&self) -> bool {
        self.subject.is_root || self.rules().is_empty()
    }
}
