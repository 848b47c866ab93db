//! The options that attribute descriptions may have (RFC 4512 §2.5.2).

/// The transfer option (RFC 4522).
pub(crate) const BINARY: &str = "binary";
/// The prefix of ranges of values.
const RANGE: &str = "range=";

/// The tagging options that descriptions may have besides `binary` (`attributeoptions` of slapd.conf(5)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeOptions {
    /// Names in lower case. A name with a hyphen at the end is a prefix.
    names: Vec<Box<str>>,
}

impl Default for AttributeOptions {
    /// `lang-` (RFC 3866).
    fn default() -> Self {
        Self {
            names: vec!["lang-".into()],
        }
    }
}

/// A word of `attributeoptions` that cannot be an option.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is no attribute option name or prefix")]
pub struct InvalidOption(pub String);

impl AttributeOptions {
    /// Makes the options from the words of the directive. They replace the default.
    ///
    /// # Errors
    /// A word with other characters than letters, digits and hyphens; a word that does not start with a letter; the
    /// word `binary`. `range=` is accepted: slapd needs it to read what Active Directory sends. No description here has
    /// such an option.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidOption> {
        let mut names: Vec<Box<str>> = Vec::new();
        for word in words {
            let lower = word.to_ascii_lowercase();
            let starts_well = lower.starts_with(|first: char| first.is_ascii_alphabetic());
            let is_valid = starts_well && is_option(lower.as_bytes()) && lower != BINARY;
            if !is_valid && lower != RANGE {
                return Err(InvalidOption(word.to_owned()));
            }
            if !names.iter().any(|name| **name == *lower) {
                names.push(lower.into());
            }
        }
        Ok(Self { names })
    }

    /// The names and prefixes in order of definition.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Whether a lower-case option may be used.
    pub fn allows(&self, option: &str) -> bool {
        self.names.iter().any(|name| match name.strip_suffix('-') {
            // A prefix allows longer options. The prefix itself is allowed as a range.
            Some(_) => option.starts_with(&**name),
            // A name is allowed as an option. With a hyphen at the end it is the range of that one option.
            None => **name == *option || option.strip_suffix('-') == Some(&**name),
        })
    }
}

pub(crate) fn is_option(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_options_replace_the_default() {
        let options = AttributeOptions::new(["x-", "Phonetic"]).expect("valid");
        assert!(options.allows("x-anything"));
        assert!(options.allows("phonetic"));
        assert!(options.allows("phonetic-"));
        assert!(!options.allows("lang-en"));
        assert!(AttributeOptions::new(["lang-", "range="]).is_ok());
        assert!(AttributeOptions::new(["binary"]).is_err());
        assert!(AttributeOptions::new(["x="]).is_err());
        assert!(AttributeOptions::new(["a_b"]).is_err());
    }
}
