//! Controls of the responses of binds.

use std::{fmt, sync::Arc};

use ironbark_ldap_proto::controls::{ControlKind, Descriptor};

use super::{context::RequestContext, identity::Identity};
use crate::ResponseControl;

/// Answers a control of binds that succeed. An overlay of one database answers for the binds of all, and for anonymous
/// ones; not where a program answers the bind.
///
/// Who may see what: the identity is the one that the client has just proven, and goes to nobody else. No entry comes
/// here.
pub trait BoundHooks: Send + Sync {
    /// The request control that asks for it.
    fn asked_by(&self) -> &'static Descriptor;

    /// The control of the response of a bind that gives the connection this identity.
    fn control(&self, identity: &Identity) -> ResponseControl;
}

/// Those of all overlays.
#[derive(Default)]
pub(crate) struct BoundControls(Vec<(ControlKind, Arc<dyn BoundHooks>)>);

impl BoundControls {
    /// Adds hooks whose control has this kind. If there are some for it already, these stay.
    pub(crate) fn add(&mut self, kind: ControlKind, hooks: Arc<dyn BoundHooks>) {
        if self.0.iter().all(|(known, _)| *known != kind) {
            self.0.push((kind, hooks));
        }
    }

    /// The controls of the response of a bind.
    pub(crate) fn of(&self, origin: &RequestContext, identity: &Identity) -> Vec<ResponseControl> {
        let asked = self.0.iter().filter(|(kind, _)| origin.has_control(*kind));
        asked.map(|(_, hooks)| hooks.control(identity)).collect()
    }
}

impl fmt::Debug for BoundControls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(kind, _)| kind)).finish()
    }
}
