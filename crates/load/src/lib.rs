//! A load generator for LDAP servers: workloads, measurements in a closed or open loop, and reports.
//!
//! A [`workload::Workload`] makes the requests of the connections. The [`engine`] sends them over many connections from
//! few threads, and measures. [`steps`] runs a workload with one number of connections after another. [`result`] is the
//! stored result, as JSON; [`report`] makes pages of results. [`generate`] makes the data sets that the workloads
//! expect on the server.
//!
//! Requests are encoded in advance where possible. Of responses only the framing, the message ID, the tag and the
//! result code are read. So the generator takes a fraction of the processor time of any server.

pub mod engine;
pub mod generate;
pub mod machine;
pub mod process;
pub mod report;
pub mod result;
pub mod steps;
pub mod target;
pub mod wire;
pub mod word;
pub mod workload;
