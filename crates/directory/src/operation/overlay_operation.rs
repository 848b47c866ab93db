//! Extended operations that an overlay executes.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_ldap_proto::{ExtendedRequest, Operation, extended::ExtendedDescriptor};
use ironbark_model::Dn;

use super::submit;
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    admission::{check_extended, refuse_if_shadow},
    backend::{
        call::Call,
        referral,
        written::{ExtendedAnswer, Success},
    },
    outcome::completion::Begun,
    overlay::{Execution, ExtendedHooks, ExtendedWrite, overlays_of, password_checks::Computed},
    refusal::ExtendedRefusal,
    request::context::RequestContext,
    write::{job::enqueue, request::WriteRequest},
};

/// A request on its way to the writer.
struct OverlayOperation {
    row: &'static ExtendedDescriptor,
    /// The value as the client sent it.
    value: Option<Vec<u8>>,
    request: Box<dyn ExtendedWrite>,
    computed: Computed,
}

/// Reads the request, and hands it to the writer of its database.
///
/// # Errors
/// The overlay refuses the value; `unwillingToPerform`: the database does not have the overlay; the errors that keep
/// any write out of a database.
pub(crate) fn start(
    directory: &Arc<Directory>,
    call: &mut Call<'_, '_>,
    row: &'static ExtendedDescriptor,
    value: Option<&[u8]>,
) -> Result<Begun, OperationError> {
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    let mut all = configuration.contexts.iter();
    let reader = all
        .find_map(|context| hooks(context, row))
        .ok_or(ExtendedRefusal::NotInDatabase)?;
    let request = reader.read(&configuration.schema, value)?;
    let context = configuration
        .context_of(request.dn())
        .ok_or_else(|| referral::default_referral(configuration, request.dn(), None))?;
    submit::refuse_anonymous(configuration, origin, request.dn())?;
    check_extended(context, configuration, row, origin)?;
    call.controls.remove(origin.dropped_controls);
    if hooks(context, row).is_none() {
        return Err(ExtendedRefusal::NotInDatabase.into());
    }
    refuse_if_shadow(context, configuration, request.dn(), origin)?;
    let operation = OverlayOperation {
        row,
        value: value.map(<[u8]>::to_vec),
        request,
        computed: Computed::default(),
    };
    enqueue(directory, configuration, context, origin, Box::new(operation))
}

/// The entry that a request is about, if it can be read.
pub(crate) fn subject(configuration: &Configuration, request: &ExtendedRequest<'_>) -> Option<Dn> {
    let row = configuration.extended_operation(request.name)?;
    let reader = configuration.contexts.iter().find_map(|context| hooks(context, row))?;
    let read = reader.read(&configuration.schema, request.value).ok()?;
    Some(read.dn().clone())
}

fn hooks<'c>(context: &'c NamingContext, row: &ExtendedDescriptor) -> Option<&'c Arc<dyn ExtendedHooks>> {
    overlays_of(context)
        .extended
        .iter()
        .find(|hooks| hooks.oid() == row.oid)
}

impl WriteRequest for OverlayOperation {
    fn operation(&self) -> Operation {
        Operation::Extended
    }

    fn kind(&self) -> Operations {
        Operations::EXTENDED
    }

    fn dn(&self) -> &Dn {
        self.request.dn()
    }

    fn octets(&self) -> usize {
        self.value.as_ref().map_or(0, Vec::len)
    }

    fn computed(&self) -> &Computed {
        &self.computed
    }

    fn set_computed(&mut self, computed: Computed) {
        self.computed = computed;
    }

    fn read_again(&self, configuration: &Configuration) -> Result<Box<dyn WriteRequest>, OperationError> {
        let context = configuration.context_of(self.request.dn());
        let hooks = context
            .and_then(|context| hooks(context, self.row))
            .ok_or(ExtendedRefusal::NotInDatabase)?;
        Ok(Box::new(Self {
            row: self.row,
            value: self.value.clone(),
            request: hooks.read(&configuration.schema, self.value.as_deref())?,
            computed: self.computed.clone(),
        }))
    }

    fn check_restrictions(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        origin: &mut RequestContext,
    ) -> Result<(), OperationError> {
        check_extended(context, configuration, self.row, origin)?;
        hooks(context, self.row).ok_or(ExtendedRefusal::NotInDatabase)?;
        refuse_if_shadow(context, configuration, self.dn(), origin)
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Success, OperationError> {
        let value = self.request.execute(execution)?;
        execution.check_computed()?;
        let extended = ExtendedAnswer {
            name: Some(self.row.oid),
            value,
            refusal: None,
        };
        Ok(Success {
            extended,
            ..Success::default()
        })
    }
}
