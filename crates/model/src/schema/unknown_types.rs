//! Attribute types that occur in names of the configuration and that no definition describes.
//!
//! A configuration may name a suffix before the schema that the suffix needs. slapd accepts such names when it reads
//! cn=config. From then on it accepts these types in the names of requests too. No entry can have such a name.

use std::sync::{Arc, PoisonError};

use super::{Schema, is_descriptor, is_numeric_oid, unknown_set::UnknownTypes};

impl Schema {
    /// Whether names may have any such type.
    pub(crate) fn takes_unknown_types(&self) -> bool {
        !self.unknown_types.taken.is_empty() || self.unknown_types.gathered.is_some()
    }

    /// Whether a name may have an attribute type that [`Schema::find_attribute_type`] does not find.
    pub(crate) fn takes_unknown_type(&self, name: &[u8]) -> bool {
        if !self.takes_unknown_types() {
            return false;
        }
        let UnknownTypes { taken, gathered } = &self.unknown_types;
        let Ok(name) = std::str::from_utf8(name) else {
            return false;
        };
        let name = name.to_ascii_uppercase();
        if taken.contains(name.as_str()) {
            return true;
        }
        let Some(gathered) = gathered else { return false };
        let may_be_a_type = is_descriptor(&name) || is_numeric_oid(name.as_bytes());
        if may_be_a_type {
            let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
            gathered.insert(name.into());
        }
        may_be_a_type
    }

    /// Accepts any attribute type in names from now on, until [`Schema::end_gathering`].
    pub fn gather_unknown_types(&mut self) {
        self.unknown_types.gathered = Some(Arc::default());
    }

    /// From now on accepts in names only the types that it was asked about since [`Schema::gather_unknown_types`].
    pub fn end_gathering(&mut self) {
        let UnknownTypes { taken, gathered } = &mut self.unknown_types;
        if let Some(gathered) = gathered.take() {
            taken.append(&mut gathered.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Whether another schema accepts the same unknown types in names.
    pub fn takes_unknown_types_like(&self, other: &Schema) -> bool {
        self.unknown_types.taken == other.unknown_types.taken
    }

    /// Accepts in names the unknown types that another schema accepts.
    pub fn take_unknown_types_of(&mut self, other: &Schema) {
        self.unknown_types.taken.clone_from(&other.unknown_types.taken);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Dn, Schema};

    fn parsed(schema: &Schema, text: &str) -> Option<(String, String)> {
        let dn = Dn::parse(schema, text.as_bytes()).ok()?;
        let normal = String::from_utf8_lossy(dn.normalized()).into_owned();
        Some((dn.pretty().to_owned(), normal))
    }

    #[test]
    fn names_have_unknown_types_after_a_configuration_had_them() {
        let mut schema = Schema::clone(&Schema::system());
        assert_eq!(parsed(&schema, "foo=A b+1.2.3=x,cn=Y"), None);
        schema.gather_unknown_types();
        let expected = ("1.2.3=x+FOO=A b,cn=Y".to_owned(), "1.2.3=x+foo=A b,cn=y".to_owned());
        assert_eq!(parsed(&schema, "foo=A b+1.2.3=x, cn=Y"), Some(expected));
        for wrong in ["f_o=x", "1.=x", "=x", "foo=a+FOO=b", "foo="] {
            assert_eq!(parsed(&schema, wrong), None, "{wrong}");
        }
        schema.end_gathering();
        let pretty = |text| parsed(&schema, text).map(|(pretty, _)| pretty);
        assert_eq!(pretty("fOO=\\2C"), Some("FOO=\\2C".to_owned()));
        assert_eq!(pretty("bar=x"), None);
        let dn = Dn::parse(&schema, b"foo=x+cn=y,foo=z").unwrap();
        assert!(dn.has_unknown_leaf_type(&schema));
        assert_eq!(dn.leaf_assertions(&schema).len(), 1);
        assert!(
            !Dn::parse(&schema, b"cn=x,foo=z")
                .unwrap()
                .has_unknown_leaf_type(&schema)
        );
        let mut other = Schema::clone(&Schema::system());
        other.take_unknown_types_of(&schema);
        assert_eq!(parsed(&other, "foo=x"), parsed(&schema, "foo=x"));
    }
}
