//! A provider with cookies of its own (DirSync): what it sends becomes changes of the database, the last one with the
//! cookie.

use ironbark_directory::{CookiePlace, Incoming, LogStep, OperationError, begin_initial_load};
use ironbark_model::ResultCode;
use roaring::RoaringTreemap;

use super::{Consumer, ConsumerStop};

impl Consumer {
    /// The place at the provider. `None`: no comparison of the content has come to its end.
    pub(crate) fn cookie_place(&self) -> Result<Option<CookiePlace>, ConsumerStop> {
        Ok(CookiePlace::of_database(&*self.context()?)?)
    }

    /// A comparison of the whole content begins. The former place stays until its end: what is sent says how entries
    /// are, so it can be sent again.
    pub(crate) fn begin_comparison(&mut self) -> Result<(), ConsumerStop> {
        self.present = Some(RoaringTreemap::new());
        self.has_displaced = false;
        if self.cookie_place()?.is_none() && self.vector()?.is_empty() && self.may_load {
            self.load = begin_initial_load(&self.directory, &self.context()?, &self.mapping);
        }
        Ok(())
    }

    /// Whether an empty database is being loaded at once: then only whole entries can be taken.
    pub(crate) fn is_loading(&self) -> bool {
        self.load.is_some()
    }

    /// What has come cannot be taken into the load of an empty database: the comparison must begin again, entry by
    /// entry.
    pub(crate) fn give_up_loading(&mut self, reason: String) -> ConsumerStop {
        self.give_up_load(OperationError::new(ResultCode::OTHER, reason))
    }

    /// The comparison has come to its end: other entries than those that were sent are gone, and those of `gone`.
    pub(crate) async fn end_comparison(&mut self, gone: Vec<[u8; 16]>, place: CookiePlace) -> Result<(), ConsumerStop> {
        self.end_content().await?;
        for uuid in gone {
            self.change(Incoming::Delete { uuid }, None).await?;
        }
        self.change(Incoming::EndOfRefresh, Some(place)).await?;
        self.settle().await
    }

    /// Whether entries had to leave their names, and perhaps took others with them, by what has come since this was
    /// last asked. Then all of it must come again: by now everything has its superior.
    pub(crate) async fn has_displaced(&mut self) -> Result<bool, ConsumerStop> {
        self.settle().await?;
        Ok(std::mem::take(&mut self.has_displaced))
    }

    /// A change, and the place behind it if it is the last one before a cookie.
    pub(crate) async fn change(&mut self, incoming: Incoming, place: Option<CookiePlace>) -> Result<(), ConsumerStop> {
        match &incoming {
            Incoming::Delete { .. } => self.counts.deletes += 1,
            Incoming::Entry(_) | Incoming::Logged(_) => self.counts.entries += 1,
            Incoming::Contradicted(_) | Incoming::Nothing | Incoming::EndOfRefresh => {}
        }
        let step = place.map(LogStep::Cover);
        self.queue_step(incoming, step, None, Vec::new()).await
    }
}
