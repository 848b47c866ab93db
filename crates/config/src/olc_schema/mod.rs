//! The schema of cn=config: attribute types and classes, as slapd has them.

pub(crate) mod attributes;
pub(crate) mod base;
pub(crate) mod classes;
