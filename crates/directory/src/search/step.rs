//! The steps of a search, from slice to slice, and its end.

use std::{collections::VecDeque, rc::Rc};

use ironbark_ldap_proto::{EncodeControl, LdapResult, MessageId, Operation, controls::Control, encode_result};
use ironbark_model::ResultCode;
use smallvec::SmallVec;

use super::{
    detail::SearchDetail,
    emit,
    run::{Progress, SearchRun, Walked},
    target::Target,
    work::Step,
};
use crate::{
    OperationError,
    outcome::end::{Outcome, record_end},
    refusal::{RequestRefusal, SearchRefusal},
    request::stop::Stop,
    scratch::Scratch,
};

impl SearchRun {
    /// Runs one slice. Appends entries to `out`, and at the end the result.
    pub(crate) fn step(&mut self, scratch: &mut Scratch, out: &mut Vec<u8>) -> Progress {
        if let Some(stop) = self.origin.stop.stopped() {
            return self.stopped(stop, scratch, out);
        }
        let budget = Rc::clone(&scratch.budget);
        let slice = self.begin_slice(scratch, &budget, out);
        let mut step = Step { scratch, slice, out };
        let progress = self.advance(&mut step);
        self.work.end_slice(&mut step);
        progress
    }

    /// Ends a search that was abandoned or canceled, whatever its state.
    pub(super) fn stopped(&mut self, stop: Stop, scratch: &mut Scratch, out: &mut Vec<u8>) -> Progress {
        match stop {
            Stop::Abandoned => scratch.shard().record_completed(Operation::Search),
            Stop::Canceled => self.refuse(RequestRefusal::Canceled.into(), scratch, out),
        }
        Progress::Done
    }

    /// Ends the search with an error.
    pub(crate) fn refuse(&mut self, error: OperationError, scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.verdict = Some(error.into());
        self.targets.clear();
        self.finish(scratch, out);
    }

    fn advance(&mut self, step: &mut Step<'_>) -> Progress {
        if self.deferred.is_some()
            && let Err(error) = self.prepare_rest(step.scratch, &mut step.slice)
        {
            self.refuse(error, step.scratch, step.out);
            return Progress::Done;
        }
        if step.is_exhausted() {
            return self.exhausted(step);
        }
        if self.is_synchronizing() {
            self.begin_session(step);
            let progress = if self.sync().is_some() {
                self.advance_sync(step)
            } else {
                self.advance_tree(step)
            };
            self.tell_session(step);
            return progress;
        }
        let mut targets = std::mem::take(&mut self.targets);
        let walked = self.walk_all(&mut targets, step);
        self.targets = targets;
        match walked {
            Ok(Walked::Through | Walked::Finish) => {}
            Ok(Walked::SliceEnd) => return Progress::More,
            Ok(Walked::Exhausted) => return self.exhausted(step),
            Err(error) => {
                self.verdict = Some(error.into());
                self.targets.clear();
            }
        }
        if self.extras.is_some() {
            match emit::emit(self, step) {
                Walked::SliceEnd => return Progress::More,
                Walked::Exhausted => return self.exhausted(step),
                Walked::Through | Walked::Finish => {}
            }
            // The last entry is on its way to overlays.
            if self.waits_for_overlays() {
                return Progress::More;
            }
        }
        self.finish(step.scratch, step.out);
        Progress::Done
    }

    /// Walks over one target after the other, and removes those that are done.
    pub(super) fn walk_all(
        &mut self,
        targets: &mut VecDeque<Target>,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        while let Some(target) = targets.front_mut() {
            let walked = self.walk(target, step)?;
            if matches!(walked, Walked::Through | Walked::Finish) {
                self.count_target(target, step.scratch);
            }
            if !matches!(walked, Walked::Through) {
                return Ok(walked);
            }
            targets.pop_front();
        }
        Ok(Walked::Through)
    }

    /// Appends the result. A paged run with further pages keeps its targets; the worker puts it aside.
    pub(super) fn finish(&mut self, scratch: &mut Scratch, out: &mut Vec<u8>) {
        // From here on it is too late to cancel. What has come before decides the result, whichever thread ends it.
        if !self.origin.stop.begin() {
            match self.origin.stop.stopped() {
                Some(Stop::Abandoned) => return scratch.shard().record_completed(Operation::Search),
                Some(Stop::Canceled) => self.verdict = Some(OperationError::from(RequestRefusal::Canceled).into()),
                None => {}
            }
        }
        self.conclude_page();
        let id = MessageId::new(self.origin.message_id).unwrap_or_default();
        let extras = self.extras.as_deref();
        let sorted = extras
            .and_then(|extras| extras.sort.as_ref()?.response())
            .map(Control::optional);
        let page = extras
            .and_then(|extras| extras.paged.as_ref())
            .filter(|_| self.verdict.is_none())
            .map(|page| Control::optional(page.response()));
        let view = extras
            .and_then(|extras| extras.view.as_ref()?.response())
            .map(Control::optional);
        let synchronized = extras.and_then(|extras| extras.sync.as_ref()?.done_control());
        let of_tree = extras.and_then(|extras| extras.tree_sync.as_ref()?.done_control());
        let counted = self.counted();
        let mut controls: SmallVec<[&dyn EncodeControl; 2]> = SmallVec::new();
        if let Some(control) = &sorted {
            controls.push(control);
        }
        if let Some(control) = &page {
            controls.push(control);
        }
        if let Some(control) = &view {
            controls.push(control);
        }
        if let Some(control) = synchronized.as_ref().or(of_tree.as_ref()) {
            controls.push(control);
        }
        if let Some(control) = &counted {
            controls.push(control);
        }
        let (code, text) = match &self.verdict {
            None => {
                encode_result(
                    out,
                    id,
                    Operation::Search,
                    &LdapResult::new(ResultCode::SUCCESS),
                    &controls,
                );
                (ResultCode::SUCCESS, "")
            }
            Some(verdict) => {
                verdict.encode(|result| encode_result(out, id, Operation::Search, &result, &controls));
                (verdict.code, &*verdict.diagnostic_message)
            }
        };
        let detail = SearchDetail(self);
        let outcome = Outcome {
            entries: if counted.is_some() { 0 } else { self.sent_now() },
            matched_dn: self.verdict.as_ref().map_or("", |verdict| &verdict.matched_dn),
            detail: Some(&detail),
            ..Outcome::new(Operation::Search, code, text)
        };
        let (directory, slow) = (scratch.directory(), self.configuration.slow_micros());
        let now = record_end(directory, scratch.shard(), slow, &self.origin, outcome);
        scratch.ended_micros = Some(now);
    }

    /// Sets the verdict. The search ends with it after the entries sent so far.
    pub(super) fn stop_with(&mut self, refusal: SearchRefusal) -> Walked {
        self.verdict = Some(OperationError::from(refusal).into());
        Walked::Finish
    }
}
