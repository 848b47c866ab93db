//! What one `syncrepl` line says of the content: base, scope, attributes, names.

use ironbark_model::{AttributeDescription, Dn, Schema, dn::name_and_uid, syntax::oid};
use ironbark_store::DitScope;

use crate::{WellKnown, search::Selection};

/// What one `syncrepl` line says of the content.
#[derive(Clone, PartialEq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the line, or of its database"
)]
pub struct ReplicaMapping {
    /// The number of the line in its database.
    pub line: u16,
    /// `searchbase`: the base at the provider.
    pub remote_base: Dn,
    /// The base here. It differs with `suffixmassage`: then names, and values that are names, change with it.
    pub local_base: Dn,
    /// `scope`, from the base.
    pub scope: DitScope,
    /// `filter`, with names as they are here. Empty: all entries. It decides which entries may be absent; the provider
    /// decides which it sends.
    pub filter: Box<str>,
    /// `attrs` and `exattrs`.
    pub attributes: AttributeChoice,
    /// `schemachecking`: entries are checked as by add. Otherwise their names and attribute types must be known, and
    /// nothing else is checked.
    pub schema_checking: bool,
    /// Whether entries without a valid `entryCSN` are refused. Otherwise such an entry is compared by its content and
    /// stamped here.
    pub needs_csn: bool,
    /// Whether writes are also made elsewhere (`multiprovider`): conflicts are decided by `entryCSN`, and deletes are
    /// final. Otherwise the provider is right.
    pub multi_provider: bool,
    /// Whether all that is here comes from this provider: it is the only one, and nobody writes here. Otherwise an
    /// entry that the provider does not have yet may have come from elsewhere.
    pub is_sole: bool,
    /// Whether changes come from the provider's log (`syncdata`): conflicts are decided value by value.
    pub merges_values: bool,
    /// Whether the provider has no CSNs, and changes get those of this server.
    pub own_csns: bool,
    /// Author of the changes: the consumer's rootdn.
    pub author: Dn,
}

/// The attributes that a consumer asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttributeChoice {
    /// `attrs`: descriptions, `*`, `+`, `@class`. Empty: all.
    pub attributes: Vec<Box<str>>,
    /// `exattrs`: these are not asked for.
    pub excluded: Vec<Box<str>>,
}

impl ReplicaMapping {
    /// The name here of a name at the provider. `None`: it is outside of base and scope.
    pub(super) fn local_name(&self, remote: &Dn) -> Option<Dn> {
        let local = remote.rebase(&self.remote_base, &self.local_base)?;
        Some(local).filter(|local| self.holds(local))
    }

    /// Whether a name here is in base and scope.
    pub(super) fn holds(&self, name: &Dn) -> bool {
        match self.scope {
            DitScope::Base => *name == self.local_base,
            DitScope::OneLevel => name.is_child_of(&self.local_base),
            DitScope::Subtree => name.is_within(&self.local_base),
            DitScope::Children => name.is_within(&self.local_base) && *name != self.local_base,
        }
    }

    /// A value as it is here: a name at or below the provider's base is one at or below the base here.
    pub(super) fn local_value(&self, schema: &Schema, description: &AttributeDescription, value: &[u8]) -> Vec<u8> {
        let syntax = schema.attribute_type(description.attribute_type).syntax;
        let is_name = matches!(syntax.validated_as, oid::DN | oid::NAME_AND_OPTIONAL_UID);
        if self.remote_base == self.local_base || !is_name {
            return value.to_vec();
        }
        let with_uid = syntax.validated_as == oid::NAME_AND_OPTIONAL_UID;
        let (name, uid) = if with_uid {
            name_and_uid::split(value)
        } else {
            (value, None)
        };
        let moved = Dn::parse(schema, name)
            .ok()
            .and_then(|name| name.rebase(&self.remote_base, &self.local_base));
        let Some(moved) = moved else { return value.to_vec() };
        let mut local = moved.pretty().as_bytes().to_vec();
        if let Some(uid) = uid {
            local.push(b'#');
            local.extend_from_slice(uid);
        }
        local
    }
}

/// The attributes of a mapping, resolved under a schema.
pub(super) struct Asked {
    /// `None`: all.
    chosen: Option<Selection>,
    excluded: Option<Selection>,
}

impl Asked {
    pub(super) fn of(schema: &Schema, choice: &AttributeChoice) -> Self {
        let resolve = |names: &[Box<str>]| {
            if names.is_empty() {
                return None;
            }
            let mut selection = Selection::default();
            selection.resolve(schema, names.iter().map(|name| name.as_bytes()), None);
            Some(selection)
        };
        Self {
            chosen: resolve(&choice.attributes),
            excluded: resolve(&choice.excluded),
        }
    }

    /// Whether an attribute is the provider's. Others are left as they are here.
    pub(super) fn includes(&self, schema: &Schema, known: &WellKnown, description: &AttributeDescription) -> bool {
        let always = [
            &known.object_class,
            &known.structural_object_class,
            &known.entry_uuid,
            &known.entry_csn,
        ];
        let selects = |selection: &Selection| selection.selects(schema, description, None);
        always.contains(&description)
            || self.chosen.as_ref().is_none_or(selects) && !self.excluded.as_ref().is_some_and(selects)
    }
}
