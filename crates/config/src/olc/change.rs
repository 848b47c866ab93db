//! Changes of the tree: the four write operations on cn=config. Each makes a new tree; the loader checks whether the
//! tree is a valid configuration.

pub(super) mod add;
mod delete;
pub(super) mod modify;
mod rename;

use ironbark_model::{
    AttributeDescription, ResultCode, Schema,
    schema::entry_check::{CheckedAttribute, EntryCheck},
};

use super::tree::{OlcKind, OlcNode};

/// Why a change is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{diagnostic_message}")]
pub struct ChangeError {
    /// For the result.
    pub result_code: ResultCode,
    /// For the result.
    pub diagnostic_message: String,
}

impl ChangeError {
    pub(super) fn new(result_code: ResultCode, diagnostic_message: impl Into<String>) -> Self {
        Self {
            result_code,
            diagnostic_message: diagnostic_message.into(),
        }
    }

    pub(super) fn missing() -> Self {
        Self::new(ResultCode::NO_SUCH_OBJECT, "")
    }
}

/// The author and time of a change: the values of operational attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// `creatorsName`, `modifiersName`.
    pub author: String,
    /// `createTimestamp`, `modifyTimestamp`.
    pub time: String,
    /// `entryCSN`.
    pub csn: String,
    /// `entryUUID` of a new entry.
    pub uuid: String,
}

/// One change of an attribute; the attribute is named as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeChange {
    /// The kind of change.
    pub kind: AttributeChangeKind,
    /// Attribute description.
    pub attribute: String,
    /// Values.
    pub values: Vec<Vec<u8>>,
}

/// What a modification does (RFC 4511 §4.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeChangeKind {
    /// Adds values.
    Add,
    /// Deletes values, or all if none are given.
    Delete,
    /// Replaces all values.
    Replace,
}

impl Stamps {
    /// For a new entry, in slapd's order.
    fn mark_created(&self, node: &mut OlcNode) {
        for (attribute, value) in [
            ("entryUUID", &self.uuid),
            ("creatorsName", &self.author),
            ("createTimestamp", &self.time),
            ("entryCSN", &self.csn),
            ("modifiersName", &self.author),
            ("modifyTimestamp", &self.time),
        ] {
            if node.values(attribute).is_empty() {
                node.set(attribute, vec![value.clone().into_bytes()]);
            }
        }
    }

    /// For a changed entry.
    fn mark_modified(&self, node: &mut OlcNode) {
        for (attribute, value) in [
            ("entryCSN", &self.csn),
            ("modifiersName", &self.author),
            ("modifyTimestamp", &self.time),
        ] {
            node.replace(attribute, vec![value.clone().into_bytes()]);
        }
    }
}

/// Checks an entry against the schema and sets its structural class.
fn check_schema(schema: &Schema, node: &mut OlcNode, is_new: bool) -> Result<(), ChangeError> {
    let descriptions = node
        .attributes
        .iter()
        .map(|(name, values)| match schema.attribute_description(name.as_bytes()) {
            Ok(description) => Ok((description, values.len())),
            Err(error) => Err(ChangeError::new(
                ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
                format!("{name}: {error}"),
            )),
        })
        .collect::<Result<Vec<(AttributeDescription, usize)>, _>>()?;
    let checked: Vec<CheckedAttribute<'_>> = descriptions
        .iter()
        .map(|(description, value_count)| CheckedAttribute {
            description,
            value_count: *value_count,
        })
        .collect();
    let former = node.texts("structuralObjectClass").next();
    let former = former.and_then(|name| schema.find_object_class(name.as_bytes()));
    let check = EntryCheck {
        former_class: former.map(|class| class.number).filter(|_| !is_new),
        ..EntryCheck::default()
    };
    let classes = node.values("objectClass").iter().map(Vec::as_slice);
    let structural = check
        .check(schema, classes, &checked)
        .map_err(|error| ChangeError::new(error.result_code, error.diagnostic_message))?;
    let name = schema.object_class(structural).name().as_bytes().to_vec();
    node.set("structuralObjectClass", vec![name]);
    Ok(())
}

/// Whether two values of an attribute are the same by its equality rule.
fn same(schema: &Schema, attribute: &str, one: &[u8], other: &[u8]) -> bool {
    let found = schema.find_attribute_type(attribute.as_bytes());
    let Some(rule) = found.and_then(|found| found.equality) else {
        return one == other;
    };
    let normal = |value: &[u8]| {
        let mut out = Vec::new();
        (rule.normalize_value)(schema, value, &mut out).ok().map(|()| out)
    };
    match (normal(one), normal(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Whether a number shows the place of a node among its siblings.
pub(super) fn is_numbered(node: &OlcNode, is_below_root: bool) -> bool {
    match node.kind() {
        Some(OlcKind::Schema) => !is_below_root,
        Some(OlcKind::Global) | None => false,
        Some(_) => true,
    }
}

/// Databases begin with 1: the frontend is -1, cn=config is 0.
fn first_number(kind: OlcKind) -> i64 {
    i64::from(kind == OlcKind::Database)
}

/// Whether it is one of the two databases with a fixed place.
pub(super) fn is_fixed(node: &OlcNode) -> bool {
    node.kind() == Some(OlcKind::Database) && matches!(node.index().0, Some(-1 | 0))
}

/// Numbers siblings of one kind in their present order.
pub(super) fn renumber(siblings: &mut [OlcNode], kind: OlcKind) {
    let of_kind = siblings
        .iter_mut()
        .filter(|node| node.kind() == Some(kind) && !is_fixed(node));
    for (number, node) in (first_number(kind)..).zip(of_kind) {
        node.renumber(number);
    }
}

/// The position in `siblings` for a node of this kind with a number: before the node that has the number now.
pub(super) fn place(siblings: &[OlcNode], kind: OlcKind, number: Option<i64>) -> usize {
    let wanted = number.unwrap_or(i64::MAX);
    let before = siblings.iter().position(|node| {
        let Some(other) = node.kind() else { return false };
        other > kind || (other == kind && node.position() >= wanted)
    });
    before.unwrap_or(siblings.len())
}
