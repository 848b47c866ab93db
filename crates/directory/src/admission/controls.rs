//! The control settings of the configuration.

use ironbark_config::Disallow;
use ironbark_ldap_proto::controls::{ControlKind, ControlPolicy, ControlSet, RequestControls, SentControl};

use crate::{Configuration, NamingContext, overlay::overlays_of, refusal::ControlRefusal};

/// The control settings of the configuration.
pub(crate) fn policy(configuration: &Configuration) -> ControlPolicy<'_> {
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
        of_overlays: &configuration.of_overlays.own_controls,
    }
}

/// Removes the controls of a search that do not count in its database: dropped ones, and those that only overlays of
/// other databases know.
///
/// # Errors
/// `unavailableCriticalExtension`: one of them is critical.
pub(crate) fn keep_offered(
    context: &NamingContext,
    dropped: ControlSet,
    controls: &mut RequestControls<'_>,
) -> Result<(), ControlRefusal> {
    controls.remove(dropped);
    if controls.of_overlays.is_empty() {
        return Ok(());
    }
    let offered = &overlays_of(context).own_controls;
    let is_offered = |sent: &SentControl<'_>| {
        let oid = sent.row.control.descriptor.oid;
        offered.iter().any(|control| control.descriptor.oid == oid)
    };
    if controls
        .of_overlays
        .iter()
        .any(|sent| sent.critical && !is_offered(sent))
    {
        return Err(ControlRefusal::Unavailable);
    }
    controls.of_overlays.retain(is_offered);
    Ok(())
}
