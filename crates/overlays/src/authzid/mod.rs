//! The overlay authzid: the response of a bind says which identity the connection has (RFC 3829).

mod control;

use std::sync::Arc;

use ironbark_config::{
    DatabaseConfig, SettingError,
    database::EntryPlace,
    overlay::{AnySettings, Occurrence, OverlayDescriptor, OverlaySettings},
};
use ironbark_directory::{
    Identity, ResponseControl,
    overlay::{BoundHooks, Overlay},
};
use ironbark_ldap_proto::controls::{Descriptor, OverlayControl};

use crate::Row;

pub use control::{AuthorizationIdentity, AuthorizationIdentityRequest, DESCRIPTOR};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "authzid",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[DESCRIPTOR.oid],
        fresh: AnySettings::of::<AuthzidConfig>,
        schema: "",
        introduction: "With the control 2.16.840.1.113730.3.4.16 (RFC 3829) the response of a bind that succeeds has \
            the identity of the connection, in the control 2.16.840.1.113730.3.4.15: `dn:` and the name, or nothing \
            for an anonymous client. It is what Who am I would say. The overlay belongs to the frontend (`database \
            frontend`, or before all databases), as in slapd, and has no settings. In a SASL bind of several steps the \
            last request has the control, as RFC 3829 demands; slapd takes it from the first one too. The identity is \
            not sent where a program answers the bind (`overlay sock`, `database sock`).",
    },
    make: |_, _| {
        Ok(Overlay {
            own_controls: const { &[OverlayControl::of::<AuthorizationIdentityRequest>()] },
            bound: Some(Arc::new(Authzid)),
            ..Overlay::new("authzid")
        })
    },
};

/// There are no settings.
#[derive(Clone, PartialEq, Debug, Default)]
struct AuthzidConfig;

impl OverlaySettings for AuthzidConfig {
    fn needs_entries(&self) -> bool {
        false
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if database.kind.entries == EntryPlace::Frontend {
            return Ok(());
        }
        Err("slapo-authzid must be global".into())
    }
}

/// The overlay. It says what Who am I would say.
struct Authzid;

impl BoundHooks for Authzid {
    fn asked_by(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn control(&self, identity: &Identity) -> ResponseControl {
        let name = if identity.is_anonymous() {
            String::new()
        } else {
            format!("dn:{}", identity.dn.pretty())
        };
        ResponseControl::new(&AuthorizationIdentity(name))
    }
}
