//! What overlays derive, without a server.

use ironbark_ldap_proto::Operation;
use ironbark_store::{Database, Record, StoreError, View};

use super::access::Appraisal;
use crate::{
    access::{Requester, Subject},
    overlay::{Given, derived::DerivedFor, facts::Facts, overlays_of},
};

/// What overlays give to entries of a database, as the rootdn sees them.
pub struct GivenByOverlays<'a>(&'a DerivedFor<'a>);

impl GivenByOverlays<'_> {
    /// What they give to one.
    ///
    /// # Errors
    /// The storage failed.
    pub fn to(&self, record: &Record<'_>) -> Result<Vec<Given>, StoreError> {
        self.0.given_to(record)
    }
}

impl Appraisal {
    /// Database `number` (0: cn=config, 1: the first), if it is open.
    pub fn database(&self, number: usize) -> Option<&Database> {
        self.configuration
            .contexts
            .get(number)?
            .database()
            .map(|database| &**database)
    }

    /// Calls `look` with a view of database `number` that has what its overlays derive, as the rootdn sees it.
    ///
    /// # Errors
    /// The storage failed.
    pub fn deriving<T>(
        &self,
        number: usize,
        view: View<'_>,
        look: impl FnOnce(View<'_>, &GivenByOverlays<'_>) -> T,
    ) -> Result<T, StoreError> {
        let configuration = &self.configuration;
        let context = configuration.contexts.get(number).unwrap_or(&configuration.frontend);
        let facts = Facts::read(configuration, context, view, &overlays_of(context).derivations)?;
        let subject = Subject {
            is_root: true,
            ..Subject::nobody(Operation::Search)
        };
        let derived = DerivedFor {
            configuration,
            context,
            facts: facts.as_ref(),
            asker: Requester {
                configuration,
                context,
                subject,
            },
            manages_dsa_it: false,
        };
        Ok(look(view.deriving(&derived), &GivenByOverlays(&derived)))
    }
}
