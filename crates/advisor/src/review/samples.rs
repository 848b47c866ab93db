//! Sample entries and subjects, to which the server's own evaluator applies the access rules.
//!
//! There is a sample below the suffix and below each name in a rule, but not at these names. The entry of a suffix or a
//! container has no password, and `dn.base=` rules open exactly these entries.

use std::{collections::BTreeSet, fmt};

use ironbark_config::{
    Allow, DatabaseConfig, LoadedConfiguration, Operations, Require, SurveyedSection,
    access::{DnPattern, NameScope},
};
use ironbark_directory::Appraisal;
use ironbark_model::{Dn, Schema};

use crate::written::WrittenConfiguration;

/// Who has access. The first is the worst.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// Without a bind.
    Anybody,
    /// With any bind.
    Users,
    /// With a bind as an entry below this name.
    UsersBelow(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anybody => f.write_str("anybody, without a bind,"),
            Self::Users => f.write_str("every user"),
            Self::UsersBelow(name) => write!(f, "every user below {name}"),
        }
    }
}

/// One database whose rules are evaluated.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) appraisal: &'a Appraisal,
    pub(super) configuration: &'a LoadedConfiguration,
    pub(super) database: &'a DatabaseConfig,
    /// 0: cn=config.
    pub(super) number: usize,
}

impl Samples<'_> {
    /// The subjects that no rule names: anonymous, any user, and a neighbour of the entry.
    pub(super) fn subjects(&self, entry: &Dn) -> Vec<(Who, Dn)> {
        let schema = &*self.configuration.schema;
        let mut subjects = Vec::new();
        if !is_closed_to_anonymous(self.configuration, self.database) {
            subjects.push((Who::Anybody, Dn::root()));
        }
        subjects.extend(below(schema, OTHER, &Dn::root()).map(|dn| (Who::Users, dn)));
        if let Some(parent) = entry.parent() {
            let neighbour = below(schema, OTHER, &parent);
            subjects.extend(neighbour.map(|dn| (Who::UsersBelow(parent.pretty().to_owned()), dn)));
        }
        subjects
    }

    /// Names of entries of samples.
    pub(super) fn places(&self) -> Vec<Dn> {
        let schema = &*self.configuration.schema;
        let mut parents: Vec<Dn> = self.database.suffixes.clone();
        let rules = self.database.access.iter().chain(&self.configuration.frontend.access);
        let names = rules.filter_map(|rule| match &rule.what.dn {
            Some(DnPattern::Name(name)) => Some(name),
            Some(DnPattern::Regex(_)) | None => None,
        });
        for name in names {
            let is_inside = self.database.suffixes.iter().any(|suffix| name.dn.is_within(suffix));
            if !is_inside || name.scope == NameScope::Base {
                continue;
            }
            parents.push(name.dn.clone());
            if name.scope != NameScope::OneLevel {
                parents.extend(below(schema, SAMPLE, &name.dn));
            }
        }
        let mut seen = BTreeSet::new();
        let places = parents.iter().filter_map(|parent| below(schema, SAMPLE, parent));
        places
            .filter(|dn| seen.insert(dn.normalized().to_vec()))
            .take(MOST_PLACES)
            .collect()
    }

    /// Whether a subject may modify entries at all.
    pub(super) fn may_modify(&self, subject: &Dn) -> bool {
        let may_write = !subject.is_root() || self.configuration.global.allow.contains(Allow::UPDATE_ANON);
        may_write && !self.database.read_only && !self.database.restrict.operations.contains(Operations::MODIFY)
    }
}

/// More places than the rules of any configuration written by hand.
const MOST_PLACES: usize = 500;
const SAMPLE: &str = "cn=sample";
const OTHER: &str = "cn=somebody else";

fn below(schema: &Schema, rdn: &str, parent: &Dn) -> Option<Dn> {
    Some(parent.child(&Dn::parse(schema, rdn.as_bytes()).ok()?))
}

/// Whether all access rules that hold for a database were understood.
pub(super) fn is_complete(written: &WrittenConfiguration, number: usize) -> bool {
    let own = match number.checked_sub(1) {
        Some(position) => SurveyedSection::Database(position),
        None => SurveyedSection::Config,
    };
    let sections = [own, SurveyedSection::Global, SurveyedSection::Frontend];
    !written.statements.iter().any(|statement| {
        statement.means("access") && statement.refusal.is_some() && sections.contains(&statement.section)
    })
}

/// Whether `require` refuses everything to clients without authentication.
pub(super) fn is_closed_to_anonymous(configuration: &LoadedConfiguration, database: &DatabaseConfig) -> bool {
    [database.require, configuration.frontend.require]
        .iter()
        .any(|require| require.contains(Require::AUTHENTICATION) || require.contains(Require::STRONG))
}
