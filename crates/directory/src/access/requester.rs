//! Who asks, at which database, under which configuration: what every question about access begins with.

use super::subject::Subject;
use crate::{Configuration, NamingContext, request::context::RequestContext, rules::Rules};

/// Who asks for entries of a database.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    pub(crate) configuration: &'a Configuration,
    /// The database.
    pub(crate) context: &'a NamingContext,
    /// Who asks, as far as this database's rootdn goes.
    pub(crate) subject: Subject<'a>,
}

impl<'a> Requester<'a> {
    /// Whoever a request speaks for.
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

    /// Whether it may read everything there: the rootdn, or nobody wrote a rule.
    pub(crate) fn reads_everything(&self) -> bool {
        self.subject.is_root || self.rules().is_empty()
    }
}
