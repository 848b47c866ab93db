//! Entries of the answer: the change that one tells of.

use ironbark_client::SearchEntry;
use ironbark_directory::{LoggedChange, LoggedOperation, ReplicatedEntry};
use ironbark_model::{Dn, Schema, syntax::oid};
use ironbark_store::change::{RequestedKind, RequestedModification, TextAttribute};

use super::{
    CREATED, GUID, IS_DELETED, LeftOut, WHEN_CREATED,
    names::{ExtendedName, Name, Names, plain_name},
};
use crate::Violation;

/// How the option begins that ranges of values have.
const RANGE: &str = "range=";
/// The range of linked values that were deleted.
const DELETED_VALUES: &str = "0-0";
/// The range of linked values that were added.
const ADDED_VALUES: &str = "1-1";

/// What an entry of the answer tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The entry of this UUID is deleted.
    Gone([u8; 16]),
    /// The entry is new since the cookie, and this is all of it.
    Whole(ReplicatedEntry),
    /// The entry has another name, or other values.
    Changed(LoggedChange),
}

impl Sent {
    /// `entryUUID`.
    pub(crate) fn uuid(&self) -> [u8; 16] {
        match self {
            Self::Gone(uuid) => *uuid,
            Self::Whole(entry) => entry.uuid,
            Self::Changed(change) => change.uuid.unwrap_or_default(),
        }
    }
}

/// Reads an entry of the answer. Attribute types that are not known here are left out.
///
/// # Errors
/// It has no GUID, or ranges of values that are not those of changes.
pub(crate) fn read(
    entry: SearchEntry,
    schema: &Schema,
    left_out: &mut LeftOut,
    names: &mut impl Names,
) -> Result<Sent, Violation> {
    let uuid = guid_of(&entry)?;
    let dn = plain_name(&entry.dn);
    if is_true(&entry, IS_DELETED) {
        return Ok(Sent::Gone(uuid));
    }
    let created = entry.values(WHEN_CREATED).first().map(|time| timestamp(time));
    let mut changes = Vec::with_capacity(entry.attributes.len() + 2);
    for (description, values) in entry.attributes {
        let (attribute, kind) = described(dn, &description)?;
        let name = attribute.split(';').next().unwrap_or_default();
        if left_out.leaves_out(schema, name) {
            continue;
        }
        let values = values
            .into_iter()
            .filter_map(|value| local_form(schema, name, value, names))
            .collect();
        changes.push(RequestedModification {
            kind,
            attribute: attribute.into(),
            values,
        });
    }
    // Without values it would say that all of them are gone.
    let has_range = |attribute: &str| {
        let mut ranges = changes.iter().filter(|change| change.kind != RequestedKind::Replace);
        ranges.any(|change| change.attribute.eq_ignore_ascii_case(attribute))
    };
    let is_empty = |change: &RequestedModification| change.kind == RequestedKind::Replace && change.values.is_empty();
    let kept: Vec<bool> = changes
        .iter()
        .map(|change| !(is_empty(change) && has_range(&change.attribute)))
        .collect();
    let mut kept = kept.into_iter();
    changes.retain(|_| kept.next().unwrap_or(true));
    take_rdn(schema, dn, &mut changes);
    let dn = dn.into();
    Ok(if let Some(created) = created {
        changes.push(RequestedModification {
            kind: RequestedKind::Replace,
            attribute: CREATED.into(),
            values: vec![created],
        });
        Sent::Whole(ReplicatedEntry {
            uuid,
            dn,
            attributes: attributes_of(changes),
        })
    } else {
        Sent::Changed(LoggedChange {
            dn,
            uuid: Some(uuid),
            operation: LoggedOperation::Revise(changes),
            base: None,
        })
    })
}

/// The octets of `objectGUID` as they come, as slapd has them: the text of the `entryUUID` differs from the one that
/// Windows shows in the order of its first eight octets.
fn guid_of(entry: &SearchEntry) -> Result<[u8; 16], Violation> {
    let guid = entry.values(GUID).first();
    let guid = guid.and_then(|guid| guid.as_slice().try_into().ok());
    guid.ok_or_else(|| Violation::Malformed(format!("the provider shows no objectGUID of \"{}\"", entry.dn)))
}

fn is_true(entry: &SearchEntry, name: &str) -> bool {
    let mut values = entry.values(name).iter();
    values.any(|value| value.eq_ignore_ascii_case(b"TRUE"))
}

/// The attribute of a description, and what its values are: all that there are now, or some that came or went.
fn described(dn: &str, description: &str) -> Result<(String, RequestedKind), Violation> {
    let lower = description.to_ascii_lowercase();
    let mut options = lower.split(';').skip(1);
    let Some(range) = options.find_map(|option| option.strip_prefix(RANGE)) else {
        return Ok((description.to_owned(), RequestedKind::Replace));
    };
    let kind = match range {
        DELETED_VALUES => RequestedKind::Delete,
        ADDED_VALUES => RequestedKind::Add,
        _ => {
            return Err(Violation::Malformed(format!(
                "\"{dn}\": {description} is neither all of the values nor a change of them"
            )));
        }
    };
    let is_other = |part: &&str| !part.to_ascii_lowercase().starts_with(RANGE);
    let parts: Vec<&str> = description.split(';').filter(is_other).collect();
    Ok((parts.join(";"), kind))
}

/// A value as it is kept here; `None`: it must come again. Names get the form that names have here, so that they can be
/// compared where the schema tells no rule for that.
fn local_form(schema: &Schema, name: &str, value: Vec<u8>, names: &mut impl Names) -> Option<Vec<u8>> {
    let Ok(description) = schema.attribute_description(name.as_bytes()) else {
        return Some(value);
    };
    if schema.attribute_type(description.attribute_type).syntax.validated_as != oid::DN {
        return Some(value);
    }
    let extended = ExtendedName::of(&value);
    let Ok(given) = Dn::parse(schema, extended.name) else {
        return Some(extended.name.to_vec());
    };
    let name = match names.now(&extended, &given) {
        Name::AsGiven => given,
        Name::Is(name) => name,
        Name::Later => return None,
    };
    Some(name.pretty().as_bytes().to_vec())
}

/// Adds the values of the RDN: the provider sends them as part of the name only.
fn take_rdn(schema: &Schema, dn: &str, changes: &mut Vec<RequestedModification>) {
    let holds = |changes: &[RequestedModification], name: &str| {
        let mut all = changes.iter();
        all.any(|change| change.attribute.eq_ignore_ascii_case(name) && !change.values.is_empty())
    };
    let parsed = Dn::parse(schema, dn.as_bytes());
    for (description, value) in parsed.map(|dn| dn.leaf_assertions(schema)).unwrap_or_default() {
        let name = schema.description_text(&description);
        if !holds(changes, &name) {
            changes.retain(|change| !change.attribute.eq_ignore_ascii_case(&name));
            changes.push(RequestedModification {
                kind: RequestedKind::Replace,
                attribute: name.into(),
                values: vec![value],
            });
        }
    }
}

/// The time without its fraction, which is always 0 (`20260101000000.0Z`).
fn timestamp(time: &[u8]) -> Vec<u8> {
    let whole = time.split(|octet| *octet == b'.').next().unwrap_or_default();
    [whole.strip_suffix(b"Z").unwrap_or(whole), b"Z"].concat()
}

/// The attributes of a new entry.
fn attributes_of(changes: Vec<RequestedModification>) -> Vec<TextAttribute> {
    let there = |change: &RequestedModification| change.kind != RequestedKind::Delete && !change.values.is_empty();
    let changes = changes.into_iter().filter(there);
    changes.map(|change| (change.attribute, change.values)).collect()
}

#[cfg(test)]
mod tests;
