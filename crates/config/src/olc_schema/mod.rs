//! The schema of cn=config: attribute types and object classes, made from the rows of the settings.

pub(crate) mod base;
pub(crate) mod classes;
