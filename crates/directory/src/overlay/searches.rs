//! Searches: what overlays do to the entries that are sent.

use ironbark_ldap_proto::{SearchRequest, controls::RequestControls};
use ironbark_model::{AttributeDescription, Dn};

use crate::{Configuration, NamingContext, OperationError, request::context::RequestContext};

/// Sees each search of a database before it begins. It sees those of databases above too that the database is glued
/// into.
pub trait SearchHooks: Send + Sync {
    /// Says what is to be done to the entries; `None`: nothing.
    ///
    /// # Errors
    /// It refuses the search.
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError>;
}

/// A search that has been admitted.
pub struct BeginningSearch<'a> {
    /// The configuration under which it begins, and ends.
    pub configuration: &'a Configuration,
    /// The database whose overlay is asked.
    pub context: &'a NamingContext,
    /// Who asks.
    pub origin: &'a RequestContext,
    /// What is asked.
    pub request: &'a SearchRequest<'a>,
    /// With which controls.
    pub controls: &'a RequestControls<'a>,
}

/// What is done to the values that a search sends. Access rules judge what comes of it, and so does the matched-values
/// control; the filter of the search has seen what is stored.
pub trait Arrangement: Send {
    /// The attributes that it arranges.
    fn attributes(&self) -> &[AttributeDescription];

    /// The values of one of them as they are to be sent: in another order, changed, fewer.
    fn arrange(&self, dn: &Dn, attribute: &AttributeDescription, values: Vec<Vec<u8>>) -> Vec<Vec<u8>>;
}
