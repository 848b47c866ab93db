//! Settings of slapo-unique(5).

use std::borrow::Cow;

use ironbark_config::{DatabaseConfig, SettingError, overlay::OverlaySettings};
use ironbark_model::{Dn, ldap_url::UrlScope};

/// Which values no two entries may share.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UniqueConfig {
    /// `unique_uri`, one each.
    pub(super) domains: Vec<UniqueDomain>,
    pub(super) legacy: Legacy,
}

/// A domain: entries, and the attributes whose values are unique in them.
#[derive(Clone, PartialEq, Debug)]
pub struct UniqueDomain {
    /// As written.
    pub(super) text: String,
    /// The URIs name the attributes that need not be unique.
    pub ignore: bool,
    /// Deleting an attribute by replacing it with nothing counts as a value too.
    pub strict: bool,
    /// Each is checked on its own.
    pub uris: Vec<UniqueUri>,
}

/// One URI of a domain.
#[derive(Clone, PartialEq, Debug)]
pub struct UniqueUri {
    /// `None`: the suffix of the database.
    pub base: Option<Dn>,
    /// Attribute descriptions, as they are printed; none: all user attributes.
    pub attributes: Vec<String>,
    /// Never `base`.
    pub scope: UrlScope,
    /// The text of a filter that parses; `None`: all entries.
    pub filter: Option<String>,
}

/// The settings before `unique_uri`. Together they form one domain.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Legacy {
    pub(super) base: Option<Dn>,
    /// `unique_ignore` or `unique_attributes`.
    pub(super) attributes: Vec<String>,
    pub(super) ignore: bool,
    pub(super) strict: Option<bool>,
}

impl UniqueConfig {
    /// The domains in force.
    pub fn domains(&self) -> Cow<'_, [UniqueDomain]> {
        if !self.legacy.is_set() {
            return Cow::Borrowed(&self.domains);
        }
        let uri = UniqueUri {
            base: self.legacy.base.clone(),
            attributes: self.legacy.attributes.clone(),
            scope: UrlScope::Subtree,
            filter: None,
        };
        Cow::Owned(vec![UniqueDomain {
            text: String::new(),
            ignore: self.legacy.ignore,
            strict: self.legacy.strict == Some(true),
            uris: vec![uri],
        }])
    }

    /// Refuses bases outside the suffix of a database (`None`: the frontend).
    fn check_bases(&self, suffix: Option<&Dn>) -> Result<(), SettingError> {
        let is_outside = |base: &Dn| suffix.is_none_or(|suffix| !base.is_within(suffix));
        let bases = self.domains.iter().flat_map(|domain| &domain.uris);
        let outside = bases.filter_map(|uri| uri.base.as_ref()).find(|base| is_outside(base));
        let legacy = self.legacy.base.as_ref().filter(|base| is_outside(base));
        match (outside, legacy, suffix) {
            (None, None, _) => Ok(()),
            (_, _, None) => Err("suffix must be set".into()),
            (Some(base), _, Some(suffix)) => Err(format!(
                "dn <{}> is not a suffix of backend base dn <{}>",
                base.pretty(),
                suffix.pretty()
            )
            .into()),
            (None, Some(_), _) => Err("dn is not a suffix of backend base".into()),
        }
    }

    /// The attributes that are named as unique.
    fn unique_attributes(&self) -> Vec<String> {
        let domains = self.domains();
        let positive = domains.iter().filter(|domain| !domain.ignore);
        let mut names: Vec<String> = positive
            .flat_map(|domain| domain.uris.iter().flat_map(|uri| uri.attributes.iter().cloned()))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl OverlaySettings for UniqueConfig {
    fn looked_up(&self) -> Vec<String> {
        self.unique_attributes()
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        self.check_bases(database.suffixes.first())
    }
}

impl Legacy {
    pub(super) fn is_set(&self) -> bool {
        self.base.is_some() || !self.attributes.is_empty() || self.strict.is_some()
    }
}
