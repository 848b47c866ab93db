//! A request on its way from the reactor to its operation.

use std::sync::Arc;

use ironbark_ldap_proto::{Operation, RequestMessage, controls::RequestControls};
use ironbark_model::Entry;

use super::{configuration::Configuration, external::AnswerStream};
use crate::request::context::RequestContext;

/// A request whose controls are decoded: the input of an operation.
pub(crate) struct Call<'c, 'm> {
    /// The configuration under which the request is answered.
    pub(crate) configuration: &'c Arc<Configuration>,
    /// The requester, and the facts of this request.
    pub(crate) origin: &'c mut RequestContext,
    pub(crate) message: &'c RequestMessage<'m>,
    /// The controls. When the database is known, those that `restrictop` drops are removed.
    pub(crate) controls: &'c mut RequestControls<'m>,
    /// The message as received.
    pub(crate) pdu: &'c [u8],
    /// Entries that a search walks over instead of the entries of its database.
    pub(crate) entries: Option<GivenEntries>,
}

/// Entries that an overlay gives to a search.
pub(crate) enum GivenEntries {
    /// Parents first.
    Memory(Arc<[Entry]>),
    /// Entries from elsewhere, in their order of arrival.
    External(AnswerStream),
}

impl Call<'_, '_> {
    /// The kind of operation.
    pub(crate) fn kind(&self) -> Operation {
        self.message.operation.operation()
    }
}
