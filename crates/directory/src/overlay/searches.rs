//! Searches: changes of overlays to the entries that are sent.

use ironbark_ldap_proto::{SearchRequest, controls::RequestControls};
use ironbark_model::{AttributeDescription, Dn};
use ironbark_runtime::WallTime;

use crate::{Configuration, NamingContext, OperationError, access::Source, request::context::RequestContext};

/// Sees each search of a database before it begins. It also sees searches of superior databases that this database is
/// glued into.
pub trait SearchHooks: Send + Sync {
    /// Returns the changes to the entries; `None`: there are none.
    ///
    /// # Errors
    /// It refuses the search.
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError>;

    /// Whether a search for all user attributes gets the operational ones too. Asked of the database that the base is
    /// in.
    fn adds_operational(&self, search: &BeginningSearch<'_>) -> bool {
        let _ = search;
        false
    }
}

/// A search that has been admitted.
pub struct BeginningSearch<'a> {
    /// The configuration under which it begins, and ends.
    pub configuration: &'a Configuration,
    /// The database whose overlay is asked.
    pub context: &'a NamingContext,
    /// Who asks.
    pub origin: &'a RequestContext,
    /// The name of the base object.
    pub base: &'a Dn,
    /// The request.
    pub request: &'a SearchRequest<'a>,
    /// When it began.
    pub now: WallTime,
    /// Its controls.
    pub controls: &'a RequestControls<'a>,
}

/// Changes the entries that a search sends. Access rules and the matched-values control see the changed values; the
/// filter of the search sees the stored ones.
pub trait Arrangement: Send {
    /// The result that ends the search in place of a found entry; `None`: the entry is sent.
    fn ends_with(&self, entry: &ArrangedEntry<'_>) -> Option<OperationError> {
        let _ = entry;
        None
    }

    /// The attributes whose values it arranges.
    fn attributes(&self) -> &[AttributeDescription] {
        &[]
    }

    /// The values of one of these attributes as they are sent: in another order, changed, fewer.
    fn arrange(
        &self,
        entry: &ArrangedEntry<'_>,
        attribute: &AttributeDescription,
        values: Vec<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        let _ = (entry, attribute);
        values
    }
}

/// An entry whose values are arranged: a stored one, or one that an overlay gives for the search.
#[derive(Clone, Copy)]
pub struct ArrangedEntry<'a> {
    /// Its name.
    pub dn: &'a Dn,
    pub(crate) source: Source<'a>,
}

impl ArrangedEntry<'_> {
    /// The values of another attribute as they are, without access checks.
    ///
    /// # Errors
    /// The storage failed.
    pub fn values(&self, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, OperationError> {
        let values = match self.source {
            Source::Record(record, _) => record
                .values(attribute)
                .map(|stored| stored.to_attribute())
                .transpose()?,
            Source::Memory(entry) => entry.attribute(attribute).cloned(),
        };
        Ok(values.map(|attribute| attribute.values).unwrap_or_default())
    }
}
