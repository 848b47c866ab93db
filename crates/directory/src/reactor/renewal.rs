//! Searches that last longer than a configuration: they go on under the one that is in force.

use std::sync::Arc;

use ironbark_ldap_proto::{Request, RequestMessage, controls::RequestControls};
use ironbark_model::ResultCode;

use super::worker::Worker;
use crate::{
    Configuration, OperationError,
    admission::controls::policy,
    backend::call::Call,
    identity::session::Session,
    refusal::{SearchRefusal, SyncRefusal},
    search::{self, SearchRun},
};

impl Worker {
    /// Prepares a run again if its configuration is no longer in force: restrictions, limits, its filter, its
    /// attributes, and what the requester may see. It continues where it stood.
    ///
    /// # Errors
    /// The request is refused under the new configuration. `unavailable`: the database is not there any more, or
    /// provides no changes any more.
    pub(super) fn renew(&mut self, session: &mut Session, run: &mut SearchRun) -> Result<(), OperationError> {
        if run.follows() {
            // Waiting for changes is no work: it is neither slow nor part of the latency.
            run.origin.received_micros = self.directory.monotonic_micros();
        }
        self.refresh();
        let configuration = Arc::clone(&self.configuration);
        if Arc::ptr_eq(&run.configuration, &configuration) {
            return Ok(());
        }
        if run.is_elsewhere() || run.is_through() {
            return run.adopt(&configuration);
        }
        let Some(pdu) = run.request_again().map(Box::<[u8]>::from) else {
            return Err(SearchRefusal::Reconfigured.into());
        };
        let prepared = self.prepare_again(session, run, &configuration, &pdu);
        prepared.map_err(|error| match error.result_code {
            // Only another database has the overlay now.
            ResultCode::UNAVAILABLE_CRITICAL_EXTENSION if run.is_synchronizing() => SyncRefusal::NoProvider.into(),
            _ => error,
        })
    }

    fn prepare_again(
        &mut self,
        session: &mut Session,
        run: &mut SearchRun,
        configuration: &Arc<Configuration>,
        pdu: &[u8],
    ) -> Result<(), OperationError> {
        let limits = &configuration.decode_limits;
        let gone = || OperationError::from(SearchRefusal::Reconfigured);
        // The request was decoded before; only limits may be others now.
        let message = RequestMessage::decode(pdu, limits).map_err(|_| gone())?;
        let Request::Search(request) = &message.operation else {
            return Err(gone());
        };
        let decoded = RequestControls::decode(&message.controls, &message.operation, &policy(configuration), limits);
        let mut controls = decoded.map_err(|fault| OperationError::new(fault.code, fault.diagnostic))?;
        let mut origin = run.origin.clone();
        let mut next = Box::new(SearchRun::new(origin.clone(), configuration));
        let mut call = Call {
            configuration,
            origin: &mut origin,
            message: &message,
            controls: &mut controls,
            pdu,
            entries: None,
        };
        let former = if run.is_synchronizing() {
            None
        } else {
            Some(Box::new(run.progress()))
        };
        let searches = &mut session.searches;
        search::prepare(&mut self.scratch, searches, &mut next, &mut call, request, former)?;
        if run.is_synchronizing() {
            next.continue_as(run)?;
        }
        next.keep_request(pdu);
        *run = *next;
        Ok(())
    }
}
