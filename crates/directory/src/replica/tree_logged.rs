//! Changes of a tree in memory that a provider's log tells of, with names and values as they are here.

use ironbark_model::Dn;
use ironbark_store::Csn;

use super::{
    incoming::Incoming,
    logged::{ReadOperation, read as read_logged},
    mapping::ReplicaMapping,
    read::read,
};
use crate::{
    Configuration, OperationError, TreeChange, backend::tree_replica::TreeLogged, place::uuid_text,
    request::modification::Modification,
};

/// Reads changes. The log tells of the whole database: changes outside of base and scope are left out.
///
/// # Errors
/// `invalidDNSyntax`, `undefinedAttributeType`; an add without CSN.
pub(super) fn read_all(
    configuration: &Configuration,
    changes: &[(Incoming, Csn)],
    mapping: &ReplicaMapping,
) -> Result<Vec<TreeLogged>, OperationError> {
    let mut all = Vec::new();
    for (incoming, csn) in changes {
        all.extend(read_one(configuration, incoming, *csn, mapping)?);
    }
    Ok(all)
}

fn read_one(
    configuration: &Configuration,
    incoming: &Incoming,
    csn: Csn,
    mapping: &ReplicaMapping,
) -> Result<Option<TreeLogged>, OperationError> {
    let is_outside = |name: &str| {
        let name = Dn::parse(&configuration.schema, name.as_bytes());
        name.is_ok_and(|name| mapping.local_name(&name).is_none())
    };
    let (uuid, change, stamps) = match incoming {
        Incoming::Entry(entry) if !is_outside(&entry.dn) => {
            let (uuid, _, entry) = read(configuration, entry, mapping)?.into_entry();
            (Some(uuid), TreeChange::Add(entry), Stamps::default())
        }
        Incoming::Logged(change) if !is_outside(&change.dn) => {
            let read = read_logged(configuration, change, mapping)?;
            let (change, stamps) = of_operation(configuration, read.dn, read.operation);
            (read.uuid.map(uuid_text), change, stamps)
        }
        _ => return Ok(None),
    };
    Ok(Some(TreeLogged {
        uuid,
        csn,
        author: stamps.author,
        time: stamps.time,
        change,
    }))
}

/// The stamps that the log tells, beside the CSN.
#[derive(Default)]
struct Stamps {
    author: Option<String>,
    time: Option<String>,
}

fn of_operation(configuration: &Configuration, dn: Dn, operation: ReadOperation) -> (TreeChange, Stamps) {
    match operation {
        ReadOperation::Delete => (TreeChange::Delete { dn }, Stamps::default()),
        ReadOperation::Modify(modifications) | ReadOperation::Revise(modifications) => {
            let (modifications, stamps) = Stamps::taken_from(configuration, modifications);
            (TreeChange::Modify { dn, modifications }, stamps)
        }
        // No configuration has revisions.
        ReadOperation::Settle(..) => {
            let modifications = Vec::new();
            (TreeChange::Modify { dn, modifications }, Stamps::default())
        }
        ReadOperation::Rename(rename) => {
            let (_, stamps) = Stamps::taken_from(configuration, rename.modifications);
            let change = TreeChange::ModifyDn {
                dn,
                new_rdn: rename.new_rdn,
                delete_old_rdn: rename.delete_old_rdn,
                new_superior: rename.new_superior,
            };
            (change, stamps)
        }
    }
}

impl Stamps {
    /// The stamps among modifications, and the others.
    fn taken_from(configuration: &Configuration, all: Vec<Modification>) -> (Vec<Modification>, Self) {
        let known = &configuration.well_known;
        let mut stamps = Self::default();
        let mut others = Vec::new();
        for modification in all {
            let value = || String::from_utf8(modification.values.first()?.clone()).ok();
            if modification.description == known.modifiers_name {
                stamps.author = value();
            } else if modification.description == known.modify_timestamp {
                stamps.time = value();
            } else if modification.description != known.entry_csn {
                others.push(modification);
            }
        }
        (others, stamps)
    }
}
