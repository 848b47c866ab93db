//! The interface between a kind of write and the queue and thread that execute it: message, password modify, bind.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use ironbark_config::Operations;
use ironbark_ldap_proto::Operation;
use ironbark_model::Dn;

use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        external::ExternalOperation,
        in_memory::Governor,
        queue::Served,
        written::{Executed, Success},
    },
    overlay::{Execution, password_checks::Computed},
    refusal::WriteRefusal,
    request::{context::RequestContext, controls::OwnedControls},
};

/// A write of some kind. It owns what it needs.
pub(crate) trait WriteRequest: Send {
    /// The kind of response.
    fn operation(&self) -> Operation;

    /// The name for `restrict`.
    fn kind(&self) -> Operations;

    /// The entry of the request.
    fn dn(&self) -> &Dn;

    /// Octets of the request, as a measure of the size of the write.
    fn octets(&self) -> usize {
        0
    }

    /// Results that were computed for it.
    fn computed(&self) -> &Computed;

    /// Sets more computed results.
    fn set_computed(&mut self, computed: Computed);

    /// The same request, read under another schema.
    ///
    /// # Errors
    /// It is refused under that schema.
    fn read_again(&self, configuration: &Configuration) -> Result<Box<dyn WriteRequest>, OperationError>;

    /// Makes the refusals of `security`, `restrict` and similar settings, under a configuration that came into force
    /// after the request was queued.
    ///
    /// # Errors
    /// As of [`check_restrictions`](crate::admission::check_restrictions).
    fn check_restrictions(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        origin: &mut RequestContext,
    ) -> Result<(), OperationError>;

    /// Its controls, including those that must be ignored.
    fn controls(&self) -> &OwnedControls {
        static NONE: LazyLock<OwnedControls> = LazyLock::new(OwnedControls::default);
        &NONE
    }

    /// Executes in the transaction.
    ///
    /// # Errors
    /// It is refused.
    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Success, OperationError>;

    /// The answer if nothing can be written, of a request that only records something besides.
    fn unrecorded(&self, context: &NamingContext) -> Option<Success> {
        let _ = context;
        None
    }

    /// The request as a database is asked whose entries are elsewhere, once access has been checked, and how long it
    /// may take.
    ///
    /// # Errors
    /// `unwillingToPerform`: it is not for such databases; or it is refused.
    fn external(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        origin: &RequestContext,
    ) -> Result<(ExternalOperation, Option<Duration>), OperationError> {
        let _ = (configuration, context, origin);
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    /// Executes a write to a tree in memory. It is in force when this returns.
    ///
    /// # Errors
    /// `unwillingToPerform`: trees do not support it; or it is refused.
    fn execute_in_memory(&self, on: OnTree<'_>) -> Result<(Success, Executed), OperationError> {
        let _ = on;
        Err(WriteRefusal::UnsupportedInContext.into())
    }
}

/// The tree in memory, and the context of a write to it.
#[derive(Clone, Copy)]
pub(crate) struct OnTree<'a> {
    pub(crate) directory: &'a Arc<Directory>,
    pub(crate) governor: &'a dyn Governor,
    pub(crate) served: &'a Served,
    pub(crate) origin: &'a RequestContext,
}
