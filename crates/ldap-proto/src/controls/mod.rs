//! Controls (RFC 4511 §4.1.11), one file each, both directions. The table says what a request may carry; controls that
//! only one overlay knows are described there.

pub mod account_usability;
pub mod assertion;
pub mod attribute_origins;
pub mod dereference;
pub mod descriptor;
pub mod dir_sync;
pub mod domain_scope;
pub mod dont_use_copy;
pub mod lazy_commit;
pub mod manage_dsa_it;
pub mod matched_values;
pub mod no_op;
mod of_overlay;
pub mod paged_results;
pub mod password_expiry;
pub mod password_policy;
pub mod permissive_modify;
pub mod proxied_authorization;
pub mod read_entry;
pub mod relax_rules;
mod request;
pub mod search_options;
pub mod server_side_sort;
pub mod session_tracking;
mod set;
pub mod subentries;
pub mod sync;
mod table;
pub mod transaction;
pub mod tree_delete;
pub mod value_sort;
pub mod virtual_list_view;

use ironbark_ber::Writer;

use crate::{DecodeLimits, EncodeControl, Fault, RawControl, RawControls};

pub use account_usability::{AccountUsability, AccountUsabilityRequest};
pub use assertion::AssertionControl;
pub use attribute_origins::{RealAttributesOnly, VirtualAttributesOnly};
pub use dereference::{
    DereferenceRequest, DereferenceResponse, DereferenceResult, DereferenceSpecification, EncodedDereferences,
};
pub use descriptor::{Criticality, Descriptor, Texts, ValueRule};
pub use dir_sync::{DirSyncRequest, DirSyncResponse, ExtendedNames, ShowDeleted, ShowRecycled};
pub use domain_scope::DomainScope;
pub use dont_use_copy::DontUseCopy;
pub use lazy_commit::LazyCommit;
pub use manage_dsa_it::ManageDsaIt;
pub use matched_values::MatchedValues;
pub use no_op::NoOp;
pub use of_overlay::{OverlayControl, OverlayNumber, OverlayRow, SentControl};
pub use paged_results::PagedResults;
pub use password_expiry::{PasswordExpired, PasswordExpiring};
pub use password_policy::{PasswordPolicyError, PasswordPolicyRequest, PasswordPolicyResponse, PasswordPolicyWarning};
pub use permissive_modify::PermissiveModify;
pub use proxied_authorization::ProxiedAuthorization;
pub use read_entry::{PostRead, PostReadResponse, PreRead, PreReadResponse};
pub use relax_rules::RelaxRules;
pub use request::ControlPolicy;
pub use search_options::SearchOptions;
pub use server_side_sort::{SortKey, SortKeys, SortResponse};
pub use session_tracking::SessionTracking;
pub use set::ControlSet;
pub use subentries::Subentries;
pub use sync::{EntryState, SyncDone, SyncRequest, SyncState};
pub use table::{ControlKind, ControlRow, REGISTRY, RequestControls, lookup};
pub use transaction::TransactionSpecification;
pub use tree_delete::TreeDelete;
pub use value_sort::ValueSort;
pub use virtual_list_view::{ListTarget, VirtualListView, VirtualListViewResponse};

/// The typed value of a control, for encoding.
pub trait ControlValue {
    /// OID of the control.
    const OID: &'static str;
    /// Whether the control has a value.
    const HAS_VALUE: bool = true;

    /// Appends the value's content octets.
    fn write_value(&self, writer: &mut Writer<'_>);
}

/// The typed value of a control that requests may carry.
pub trait RequestControl<'a>: ControlValue + Sized {
    /// Its row in the registry.
    const DESCRIPTOR: &'static Descriptor;
    /// Whether a request may carry it twice. If so, the last one counts.
    const MAY_REPEAT: bool = false;

    /// Decodes the value's content octets. They are empty when there is no value and the descriptor's [`ValueRule`]
    /// allows that.
    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault>;
}

/// A control: its value and its criticality. Controls of responses are never critical.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Control<T> {
    /// Whether the operation must fail if the control is not supported.
    pub critical: bool,
    /// The value.
    pub value: T,
}

impl<T> Control<T> {
    /// A critical control.
    pub const fn critical(value: T) -> Self {
        Self { critical: true, value }
    }

    /// A control that is not critical, or that belongs to a response.
    pub const fn optional(value: T) -> Self {
        Self { critical: false, value }
    }
}

impl<T: ControlValue> EncodeControl for Control<T> {
    fn oid(&self) -> &[u8] {
        T::OID.as_bytes()
    }
    fn critical(&self) -> bool {
        self.critical
    }
    fn has_value(&self) -> bool {
        T::HAS_VALUE
    }
    fn write_value(&self, writer: &mut Writer<'_>) {
        self.value.write_value(writer);
    }
}

/// The control with this OID in a message.
pub fn find<'a>(controls: &RawControls<'a>, oid: &str) -> Option<RawControl<'a>> {
    controls.iter().find(|control| control.oid == oid.as_bytes())
}
