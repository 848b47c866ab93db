//! Requests that something else than the database is asked about: read on a thread where that may take long.

use std::sync::Arc;

use ironbark_ldap_proto::RequestMessage;
use ironbark_model::{Dn, Schema};

use crate::{
    Configuration, NamingContext, OperationError,
    backend::external::{AnswerStream, ExternalRequest},
    request::context::RequestContext,
    result::OperationResult,
};

/// A request apart from its connection.
pub struct DetachedRequest {
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) context: Arc<NamingContext>,
    pub(crate) origin: RequestContext,
    /// Its entry.
    pub(crate) dn: Dn,
    /// The message as it came in.
    pub(crate) pdu: Box<[u8]>,
    pub(crate) read: ReadRequest,
}

/// Reads a detached request.
pub(crate) type ReadRequest = fn(&DetachedRequest, &RequestMessage<'_>) -> Result<ExternalRequest, OperationError>;

/// What something else than the database answers. Overlays do not arrange its entries.
pub enum ExternalAnswer {
    /// A result. Success for a bind gives the connection the name of the request.
    Result(OperationResult),
    /// The entries of a search, and then its result. Access rules decide what the client sees of them.
    Entries(AnswerStream),
}

impl DetachedRequest {
    /// The schema under which it is read.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.configuration.schema
    }

    /// Reads the request, and asks the access rules as of a `database sock`: about an entry of which only the name is
    /// known, or the entry that is added. Names in it are in pretty form. The cost is in proportion to the length of
    /// the request.
    ///
    /// # Errors
    /// The operation itself refuses the request before it asks a database, or the access rules do. It must not go on
    /// then: nothing has been asked about it.
    pub fn read(&self) -> Result<ExternalRequest, OperationError> {
        let message = RequestMessage::decode(&self.pdu, &self.configuration.decode_limits)?;
        (self.read)(self, &message)
    }
}
