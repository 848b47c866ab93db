//! The information model of a directory (RFC 4512): schema, syntaxes, matching rules, names, filters, entries, result
//! codes.
//!
//! Invariants: no I/O, no clock, no randomness but the keys of hash tables; nothing here knows how entries are stored
//! or how messages are framed.

pub mod attribute_description;
pub mod attribute_options;
pub mod budget;
pub mod dn;
pub mod entry;
pub mod filter;
pub mod fuzz;
pub mod ldap_url;
pub mod matching;
pub mod number_map;
pub mod posix_regex;
pub mod result_code;
pub mod schema;
pub mod stringprep;
pub mod syntax;

#[cfg(test)]
mod test_schema;

pub use attribute_description::AttributeDescription;
pub use budget::{Budget, Watch};
pub use dn::Dn;
pub use entry::{Attribute, Entry};
pub use filter::{CompiledFilter, Filter, Truth};
pub use posix_regex::{PosixRegex, RegexError};
pub use result_code::ResultCode;
pub use schema::Schema;
