//! Mappings and authorization of a configuration that no server uses, for tools.

use ironbark_ldap_proto::Operation;
use ironbark_model::Dn;

use super::access::Appraisal;
use crate::{
    OperationError,
    access::Subject,
    authorization::{
        Asking, dn_of_authorization, dn_of_user, is_authorized, mapped,
        name::{mapped_text, normal},
    },
    refusal::IdentityRefusal,
};

impl Appraisal {
    /// The identity of a client that a SASL mechanism knows as `user` (`authcID`): for EXTERNAL a DN, for the others a
    /// name. `anonymous` is the empty name. `None`: the text for EXTERNAL is not a name; slapd takes such a text
    /// unchanged.
    ///
    /// # Errors
    /// `invalidAttributeSyntax`: it cannot be part of a DN; the storage failed.
    pub fn authenticated(
        &self,
        user: &str,
        realm: Option<&str>,
        mechanism: Option<&str>,
    ) -> Result<Option<Dn>, OperationError> {
        let schema = &self.configuration.schema;
        if user.eq_ignore_ascii_case("anonymous") {
            return Ok(Some(Dn::root()));
        }
        let mechanism = mechanism.filter(|mechanism| !mechanism.is_empty());
        if mechanism == Some("EXTERNAL") {
            return self.external(user);
        }
        let dn = dn_of_user(schema, user, realm, mechanism);
        mapped(self.asking(), dn.ok_or(IdentityRefusal::InvalidName)?).map(Some)
    }

    /// The DN that EXTERNAL has for a client: mapped directly, or read as an authorization identity or a DN.
    fn external(&self, text: &str) -> Result<Option<Dn>, OperationError> {
        if let Some(dn) = mapped_text(self.asking(), text.as_bytes())? {
            return Ok(Some(dn));
        }
        match dn_of_authorization(self.asking(), text, None, None)? {
            Some(dn) => Ok(Some(dn)),
            None => Ok(normal(&self.configuration.schema, text.as_bytes())),
        }
    }

    /// The identity that an authorization identity (`authzID`, RFC 4513 §5.2.1.8) from a client means.
    ///
    /// # Errors
    /// `inappropriateAuthentication`: it has none of the forms; `invalidAttributeSyntax`: the name is no DN; the
    /// storage failed.
    pub fn named(&self, identity: &str, mechanism: Option<&str>) -> Result<Dn, OperationError> {
        let mechanism = mechanism.filter(|mechanism| !mechanism.is_empty());
        let dn = dn_of_authorization(self.asking(), identity, None, mechanism)?;
        let has_form = || {
            let kind = identity.split_once(':').map_or("", |(kind, _)| kind);
            kind.eq_ignore_ascii_case("u") || kind.eq_ignore_ascii_case("dn")
        };
        let refusal = || {
            if has_form() {
                IdentityRefusal::InvalidName
            } else {
                IdentityRefusal::NoForm
            }
        };
        Ok(dn.ok_or_else(refusal)?)
    }

    /// Whether `authz-policy` lets `own` act for `other`.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_act_for(&self, own: &Dn, other: &Dn) -> Result<bool, OperationError> {
        is_authorized(self.asking(), own, other)
    }

    /// Entries are looked up anonymously, as in a bind.
    fn asking(&self) -> Asking<'_> {
        Asking {
            configuration: &self.configuration,
            subject: Subject::nobody(Operation::Bind),
            look_through: None,
        }
    }
}
