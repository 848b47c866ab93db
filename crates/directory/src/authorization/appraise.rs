//! Mappings and authorization of a configuration that nobody serves, for tools.

use ironbark_ldap_proto::Operation;
use ironbark_model::{Dn, ResultCode};

use super::{Asking, dn_of_authorization, dn_of_user, is_authorized, mapped, name::normal};
use crate::{
    OperationError,
    access::{Appraisal, Subject},
};

impl Appraisal {
    /// Who a client is that a SASL mechanism knows as `user` (`authcID`): of EXTERNAL a DN, of the others a name. `anonymous` is the
    /// empty name.
    ///
    /// # Errors
    /// `invalidAttributeSyntax`: it cannot be part of a DN, or is none; the storage failed.
    pub fn authenticated(
        &self,
        user: &str,
        realm: Option<&str>,
        mechanism: Option<&str>,
    ) -> Result<Dn, OperationError> {
        let schema = &self.configuration.schema;
        if user.eq_ignore_ascii_case("anonymous") {
            return Ok(Dn::root());
        }
        let dn = match mechanism {
            Some("EXTERNAL") => normal(schema, user.as_bytes()),
            _ => dn_of_user(schema, user, realm, mechanism),
        };
        mapped(self.asking(), dn.ok_or_else(invalid)?)
    }

    /// Who an authorization identity (`authzID`, RFC 4513 §5.2.1.8) is, as a client of a mechanism says it.
    ///
    /// # Errors
    /// `inappropriateAuthentication`: it has none of the forms; `invalidAttributeSyntax`: the name is none; the storage failed.
    pub fn named(&self, identity: &str, mechanism: Option<&str>) -> Result<Dn, OperationError> {
        let dn = dn_of_authorization(self.asking(), identity, (None, mechanism))?;
        let has_form = || {
            let kind = identity.split_once(':').map_or("", |(kind, _)| kind);
            kind.eq_ignore_ascii_case("u") || kind.eq_ignore_ascii_case("dn")
        };
        dn.ok_or_else(|| {
            if has_form() {
                invalid()
            } else {
                OperationError::code(ResultCode::INAPPROPRIATE_AUTHENTICATION)
            }
        })
    }

    /// Whether `authz-policy` lets `own` act for `other`.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_act_for(&self, own: &Dn, other: &Dn) -> Result<bool, OperationError> {
        is_authorized(self.asking(), own, other)
    }

    /// Entries are looked up for nobody, as in a bind.
    fn asking(&self) -> Asking<'_> {
        Asking {
            configuration: &self.configuration,
            subject: Subject::nobody(Operation::Bind),
            look_through: None,
        }
    }
}

fn invalid() -> OperationError {
    OperationError::code(ResultCode::INVALID_ATTRIBUTE_SYNTAX)
}
