//! Computes the closures of SUP, MUST and MAY.

use super::super::{AttributeType, ClassNumber, ObjectClass, TypeNumber, closures::Closures};

impl Closures {
    /// Both lists must be free of cycles.
    pub(super) fn compute(types: &[AttributeType], classes: &[ObjectClass]) -> Self {
        let type_chains: Vec<Box<[TypeNumber]>> = types.iter().map(|found| chain(types, found)).collect();
        let mut subtypes: Vec<Vec<TypeNumber>> = types.iter().map(|found| vec![found.number]).collect();
        for chain in &type_chains {
            if let Some((own, above)) = chain.split_last() {
                for superior in above {
                    if let Some(list) = subtypes.get_mut(superior.0 as usize) {
                        list.push(*own);
                    }
                }
            }
        }
        let superclasses: Vec<Box<[ClassNumber]>> = classes.iter().map(|class| above(classes, class)).collect();
        let mut subclasses: Vec<Vec<ClassNumber>> = classes.iter().map(|class| vec![class.number]).collect();
        for list in &superclasses {
            if let Some((own, above)) = list.split_first() {
                for superior in above {
                    if let Some(list) = subclasses.get_mut(superior.0 as usize) {
                        list.push(*own);
                    }
                }
            }
        }
        let gather = |list: &[ClassNumber], with_may: bool| {
            let mut found = Vec::new();
            for class in list.iter().filter_map(|number| classes.get(number.0 as usize)) {
                found.extend_from_slice(&class.must);
                if with_may {
                    found.extend_from_slice(&class.may);
                }
            }
            found.sort_unstable();
            found.dedup();
            found.into_boxed_slice()
        };
        Self {
            required: superclasses.iter().map(|list| gather(list, false)).collect(),
            allowed: superclasses.iter().map(|list| gather(list, true)).collect(),
            type_chains,
            subtypes: subtypes.into_iter().map(Vec::into_boxed_slice).collect(),
            superclasses,
            subclasses: subclasses.into_iter().map(Vec::into_boxed_slice).collect(),
        }
    }
}

fn chain(types: &[AttributeType], bottom: &AttributeType) -> Box<[TypeNumber]> {
    let mut found = vec![bottom.number];
    let mut next = bottom.superior;
    while let Some(number) = next {
        found.push(number);
        next = types.get(number.0 as usize).and_then(|superior| superior.superior);
    }
    found.reverse();
    found.into_boxed_slice()
}

fn above(classes: &[ObjectClass], bottom: &ObjectClass) -> Box<[ClassNumber]> {
    let mut found = vec![bottom.number];
    let mut next = 0;
    while let Some(number) = found.get(next).copied() {
        next += 1;
        for superior in classes.get(number.0 as usize).map_or(&[][..], |class| &class.superiors) {
            if !found.contains(superior) {
                found.push(*superior);
            }
        }
    }
    found.into_boxed_slice()
}
