//! Which attributes a search returns (RFC 4511 §4.5.1.8, RFC 3673 `+`, RFC 4529 `@class`, `1.1`, language ranges of RFC 3866).

use ironbark_model::{
    AttributeDescription, Schema,
    schema::{ClassNumber, TypeNumber, Usage},
};
use ironbark_store::Kinds;
use smallvec::SmallVec;

/// A resolved attribute list. Unknown names select nothing and are no error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// `*`, or an empty list.
    pub(crate) all_user: bool,
    /// `+`.
    pub(crate) all_operational: bool,
    /// Named descriptions; each also selects its subtypes and option supersets.
    pub(crate) named: SmallVec<[AttributeDescription; 8]>,
    /// `@class`: attributes of these classes and their superclasses.
    pub(crate) types_of_classes: Vec<TypeNumber>,
    /// `@extensibleObject` selects every user attribute, like `*`; others are resolved into `types_of_classes`.
    pub(crate) everything_of_class: bool,
}

impl Selection {
    /// Resolves a list, reusing memory.
    pub(crate) fn resolve<'a>(&mut self, schema: &Schema, names: impl Iterator<Item = &'a [u8]>) {
        self.clear();
        let mut empty = true;
        for name in names {
            empty = false;
            match name {
                b"*" => self.all_user = true,
                b"+" => self.all_operational = true,
                b"1.1" => {}
                [b'@', class @ ..] => self.add_class(schema, class),
                _ => self.add_name(schema, name),
            }
        }
        self.all_user |= empty;
    }

    /// Selects nothing, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.named.clear();
        self.types_of_classes.clear();
        (self.all_user, self.all_operational, self.everything_of_class) = (false, false, false);
    }

    /// Whether nothing can be selected: the entry's name alone is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        !self.all_user
            && !self.all_operational
            && !self.everything_of_class
            && self.named.is_empty()
            && self.types_of_classes.is_empty()
    }

    /// Whether an attribute is selected.
    pub(crate) fn selects(&self, schema: &Schema, description: &AttributeDescription) -> bool {
        let operational = schema.attribute_type(description.attribute_type).usage != Usage::UserApplications;
        let Kinds { user, operational: all } = self.kinds();
        (if operational { all } else { user }) || self.lists(schema, description)
    }

    /// The kinds of attributes that are selected whole.
    #[inline]
    pub(crate) fn kinds(&self) -> Kinds {
        Kinds {
            user: self.all_user || self.everything_of_class,
            operational: self.all_operational,
        }
    }

    /// Whether an attribute is selected by its name or by that of a class.
    pub(crate) fn lists(&self, schema: &Schema, description: &AttributeDescription) -> bool {
        self.names(schema, description) || self.types_of_classes.contains(&description.attribute_type)
    }

    /// Whether an attribute is selected by its name (not by `*` or `+`).
    pub(crate) fn names(&self, schema: &Schema, description: &AttributeDescription) -> bool {
        self.named
            .iter()
            .any(|named| schema.is_description_subtype(description, named))
    }

    fn add_class(&mut self, schema: &Schema, name: &[u8]) {
        let Some(class) = schema.find_object_class(name) else {
            return;
        };
        if class
            .names
            .iter()
            .any(|name| name.eq_ignore_ascii_case("extensibleObject"))
        {
            self.everything_of_class = true;
            return;
        }
        let classes: &[ClassNumber] = schema.superclasses(class.number);
        for number in classes {
            if let Some(class) = schema.object_classes().get(number.0 as usize) {
                self.types_of_classes.extend(class.must.iter().chain(&class.may));
            }
        }
    }

    fn add_name(&mut self, schema: &Schema, name: &[u8]) {
        if let Ok(description) = schema.attribute_description(name) {
            self.named.push(description);
        }
    }
}
