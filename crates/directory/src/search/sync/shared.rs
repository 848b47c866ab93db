//! An entry is encoded once for all consumers of a thread that get the same of a change.
//!
//! What was encoded shows the entry as it is: once it has changed, perhaps to be hidden, it is encoded anew.

use std::{rc::Rc, sync::Arc};

use ironbark_ldap_proto::{EncodeControl, encode_around, operation_of};
use ironbark_store::Effect;

use super::{
    Sending,
    persist::{Moment, find},
};
use crate::{
    access::SubjectDecisions,
    scratch::shared_entries::{Audience, EntryFingerprint},
    search::{
        encode::state_control,
        run::{SearchExtras, SearchRun},
        work::Step,
    },
};

impl SearchRun {
    /// Sends the entry of an effect as it was encoded for another consumer. `false`: it was not.
    pub(super) fn send_shared(&mut self, moment: &Moment<'_>, step: &mut Step<'_>) -> bool {
        if !self.may_share(moment) {
            return false;
        }
        let Some((state, standing)) = self.state_of_entry(moment, step) else {
            return false;
        };
        let (id, Some(sync)) = (self.message(), self.sync()) else {
            return false;
        };
        let (place, Some(request)) = (moment.place(&sync.context), operation_of(&sync.request)) else {
            return false;
        };
        let audience = Audience {
            configuration: &self.configuration,
            standing: standing.as_ref(),
            request,
            state,
        };
        let Some(entry) = step.scratch.shared.find(place, &audience) else {
            return false;
        };
        let control = Sending {
            state: moment.state(),
            uuid: moment.recorded.before.entry_uuid,
            cookie: moment.cookie.clone(),
            place: None,
            recent: Vec::new(),
        };
        let control = state_control(&control);
        let controls: [&dyn EncodeControl; 1] = [&control];
        encode_around(step.out, id, entry, &controls);
        self.count_sent();
        self.count_shared();
        self.has_sent_own(true);
        true
    }

    /// Keeps the message that was appended after `start` for other consumers.
    pub(super) fn share(&mut self, moment: &Moment<'_>, start: usize, step: &mut Step<'_>) {
        if !self.may_share(moment) {
            return;
        }
        let Some((state, standing)) = self.state_of_entry(moment, step) else {
            return;
        };
        let Some(sync) = self.sync() else { return };
        let message = step.out.get(start..).and_then(operation_of);
        if let (Some(entry), Some(request)) = (message, operation_of(&sync.request)) {
            let audience = Audience {
                configuration: &self.configuration,
                standing: standing.as_ref(),
                request,
                state,
            };
            step.scratch.shared.keep(moment.place(&sync.context), &audience, entry);
        }
    }

    /// Whether what is sent depends on nothing but the request, the subject and the entry.
    fn may_share(&self, moment: &Moment<'_>) -> bool {
        let Some(sync) = self.sync() else { return false };
        let is_whole = match &sync.persisting {
            Some(persisting) => !persisting.has_sent_own && persisting.below.is_none(),
            None => false,
        };
        let moves_others = matches!(moment.recorded.effect, Effect::Rename { .. }) && !sync.has_everything;
        let is_plain = |extras: &SearchExtras| {
            extras.matched_values.is_none()
                && extras.dereference.is_empty()
                && extras.asked_of_entries.is_none()
                && extras.arrangements.is_empty()
        };
        // Deletes have no entry, and without its control a referral is not sent as one.
        // A place comes with what this server has at that moment.
        is_whole
            && !sync.tells_places()
            && !moves_others
            && !matches!(moment.recorded.effect, Effect::Delete { .. })
            && self.options.manage_dsa_it
            && self.options.subentries.is_none()
            && self.origin.responses.is_none()
            && self.extras.as_deref().is_some_and(is_plain)
    }

    /// What the entry of an effect is now, and the remembered decisions about the subject. `None`: it is gone, or
    /// cannot be read.
    fn state_of_entry(
        &self,
        moment: &Moment<'_>,
        step: &mut Step<'_>,
    ) -> Option<(EntryFingerprint, Option<Rc<SubjectDecisions>>)> {
        let context = Arc::clone(&self.sync()?.context);
        let snapshot = step.scratch.take_snapshot(&context).ok()??;
        let view = snapshot.view();
        let uuid = moment.recorded.before.entry_uuid;
        let held = find(&snapshot, uuid).ok().flatten().map(|id| view.fingerprint(id));
        let fingerprint = held.and_then(|held| Some((held.ok()??, view.derived_version().ok()?)));
        let standing = step.scratch.standing(&self.configuration, &context, &self.origin, view);
        step.scratch.keep_snapshot(snapshot);
        Some((fingerprint?, standing))
    }
}
