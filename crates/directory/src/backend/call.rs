//! A request on its way from the reactor to its operation.

use std::sync::Arc;

use ironbark_ldap_proto::{Operation, RequestMessage, controls::RequestControls};
use ironbark_model::Entry;

use super::{configuration::Configuration, external::AnswerStream};
use crate::request::context::RequestContext;

/// A request whose controls have been decoded: what an operation begins with.
pub(crate) struct Call<'c, 'm> {
    /// What it is answered under.
    pub(crate) configuration: &'c Arc<Configuration>,
    /// Who asks, and when.
    pub(crate) origin: &'c mut RequestContext,
    pub(crate) message: &'c RequestMessage<'m>,
    /// Its controls. Those that `restrictop` drops are removed once the database is known.
    pub(crate) controls: &'c mut RequestControls<'m>,
    /// The message as it came in.
    pub(crate) pdu: &'c [u8],
    /// What a search goes over in place of the entries of its database.
    pub(crate) entries: Option<GivenEntries>,
}

/// Entries that an overlay gives to a search.
pub(crate) enum GivenEntries {
    /// Parents first.
    Memory(Arc<[Entry]>),
    /// As they come from elsewhere.
    External(AnswerStream),
}

impl Call<'_, '_> {
    /// Which operation it is.
    pub(crate) fn kind(&self) -> Operation {
        self.message.operation.operation()
    }
}
