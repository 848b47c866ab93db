//! Where a log in a database begins. Its suffix entry says it in `minCSN`: the CSN of each server from which on every
//! change has its entry. A consumer that has these can be sent the entries behind its cookie in their order, whatever
//! the database's own log of changes still tells. A consumer that lacks one of them must not continue with the log.

use ironbark_store::{ContextVector, Csn, Location, View};

use super::Sync;
use crate::OperationError;

/// What `minCSN` says about a consumer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LogBegin {
    /// The database has no such attribute.
    Unknown,
    /// Everything that the consumer lacks is in entries.
    Before,
    /// Entries that the consumer lacks are gone.
    Behind,
}

impl Sync {
    /// Compares the cookie with `minCSN`.
    pub(super) fn log_begin(&self, view: View<'_>) -> Result<LogBegin, OperationError> {
        if !self.provider.reload_hint || !self.provider.no_present {
            return Ok(LogBegin::Unknown);
        }
        let Ok(description) = view.schema().attribute_description(b"minCSN") else {
            return Ok(LogBegin::Unknown);
        };
        let mut min = ContextVector::default();
        for suffix in self.context.suffixes() {
            let Location::Entry(id) = view.locate(suffix)? else {
                continue;
            };
            let record = view.record(id)?;
            if let Some(held) = record.as_ref().and_then(|record| record.values(&description)) {
                for csn in held.to_attribute()?.values.iter().filter_map(|value| Csn::parse(value)) {
                    min.merge(csn);
                }
            }
        }
        let mut all = min.iter();
        Ok(if min.is_empty() {
            LogBegin::Unknown
        } else if all.all(|csn| self.known.of_server(csn.server_id()) >= Some(csn)) {
            LogBegin::Before
        } else {
            LogBegin::Behind
        })
    }
}
