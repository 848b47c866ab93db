//! Searches that send numbers in place of what they find.

use ironbark_ldap_proto::controls::Descriptor;
use ironbark_model::ResultCode;

use crate::ResponseControl;

/// Answers a control that makes a search count. Without the overlay in the database of the search base, and with
/// content synchronization, the control is not available.
///
/// Who may see what: only numbers come here. An entry counts where it would be sent, so access control has made a
/// `VisibleEntry` of it, and all limits apply.
pub trait CountingHooks: Send + Sync {
    /// The request control that asks for a count.
    fn asked_by(&self) -> &'static Descriptor;

    /// The control of the result.
    fn report(&self, counted: Counted) -> ResponseControl;
}

/// What a search has found when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Its result.
    pub code: ResultCode,
    /// Entries, of one page if the search is paged.
    pub entries: u32,
    /// Continuation references.
    pub references: u32,
}
