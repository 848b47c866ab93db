//! Reading a logged change: names and values as they are here.

use ironbark_model::{AttributeDescription, Dn, Schema};
use ironbark_store::{
    Csn,
    change::{RequestedKind, RequestedModification},
};

use super::{LoggedChange, LoggedOperation};
use crate::{
    Configuration, OperationError,
    backend::complete,
    edit::rename,
    place::Base,
    refusal::ReplicaRefusal,
    replica::{
        mapping::{Asked, ReplicaMapping},
        place::Told,
    },
    request::modification::{Authority, Modification, ModificationKind, normal_form},
};

/// A logged change, with names and values as they are here.
pub(in crate::replica) struct ReadLogged {
    /// The entry's name before it; after it if it is a revision.
    pub(in crate::replica) dn: Dn,
    pub(in crate::replica) uuid: Option<[u8; 16]>,
    pub(in crate::replica) operation: ReadOperation,
    /// What was in the entry, if this was taken over when the entry came as a whole.
    pub(in crate::replica) base: Option<Base>,
}

impl ReadLogged {
    /// The CSN by which a place counts that no request has given.
    pub(in crate::replica) fn revision(&self) -> Option<Csn> {
        match self.operation {
            ReadOperation::Settle(revision, _) => Some(revision),
            _ => None,
        }
    }
}

pub(in crate::replica) enum ReadOperation {
    Delete,
    Modify(Vec<Modification>),
    Rename(Box<ReadRename>),
    Revise(Vec<Modification>),
    Settle(Csn, Told),
}

pub(in crate::replica) struct ReadRename {
    pub(in crate::replica) new_rdn: Dn,
    pub(in crate::replica) delete_old_rdn: bool,
    pub(in crate::replica) new_superior: Option<Dn>,
    /// Those that the new RDN requires come first.
    pub(in crate::replica) modifications: Vec<Modification>,
    /// Where the provider has the entry then, if it tells that.
    pub(in crate::replica) place: Option<(Dn, Told)>,
}

/// Reads a logged change.
///
/// # Errors
/// `invalidDNSyntax`, `undefinedAttributeType`; `unwillingToPerform`: the entry is out of scope, or its place is none.
pub(in crate::replica) fn read(
    configuration: &Configuration,
    change: &LoggedChange,
    mapping: &ReplicaMapping,
) -> Result<ReadLogged, OperationError> {
    let schema = &*configuration.schema;
    let remote = name(schema, &change.dn)?;
    let reader = Reader {
        configuration,
        mapping,
        asked: Asked::of(schema, &mapping.attributes),
        dn: &change.dn,
    };
    let dn = mapping.local_name(&remote).ok_or_else(|| ReplicaRefusal::OutOfScope {
        name: change.dn.to_string(),
    })?;
    let operation = match &change.operation {
        LoggedOperation::Delete => ReadOperation::Delete,
        LoggedOperation::Modify(modifications) => ReadOperation::Modify(reader.modifications(modifications)?),
        LoggedOperation::Revise(modifications) => ReadOperation::Revise(reader.modifications(modifications)?),
        LoggedOperation::Settle { revision, place } => {
            let told = Told::parse(place).ok_or_else(|| ReplicaRefusal::InvalidPlace {
                name: change.dn.to_string(),
            })?;
            ReadOperation::Settle(*revision, told)
        }
        LoggedOperation::ModifyDn {
            new_rdn,
            delete_old_rdn,
            new_superior,
            modifications,
            place,
        } => {
            let new_rdn = name(schema, new_rdn)?;
            let local = |superior: &str| {
                let superior = name(schema, superior)?;
                let local = superior.rebase(&mapping.remote_base, &mapping.local_base);
                local.ok_or_else(|| ReplicaRefusal::OutOfScope {
                    name: superior.pretty().to_owned(),
                })
            };
            let new_superior = new_superior.as_deref().map(local).transpose()?;
            let mut all = rename::modifications_of(schema, &dn, &new_rdn, *delete_old_rdn)?;
            all.retain(|change| reader.takes(&change.description));
            all.extend(reader.modifications(modifications)?);
            let placed = place
                .as_ref()
                .and_then(|(text, place)| Some((mapping.local_name(&name(schema, text).ok()?)?, Told::parse(place)?)));
            ReadOperation::Rename(Box::new(ReadRename {
                new_rdn,
                delete_old_rdn: *delete_old_rdn,
                new_superior,
                modifications: all,
                place: placed.filter(|_| mapping.multi_provider),
            }))
        }
    };
    Ok(ReadLogged {
        dn,
        uuid: change.uuid,
        operation,
        base: base(change, mapping)?,
    })
}

/// What was in the entry, if the change was taken over with it as a whole, and that matters here.
fn base(change: &LoggedChange, mapping: &ReplicaMapping) -> Result<Option<Base>, ReplicaRefusal> {
    let merges = mapping.merges_values && mapping.multi_provider;
    let Some(text) = change.base.as_ref().filter(|_| merges) else {
        return Ok(None);
    };
    let invalid = || ReplicaRefusal::InvalidRecent {
        name: change.dn.to_string(),
    };
    Base::parse(text).map(Some).ok_or_else(invalid)
}

fn name(schema: &Schema, text: &str) -> Result<Dn, ReplicaRefusal> {
    let dn = Dn::parse(schema, text.as_bytes()).ok();
    dn.filter(|dn| !dn.has_unknown_leaf_type(schema))
        .ok_or_else(|| ReplicaRefusal::InvalidName { name: text.to_owned() })
}

struct Reader<'a> {
    configuration: &'a Configuration,
    mapping: &'a ReplicaMapping,
    asked: Asked,
    /// The entry, for messages.
    dn: &'a str,
}

impl Reader<'_> {
    fn modifications(&self, changes: &[RequestedModification]) -> Result<Vec<Modification>, ReplicaRefusal> {
        let read = changes.iter().map(|change| self.modification(change));
        read.filter_map(Result::transpose).collect()
    }

    /// `None`: the attribute is not the provider's.
    fn modification(&self, change: &RequestedModification) -> Result<Option<Modification>, ReplicaRefusal> {
        let schema = &*self.configuration.schema;
        let description = describe(schema, self.dn, &change.attribute)?;
        if !self.takes(&description) {
            return Ok(None);
        }
        let local = |value: &Vec<u8>| self.mapping.local_value(schema, &description, value);
        let values = change.values.iter().map(local).collect();
        Ok(Some(of_requested(schema, change.kind, description, values)))
    }

    fn takes(&self, description: &AttributeDescription) -> bool {
        let known = &self.configuration.well_known;
        *description != known.context_csn
            && !complete::follows_from_tree(self.configuration, description)
            && self.asked.includes(&self.configuration.schema, known, description)
    }
}

/// The attribute description of a change.
pub(super) fn describe(schema: &Schema, dn: &str, attribute: &str) -> Result<AttributeDescription, ReplicaRefusal> {
    let unknown = |reason: String| ReplicaRefusal::UnknownAttribute {
        name: dn.into(),
        attribute: attribute.into(),
        reason,
    };
    let description = schema
        .attribute_description(attribute.as_bytes())
        .map_err(|error| unknown(error.to_string()))?;
    if schema.is_storable(&description) {
        Ok(description)
    } else {
        Err(unknown("it cannot be stored with these options".into()))
    }
}

pub(super) fn of_requested(
    schema: &Schema,
    kind: RequestedKind,
    description: AttributeDescription,
    values: Vec<Vec<u8>>,
) -> Modification {
    let kind = match kind {
        RequestedKind::Add => ModificationKind::Add,
        RequestedKind::Delete => ModificationKind::Delete,
        RequestedKind::Replace => ModificationKind::Replace,
        RequestedKind::Increment => ModificationKind::Increment,
    };
    Modification {
        kind,
        name: schema.description_text(&description),
        normalized: values
            .iter()
            .map(|value| normal_form(schema, &description, value))
            .collect(),
        description,
        values,
        authority: Authority::Server,
    }
}
