//! Entries as overlays read them, without access checks.

use ironbark_model::{Dn, Entry};
use ironbark_store::{Location, StoreError, View};

use crate::{Configuration, NamingContext};

/// Entries of all databases: those of one database as a view has them, the others as they are now.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    /// The configuration.
    pub configuration: &'a Configuration,
    context: &'a NamingContext,
    view: View<'a>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(configuration: &'a Configuration, context: &'a NamingContext, view: View<'a>) -> Self {
        Self {
            configuration,
            context,
            view,
        }
    }

    /// The database of the view.
    pub fn context(&self) -> &'a NamingContext {
        self.context
    }

    /// The state of that database, for a look at all of its entries.
    pub fn view(&self) -> View<'a> {
        self.view
    }

    /// An entry, if it exists.
    ///
    /// # Errors
    /// The storage failed.
    pub fn find(&self, dn: &Dn) -> Result<Option<Entry>, StoreError> {
        let Some(context) = self.configuration.context_of(dn) else {
            return Ok(None);
        };
        if context.number == self.context.number {
            return read(self.view, dn);
        }
        match context.database() {
            Some(database) => read(database.snapshot()?.view(), dn),
            None => Ok(None),
        }
    }
}

fn read(view: View<'_>, dn: &Dn) -> Result<Option<Entry>, StoreError> {
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(None);
    };
    match view.record(id)? {
        Some(record) => Ok(Some(record.to_entry(view.dn(id)?)?)),
        None => Ok(None),
    }
}
