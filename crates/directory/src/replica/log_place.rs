//! How far a consumer has come in a provider's log whose changes have numbers instead of CSNs
//! (draft-good-ldap-changelog). It is written in the transaction of the change.

use ironbark_store::{StoreError, View};

use super::cookie_place::{self, CookiePlace};
use crate::{NamingContext, OperationError, overlay::Execution};

/// Name of the notes in the store. A database has one such consumer at most.
const NOTES: &str = "changelog";

/// A place in such a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeLogPlace {
    /// Number of the last change that is here.
    pub number: u64,
    /// Number of the last change that was made before the refresh had ended. The entry that such a change is about may
    /// be missing: it was deleted while the refresh went on.
    pub refreshed: u64,
    /// What the provider has at that number: another log has something else there.
    pub mark: Vec<u8>,
}

/// What a message does to the consumer's place at the provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogStep {
    /// A refresh begins: until its end there is no place.
    Forget,
    /// A refresh has ended, or the log has nothing for this consumer up to here.
    Set(ChangeLogPlace),
    /// The message is the change of this number. If it was made before, nothing is done.
    Make(ChangeLogPlace),
    /// Everything is here that this cookie covers.
    Cover(CookiePlace),
}

impl LogStep {
    /// Whether an entry may be missing that the change is about.
    pub(super) fn may_miss_entry(&self) -> bool {
        matches!(self, Self::Make(place) if place.number <= place.refreshed)
    }

    /// Whether the change was made before.
    pub(super) fn is_made(&self, execution: &Execution<'_, '_>) -> Result<bool, StoreError> {
        let Self::Make(place) = self else { return Ok(false) };
        let held = ChangeLogPlace::of(execution.view())?;
        Ok(held.is_some_and(|held| held.number >= place.number))
    }

    /// Writes the place. Nothing may be refused behind it.
    pub(super) fn take(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        match self {
            Self::Forget => execution.put_source(NOTES, &[]),
            Self::Set(place) | Self::Make(place) => execution.put_source(NOTES, &place.encode()),
            Self::Cover(place) => execution.put_source(cookie_place::NOTES, &place.encode()),
        }
    }
}

impl ChangeLogPlace {
    /// The place of a database's consumer. `None`: no refresh has come to its end.
    ///
    /// # Errors
    /// The storage failed.
    pub fn of_database(context: &NamingContext) -> Result<Option<Self>, StoreError> {
        match context.database() {
            Some(database) => Self::of(database.snapshot()?.view()),
            None => Ok(None),
        }
    }

    fn of(view: View<'_>) -> Result<Option<Self>, StoreError> {
        Ok(view.source(NOTES)?.and_then(|notes| Self::decode(&notes)))
    }

    fn encode(&self) -> Vec<u8> {
        let mut notes = self.number.to_be_bytes().to_vec();
        notes.extend(self.refreshed.to_be_bytes());
        notes.extend(&self.mark);
        notes
    }

    fn decode(notes: &[u8]) -> Option<Self> {
        let (number, rest) = notes.split_first_chunk()?;
        let (refreshed, mark) = rest.split_first_chunk()?;
        Some(Self {
            number: u64::from_be_bytes(*number),
            refreshed: u64::from_be_bytes(*refreshed),
            mark: mark.to_vec(),
        })
    }
}
