//! Unbind and Abandon (RFC 4511 §4.3, §4.11) as overlays and databases are told of them.

use crate::{Configuration, backend::external::ExternalAsker, overlay::overlays_of, request::context::RequestContext};

/// Tells overlays of an Abandon request.
pub(crate) fn tell_abandon(configuration: &Configuration, origin: &RequestContext, target: i32) {
    for context in &configuration.contexts {
        for hooks in &overlays_of(context).unbinds {
            hooks.abandon(&ExternalAsker::of(origin), context.suffixes(), target);
        }
    }
}

/// Tells databases and overlays of an Unbind request. As in slapd, the overlay of a database that was configured
/// last keeps it to itself.
pub(crate) fn tell_unbind(configuration: &Configuration, origin: &RequestContext) {
    let global = &overlays_of(&configuration.frontend).unbinds;
    if let Some(hooks) = global.first() {
        hooks.unbind(&ExternalAsker::of(origin), &[]);
    }
    for context in &configuration.contexts {
        let mut own = overlays_of(context).unbinds.iter();
        let own = own.find(|hooks| !global.iter().any(|other| std::sync::Arc::ptr_eq(other, hooks)));
        if let Some(hooks) = own {
            hooks.unbind(&ExternalAsker::of(origin), context.suffixes());
        } else if let Some(database) = context.backend.external() {
            database.unbind(ExternalAsker::of(origin));
        }
    }
}
