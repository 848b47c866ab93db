//! Attribute types that the provider has and the schema here lacks.

use std::collections::BTreeSet;

use ironbark_model::Schema;

/// Names that are remembered. Active Directory has about 1,500 attribute types.
const MOST_NAMES: usize = 4_096;
/// Octets of a name that is remembered.
const LONGEST_NAME: usize = 256;
/// Names in a message of the log.
const MOST_SHOWN: usize = 20;

/// Attribute types that were left out, and those of them that were not before.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    names: BTreeSet<Box<str>>,
    new: Vec<Box<str>>,
}

impl LeftOut {
    pub(crate) fn of(names: &[Box<str>]) -> Self {
        Self {
            names: names.iter().cloned().collect(),
            new: Vec::new(),
        }
    }

    /// Whether an attribute type is left out, as it is not known.
    pub(crate) fn leaves_out(&mut self, schema: &Schema, name: &str) -> bool {
        if schema.attribute_description(name.as_bytes()).is_ok() {
            return false;
        }
        let lower: Box<str> = name.to_ascii_lowercase().into();
        let has_room = self.names.len() < MOST_NAMES && name.len() <= LONGEST_NAME;
        // The notes in the store have a name on each line.
        if has_room && !name.contains(['\n', '\r']) && self.names.insert(lower) {
            self.new.push(name.into());
        }
        true
    }

    /// All names, in lower case and in order.
    pub(crate) fn names(&self) -> Vec<Box<str>> {
        self.names.iter().cloned().collect()
    }

    /// Tells which names are new since it was last asked. `None`: none is.
    pub(crate) fn take_news(&mut self) -> Option<String> {
        let new = std::mem::take(&mut self.new);
        let shown: Vec<&str> = new.iter().take(MOST_SHOWN).map(|name| &**name).collect();
        let more = match new.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!new.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
    }
}

/// A name that was left out and is known now: its values are missing.
pub(crate) fn known_now<'n>(schema: &Schema, names: &'n [Box<str>]) -> Option<&'n str> {
    let mut names = names.iter().map(|name| &**name);
    names.find(|name| schema.attribute_description(name.as_bytes()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_once_and_not_without_end() {
        let schema = Schema::system();
        let mut left_out = LeftOut::default();
        assert!(!left_out.leaves_out(&schema, "CN"));
        for name in ["objectSid", "OBJECTSID", "groupType", "two\nlines"] {
            assert!(left_out.leaves_out(&schema, name), "{name}");
        }
        assert_eq!(left_out.take_news().as_deref(), Some("objectSid, groupType"));
        assert_eq!(left_out.take_news(), None);
        assert_eq!(left_out.names(), ["grouptype".into(), "objectsid".into()]);
        for number in 0..5_000 {
            assert!(left_out.leaves_out(&schema, &format!("unknown{number}")));
        }
        assert_eq!(left_out.names().len(), MOST_NAMES);
        assert!(left_out.take_news().is_some_and(|text| text.ends_with(" more")));
        let mut again = LeftOut::of(&left_out.names());
        assert!(again.leaves_out(&schema, "groupType"));
        assert_eq!(again.take_news(), None);
        assert_eq!(known_now(&schema, &left_out.names()), None);
        assert_eq!(known_now(&schema, &["x".into(), "sn".into(), "cn".into()]), Some("cn"));
    }
}
