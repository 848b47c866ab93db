//! The content of a write operation of RFC 4511, checked by the schema alone.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_ldap_proto::{Operation, Request};
use ironbark_model::Dn;

use super::{add, modify_dn};
use crate::{
    Configuration, NamingContext, OperationError,
    edit::checks,
    overlay::overlays_of,
    refusal::{AddRefusal, DeleteRefusal, Failure, ModifyDnRefusal, ModifyRefusal},
    request::modification::{self, Modification, Reading},
};

/// A write operation, read on the connection's reactor. Requests with invalid syntax are refused before anything else
/// is checked, as in slapd, and the one writer is spared the work.
pub(crate) enum Change {
    /// The entry's name and attributes.
    Add(Dn, Vec<Modification>),
    /// The entry's name.
    Delete(Dn),
    /// The entry's name and the modifications.
    Modify(Dn, Vec<Modification>),
    /// The old and the new name.
    ModifyDn(Box<modify_dn::Rename>),
}

impl Change {
    /// # Errors
    /// `invalidDNSyntax`, `protocolError`, and those of [`Modification::requested`].
    pub(crate) fn read(configuration: &Configuration, request: &Request<'_>) -> Result<Self, OperationError> {
        let schema = &*configuration.schema;
        Ok(match request {
            Request::Add(request) => {
                let dn = checks::parse_dn(schema, request.entry)?;
                // slapd checks the name before the rest only here.
                refuse_frontend_entries(configuration, &dn, Operations::ADD)?;
                let modifications = add::modifications_of(reading(configuration, &dn), request)?;
                Self::Add(dn, modifications)
            }
            Request::Delete(name) => Self::Delete(checks::parse_dn(schema, name)?),
            Request::Modify(request) => {
                let dn = checks::parse_dn(schema, request.object)?;
                let modifications = modification::of_request(reading(configuration, &dn), request.changes)?;
                Self::Modify(dn, modifications)
            }
            Request::ModifyDn(request) => Self::ModifyDn(Box::new(modify_dn::read(schema, request)?)),
            _ => return Err(Failure::Unexpected.into()),
        })
    }

    pub(crate) fn dn(&self) -> &Dn {
        match self {
            Self::Add(dn, _) | Self::Delete(dn) | Self::Modify(dn, _) => dn,
            Self::ModifyDn(rename) => rename.dn(),
        }
    }

    /// As `restrict` names it.
    pub(crate) fn kind(&self) -> Operations {
        match self {
            Self::Add(..) => Operations::ADD,
            Self::Delete(_) => Operations::DELETE,
            Self::Modify(..) => Operations::MODIFY,
            Self::ModifyDn(_) => Operations::RENAME,
        }
    }

    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Add(..) => Operation::Add,
            Self::Delete(_) => Operation::Delete,
            Self::Modify(..) => Operation::Modify,
            Self::ModifyDn(_) => Operation::ModifyDn,
        }
    }
}

/// How values of an entry with this name are read.
fn reading<'a>(configuration: &'a Configuration, dn: &Dn) -> Reading<'a> {
    let takes_empty_strings =
        |context: &Arc<NamingContext>| overlays_of(context).drops_empty_strings && context.database().is_some();
    Reading {
        schema: &configuration.schema,
        takes_empty_strings: configuration.context_of(dn).is_some_and(takes_empty_strings),
    }
}

/// The root DSE and the subschema subentry are not written to.
pub(crate) fn refuse_frontend_entries(
    configuration: &Configuration,
    dn: &Dn,
    kind: Operations,
) -> Result<(), OperationError> {
    let is_subschema = configuration.subschema.first().is_some_and(|entry| entry.dn == *dn);
    match (dn.depth() == 0, is_subschema, kind) {
        (true, _, Operations::ADD) => Err(AddRefusal::RootDseExists.into()),
        (true, _, Operations::DELETE) | (_, true, Operations::DELETE) => Err(DeleteRefusal::FrontendEntry.into()),
        (true, _, Operations::RENAME) => Err(ModifyDnRefusal::RootDse.into()),
        (true, _, Operations::MODIFY) => Err(ModifyRefusal::RootDse.into()),
        (_, true, Operations::ADD) => Err(AddRefusal::SubschemaExists.into()),
        (_, true, Operations::RENAME) => Err(ModifyDnRefusal::Subschema.into()),
        (_, true, Operations::MODIFY) => Err(ModifyRefusal::Subschema.into()),
        _ => Ok(()),
    }
}
