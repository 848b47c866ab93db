//! What the record of a write has for those who follow the log, besides its effects.

use ironbark_model::Dn;
use ironbark_store::{
    Csn, Effect, EntryId,
    change::{RequestedChange, TextAttribute},
};

use super::Execution;
use crate::{
    OperationError,
    place::{self, Base, LOGGED_BASE, LOGGED_PLACE, LOGGED_REVISION, uuid_text},
    refusal::Failure,
};

impl Execution<'_, '_> {
    /// Keeps attributes of the entry of an effect, as they are now, in the record: a follower gets them with it.
    pub fn keep_for_follower(&mut self, effect: &Effect, attributes: Vec<TextAttribute>) {
        let mut effects = self.record.effects.iter_mut().rev();
        if self.context.is_followed()
            && let Some(recorded) = effects.find(|recorded| recorded.effect == *effect)
        {
            recorded.before.kept.extend(attributes);
        }
    }

    /// Keeps the place that an effect, by its number, has given to its entry, if logs tell places: where several
    /// servers write.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn keep_place(&mut self, number: usize, id: EntryId) -> Result<(), OperationError> {
        if !(self.context.is_followed() && self.context.settings.multi_provider) {
            return Ok(());
        }
        let place = {
            let record = self.view().record(id)?.ok_or(Failure::EntryVanished)?;
            place::text_of(self.view(), &record, &self.vector()?)?
        };
        self.keep_with(number, (LOGGED_PLACE.into(), vec![place.into_bytes()]));
        Ok(())
    }

    /// The same for a revision of this CSN.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn keep_revision(&mut self, number: usize, id: EntryId, csn: Csn) -> Result<(), OperationError> {
        self.keep_place(number, id)?;
        if self.context.is_followed() {
            let name = self.view().dn(id)?;
            let text = format!("{} {}", csn.text(), name.pretty());
            self.keep_with(number, (LOGGED_REVISION.into(), vec![text.into_bytes()]));
        }
        Ok(())
    }

    /// Keeps with the effects on an entry, from number `first` on, that they came with the entry as a whole.
    pub(crate) fn keep_base_of(&mut self, first: usize, uuid: [u8; 16], base: &Base) {
        let effects = self.record.effects.iter().enumerate().skip(first);
        let own = effects.filter(|(_, recorded)| place::entry_in(recorded) == Some(uuid));
        let numbers: Vec<usize> = own.map(|(number, _)| number).collect();
        let context = self.context;
        for number in numbers.into_iter().filter(|_| context.is_followed()) {
            self.keep_with(number, (LOGGED_BASE.into(), vec![base.text().into_bytes()]));
        }
    }

    fn keep_with(&mut self, number: usize, attribute: TextAttribute) {
        if let Some(recorded) = self.record.effects.get_mut(number) {
            recorded.before.kept.retain(|(name, _)| *name != attribute.0);
            recorded.before.kept.push(attribute);
        }
    }

    /// Gives a UUID that no entry has here a tombstone. A log tells of it as of a delete.
    pub(crate) fn bury(&mut self, entry_uuid: [u8; 16]) {
        self.note_requested(|execution| {
            // Nobody has an entry of this name: who goes by names deletes none.
            let leaf = format!("entryUUID={}", uuid_text(entry_uuid));
            let leaf = Dn::parse(execution.schema(), leaf.as_bytes()).unwrap_or_default();
            let suffix = execution.context.suffixes().first().cloned().unwrap_or_default();
            let dn = suffix.child(&leaf).pretty().into();
            RequestedChange::Delete { dn }
        });
        self.record.buried.push(entry_uuid);
        self.keep_own_csn();
    }
}
