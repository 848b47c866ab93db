//! Comparisons that an overlay answers. The ordinary comparison was made before: access rules and missing entries have
//! been seen to.

use std::sync::Arc;

use ironbark_config::{Operations, access::Privileges};
use ironbark_ldap_proto::Operation;
use ironbark_model::{AttributeDescription, Dn};
use ironbark_store::{EntryId, Location};

use super::{bind_policy::root, second_factor::spend};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, Target, WriteCheck},
    admission::check_restrictions,
    backend::written::Success,
    edit::checks,
    outcome::completion::Begun,
    overlay::{Execution, SecondFactor, overlays_of, password_checks::Computed},
    refusal::CompareRefusal,
    request::context::RequestContext,
    write::{job::enqueue, request::WriteRequest},
};

/// A comparison on its way to the writer, which makes the changes in the name of the rootdn.
pub(super) struct OverlayComparison {
    pub(super) dn: Dn,
    pub(super) description: AttributeDescription,
    /// The text of it.
    pub(super) name: String,
    pub(super) value: Vec<u8>,
    /// The result of the ordinary comparison.
    pub(super) is_true: bool,
    /// The request as the client has made it.
    pub(super) client: RequestContext,
    pub(super) computed: Computed,
}

impl OverlayComparison {
    /// Hands it to the writer.
    ///
    /// # Errors
    /// `busy`, `unavailable`.
    pub(super) fn submit(
        self,
        directory: &Arc<Directory>,
        configuration: &Arc<Configuration>,
        context: &NamingContext,
    ) -> Result<Begun, OperationError> {
        let origin = root(&self.client, context);
        enqueue(directory, configuration, context, &origin, Box::new(self))
    }
}

impl WriteRequest for OverlayComparison {
    fn operation(&self) -> Operation {
        Operation::Compare
    }

    fn kind(&self) -> Operations {
        Operations::COMPARE
    }

    fn dn(&self) -> &Dn {
        &self.dn
    }

    fn octets(&self) -> usize {
        self.value.len()
    }

    fn computed(&self) -> &Computed {
        &self.computed
    }

    fn set_computed(&mut self, computed: Computed) {
        self.computed = computed;
    }

    fn read_again(&self, configuration: &Configuration) -> Result<Box<dyn WriteRequest>, OperationError> {
        let schema = &configuration.schema;
        let description = schema.attribute_description(self.name.as_bytes());
        Ok(Box::new(Self {
            dn: checks::parse_dn(schema, self.dn.pretty().as_bytes())?,
            description: description.map_err(|_| CompareRefusal::UndefinedAttribute)?,
            name: self.name.clone(),
            value: self.value.clone(),
            is_true: self.is_true,
            client: self.client.clone(),
            computed: self.computed.clone(),
        }))
    }

    fn check_restrictions(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        _: &mut RequestContext,
    ) -> Result<(), OperationError> {
        check_restrictions(context, configuration, Operations::COMPARE, &mut self.client.clone())
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Success, OperationError> {
        let is_true = self.answer(execution)?;
        Ok(Success {
            compared: Some(is_true),
            ..Success::default()
        })
    }
}

impl OverlayComparison {
    fn answer(&self, execution: &mut Execution<'_, '_>) -> Result<bool, OperationError> {
        let context = execution.context;
        let Location::Entry(id) = execution.view().locate(&self.dn)? else {
            return Err(CompareRefusal::NoSuchEntry.into());
        };
        self.check_access(execution, id)?;
        let entry = execution.entry(id)?;
        for hooks in &overlays_of(context).comparisons {
            if *hooks.attribute() != self.description {
                continue;
            }
            match hooks.compare(execution, &entry, &self.value)? {
                None => {}
                Some(SecondFactor::Wrong) => return Ok(false),
                Some(SecondFactor::Right(spending)) => return spend(execution, *spending),
            }
        }
        Ok(self.is_true)
    }

    /// Asks the access rules once more: they may say something else of the entry as it is now.
    fn check_access(&self, execution: &Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
        let view = execution.view();
        let record = checks::record_of(view, id)?;
        let requester = Requester::of(execution.configuration, execution.context, &self.client);
        let check = WriteCheck::on_record(requester, &record, view);
        let target = Target::Attribute(&self.description, Some(&self.value));
        checks::require(check.permits(target, Privileges::COMPARE), CompareRefusal::NoAccess)
    }
}
