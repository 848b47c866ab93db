//! The identity behind a name, and the right to act for others: the names of SASL clients (RFC 4422), authorization
//! identities (RFC 4513 §5.2.1.8), the rules of `authzTo` and `authzFrom`, as in slapd.

mod find;
pub(crate) mod name;
mod policy;
mod rule;
mod url_search;

pub(crate) use self::{
    find::stored_values,
    name::{dn_of_authorization, dn_of_user, mapped},
    policy::{is_authorized, is_named},
};
use crate::{
    Configuration, NamingContext,
    access::{Requester, Subject},
};
pub use url_search::UrlSearch;

/// A request that must look at other entries to learn an identity.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) configuration: &'a Configuration,
    /// The subject of the look-ups: entries to which it has no `auth` access count as missing.
    pub(crate) subject: Subject<'a>,
    /// Maximum number of entries that a URL may read to find its entry. Beyond it nothing is found.
    pub(crate) look_through: Option<u32>,
}

impl<'a> Asking<'a> {
    /// The requester, at a database.
    pub(super) fn at(&self, context: &'a NamingContext) -> Requester<'a> {
        Requester {
            configuration: self.configuration,
            context,
            subject: self.subject.at(context),
        }
    }
}
