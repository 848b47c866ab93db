//! The end of an operation that has a result: the line of the stats log, the counters, the slow log.

use std::fmt::Display;

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;

use super::log;
use crate::{Directory, request::context::RequestContext, statistics::Shard};

/// How an operation ended.
#[derive(Clone, Copy)]
pub(crate) struct Outcome<'a> {
    pub(crate) operation: Operation,
    pub(crate) code: ResultCode,
    /// Diagnostic message.
    pub(crate) text: &'a str,
    /// Entries returned by a search.
    pub(crate) entries: u32,
    /// Details for the slow log.
    pub(crate) detail: Option<&'a dyn Display>,
}

impl<'a> Outcome<'a> {
    /// An outcome without entries.
    pub(crate) fn new(operation: Operation, code: ResultCode, text: &'a str) -> Self {
        Self {
            operation,
            code,
            text,
            entries: 0,
            detail: None,
        }
    }
}

/// Logs and counts the end of an operation on a thread that has no counters of its own.
pub(crate) fn record_end_elsewhere(directory: &Directory, origin: &RequestContext, outcome: Outcome<'_>) {
    let statistics = directory.statistics();
    record_end(directory, statistics.shared(), directory.slow_micros(), origin, outcome);
}

/// Logs and counts the end of an operation. The time is the end, in monotonic microseconds. An operation that took at
/// least `slow_micros` goes into the slow log.
pub(crate) fn record_end(
    directory: &Directory,
    shard: &Shard,
    slow_micros: Option<u64>,
    origin: &RequestContext,
    outcome: Outcome<'_>,
) -> u64 {
    let now = directory.monotonic_micros();
    let micros = now.saturating_sub(origin.received_micros);
    log::result(origin, &outcome, now);
    if outcome.operation == Operation::Bind
        && outcome.code == ResultCode::INVALID_CREDENTIALS
        && let Some(address) = origin.peer.address
        && let Some(limit) = directory.configuration().settings.bind_failure_limit
    {
        directory.bind_failures().record(limit, address, now);
    }
    shard.record_result(outcome.operation, outcome.code, micros);
    if slow_micros.is_some_and(|limit| micros >= limit) {
        log::slow(origin, &outcome, micros);
    }
    now
}
