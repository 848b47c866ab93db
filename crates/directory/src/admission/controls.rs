//! The control settings of the configuration.

use ironbark_config::Disallow;
use ironbark_ldap_proto::controls::{ControlKind, ControlPolicy, ControlSet};

use crate::Configuration;

/// The control settings of the configuration.
pub(crate) fn policy(configuration: &Configuration) -> ControlPolicy {
    let disallow = configuration.settings.disallow;
    let mut must_be_critical = ControlSet::NONE;
    if disallow.contains(Disallow::PROXY_AUTHZ_NON_CRITICAL) {
        must_be_critical = must_be_critical.with(ControlKind::ProxiedAuthorization);
    }
    if disallow.contains(Disallow::DONTUSECOPY_NON_CRITICAL) {
        must_be_critical = must_be_critical.with(ControlKind::DontUseCopy);
    }
    ControlPolicy {
        must_be_critical,
        available: ControlSet::ALL
            .minus(ControlSet::OF_OVERLAYS)
            .and(configuration.of_overlays.controls),
    }
}
