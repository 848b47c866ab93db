//! Unbind requests.

use ironbark_model::Dn;

use crate::{Configuration, backend::external::ExternalAsker, request::context::RequestContext};

/// Is told of each Unbind request, whatever database the connection has used. As in slapd, it is not told of a
/// connection that ends without one.
pub trait UnbindHooks: Send + Sync {
    /// A client has sent one. `suffixes` are those of the overlay's database; an overlay of the frontend is told once,
    /// with none. Runs on the reactor and must not wait.
    fn unbind(&self, asker: &ExternalAsker, suffixes: &[Dn]);

    /// A client abandons the operation with this message ID, whether there is one or not.
    fn abandon(&self, asker: &ExternalAsker, suffixes: &[Dn], target: i32) {
        let _ = (asker, suffixes, target);
    }
}

impl Configuration {
    /// Tells overlays of an Abandon request.
    pub(crate) fn tell_abandon(&self, origin: &RequestContext, target: i32) {
        for context in &self.contexts {
            for hooks in &context.overlays().unbinds {
                hooks.abandon(&ExternalAsker::of(origin), context.suffixes(), target);
            }
        }
    }

    /// Tells databases and overlays of an Unbind request. As in slapd, the overlay of a database that was configured
    /// last keeps it to itself.
    pub(crate) fn tell_unbind(&self, origin: &RequestContext) {
        let global = &self.frontend.overlays().unbinds;
        if let Some(hooks) = global.first() {
            hooks.unbind(&ExternalAsker::of(origin), &[]);
        }
        for context in &self.contexts {
            let mut own = context.overlays().unbinds.iter();
            let own = own.find(|hooks| !global.iter().any(|other| std::sync::Arc::ptr_eq(other, hooks)));
            if let Some(hooks) = own {
                hooks.unbind(&ExternalAsker::of(origin), context.suffixes());
            } else if let Some(database) = context.backend.external() {
                database.unbind(ExternalAsker::of(origin));
            }
        }
    }
}
