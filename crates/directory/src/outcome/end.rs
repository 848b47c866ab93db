//! The end of an operation that has a result: the line of the stats log, the counters, the slow log.

use std::fmt::Display;

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;

use super::log;
use crate::{
    Directory, OperationError,
    request::{context::RequestContext, responses::SentResult},
    result::OperationResult,
    statistics::Shard,
};

/// How an operation ended.
#[derive(Clone, Copy)]
pub(crate) struct Outcome<'a> {
    pub(crate) operation: Operation,
    pub(crate) code: ResultCode,
    /// Diagnostic message.
    pub(crate) text: &'a str,
    pub(crate) matched_dn: &'a str,
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
            matched_dn: "",
            entries: 0,
            detail: None,
        }
    }

    /// The outcome of an operation that was refused.
    pub(crate) fn of_refusal(operation: Operation, error: &'a OperationError) -> Self {
        Self {
            matched_dn: &error.matched_dn,
            ..Self::new(operation, error.result_code, &error.diagnostic_message)
        }
    }

    /// The outcome of an operation whose result something else has chosen.
    pub(crate) fn of_result(operation: Operation, result: &'a OperationResult) -> Self {
        Self {
            matched_dn: &result.matched_dn,
            ..Self::new(operation, result.code, &result.diagnostic_message)
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
    if origin.responses.is_some() {
        tell_overlays(origin, &outcome);
    }
    shard.record_result(outcome.operation, outcome.code, micros);
    if slow_micros.is_some_and(|limit| micros >= limit) {
        log::slow(origin, &outcome, micros);
    }
    now
}

#[cold]
fn tell_overlays(origin: &RequestContext, outcome: &Outcome<'_>) {
    if let Some(responses) = &origin.responses {
        let result = SentResult {
            code: outcome.code,
            operation: outcome.operation,
            entries: outcome.entries,
            matched_dn: outcome.matched_dn,
            text: outcome.text,
        };
        responses.result(origin, &result);
    }
}
