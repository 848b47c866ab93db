//! Who a name is, and who may act for whom: the names of SASL clients (RFC 4422), authorization identities (RFC 4513
//! §5.2.1.8), the rules of `authzTo` and `authzFrom`, as slapd has them.

mod find;
pub(crate) mod name;
mod policy;
mod rule;

pub(crate) use self::{
    find::stored_values,
    name::{dn_of_authorization, dn_of_user, mapped},
    policy::is_authorized,
};
use crate::{
    Configuration, NamingContext,
    access::{Requester, Subject},
};

/// A request that needs to know of other entries who somebody is.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) configuration: &'a Configuration,
    /// For whom entries are looked up: what the access rules do not let it authenticate with is not there.
    pub(crate) subject: Subject<'a>,
    /// Entries that a URL may have read to find the one that it means; then nothing is found.
    pub(crate) look_through: Option<u32>,
}

impl<'a> Asking<'a> {
    /// Who asks, at a database.
    pub(super) fn at(&self, context: &'a NamingContext) -> Requester<'a> {
        Requester {
            configuration: self.configuration,
            context,
            subject: self.subject.at(context),
        }
    }
}
