//! A load generator for LDAP servers: workloads, measured closed or open loop, and reports of the results.
//!
//! A [`workload::Workload`] says what the connections of a run ask; the [`engine`] asks it, over many connections from
//! few threads, and measures; [`steps`] runs it with one number of connections after another; [`result`] is what is
//! kept of it, as JSON; [`report`] makes pages of results. [`generate`] makes the data sets that the workloads expect
//! on the server.
//!
//! Requests are encoded beforehand wherever they can be, and of responses only the framing, the message ID, the tag and
//! the result code are looked at, so that the generator takes a fraction of the processor time of any server.

pub mod engine;
pub mod generate;
pub mod machine;
pub mod process;
pub mod report;
pub mod result;
pub mod steps;
pub mod target;
pub mod wire;
pub mod workload;
