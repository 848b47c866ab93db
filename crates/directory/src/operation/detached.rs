//! Requests that an overlay has something else asked about, read apart from their connection.

use std::time::Duration;

use ironbark_ldap_proto::{
    Authentication, Request, RequestMessage, controls::ControlKind, extended::ExtendedOperation,
};
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
    overlay::DetachedRequest,
    refusal::{BindRefusal, CompareRefusal, ExtendedRefusal, PasswordModifyRefusal, WriteRefusal},
    search,
};

/// Reads a request that an overlay has something else asked about.
///
/// # Errors
/// What the operation itself refuses before it asks a database, or the access rules. Such a request never goes on: it
/// would come to the database without the other program.
pub(crate) fn read(
    detached: &DetachedRequest,
    message: &RequestMessage<'_>,
) -> Result<ExternalRequest, OperationError> {
    let call = ExternalCall {
        configuration: &detached.configuration,
        context: &detached.context,
        origin: &detached.origin,
    };
    let (operation, time) = asked(call, &detached.dn, message, &detached.pdu)?;
    Ok(ExternalRequest {
        asker: ExternalAsker::of(call.origin),
        operation,
        time,
    })
}

/// What is asked, and how long it may take.
fn asked(
    call: ExternalCall<'_>,
    dn: &Dn,
    message: &RequestMessage<'_>,
    pdu: &[u8],
) -> Result<(ExternalOperation, Option<Duration>), OperationError> {
    let schema = &*call.configuration.schema;
    let asked = match &message.operation {
        Request::Search(request) => {
            let limits = call.limits(dn);
            let search = search::external_search(call.configuration, limits, dn, request, pdu)?;
            // As in a search that begins here, no time is a second.
            let time = search::time_limit(limits, request.time_limit);
            let time = time.map(|seconds| Duration::from_secs(u64::from(seconds.max(1))));
            return Ok((ExternalOperation::Search(search), time));
        }
        Request::Bind(request) => match request.authentication {
            Authentication::Simple(password) => call.asked_bind(dn, password)?,
            _ => return Err(BindRefusal::UnknownMethod.into()),
        },
        Request::Compare(request) => {
            if cost_of(request.value) > compare::COMPARE_STEPS {
                return Err(CompareRefusal::TooMuchWork.into());
            }
            let (description, value) = compare::assertion_of(schema, request)?;
            call.asked_compare(dn, schema.description_text(&description), value)?
        }
        Request::Extended(request) => {
            let row = call.configuration.extended_operation(request.name);
            let row = row.ok_or(ExtendedRefusal::Unsupported)?;
            if row.operation == ExtendedOperation::PasswordModify && call.origin.identity.is_anonymous() {
                return Err(PasswordModifyRefusal::NeedsAuthentication.into());
            }
            asked_extended(row.oid, request.value)
        }
        operation => {
            if budget::phrases(pdu) > MOST_PHRASES {
                return Err(WriteRefusal::TooMuchWork.into());
            }
            let change = Change::read(call.configuration, operation)?;
            refuse_frontend_entries(call.configuration, dn, change.kind())?;
            if let Change::ModifyDn(rename) = &change {
                rename.check_loops()?;
            }
            let change = call.tree_change(&change, call.origin.has_control(ControlKind::RelaxRules))?;
            call.require_change(&change)?;
            ExternalOperation::Write(change)
        }
    };
    Ok((asked, call.time(dn)))
}
