//! The overlay allowed: what may be added to an entry, by its object classes and by the rights of who asks.

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor},
};
use ironbark_directory::overlay::{
    Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads, Shown, Writable,
};
use ironbark_model::{
    AttributeDescription, Schema,
    schema::{ClassKind, ClassNumber, ObjectClass, TypeNumber},
};
use ironbark_store::{Derived, DerivedCandidates, FilterItem, StoreError, Wanted};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "allowed",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "attributetype ( 1.2.840.113556.1.4.911 NAME 'allowedChildClasses' DESC 'auxiliary classes that may be added to the entry' \
                 EQUALITY objectIdentifierMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.38 NO-USER-MODIFICATION USAGE dSAOperation )\n\
                 attributetype ( 1.2.840.113556.1.4.912 NAME 'allowedChildClassesEffective' DESC 'those of them that the client may add' \
                 EQUALITY objectIdentifierMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.38 NO-USER-MODIFICATION USAGE dSAOperation )\n\
                 attributetype ( 1.2.840.113556.1.4.913 NAME 'allowedAttributes' DESC 'attributes that the entry may have' \
                 EQUALITY objectIdentifierMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.38 NO-USER-MODIFICATION USAGE dSAOperation )\n\
                 attributetype ( 1.2.840.113556.1.4.914 NAME 'allowedAttributesEffective' DESC 'those of them that the client may write' \
                 EQUALITY objectIdentifierMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.38 NO-USER-MODIFICATION USAGE dSAOperation )\n",
        introduction: "Entries show, to who asks for it, what a client may add to them: `allowedAttributes` are the \
            attributes of their object classes, `allowedAttributesEffective` those that the client may write, \
            `allowedChildClasses` all auxiliary classes, and `allowedChildClassesEffective` those that the client may \
            add with the attributes that they require. Who may not read `objectClass` sees none of them; classes that \
            he may not read give no attributes. Compares see them too, filters do not. The overlay has no settings.",
    },
    make: |_, schema| make(schema),
};

/// The overlay.
struct Allowed {
    schema: Arc<Schema>,
    object_class: AttributeDescription,
    names: Names,
    all: [AttributeDescription; 4],
}

struct Names {
    classes: AttributeDescription,
    classes_effective: AttributeDescription,
    attributes: AttributeDescription,
    attributes_effective: AttributeDescription,
}

/// Steps for asking the rules once.
const RULE_STEPS: u64 = 5;

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| format!("{name}: {error}"))
    };
    let names = Names {
        classes: described("allowedChildClasses")?,
        classes_effective: described("allowedChildClassesEffective")?,
        attributes: described("allowedAttributes")?,
        attributes_effective: described("allowedAttributesEffective")?,
    };
    let all = [
        names.classes.clone(),
        names.classes_effective.clone(),
        names.attributes.clone(),
        names.attributes_effective.clone(),
    ];
    let allowed = Allowed {
        schema: Arc::clone(schema),
        object_class: described("objectClass")?,
        names,
        all,
    };
    Ok(Overlay {
        derivation: Some(Arc::new(Always(Arc::new(allowed)))),
        ..Overlay::new("allowed")
    })
}

/// It depends on no definitions in the database.
struct Always(Arc<Allowed>);

impl Derivation for Always {
    fn reads(&self) -> Reads {
        Reads::AsAsker
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

impl Derive for Allowed {
    fn attributes(&self) -> &[AttributeDescription] {
        &[]
    }

    fn shown(&self) -> Shown<'_> {
        Shown::These(&self.all)
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let Some(classes) = self.readable_classes(entry)? else {
            return Ok(());
        };
        let names = &self.names;
        let mut writable = None;
        let wants = |name| wanted.has(name);
        if wants(&names.attributes) || wants(&names.attributes_effective) {
            let types = self.types_of(&classes);
            if wants(&names.attributes_effective) {
                let writable = writable.get_or_insert_with(|| entry.look.writable(&entry.record));
                let may = types
                    .iter()
                    .filter(|number| self.may_write(**number, entry.look, writable));
                found.add(&names.attributes_effective, may.map(|number| self.name_of(*number)));
            }
            if wants(&names.attributes) {
                found.add(&names.attributes, types.iter().map(|number| self.name_of(*number)));
            }
        }
        let auxiliary = || {
            let classes = self.schema.object_classes().iter();
            classes.filter(|class| class.kind == ClassKind::Auxiliary && !class.hidden)
        };
        let name_of = |class: &ObjectClass| class.name().as_bytes().to_vec();
        if wants(&names.classes) {
            found.add(&names.classes, auxiliary().map(name_of));
        }
        if wants(&names.classes_effective) {
            let writable = writable.get_or_insert_with(|| entry.look.writable(&entry.record));
            let may = auxiliary().filter(|class| self.may_add(class, entry.look, writable));
            found.add(&names.classes_effective, may.map(name_of));
        }
        Ok(())
    }

    fn candidates(&self, _: &DerivingLook<'_>, _: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        Ok(DerivedCandidates::nothing())
    }
}

impl Allowed {
    /// The classes of the entry that the client may read, with their superclasses; `None`: it may read none.
    fn readable_classes(&self, entry: &DerivingEntry<'_>) -> Result<Option<Vec<ClassNumber>>, StoreError> {
        let held = match entry.record.values(&self.object_class) {
            Some(held) => held.to_attribute()?.values,
            None => return Ok(None),
        };
        let readable = entry.look.readable(&entry.record, |readable| {
            let may = |value| readable.has(&self.object_class, value);
            may(None).then(|| {
                let named = held.iter().filter(|value| may(Some(value)));
                named.filter_map(|value| self.schema.find_object_class(value)).collect()
            })
        });
        let Some(Some::<Vec<&ObjectClass>>(named)) = readable else {
            return Ok(None);
        };
        let mut classes = Vec::new();
        for class in named {
            for number in self.schema.superclasses(class.number) {
                if !classes.contains(number) {
                    classes.push(*number);
                }
            }
        }
        Ok(Some(classes))
    }

    /// The attributes of some classes, each once.
    fn types_of(&self, classes: &[ClassNumber]) -> Vec<TypeNumber> {
        let mut types = Vec::new();
        for class in classes.iter().map(|number| self.schema.object_class(*number)) {
            for number in class.must.iter().chain(&class.may) {
                if !types.contains(number) {
                    types.push(*number);
                }
            }
        }
        types
    }

    fn name_of(&self, number: TypeNumber) -> Vec<u8> {
        self.schema.attribute_type(number).name().as_bytes().to_vec()
    }

    /// Whether the client may write an attribute.
    fn may_write(&self, number: TypeNumber, look: DerivingLook<'_>, writable: &Writable<'_>) -> bool {
        // Without steps the answer is forgotten.
        look.view.spend(RULE_STEPS)
            && !self.schema.attribute_type(number).no_user_modification
            && writable.has(&AttributeDescription::plain(number), None)
    }

    /// Whether the client may add a class, with the attributes that it requires.
    fn may_add(&self, class: &ObjectClass, look: DerivingLook<'_>, writable: &Writable<'_>) -> bool {
        let name = class.name().as_bytes();
        let required = self.schema.required_types(class.number);
        look.view.spend(RULE_STEPS)
            && writable.has(&self.object_class, Some(name))
            && required
                .iter()
                .filter(|number| **number != self.object_class.attribute_type)
                .all(|number| self.may_write(*number, look, writable))
    }
}
