//! The attributes that a search returns (RFC 4511 §4.5.1.8, RFC 3673 `+`, RFC 4529 `@class`, `1.1`, language ranges of
//! RFC 3866).

use ironbark_model::{
    AttributeDescription, Budget, Schema,
    schema::{ClassNumber, Usage},
};
use ironbark_store::Kinds;
use smallvec::SmallVec;

use self::many::Many;

mod many;
#[cfg(test)]
mod tests;

/// One specification of the dereference control: the DNs in `attribute` are looked up, and `selection` of their entries
/// is returned.
#[derive(Clone, Debug)]
pub(crate) struct DereferenceSpecification {
    pub(crate) attribute: AttributeDescription,
    pub(crate) name: Box<[u8]>,
    pub(crate) selection: Selection,
}

/// At most this many names are compared one after the other.
const FEW_NAMES: usize = 16;
/// At most this many options have all these names together.
const FEW_OPTIONS: usize = 64;
/// This many octets of a name cost one more step to resolve.
const OCTETS_PER_STEP: usize = 16;
const NAME_STEPS: u64 = 2;

/// A resolved attribute list. Unknown names select nothing; they are not an error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// The list has `*`, or is empty.
    pub(crate) all_user: bool,
    /// The list has `+`.
    pub(crate) all_operational: bool,
    /// The named descriptions, if they are few. Each also selects its subtypes, and descriptions with more options.
    named: SmallVec<[AttributeDescription; 8]>,
    /// The named descriptions if they are many, and the attributes of classes.
    many: Option<Box<Many>>,
    /// The list has `@extensibleObject`, which selects every user attribute, like `*`. Other classes are resolved into
    /// `many`.
    everything_of_class: bool,
}

impl Selection {
    /// Resolves a list, and reuses memory. Long lists take steps. If the steps run out, the selection is meaningless.
    pub(crate) fn resolve<'a>(
        &mut self,
        schema: &Schema,
        names: impl Iterator<Item = &'a [u8]>,
        budget: Option<&Budget>,
    ) {
        self.clear();
        let mut classes: Vec<ClassNumber> = Vec::new();
        let mut seen = 0_usize;
        for name in names {
            seen += 1;
            if seen > FEW_NAMES
                && budget.is_some_and(|budget| !budget.spend(NAME_STEPS + (name.len() / OCTETS_PER_STEP) as u64))
            {
                // The memory is not kept either.
                *self = Self::default();
                return;
            }
            match name {
                b"*" => self.all_user = true,
                b"+" => self.all_operational = true,
                b"1.1" => {}
                [b'@', class @ ..] => classes.extend(self.class(schema, class)),
                _ => self.named.extend(schema.attribute_description(name).ok()),
            }
        }
        self.all_user |= seen == 0;
        let options: usize = self.named.iter().map(|one| one.options.len()).sum();
        let are_many = self.named.len() > FEW_NAMES || options > FEW_OPTIONS;
        if are_many || !classes.is_empty() {
            let looked_up = if are_many {
                std::mem::take(&mut self.named).into_vec()
            } else {
                Vec::new()
            };
            self.many = Some(Box::new(Many::new(schema, looked_up, classes, budget)));
        }
    }

    /// Selects nothing, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.named.clear();
        self.many = None;
        (self.all_user, self.all_operational, self.everything_of_class) = (false, false, false);
    }

    /// Whether nothing is selected: only the entry's name is returned.
    pub(crate) fn is_empty(&self) -> bool {
        !self.all_user
            && !self.all_operational
            && !self.everything_of_class
            && self.named.is_empty()
            && self.many.as_ref().is_none_or(|many| many.is_empty())
    }

    /// Whether derived attributes may be selected. `covers`: whether an attribute or a subtype of it is derived;
    /// `has_user_attributes`: whether some user attribute is.
    #[inline]
    pub(crate) fn may_select_derived(
        &self,
        covers: impl Fn(&AttributeDescription) -> bool,
        has_user_attributes: bool,
    ) -> bool {
        self.all_operational
            || self.many.is_some()
            || has_user_attributes && (self.all_user || self.everything_of_class)
            || self.named.iter().any(covers)
    }

    /// Whether an attribute is selected. For the budget see [`Selection::lists`].
    pub(crate) fn selects(&self, schema: &Schema, description: &AttributeDescription, budget: Option<&Budget>) -> bool {
        let operational = schema.attribute_type(description.attribute_type).usage != Usage::UserApplications;
        let Kinds { user, operational: all } = self.kinds();
        (if operational { all } else { user }) || self.lists(schema, description, budget)
    }

    /// The kinds of attributes that are all selected.
    #[inline]
    pub(crate) fn kinds(&self) -> Kinds {
        Kinds {
            user: self.all_user || self.everything_of_class,
            operational: self.all_operational,
        }
    }

    /// Whether an attribute is selected by its own name or by a class. Many names take steps. If the steps run out, the
    /// answer is meaningless.
    #[inline]
    pub(crate) fn lists(&self, schema: &Schema, description: &AttributeDescription, budget: Option<&Budget>) -> bool {
        // Most searches name no attribute.
        (!self.named.is_empty() || self.many.is_some()) && self.is_listed(schema, description, budget)
    }

    fn is_listed(&self, schema: &Schema, description: &AttributeDescription, budget: Option<&Budget>) -> bool {
        let mut named = self.named.iter();
        named.any(|named| schema.is_description_subtype(description, named))
            || self
                .many
                .as_ref()
                .is_some_and(|many| many.list(schema, description, budget))
    }

    /// Finds a class whose attributes are selected.
    fn class(&mut self, schema: &Schema, name: &[u8]) -> Option<ClassNumber> {
        let class = schema.find_object_class(name)?;
        let mut names = class.names.iter();
        if names.any(|name| name.eq_ignore_ascii_case("extensibleObject")) {
            self.everything_of_class = true;
            return None;
        }
        Some(class.number)
    }
}
