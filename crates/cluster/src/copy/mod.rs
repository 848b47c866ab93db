//! A server whose database cannot follow the log, because the log no longer has what it lacks, gets a copy of another
//! server's database.
//!
//! It waits at an address, and writes into etcd where ([`request`]). Every ready server that sees this connects, and
//! the first one sends its file as LMDB has it: a consistent state. The copy is checked and put in the place of the
//! database; what came after it is in the log.
//!
//! Trust is that in etcd: the request has the certificate with which the waiting server proves itself, made for this
//! copy alone, and the secret with which the other one does. Whoever can read them there can change the directory.
//!
//! Invariants: a database that has changes of another history is never replaced. The former database serves searches
//! until the copy is whole and checked. A copy takes one thread on each side, and no time of other databases.

mod donate;
mod fetch;
mod receive;
mod request;
mod secure;
mod wire;

use std::path::Path;

use ironbark_model::Schema;
use ironbark_store::StoreError;
use std::sync::Arc;

use crate::RenewalError;

pub(crate) use donate::Donor;
pub(crate) use fetch::Fetcher;

/// What a copy needs of the server that it is for.
pub trait Host: Send + Sync {
    /// The schema in force.
    fn schema(&self) -> Arc<Schema>;

    /// Closes the database in this folder, lets `install` replace its file, and opens it again. It blocks.
    ///
    /// # Errors
    /// It cannot be closed, the file not be replaced, or not be opened.
    fn renew(
        &self,
        folder: &Path,
        install: Box<dyn FnOnce() -> Result<(), StoreError> + '_>,
    ) -> Result<(), RenewalError>;
}
