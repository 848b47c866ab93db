//! Many names in order, so that an attribute can be looked up among them.

use ironbark_model::{
    AttributeDescription, Budget, Schema,
    schema::{ClassNumber, TypeNumber},
};

/// Steps for looking up one attribute.
const LOOK_UP_STEPS: u64 = 2;
/// Number of options that are compared in about one step.
const OPTIONS_PER_STEP: usize = 8;

/// Many selected names, in order.
#[derive(Clone, Debug)]
pub(super) struct Many {
    /// Each name once. Names of the same type are adjacent; the name without options comes first.
    named: Vec<AttributeDescription>,
    /// The attributes of the classes and their superclasses, each once.
    types: Vec<TypeNumber>,
}

impl Many {
    /// Orders the names, unless the steps run out.
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

    /// Whether an attribute is selected.
    pub(super) fn list(&self, schema: &Schema, description: &AttributeDescription, budget: Option<&Budget>) -> bool {
        let mut types = schema.supertypes(description.attribute_type).iter();
        if types.any(|general| self.types.binary_search(general).is_ok()) {
            return true;
        }
        if self.named.is_empty() || !spend(budget, LOOK_UP_STEPS) {
            return false;
        }
        let mut types = schema.supertypes(description.attribute_type).iter();
        types.any(|general| self.names(description, *general, budget))
    }

    /// Whether a name of the type `general` selects the attribute. That type is the attribute's own or a supertype.
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
            // An attribute without options is not selected by names with options.
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

/// Orders a list and removes duplicates, unless the steps run out.
fn each_once<T: Ord>(mut list: Vec<T>, budget: Option<&Budget>) -> Vec<T> {
    if spend(budget, sorting(list.len())) {
        list.sort_unstable();
        list.dedup();
    }
    list
}

/// Steps for ordering this many elements.
fn sorting(count: usize) -> u64 {
    /// Comparisons per step.
    const COMPARED: u64 = 4;
    match count {
        // Ordinary selections cost nothing.
        0..256 => 0,
        count => count as u64 * u64::from(count.ilog2()) / COMPARED,
    }
}

fn spend(budget: Option<&Budget>, steps: u64) -> bool {
    budget.is_none_or(|budget| budget.spend(steps))
}
