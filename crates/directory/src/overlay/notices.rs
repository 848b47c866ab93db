//! Searches that stay and are told of changes.

use ironbark_ldap_proto::controls::RequestControls;

use crate::{OperationError, ResponseControl};

/// Answers a control that makes a search stay: the search follows the log of the database and sends each entry whose
/// change is wanted. There is no state between two searches.
///
/// Who may see what: the hooks see kinds of changes and no entry. An entry is considered as in any search, at the
/// moment when it is sent; a deleted one as it was when it was deleted. A former name comes here only if the client
/// could see the entry by it.
pub trait NoticeHooks: Send + Sync {
    /// What a search asks for. `None`: nothing of this kind. It is asked only of the database of the search base.
    ///
    /// # Errors
    /// What comes with the control makes no sense.
    fn begin(&self, controls: &RequestControls<'_>) -> Result<Option<Box<dyn Notices>>, OperationError>;
}

/// What a search that stays asks for.
pub trait Notices: Send {
    /// Whether the entries that are there already are sent first.
    fn sends_present(&self) -> bool;

    /// Whether entries with a change of this kind are sent.
    fn wants(&self, change: EntryChangeKind) -> bool;

    /// The control that comes with a changed entry; an entry that is there already has none. `former_name` is that of
    /// a renamed entry, as it is written.
    fn control(&self, change: EntryChangeKind, former_name: Option<&str>) -> Option<ResponseControl>;

    /// The end of a search whose client is so slow that the log no longer has the next change.
    fn falls_behind(&self) -> OperationError;
}

/// What was done to an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryChangeKind {
    /// It was added.
    Add,
    /// It was deleted.
    Delete,
    /// It was modified.
    Modify,
    /// It was renamed, or moved.
    Rename,
}
