//! All partners of a database, asked in their order.

use std::sync::Arc;

use ironbark_store::{Database, WriteTransaction};

use super::{
    CommitPartner, Flush, Missing, Needs, NotKept, Ready, cluster_log::ClusterLog, files::Files, readers::Readers,
};
use crate::{
    Directory, OperationError,
    backend::queue::{Outcome, Queued, Served},
};

/// The partners of one database, in the order in which they are asked. One that cannot take back comes last.
pub(in crate::write) struct Partners {
    all: Vec<Box<dyn CommitPartner>>,
    needs: Needs,
}

/// The number of a partner among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::write) struct PartnerNumber(usize);

impl Partners {
    /// Those of a database under a configuration.
    pub(in crate::write) fn of(directory: &Arc<Directory>, served: &Served) -> Self {
        let mut all: Vec<Box<dyn CommitPartner>> = Vec::new();
        if let Some(writer) = served.context.backend.own_writer() {
            all.push(Box::new(Readers::new(Arc::clone(directory), writer.clone())));
        }
        if let Some(files) = served.context.backend.files() {
            let keeps_vector = served.context.settings.keeps_changes();
            all.push(Box::new(Files::new(Arc::clone(files), keeps_vector)));
        }
        if let (Some(writer), Some(_)) = (served.context.backend.own_writer(), &served.context.settings.cluster) {
            all.push(Box::new(ClusterLog::new(Arc::clone(directory), writer.clone())));
        }
        Self::new(all)
    }

    pub(in crate::write) fn new(all: Vec<Box<dyn CommitPartner>>) -> Self {
        let together = |needs: Needs, other: Needs| Needs {
            group_limit: needs.group_limit.min(other.group_limit),
            batch: needs.batch || other.batch,
            is_shared: needs.is_shared || other.is_shared,
        };
        let each = all.iter().map(|partner| partner.needs());
        let needs = each.fold(Needs::default(), together);
        Self { all, needs }
    }

    /// The needs of all together.
    pub(in crate::write) fn needs(&self) -> Needs {
        self.needs
    }

    /// How commits reach the disk: the word of the first partner that has one.
    pub(in crate::write) fn flush(&self) -> Flush {
        let mut each = self.all.iter().map(|partner| partner.flush());
        each.find(|flush| !matches!(flush, Flush::AsConfigured))
            .unwrap_or(Flush::AsConfigured)
    }

    /// Tells all of them [`CommitPartner::open`].
    pub(in crate::write) fn open(&mut self, group: &[Queued]) {
        self.all.iter_mut().for_each(|partner| partner.open(group));
    }

    /// The changes that the first partner has which has some, and its number.
    ///
    /// # Errors
    /// As [`CommitPartner::missing`].
    pub(in crate::write) fn missing(
        &mut self,
        database: &Database,
    ) -> Result<Option<(PartnerNumber, Missing)>, OperationError> {
        for (number, partner) in self.all.iter_mut().enumerate() {
            if let Some(missing) = partner.missing(database)? {
                return Ok(Some((PartnerNumber(number), missing)));
            }
        }
        Ok(None)
    }

    /// Tells the partner with this number [`CommitPartner::applied`].
    ///
    /// # Errors
    /// As [`CommitPartner::applied`].
    pub(in crate::write) fn applied(
        &mut self,
        number: PartnerNumber,
        missing: &Missing,
        outcome: Result<(), OperationError>,
    ) -> Result<(), OperationError> {
        match self.all.get_mut(number.0) {
            Some(partner) => partner.applied(missing, outcome),
            None => outcome,
        }
    }

    /// The word of the first partner that is not ready.
    ///
    /// # Errors
    /// As [`CommitPartner::ready`].
    pub(in crate::write) fn ready(&mut self, group: &[Queued]) -> Result<Ready, OperationError> {
        for partner in &mut self.all {
            let ready = partner.ready(group)?;
            if ready != Ready::Now {
                return Ok(ready);
            }
        }
        Ok(Ready::Now)
    }

    /// Lets all partners keep the changes, then commits. What cannot be committed is taken back.
    ///
    /// # Errors
    /// A partner or LMDB does not have the changes: so LMDB has none of them.
    pub(in crate::write) fn commit(
        &mut self,
        mut transaction: WriteTransaction<'_>,
        database: &Database,
        outcomes: &[Outcome],
    ) -> Result<(), NotKept> {
        let mut kept = 0;
        let refusal = self.all.iter_mut().find_map(|partner| {
            let refusal = partner.keep(&mut transaction, outcomes).err();
            kept += usize::from(refusal.is_none());
            refusal
        });
        if let Some(refusal) = refusal {
            drop(transaction);
            let unclear = self.take_back(kept, database, outcomes);
            return Err(unclear.map_or(refusal, NotKept::Refused));
        }
        transaction.commit().map_err(|error| {
            let unclear = self.take_back(kept, database, outcomes);
            NotKept::Refused(unclear.unwrap_or_else(|| error.into()))
        })
    }

    /// Lets the first `kept` partners take back the changes, the last one first. Returns the error for clients, if one
    /// cannot.
    fn take_back(&mut self, kept: usize, database: &Database, outcomes: &[Outcome]) -> Option<OperationError> {
        let mut unclear = None;
        for partner in self.all.iter_mut().take(kept).rev() {
            let error = partner.take_back(database, outcomes);
            unclear = unclear.or(error);
        }
        unclear
    }

    /// Asks all of them [`CommitPartner::confirm`].
    ///
    /// # Errors
    /// As [`CommitPartner::confirm`].
    pub(in crate::write) fn confirm(&mut self) -> Result<(), NotKept> {
        self.all.iter_mut().try_for_each(|partner| partner.confirm())
    }

    /// Tells all of them [`CommitPartner::committed`].
    pub(in crate::write) fn committed(&mut self, last: u64) {
        self.all.iter_mut().for_each(|partner| partner.committed(last));
    }

    /// Tells all of them [`CommitPartner::close`].
    pub(in crate::write) fn close(&mut self) {
        self.all.iter_mut().for_each(|partner| partner.close());
    }
}

#[cfg(test)]
mod tests;
