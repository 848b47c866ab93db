//! Access rules, compiled.

pub(crate) mod access;
pub(crate) mod controls;
pub(crate) mod operations;
pub(crate) mod set;

pub(crate) use self::{access::Rules, operations::OperationRules};
