//! Requests that an overlay has something else asked about, read apart from their connection. What an operation refuses
//! by itself, before it asks a database, is left to it.

use std::time::Duration;

use ironbark_ldap_proto::{Authentication, Request, RequestMessage};
use ironbark_model::{
    Dn,
    budget::{self, cost_of},
};

use super::{
    change::{Change, refuse_frontend_entries},
    compare,
    external::{ExternalCall, asked_extended},
    submit::MOST_PHRASES,
};
use crate::{
    OperationError,
    backend::external::{ExternalAsker, ExternalOperation, ExternalRequest},
    overlay::{DetachedRequest, ReadOutcome},
    scratch::TURN_STEPS,
    search,
};

/// Reads a request that an overlay has something else asked about.
pub(crate) fn read(detached: &DetachedRequest, message: &RequestMessage<'_>) -> ReadOutcome {
    let call = ExternalCall {
        configuration: &detached.configuration,
        context: &detached.context,
        origin: &detached.origin,
    };
    let Some(asked) = asked(call, &detached.dn, message, &detached.pdu) else {
        return ReadOutcome::Unfit;
    };
    match asked {
        Ok((operation, time)) => ReadOutcome::Request(Box::new(ExternalRequest {
            asker: ExternalAsker::of(call.origin),
            operation,
            time,
        })),
        Err(error) => ReadOutcome::Refused(error.into()),
    }
}

/// What is asked, and how long it may take; `None`: the operation refuses it before it asks a database.
fn asked(
    call: ExternalCall<'_>,
    dn: &Dn,
    message: &RequestMessage<'_>,
    pdu: &[u8],
) -> Option<Result<(ExternalOperation, Option<Duration>), OperationError>> {
    let schema = &*call.configuration.schema;
    let asked = match &message.operation {
        Request::Search(request) => {
            let limits = call.limits(dn);
            let searched = search::external_search(call.configuration, limits, dn, request, pdu);
            // As in a search that begins here, no time is a second.
            let time = search::time_limit(limits, request.time_limit);
            let time = time.map(|seconds| Duration::from_secs(u64::from(seconds.max(1))));
            return Some(searched.map(|search| (ExternalOperation::Search(search), time)));
        }
        Request::Bind(request) => match request.authentication {
            Authentication::Simple(password) => call.asked_bind(dn, password),
            _ => return None,
        },
        Request::Compare(request) if cost_of(request.value) <= TURN_STEPS => {
            let (description, value) = compare::assertion_of(schema, request).ok()?;
            call.asked_compare(dn, schema.description_text(&description), value)
        }
        Request::Extended(request) => {
            let row = call.configuration.extended_operation(request.name)?;
            // Those that are passed on act for somebody.
            if call.origin.identity.is_anonymous() {
                return None;
            }
            Ok(asked_extended(row.oid, request.value))
        }
        operation if budget::phrases(pdu) <= MOST_PHRASES => {
            let change = Change::read(call.configuration, operation).ok()?;
            refuse_frontend_entries(call.configuration, dn, change.kind()).ok()?;
            if let Change::ModifyDn(rename) = &change {
                rename.check_loops().ok()?;
            }
            let change = call.tree_change(&change).ok()?;
            call.require_change(&change).map(|()| ExternalOperation::Write(change))
        }
        _ => return None,
    };
    Some(asked.map(|asked| (asked, call.time(dn))))
}
