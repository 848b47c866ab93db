//! Settings of slapo-constraint(5).

use ironbark_config::{DatabaseConfig, SettingError, overlay::OverlaySettings};
use ironbark_model::{Dn, PosixRegex, ldap_url::UrlScope};

/// Conditions that the values of attributes must meet.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ConstraintConfig {
    /// `constraint_attribute`, one each.
    pub(super) constraints: Vec<ConstraintSetting>,
    /// `constraint_allowempty`: accepts requests that change nothing.
    pub(super) allow_empty: bool,
}

/// One constraint.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ConstraintSetting {
    /// Attribute descriptions, as they are printed.
    pub(super) attributes: Vec<String>,
    pub(super) condition: Condition,
    /// Which entries it holds for; `None`: all.
    pub(super) restrict: Option<EntryUrl>,
}

/// The condition that values must meet.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Condition {
    /// At most so many values.
    Count(u64),
    /// At most so many octets in each value.
    Size(u64),
    /// Each value matches, or with `negated` none does.
    Regex { regex: PosixRegex, negated: bool },
    /// A search for each value finds an entry, or with `negated` finds none.
    Uri { url: EntryUrl, negated: bool },
    /// A set holds for the entry after the write, or with `negated` does not hold.
    Set { text: String, negated: bool },
}

/// Entries that a URL describes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct EntryUrl {
    /// As written.
    pub(super) text: String,
    /// `None`: the suffix of the database.
    pub(super) base: Option<Dn>,
    pub(super) scope: UrlScope,
    /// Attribute descriptions; a restriction has none.
    pub(super) attributes: Vec<String>,
    /// The text of a filter that parses; `None`: all entries.
    pub(super) filter: Option<String>,
}

impl Condition {
    /// The word for it, and its argument.
    fn words(&self) -> (&'static str, String) {
        let quoted = |text: &str| format!("\"{text}\"");
        match self {
            Self::Count(most) => ("count", most.to_string()),
            Self::Size(most) => ("size", most.to_string()),
            Self::Regex { regex, negated } => (if *negated { "negregex" } else { "regex" }, quoted(regex.as_str())),
            Self::Uri { url, negated } => (if *negated { "neguri" } else { "uri" }, quoted(&url.text)),
            Self::Set { text, negated } => (if *negated { "negset" } else { "set" }, quoted(text)),
        }
    }
}

impl ConstraintSetting {
    /// As slapd prints it.
    pub(super) fn text(&self) -> String {
        let (word, argument) = self.condition.words();
        let restrict = self.restrict.as_ref();
        let restrict = restrict
            .map(|url| format!(" restrict=\"{}\"", url.text))
            .unwrap_or_default();
        format!("{} {word} {argument}{restrict}", self.attributes.join(","))
    }
}

impl OverlaySettings for ConstraintConfig {
    fn looked_up(&self) -> Vec<String> {
        let mut names = Vec::new();
        for constraint in &self.constraints {
            if let Condition::Uri { url, .. } = &constraint.condition {
                names.extend(url.attributes.iter().cloned());
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        let restricted = self.constraints.iter().filter_map(|one| one.restrict.as_ref());
        for base in restricted.filter_map(|url| url.base.as_ref()) {
            if database.suffixes.is_empty() {
                return Err("restrict URI requires suffix".into());
            }
            if !database.suffixes.iter().any(|suffix| base.is_within(suffix)) {
                return Err(format!(
                    "restrict URI DN {} not within database naming context(s)",
                    base.pretty()
                )
                .into());
            }
        }
        Ok(())
    }
}
