//! The requester, its connection and its operation: everything in a request that access rules may use.

use std::sync::LazyLock;

use ironbark_ldap_proto::Operation;
use ironbark_model::{Budget, Dn};

use super::set_memory::SetAnswers;
use crate::{
    NamingContext,
    request::{
        context::{RequestContext, RequestKind},
        identity::{Identity, Peer, Strength},
    },
};

/// The subject that acts on a database.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Authorization DN; the root DN for anonymous.
    pub dn: &'a Dn,
    /// The identity that authenticated.
    pub(crate) real_dn: &'a Dn,
    /// The rootdn of the database, or a tool: no rule binds it.
    pub is_root: bool,
    /// A tool is like the rootdn of each database.
    pub(crate) is_tool: bool,
    /// The other side; `None` for the server itself.
    pub(crate) peer: Option<&'a Peer>,
    /// How well the connection is protected.
    pub(crate) strength: Strength,
    /// The operation, with its controls.
    pub(crate) request: RequestKind,
    /// The limit on the cost of access checks, where the views have none; `None`: no limit.
    pub(crate) budget: Option<&'a Budget>,
    /// Results of sets for the subject in this operation that do not depend on the entry.
    pub(crate) sets: Option<&'a SetAnswers>,
}

static NOBODY: LazyLock<Dn> = LazyLock::new(Dn::root);

impl<'a> Subject<'a> {
    /// The identity that a request speaks for.
    pub fn of(origin: &'a RequestContext, context: &NamingContext) -> Self {
        Self::unplaced(origin).at(context)
    }

    /// The same while the database is not known yet: no database's rootdn.
    pub(crate) fn unplaced(origin: &'a RequestContext) -> Self {
        Self::of_parts(&origin.identity, &origin.peer, origin.strength, origin.request)
    }

    /// The same in a database.
    pub(crate) fn at(self, context: &NamingContext) -> Self {
        Self {
            is_root: self.is_tool || context.is_root(self.dn),
            ..self
        }
    }

    /// The same, where access checks take steps of a budget. When the budget is exhausted, nothing is granted.
    pub(crate) fn within(self, budget: &'a Budget) -> Self {
        Self {
            budget: Some(budget),
            ..self
        }
    }

    /// The same with memory for the results of sets for the subject, during one operation.
    pub(crate) fn remembering(self, sets: &'a SetAnswers) -> Self {
        Self {
            sets: Some(sets),
            ..self
        }
    }

    /// The same, from the parts of a request.
    pub(crate) fn of_parts(identity: &'a Identity, peer: &'a Peer, strength: Strength, request: RequestKind) -> Self {
        let Identity {
            dn,
            authentication_dn,
            is_tool,
            ..
        } = identity;
        Self {
            dn,
            real_dn: authentication_dn.as_ref().unwrap_or(dn),
            is_root: false,
            is_tool: *is_tool,
            peer: Some(peer),
            strength,
            request,
            budget: None,
            sets: None,
        }
    }

    /// The same request by an anonymous subject: a bind before it has succeeded.
    pub(crate) fn anonymous(origin: &'a RequestContext) -> Self {
        Self {
            peer: Some(&origin.peer),
            strength: origin.strength,
            request: origin.request,
            ..Self::nobody(Operation::Bind)
        }
    }

    /// The server itself, on behalf of a request: no rule binds it.
    pub(crate) fn of_server(origin: &'a RequestContext) -> Self {
        Self {
            is_root: true,
            ..Self::unplaced(origin)
        }
    }

    /// An anonymous request that no client has sent.
    pub(crate) fn nobody(operation: Operation) -> Self {
        Self {
            dn: &NOBODY,
            real_dn: &NOBODY,
            is_root: false,
            is_tool: false,
            peer: None,
            strength: Strength::default(),
            request: RequestKind::of(operation),
            budget: None,
            sets: None,
        }
    }

    pub(super) fn is_anonymous(&self) -> bool {
        self.dn.is_root()
    }
}
