//! A provider whose log has numbers instead of cookies: what it sends becomes changes of the database, each with the
//! place in the log.

use ironbark_directory::{
    ChangeLogPlace, Incoming, LogStep, OperationError, ReplicaSession, ReplicatedEntry, begin_initial_load,
};
use ironbark_store::ContextVector;
use roaring::RoaringTreemap;

use super::{Consumer, ConsumerStop, Counts};
use crate::LogEntry;

impl Consumer {
    /// The place in the provider's log. `None`: no refresh has come to its end.
    pub(crate) fn place(&self) -> Result<Option<ChangeLogPlace>, ConsumerStop> {
        Ok(ChangeLogPlace::of_database(&*self.context()?)?)
    }

    /// A connection begins.
    pub(crate) fn begin_numbered(&mut self) {
        self.stop();
        self.session = ReplicaSession::default();
        self.has_gap = false;
        self.has_displaced = false;
        self.counts = Counts::default();
    }

    /// A refresh begins. Until its end there is no place.
    pub(crate) async fn begin_refresh(&mut self) -> Result<(), ConsumerStop> {
        self.present = Some(RoaringTreemap::new());
        if self.place()?.is_some() {
            return self.step(Incoming::Nothing, LogStep::Forget).await;
        }
        if self.vector()?.is_empty() && self.may_load {
            self.load = begin_initial_load(&self.directory, &self.context()?, &self.mapping);
        }
        Ok(())
    }

    /// The load of an empty database has come to nothing: the refresh must begin again, entry by entry.
    pub(super) fn give_up_load(&mut self, error: OperationError) -> ConsumerStop {
        self.load = None;
        self.may_load = false;
        ConsumerStop::NotLoaded(error)
    }

    /// An entry of the refresh.
    pub(crate) async fn put(&mut self, entry: ReplicatedEntry) -> Result<(), ConsumerStop> {
        self.counts.entries += 1;
        if let Some(load) = &mut self.load {
            let added = load.add(entry).await;
            return added.map_err(|error| self.give_up_load(error));
        }
        self.queue(Incoming::Entry(entry), None, Vec::new()).await
    }

    /// The refresh has come to its end: what it has not sent is gone.
    pub(crate) async fn end_refresh(&mut self, place: ChangeLogPlace) -> Result<(), ConsumerStop> {
        self.end_content().await?;
        self.step(Incoming::EndOfRefresh, LogStep::Set(place)).await?;
        self.settle().await
    }

    /// All of the content has come from a provider without CSNs: a load is installed, or what was not sent is deleted.
    pub(super) async fn end_content(&mut self) -> Result<(), ConsumerStop> {
        self.settle().await?;
        let present = self.present.take().unwrap_or_default();
        if let Some(load) = self.load.take() {
            let installed = load.install(&ContextVector::default()).await;
            return installed.map_err(|error| self.give_up_load(error));
        }
        // Everything here is the provider's.
        let vector = self.vector()?;
        self.delete_absent(present, &vector).await
    }

    /// A change of the log.
    pub(crate) async fn make(&mut self, change: LogEntry, place: ChangeLogPlace) -> Result<(), ConsumerStop> {
        let incoming = match change {
            LogEntry::Add(entry) => {
                self.counts.entries += 1;
                Incoming::Entry(entry)
            }
            LogEntry::Change(change) => {
                match change.operation {
                    ironbark_directory::LoggedOperation::Delete => self.counts.deletes += 1,
                    _ => self.counts.entries += 1,
                }
                Incoming::Logged(change)
            }
        };
        self.step(incoming, LogStep::Make(place)).await
    }

    /// The log has nothing more for this consumer up to here.
    pub(crate) async fn pass(&mut self, place: ChangeLogPlace) -> Result<(), ConsumerStop> {
        self.step(Incoming::Nothing, LogStep::Set(place)).await
    }

    async fn step(&mut self, incoming: Incoming, step: LogStep) -> Result<(), ConsumerStop> {
        self.queue_step(incoming, Some(step), None, Vec::new()).await
    }
}
