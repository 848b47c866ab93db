//! A modification that comes after newer ones of the same entry: what is left of it.
//!
//! Each value counts as the newest change of it says; a change of the whole attribute is one of all its values. So
//! servers that get the same changes in different orders end with the same values. These are slapd's outcomes, too.

use std::collections::HashMap;

use ironbark_model::{AttributeDescription, Schema};

use crate::request::modification::{Modification, ModificationKind};

/// What newer changes have done to one attribute.
#[derive(Default)]
struct Newer<'a> {
    /// All of its values were replaced or deleted.
    whole: bool,
    /// It was incremented.
    incremented: bool,
    /// By normal form: the value, if it was added last; `None`, if it was deleted.
    values: HashMap<&'a [u8], Option<&'a Vec<u8>>>,
    /// Normal forms in the order of the changes.
    order: Vec<&'a [u8]>,
}

/// What is left of a modification.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Merged {
    pub(super) left: Vec<Modification>,
    /// Whether a newer change says otherwise of one of its values.
    pub(super) is_lossy: bool,
}

/// What is left of the modifications `older`, if `newer` ones were made before, in the order of their CSNs.
pub(super) fn merge(schema: &Schema, older: &[Modification], newer: &[Modification]) -> Merged {
    let mut attributes: HashMap<&AttributeDescription, Newer<'_>> = HashMap::new();
    for modification in newer {
        attributes
            .entry(&modification.description)
            .or_default()
            .take(modification);
    }
    let mut merged = Merged::default();
    for modification in older {
        let Some(newer) = attributes.get(&modification.description) else {
            merged.left.push(modification.clone());
            continue;
        };
        merged.is_lossy |= newer.is_loss(schema, modification);
        merged.left.extend(newer.left_of(schema, modification));
    }
    merged
}

impl<'a> Newer<'a> {
    fn take(&mut self, modification: &'a Modification) {
        let adds = match modification.kind {
            ModificationKind::Increment => {
                self.incremented = true;
                return;
            }
            ModificationKind::Delete if !modification.values.is_empty() => false,
            ModificationKind::Replace | ModificationKind::Delete => {
                self.whole = true;
                return;
            }
            ModificationKind::Add | ModificationKind::AddIfAbsent => true,
        };
        for (value, normal) in modification.values.iter().zip(&modification.normalized) {
            if self.values.insert(normal, adds.then_some(value)).is_none() {
                self.order.push(normal);
            }
        }
    }

    /// Whether the newer changes say otherwise of what the older one has done.
    fn is_loss(&self, schema: &Schema, older: &Modification) -> bool {
        let is_single = schema.attribute_type(older.description.attribute_type).single_value;
        let of_value = |normal: &Vec<u8>| self.values.get(normal.as_slice());
        let is_taken = is_single && self.values.values().any(Option::is_some);
        let mut values = older.normalized.iter();
        match older.kind {
            ModificationKind::Delete if self.whole => false,
            _ if self.whole => true,
            ModificationKind::Increment => !self.values.is_empty(),
            _ if self.incremented => true,
            ModificationKind::Delete => values.any(|normal| matches!(of_value(normal), Some(Some(_)))),
            _ if is_taken => values.any(|normal| !matches!(of_value(normal), Some(Some(_)))),
            _ => values.any(|normal| matches!(of_value(normal), Some(None))),
        }
    }

    fn left_of(&self, schema: &Schema, older: &Modification) -> Option<Modification> {
        let is_single = schema.attribute_type(older.description.attribute_type).single_value;
        let is_added = self.values.values().any(Option::is_some);
        if self.whole || is_single && is_added {
            return None;
        }
        match older.kind {
            ModificationKind::Increment => self.values.is_empty().then(|| older.clone()),
            // The newer number was made of what was there.
            _ if self.incremented => None,
            ModificationKind::Add | ModificationKind::AddIfAbsent => self.without_newer(older),
            ModificationKind::Delete if !older.values.is_empty() => self.without_newer(older),
            ModificationKind::Delete | ModificationKind::Replace => {
                let mut left = self.without_newer(older).unwrap_or_else(|| emptied(older));
                left.kind = ModificationKind::Replace;
                for normal in &self.order {
                    if let Some(Some(value)) = self.values.get(normal) {
                        left.values.push((*value).clone());
                        left.normalized.push(normal.to_vec());
                    }
                }
                Some(left)
            }
        }
    }

    /// The modification without the values of which a newer change is known.
    fn without_newer(&self, older: &Modification) -> Option<Modification> {
        let mut left = emptied(older);
        for (value, normal) in older.values.iter().zip(&older.normalized) {
            if !self.values.contains_key(normal.as_slice()) {
                left.values.push(value.clone());
                left.normalized.push(normal.clone());
            }
        }
        (!left.values.is_empty()).then_some(left)
    }
}

fn emptied(modification: &Modification) -> Modification {
    Modification {
        values: Vec::new(),
        normalized: Vec::new(),
        ..modification.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kind attribute value...`, with `+`, `-`, `=`, `#` as kinds.
    fn modification(schema: &Schema, text: &str) -> Modification {
        let mut words = text.split(' ');
        let kind = match words.next() {
            Some("+") => ModificationKind::Add,
            Some("-") => ModificationKind::Delete,
            Some("=") => ModificationKind::Replace,
            _ => ModificationKind::Increment,
        };
        let attribute = words.next().unwrap_or_default();
        let description = schema
            .attribute_description(attribute.as_bytes())
            .expect("an attribute");
        let values = words.map(|value| value.as_bytes().to_vec()).collect();
        Modification::internal(schema, kind, &description, values)
    }

    fn left(older: &[&str], newer: &[&str]) -> Vec<String> {
        let schema = Schema::system();
        let all =
            |texts: &[&str]| -> Vec<Modification> { texts.iter().map(|text| modification(&schema, text)).collect() };
        let merged = merge(&schema, &all(older), &all(newer)).left;
        let text = |left: &Modification| {
            let kind = match left.kind {
                ModificationKind::Add | ModificationKind::AddIfAbsent => "+",
                ModificationKind::Delete => "-",
                ModificationKind::Replace => "=",
                ModificationKind::Increment => "#",
            };
            let values = left.values.iter().map(|value| String::from_utf8_lossy(value));
            [kind.into(), left.name.as_str().into()]
                .into_iter()
                .chain(values)
                .collect::<Vec<_>>()
                .join(" ")
        };
        merged.iter().map(text).collect()
    }

    #[test]
    fn the_newest_change_of_a_value_counts() {
        for (older, newer, expected) in [
            ("+ description a b", "+ cn x", Some("+ description a b")),
            ("+ description a b", "- description a", Some("+ description b")),
            ("+ description a", "+ description A", None),
            ("- description a b", "+ description a", Some("- description b")),
            ("+ description a", "= description c", None),
            ("- description a", "- description", None),
            ("= description a b", "+ description c", Some("= description a b c")),
            ("= description a b", "- description a", Some("= description b")),
            ("- description", "+ description c", Some("= description c")),
            ("- description", "- description c", Some("= description")),
            ("= description a", "= description", None),
        ] {
            let expected: Vec<&str> = expected.into_iter().collect();
            assert_eq!(left(&[older], &[newer]), expected, "{older} after {newer}");
        }
    }

    #[test]
    fn a_loss_is_what_a_newer_change_contradicts() {
        let schema = Schema::system();
        for (older, newer, is_lossy) in [
            ("+ description a", "+ cn x", false),
            ("+ description a", "+ description A b", false),
            ("+ description a b", "- description b", true),
            ("+ description a", "= description c", true),
            ("- description a", "= description c", false),
            ("- description a", "+ description a", true),
            ("- description", "+ description a", false),
            ("= description a", "- description b", false),
            ("= uidNumber 1", "+ uidNumber 2", true),
            ("= uidNumber 1", "+ uidNumber 1", false),
            ("= uidNumber 1", "- uidNumber 2", false),
            ("# uidNumber 1", "# uidNumber 1", false),
            ("# uidNumber 1", "+ uidNumber 1", true),
            ("+ uidNumber 1", "# uidNumber 1", true),
        ] {
            let [older, newer] = [older, newer].map(|text| [modification(&schema, text)]);
            let merged = merge(&schema, &older, &newer);
            assert_eq!(merged.is_lossy, is_lossy, "{older:?} after {newer:?}");
        }
    }

    #[test]
    fn an_attribute_with_one_value_is_as_the_newest_change_says() {
        assert_eq!(left(&["+ uidNumber 1"], &["+ uidNumber 2"]), [""; 0]);
        assert_eq!(left(&["= uidNumber 1"], &["- uidNumber 7"]), ["= uidNumber 1"]);
        assert_eq!(
            left(&["- uidNumber 1", "+ uidNumber 2"], &["- uidNumber 1", "+ uidNumber 3"]),
            [""; 0]
        );
    }

    #[test]
    fn increments_add_up_and_what_was_incremented_is_not_set_back() {
        assert_eq!(left(&["# uidNumber 1"], &["# uidNumber 2"]), ["# uidNumber 1"]);
        assert_eq!(left(&["# uidNumber 1"], &["= uidNumber 2"]), [""; 0]);
        assert_eq!(left(&["= uidNumber 1"], &["# uidNumber 2"]), [""; 0]);
    }
}
