//! The operations of RFC 4511, one file each.
//!
//! A write executes on its database's writer thread, inside the open transaction
//! ([`Execution`](crate::overlay::Execution)).

pub(crate) mod abandon;
pub(crate) mod add;
pub(crate) mod bind;
pub(crate) mod bind_policy;
pub(crate) mod change;
pub(crate) mod compare;
pub(crate) mod delete;
pub(crate) mod detached;
pub(crate) mod extended;
mod external;
pub(crate) mod in_memory;
pub(crate) mod modify;
pub(crate) mod modify_dn;
pub(crate) mod null;
mod overlay_comparison;
mod overlay_operation;
mod own_change;
pub(crate) mod password_modify;
mod read_entry;
mod replica_digest;
pub(crate) mod sasl_bind;
mod sasl_turn;
pub(crate) mod second_factor;
mod slow_values;
pub(crate) mod submit;
pub(crate) mod transaction;
pub(crate) mod unbind;
pub(crate) mod verify_credentials;

pub use self::own_change::change_settings;
