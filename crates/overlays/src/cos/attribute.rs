//! `cosAttribute`: an attribute that entries get, and how.

use ironbark_model::{AttributeDescription, Schema};

/// One value of `cosAttribute`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CosAttribute {
    pub(super) description: AttributeDescription,
    /// Whether it counts in place of stored values (`override`, `operational`).
    pub(super) wins: bool,
    /// Whether it is sent only if it is asked for by its name, and no class need allow it (`operational`,
    /// `operational-default`).
    pub(super) is_operational: bool,
    /// Whether all templates give values (`merge-schemes`), not one alone.
    pub(super) merges: bool,
}

impl CosAttribute {
    /// An attribute that counts where nothing is stored.
    pub(super) fn plain(description: AttributeDescription) -> Self {
        Self {
            description,
            wins: false,
            is_operational: false,
            merges: false,
        }
    }

    /// Reads `<attribute> [default|override|operational|operational-default] [merge-schemes]`. `None`: the schema lacks
    /// the attribute, or a word is unknown.
    pub(super) fn parse(schema: &Schema, text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut found = Self::plain(schema.attribute_description(words.next()?.as_bytes()).ok()?);
        for word in words {
            match word.to_ascii_lowercase().as_str() {
                "default" => {}
                "override" => found.wins = true,
                "operational" => (found.wins, found.is_operational) = (true, true),
                "operational-default" => found.is_operational = true,
                "merge-schemes" => found.merges = true,
                _ => return None,
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_read_in_any_case_and_order() {
        let schema = Schema::system();
        let read =
            |text: &str| CosAttribute::parse(&schema, text).map(|one| (one.wins, one.is_operational, one.merges));
        for (text, expected) in [
            ("cn", Some((false, false, false))),
            (" cn  Default", Some((false, false, false))),
            ("cn override", Some((true, false, false))),
            ("cn operational", Some((true, true, false))),
            ("cn operational-default", Some((false, true, false))),
            ("cn merge-schemes override", Some((true, false, true))),
            ("cn sometimes", None),
            ("nosuch", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
