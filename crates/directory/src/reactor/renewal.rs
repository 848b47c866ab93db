//! A search that lasts longer than a configuration: a consumer that follows the changes of a database.

use std::sync::Arc;

use ironbark_ldap_proto::{Request, RequestMessage, controls::RequestControls};
use ironbark_model::ResultCode;

use super::worker::Worker;
use crate::{
    OperationError,
    admission::controls::policy,
    backend::call::Call,
    identity::session::Session,
    refusal::SyncRefusal,
    search::{self, SearchRun},
};

impl Worker {
    /// Prepares a run again if its configuration is no longer in force: its filter, its attributes, and what the
    /// consumer may see. It continues where it stood.
    ///
    /// # Errors
    /// `unavailable`: the database provides no changes any more. The request is refused under the new configuration.
    pub(super) fn renew(&mut self, session: &mut Session, run: &mut SearchRun) -> Result<(), OperationError> {
        if !run.is_synchronizing() {
            return Ok(());
        }
        if run.follows() {
            // Waiting for changes is no work: it is neither slow nor part of the latency.
            run.origin.received_micros = self.directory.monotonic_micros();
        }
        self.refresh();
        let configuration = Arc::clone(&self.configuration);
        let Some(pdu) = run.outdated(&configuration).map(Box::<[u8]>::from) else {
            return Ok(());
        };
        let limits = &configuration.decode_limits;
        let gone = || OperationError::from(SyncRefusal::NoProvider);
        // The request was decoded before; only limits may be others now.
        let message = RequestMessage::decode(&pdu, limits).map_err(|_| gone())?;
        let Request::Search(request) = &message.operation else {
            return Err(gone());
        };
        let decoded = RequestControls::decode(&message.controls, &message.operation, &policy(&configuration), limits);
        let mut controls = decoded.map_err(|_| gone())?;
        let mut origin = run.origin.clone();
        let mut next = SearchRun::new(origin.clone(), &configuration);
        let mut call = Call {
            configuration: &configuration,
            origin: &mut origin,
            message: &message,
            controls: &mut controls,
            pdu: &pdu,
            entries: None,
        };
        let prepared = search::prepare(&mut self.scratch, &mut session.searches, &mut next, &mut call, request);
        prepared.map_err(|error| match error.result_code {
            // Only another database has the overlay now.
            ResultCode::UNAVAILABLE_CRITICAL_EXTENSION => gone(),
            _ => error,
        })?;
        next.continue_as(run)?;
        *run = next;
        Ok(())
    }
}
