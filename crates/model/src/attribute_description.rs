//! Attribute descriptions: a type and its options (RFC 4512 §2.5).

use smallvec::SmallVec;

use crate::{
    attribute_options::{BINARY, is_option},
    schema::{AttributeType, Schema, TypeNumber},
};

/// The most options that one description may have, as in slapd.
const MAXIMUM_OPTIONS: usize = 128;

/// Why a text is no attribute description of this schema; each maps to `undefinedAttributeType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The syntax of RFC 4512 §2.5 is not met.
    #[error("AttributeDescription contains inappropriate characters")]
    Malformed,
    /// There is no text.
    #[error("empty AttributeDescription")]
    Empty,
    /// Nothing stands between two semicolons, or behind the last one.
    #[error("zero length option is invalid")]
    EmptyOption,
    /// No such attribute type.
    #[error("attribute type undefined")]
    UndefinedType,
    /// An option that is neither `binary` nor allowed by `attributeoptions`.
    #[error("unrecognized option")]
    UnknownOption,
    /// `;binary` on a type whose syntax has no binary transfer encoding.
    #[error("option \"binary\" not supported with type")]
    BinaryNotSupported,
    /// More options than an attribute description may have here (128).
    #[error("too many tagging options")]
    TooManyOptions,
}

/// A resolved attribute description: equal descriptions are equal values.
///
/// Options are lower-cased, sorted and free of duplicates, so that `cn;B;a` and `CN;a;b` are the same (RFC 4512
/// §2.5.2).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AttributeDescription {
    /// The attribute type.
    pub attribute_type: TypeNumber,
    /// Normalized options, `binary` included.
    pub options: SmallVec<[Box<str>; 1]>,
}

impl AttributeDescription {
    /// A type without options.
    pub fn plain(attribute_type: TypeNumber) -> Self {
        Self {
            attribute_type,
            options: SmallVec::new(),
        }
    }

    /// Whether `;binary` is among the options.
    pub fn is_binary(&self) -> bool {
        self.options.iter().any(|option| &**option == BINARY)
    }

    /// Whether an option is a range such as `lang-en-`. Ranges occur in requests and are never stored (RFC 3866 §4).
    pub fn is_range(&self) -> bool {
        self.options.iter().any(|option| option.ends_with('-'))
    }

    /// Whether the options of `self` include all options of `general` (RFC 4512 §2.5.2). A range in `general` includes
    /// every option that starts with it (RFC 3866 §4): `lang-en` and `lang-en-us` meet `lang-en-`.
    pub fn options_include(&self, general: &Self) -> bool {
        general.options.iter().all(|wanted| {
            self.options.iter().any(|option| match wanted.strip_suffix('-') {
                Some(name) => **option == *name || option.starts_with(&**wanted),
                None => option == wanted,
            })
        })
    }
}

impl Schema {
    /// Resolves `type;option;...`. Allocates only when there are options.
    pub fn attribute_description(&self, text: &[u8]) -> Result<AttributeDescription, DescriptionError> {
        let (name, options) = match memchr::memchr(b';', text) {
            None => (text, None),
            Some(end) => (
                text.get(..end).unwrap_or_default(),
                Some(text.get(end + 1..).unwrap_or_default()),
            ),
        };
        let Some(found) = self.find_attribute_type(name) else {
            return Err(if text.is_empty() {
                DescriptionError::Empty
            } else if is_type_name(name) {
                DescriptionError::UndefinedType
            } else {
                DescriptionError::Malformed
            });
        };
        let mut description = AttributeDescription::plain(found.number);
        if let Some(options) = options {
            self.read_options(found, options, &mut description)?;
        }
        Ok(description)
    }

    fn read_options(
        &self,
        found: &AttributeType,
        options: &[u8],
        description: &mut AttributeDescription,
    ) -> Result<(), DescriptionError> {
        for option in options.split(|byte| *byte == b';') {
            if option.is_empty() {
                return Err(DescriptionError::EmptyOption);
            }
            if !is_option(option) {
                return Err(DescriptionError::Malformed);
            }
            let Ok(option) = std::str::from_utf8(option) else {
                return Err(DescriptionError::Malformed);
            };
            let option = option.to_ascii_lowercase();
            if option == BINARY {
                if !found.syntax.binary_transfer {
                    return Err(DescriptionError::BinaryNotSupported);
                }
            } else if !self.attribute_options().allows(&option) {
                return Err(DescriptionError::UnknownOption);
            }
            if description.options.len() == MAXIMUM_OPTIONS {
                return Err(DescriptionError::TooManyOptions);
            }
            description.options.push(option.into());
        }
        description.options.sort_unstable();
        description.options.dedup();
        Ok(())
    }

    /// The text of a description: first NAME (or OID), then the options.
    pub fn description_text(&self, description: &AttributeDescription) -> String {
        let mut text = self.attribute_type(description.attribute_type).name().to_owned();
        for option in &description.options {
            text.push(';');
            text.push_str(option);
        }
        text
    }

    /// Whether an attribute of description `special` holds values of `general` (RFC 4512 §2.5.2). Its type must be the
    /// same or a subtype. Its options must include all options of `general`; ranges follow RFC 3866 §4.
    pub fn is_description_subtype(&self, special: &AttributeDescription, general: &AttributeDescription) -> bool {
        self.is_subtype(special.attribute_type, general.attribute_type) && special.options_include(general)
    }

    /// Whether values may be stored and sent under this description. A type whose syntax needs `;binary` must have it
    /// (RFC 4522), and no option may be a range.
    pub fn is_storable(&self, description: &AttributeDescription) -> bool {
        !description.is_range()
            && self.attribute_type(description.attribute_type).syntax.binary_transfer == description.is_binary()
    }
}

fn is_type_name(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(crate::schema::is_descriptor) || crate::schema::is_written_oid(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4512 §2.5.2.
    #[test]
    fn equal_descriptions_are_equal_values() {
        let schema = Schema::system();
        let a = schema
            .attribute_description(b"cn;lang-de;LANG-EN;lang-de")
            .expect("valid");
        let b = schema.attribute_description(b"2.5.4.3;lang-en;lang-DE").expect("valid");
        assert_eq!(a, b);
        assert_eq!(schema.description_text(&a), "cn;lang-de;lang-en");
        let plain = schema.attribute_description(b"commonName").expect("valid");
        assert_eq!(schema.description_text(&plain), "cn");
        assert!(!plain.options.spilled());
    }

    #[test]
    fn refuses_what_is_no_description() {
        let schema = Schema::system();
        for (text, error) in [
            (&b"nosuch"[..], DescriptionError::UndefinedType),
            (b"1.2.3.4", DescriptionError::UndefinedType),
            (b"c n", DescriptionError::Malformed),
            (b"", DescriptionError::Empty),
            (b"cn;", DescriptionError::EmptyOption),
            (b"cn;lang_en", DescriptionError::Malformed),
            (b"cn;x-foo", DescriptionError::UnknownOption),
            (b"cn;binary", DescriptionError::BinaryNotSupported),
            (b"\xff", DescriptionError::Malformed),
        ] {
            assert_eq!(
                schema.attribute_description(text),
                Err(error),
                "{}",
                text.escape_ascii()
            );
        }
        let many = format!("cn{}", ";lang-a".repeat(129));
        assert_eq!(
            schema.attribute_description(many.as_bytes()),
            Err(DescriptionError::TooManyOptions)
        );
    }

    /// RFC 3866 §4.
    #[test]
    fn subtypes_by_type_options_and_ranges() {
        let schema = Schema::system();
        for (special, general, expected) in [
            ("cn", "name", true),
            ("name", "cn", false),
            ("cn;lang-en", "name", true),
            ("cn", "name;lang-en", false),
            ("cn;lang-en", "cn;lang-en-", true),
            ("cn;lang-en-us", "cn;lang-en-", true),
            ("cn;lang-english", "cn;lang-en-", false),
            ("cn;lang-en", "cn;lang-", true),
            ("cn;lang-de;lang-en", "name;lang-en", true),
            ("cn;lang-en", "cn;lang-de;lang-en", false),
        ] {
            let special_description = schema.attribute_description(special.as_bytes()).expect("valid");
            let general_description = schema.attribute_description(general.as_bytes()).expect("valid");
            assert_eq!(
                schema.is_description_subtype(&special_description, &general_description),
                expected,
                "{special} under {general}"
            );
        }
        assert!(schema.attribute_description(b"cn;lang-en-").expect("valid").is_range());
    }
}
