//! How an entry is changed: what the operations, the overlays, `replica` and tools have in common.
//!
//! Everything acts on an [`Execution`](crate::overlay::Execution), a write inside the open transaction of its
//! database's writer thread, or on values alone. Nothing here knows a request of the protocol.

pub(crate) mod adoption;
pub(crate) mod apply;
pub(crate) mod checks;
pub(crate) mod delete;
pub(crate) mod draft;
pub(crate) mod entry_rules;
pub(crate) mod execute;
mod increment;
pub(crate) mod log_back;
pub(crate) mod modify;
pub(crate) mod new_entry;
mod ordered;
pub(crate) mod placed;
pub(crate) mod plan;
pub(crate) mod rename;
pub(crate) mod rights;

pub use self::{
    delete::delete_internally,
    modify::{modify_as_server, modify_before_others, modify_internally},
    rights::grants,
};
