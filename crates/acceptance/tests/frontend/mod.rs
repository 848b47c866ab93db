//! Parts that belong to no database, compared with slapd's: the root DSE, the subschema subentry, extended operations,
//! log lines.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

mod root_dse;
mod stats_log;
mod subschema;
