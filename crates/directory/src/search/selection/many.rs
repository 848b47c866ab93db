//! Many names, in order: an attribute is looked up among them.

use ironbark_model::{
    AttributeDescription, Budget, Schema,
    schema::{ClassNumber, TypeNumber},
};

/// Steps for looking up an attribute.
const LOOK_UP_STEPS: u64 = 2;
/// Options that are compared in about one step.
const OPTIONS_PER_STEP: usize = 8;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Many {
    /// Each once; those of one type stand together, that without options first.
    named: Vec<AttributeDescription>,
    /// The attributes of classes and their superclasses, each once.
    types: Vec<TypeNumber>,
}

impl Many {
    /// Puts them in order, as far as the steps suffice.
    pub(super) fn new(
        schema: &Schema,
        mut named: Vec<AttributeDescription>,
        classes: Vec<ClassNumber>,
        budget: Option<&Budget>,
    ) -> Self {
        if spend(budget, sorting(named.len())) {
            named.sort_unstable();
            named.dedup();
        }
        let classes = each_once(classes, budget);
        let all = classes.iter().flat_map(|number| schema.superclasses(*number)).copied();
        let mut types = Vec::new();
        for number in each_once(all.collect(), budget) {
            if let Some(class) = schema.object_classes().get(number.0 as usize) {
                types.extend(class.must.iter().chain(&class.may));
            }
        }
        Self {
            named,
            types: each_once(types, budget),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.types.is_empty()
    }

    pub(super) fn has_names(&self) -> bool {
        !self.named.is_empty()
    }

    /// Whether they select an attribute.
    pub(super) fn list(&self, schema: &Schema, description: &AttributeDescription, budget: Option<&Budget>) -> bool {
        if self.types.binary_search(&description.attribute_type).is_ok() {
            return true;
        }
        if self.named.is_empty() || !spend(budget, LOOK_UP_STEPS) {
            return false;
        }
        let mut types = schema.supertypes(description.attribute_type).iter();
        types.any(|general| self.names(description, *general, budget))
    }

    /// Whether a name of this type, which is that of the attribute or above it, selects the attribute.
    fn names(&self, description: &AttributeDescription, general: TypeNumber, budget: Option<&Budget>) -> bool {
        let start = self.named.partition_point(|named| named.attribute_type < general);
        let mut compared = 0;
        for named in self.named.get(start..).unwrap_or_default() {
            if named.attribute_type != general {
                break;
            }
            if named.options.is_empty() {
                return true;
            }
            // What has no options has none of those that the others ask for.
            if description.options.is_empty() {
                break;
            }
            compared += 1 + named.options.len() * description.options.len();
            if compared >= OPTIONS_PER_STEP {
                if !spend(budget, (compared / OPTIONS_PER_STEP) as u64) {
                    return false;
                }
                compared %= OPTIONS_PER_STEP;
            }
            if description.options_include(named) {
                return true;
            }
        }
        false
    }
}

/// In order, as far as the steps suffice.
fn each_once<T: Ord>(mut list: Vec<T>, budget: Option<&Budget>) -> Vec<T> {
    if spend(budget, sorting(list.len())) {
        list.sort_unstable();
        list.dedup();
    }
    list
}

/// Steps for putting so many in order.
fn sorting(count: usize) -> u64 {
    /// Comparisons of a step.
    const COMPARED: u64 = 4;
    match count {
        // What ordinary selections have.
        0..256 => 0,
        count => count as u64 * u64::from(count.ilog2()) / COMPARED,
    }
}

fn spend(budget: Option<&Budget>, steps: u64) -> bool {
    budget.is_none_or(|budget| budget.spend(steps))
}
