//! slapo-memberof(5): members of a group name it in their `memberOf`, in the same transaction as the group's change.
//!
//! A group is an entry of the group class. Changes of groups are followed to the members; with `memberof-refint`,
//! changes of members are followed to their groups. If a change cannot be followed (a member does not exist, a group
//! would lose its last member), it is logged and left, as slapd leaves it.

mod computed;
mod dangling;
mod deltas;
mod follow;
mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError, edit,
    overlay::{AppliedEffect, ContentHooks, EffectHooks, Execution, Overlay},
};
use ironbark_model::{
    Attribute, AttributeDescription, Dn, Entry, ResultCode, Schema, dn::name_and_uid, schema::ClassNumber,
};

pub use settings::{Dangling, MemberofConfig};

use crate::row::Row;

/// What there is to know of it.
pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "memberof",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcMemberOfConfig", "olcMemberOf"],
            oid: "3.18.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<MemberofConfig>,
        schema: "",
        introduction: "cn=Subschema shows memberOf when the overlay, or the module of its name, is loaded. Entries may \
            have it in any case.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
pub struct Memberof {
    schema: Arc<Schema>,
    group_class: ClassNumber,
    member: AttributeDescription,
    /// The attribute of a member that names its groups.
    reverse: AttributeDescription,
    object_class: AttributeDescription,
    modifiers_name: AttributeDescription,
    modifier: Option<Dn>,
    dangling: Dangling,
    dangling_error: ResultCode,
    referential_integrity: bool,
    check_added: bool,
    max_read: u32,
    watched: Vec<AttributeDescription>,
}

/// The change of a name in an attribute of another entry.
#[derive(Clone, Copy, Debug)]
enum Link<'a> {
    Add(&'a Dn),
    Delete(&'a Dn),
}

impl Memberof {
    /// Makes it from its settings.
    ///
    /// # Errors
    /// The schema lacks the class or an attribute.
    pub fn new(settings: &MemberofConfig, schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            schema
                .attribute_description(name.as_bytes())
                .map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let group_class = schema
            .find_object_class(settings.group_class.as_bytes())
            .ok_or_else(|| format!("unable to find group objectClass=\"{}\"", settings.group_class))?
            .number;
        let member = attribute(&settings.member_attribute)?;
        let reverse = attribute(&settings.memberof_attribute)?;
        let object_class = attribute("objectClass")?;
        Ok(Self {
            group_class,
            watched: vec![member.clone(), reverse.clone(), object_class.clone()],
            member,
            reverse,
            object_class,
            modifiers_name: attribute("modifiersName")?,
            modifier: settings.modifier.clone(),
            dangling: settings.dangling,
            dangling_error: ResultCode(settings.dangling_error),
            referential_integrity: settings.referential_integrity,
            check_added: settings.check_added && !settings.computed,
            max_read: settings.max_read,
            schema: Arc::clone(schema),
        })
    }

    /// Whether classes make an entry a group.
    fn is_group(&self, classes: &[Vec<u8>]) -> bool {
        classes
            .iter()
            .filter_map(|name| self.schema.find_object_class(name))
            .any(|class| self.schema.superclasses(class.number).contains(&self.group_class))
    }

    /// The name in a value of the member or memberOf attribute.
    fn name_in(&self, value: &[u8]) -> Option<Dn> {
        Dn::parse(&self.schema, name_and_uid::split(value).0).ok()
    }

    /// Adds a name to, or deletes it from, an attribute of the entry `target`.
    fn link(
        &self,
        execution: &mut Execution<'_, '_>,
        target: &Dn,
        attribute: &AttributeDescription,
        link: Link<'_>,
    ) -> Result<(), OperationError> {
        let (kind, name, word) = match link {
            Link::Add(name) => (ModificationKind::Add, name, "add"),
            Link::Delete(name) => (ModificationKind::Delete, name, "delete"),
        };
        let value = vec![name.pretty().as_bytes().to_vec()];
        let mut modifications = vec![Modification::internal(&self.schema, kind, attribute, value)];
        let root = execution.context.settings.root_dn.as_ref();
        if let Some(modifier) = self.modifier.as_ref().or(root).filter(|dn| !dn.is_root()) {
            let value = vec![modifier.pretty().as_bytes().to_vec()];
            modifications.push(Modification::internal(
                &self.schema,
                ModificationKind::Replace,
                &self.modifiers_name,
                value,
            ));
        }
        if let Some(refusal) = edit::modify_internally(execution, target, &modifications)? {
            let origin = execution.origin;
            execution.warn(format_args!(
                "conn={} op={}: memberof_value_modify DN=\"{target}\" {word} {}=\"{name}\" failed err={}",
                origin.connection,
                origin.operation,
                self.schema.description_text(attribute),
                refusal.result_code.0,
            ));
        }
        Ok(())
    }
}

/// The overlay.
///
/// # Errors
/// The schema lacks an attribute or class.
fn make(settings: &MemberofConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let memberof = Arc::new(Memberof::new(settings, schema)?);
    let judges = memberof.dangling != Dangling::Ignore || memberof.check_added;
    if settings.computed {
        return Ok(Overlay {
            content: judges.then(|| Arc::clone(&memberof) as _),
            derivation: Some(Arc::new(computed::Groups::new(memberof))),
            ..Overlay::new("memberof")
        });
    }
    Ok(Overlay {
        content: judges.then(|| Arc::clone(&memberof) as _),
        effects: Some(memberof),
        ..Overlay::new("memberof")
    })
}

impl ContentHooks for Memberof {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        if self.check_added {
            dangling::add_existing_groups(self, execution, entry)?;
        }
        dangling::check_new_group(self, execution, entry)
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        dangling::check_changes(self, execution, dn, modifications)
    }
}

impl EffectHooks for Memberof {
    fn watched(&self) -> &[AttributeDescription] {
        &self.watched
    }

    fn maintained(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.reverse)
    }

    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        follow::effect(self, execution, applied)
    }
}

/// The values of one attribute among some.
fn values_of<'a>(attributes: &'a [Attribute], description: &AttributeDescription) -> &'a [Vec<u8>] {
    let found = attributes
        .iter()
        .find(|attribute| attribute.description == *description);
    found.map_or(&[], |attribute| &attribute.values)
}
