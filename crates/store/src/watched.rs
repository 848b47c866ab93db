//! The entries that derived attributes depend on.

use ironbark_model::{
    Schema,
    schema::{ClassNumber, TypeNumber},
};

/// See [`crate::Database::watch`].
#[derive(Default, Debug)]
pub(crate) struct Watched {
    pub(crate) types: Vec<TypeNumber>,
    pub(crate) classes: Vec<ClassNumber>,
}

impl Watched {
    /// Whether an entry with these attribute types and values of objectClass is one of them.
    pub(crate) fn has<'e>(
        &self,
        schema: &Schema,
        mut types: impl Iterator<Item = TypeNumber>,
        mut classes: impl Iterator<Item = &'e [u8]>,
    ) -> bool {
        let is_type = |held| self.types.iter().any(|watched| schema.is_subtype(held, *watched));
        let is_class = |name: &[u8]| {
            schema.find_object_class(name).is_some_and(|class| {
                let above = schema.superclasses(class.number);
                let mut watched = self.classes.iter();
                watched.any(|watched| *watched == class.number || above.contains(watched))
            })
        };
        !self.types.is_empty() && types.any(is_type) || !self.classes.is_empty() && classes.any(is_class)
    }
}
