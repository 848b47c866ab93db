//! Unbind requests.

use ironbark_model::Dn;

use crate::backend::external::ExternalAsker;

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
