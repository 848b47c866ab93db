//! The closures of SUP, MUST and MAY, computed once per schema.

use super::{ClassNumber, TypeNumber};

/// Transitive relations by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closures {
    /// Chain from the topmost type down to the type itself: `b` is above `a` exactly when it stands in `a`'s chain at
    /// its own depth.
    pub(super) type_chains: Vec<Box<[TypeNumber]>>,
    pub(super) subtypes: Vec<Box<[TypeNumber]>>,
    pub(super) superclasses: Vec<Box<[ClassNumber]>>,
    pub(super) subclasses: Vec<Box<[ClassNumber]>>,
    pub(super) required: Vec<Box<[TypeNumber]>>,
    pub(super) allowed: Vec<Box<[TypeNumber]>>,
}

impl Closures {
    pub(crate) fn is_subtype(&self, a: TypeNumber, b: TypeNumber) -> bool {
        let (Some(low), Some(high)) = (self.type_chains.get(a.0 as usize), self.type_chains.get(b.0 as usize)) else {
            return false;
        };
        low.get(high.len().wrapping_sub(1)) == Some(&b)
    }

    pub(crate) fn supertypes(&self, number: TypeNumber) -> &[TypeNumber] {
        at(&self.type_chains, number.0)
    }

    pub(crate) fn subtypes(&self, number: TypeNumber) -> &[TypeNumber] {
        at(&self.subtypes, number.0)
    }

    pub(crate) fn superclasses(&self, number: ClassNumber) -> &[ClassNumber] {
        at(&self.superclasses, number.0)
    }

    pub(crate) fn subclasses(&self, number: ClassNumber) -> &[ClassNumber] {
        at(&self.subclasses, number.0)
    }

    pub(crate) fn required(&self, number: ClassNumber) -> &[TypeNumber] {
        at(&self.required, number.0)
    }

    pub(crate) fn allowed(&self, number: ClassNumber) -> &[TypeNumber] {
        at(&self.allowed, number.0)
    }
}

fn at<T>(lists: &[Box<[T]>], number: u32) -> &[T] {
    lists.get(number as usize).map_or(&[], |list| list)
}
