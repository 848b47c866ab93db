//! What runs on other threads for a reactor, on its way there and back.

use super::{
    long_searches::{HandedOver, Stepped},
    worker::Worker,
};
use crate::{
    identity::session::Session,
    operation::verify_credentials,
    outcome::completion::Completion,
    refusal::RequestRefusal,
    request::stop::StopFlag,
    search::{Progress, SearchRun},
};

impl Worker {
    /// Runs the next step of a search elsewhere: await it, then call [`Worker::take_back`]. `None`: too many steps
    /// wait; the search is answered in `out`.
    pub fn hand_over(
        &mut self,
        session: &mut Session,
        mut run: Box<SearchRun>,
        out: &mut Vec<u8>,
    ) -> Option<HandedOver> {
        if let Err(error) = self.renew(session, &mut run) {
            run.refuse(error, &mut self.scratch, out);
            self.conclude(session, &mut run);
            return None;
        }
        if !run.origin.stop.can_stop() {
            run.origin.stop = StopFlag::new();
            session.in_flight.insert(run.origin.message_id, run.origin.stop.clone());
        }
        let stop = run.origin.stop.clone();
        match self.long_searches.submit(&self.directory, run) {
            Ok(receiver) => Some(HandedOver::new(receiver, stop)),
            Err(mut run) => {
                run.refuse(RequestRefusal::TooManyLongSearches.into(), &mut self.scratch, out);
                self.conclude(session, &mut run);
                None
            }
        }
    }

    /// Takes back a search after a step elsewhere: appends the step's output, and returns the search if it continues.
    /// Nothing is sent for one that was abandoned meanwhile (RFC 4511 §4.2.1, §4.11).
    pub fn take_back(&mut self, session: &mut Session, stepped: Stepped, out: &mut Vec<u8>) -> Option<Box<SearchRun>> {
        let Stepped {
            mut run,
            output,
            progress,
            ..
        } = stepped;
        if run.origin.stop.is_abandoned() {
            // Its next step, if there is one, ends it.
        } else if out.is_empty() {
            *out = output;
        } else {
            out.extend_from_slice(&output);
        }
        if progress == Progress::More {
            return Some(run);
        }
        self.conclude(session, &mut run);
        None
    }

    /// Ends an operation that ran elsewhere: appends its response, and updates the session. What was abandoned
    /// meanwhile is done, but nothing is sent for it, and the session stays as it is (RFC 4511 §4.11).
    pub fn finish(&mut self, session: &mut Session, completion: Completion, out: &mut Vec<u8>) {
        session.conclude(completion.message_id, &completion.stop);
        if completion.stop.is_abandoned() {
            return;
        }
        if let Some(verification) = completion.verification {
            let ended = verify_credentials::Ended {
                response: completion.response,
                identity: completion.identity,
                negotiation: completion.negotiation,
            };
            return verify_credentials::finish(&self.directory, session, &verification, ended, out);
        }
        if let Some(identity) = completion.identity {
            session.identity = identity;
        }
        session.negotiation = completion.negotiation.or(session.negotiation.take());
        session.protect(completion.layer);
        out.extend_from_slice(&completion.response);
    }
}
