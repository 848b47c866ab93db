//! What belongs to no database, beside slapd's: the root DSE, the subschema subentry, extended operations, the lines of
//! the log.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

mod root_dse;
mod stats_log;
mod subschema;
