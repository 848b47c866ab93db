//! Who may read, search or change the passwords of others. The server's own evaluator applies the access rules to
//! sample entries.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_config::{DatabaseConfig, Operations, access::Privileges, kinds::CONFIG};
use ironbark_directory::Appraisal;
use ironbark_model::{Attribute, AttributeDescription, Dn, Entry, Schema};

use super::samples::{Samples, Who, is_closed_to_anonymous, is_complete};
use crate::{
    finding::{FindingClass, Findings},
    written::WrittenConfiguration,
};

/// Attributes whose values are passwords, keys or their hashes.
const PASSWORDS: &[&str] = &[
    "userPassword",
    "authPassword",
    "krbPrincipalKey",
    "krbMKey",
    "krbPwdHistory",
    "krb5Key",
    "sambaNTPassword",
    "sambaLMPassword",
    "sambaPasswordHistory",
    "sambaClearTextPassword",
    "ipaNTHash",
    "unicodePwd",
    "radiusTunnelPassword",
];
/// The secrets of the tokens of overlay otp, likewise.
const TOKEN_SECRET: &str = "oathSecret";
/// The old passwords that overlay ppolicy stores. The schema always has this attribute, but without the overlay no
/// entry has it.
const PASSWORD_HISTORY: &str = "pwdHistory";
/// The password attribute of cn=config.
const ROOT_PASSWORD: &str = "olcRootPW";

/// What a subject may do with another subject's password. The first is the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Change,
    Read,
    Search,
}

/// What one rule allows a subject to do, and with which attributes.
#[derive(Default)]
struct Leak {
    attributes: BTreeSet<String>,
    example: String,
}

/// Adds the passwords that the access rules expose.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    let configuration = &written.configuration;
    // This fails only for a schema without the built-in part. No configuration has such a schema.
    let Ok(appraisal) = Appraisal::new(configuration) else {
        return;
    };
    let all = std::iter::once(&configuration.config).chain(&configuration.databases);
    for (number, database) in all.enumerate() {
        if database.disabled || !(database.kind.has_indexes() || database.kind == &CONFIG) {
            continue;
        }
        // If a rule is missing, the effect of the others is unknown.
        if !is_complete(written, number) {
            continue;
        }
        let rules = [&database.access, &configuration.frontend.access];
        if rules.iter().all(|rules| rules.is_empty()) {
            without_rules(written, database, findings);
            continue;
        }
        let sampling = Sampling {
            samples: Samples {
                appraisal: &appraisal,
                configuration,
                database,
                number,
            },
            has_policy: has_overlay(written, "ppolicy"),
            has_tokens: has_overlay(written, "otp"),
        };
        for ((rule, deed, who), leak) in sampling.leaks() {
            sampling.report(written, rule, deed, &who, &leak, findings);
        }
        sampling.unlimited(written, findings);
    }
}

/// Whether an overlay is configured anywhere.
fn has_overlay(written: &WrittenConfiguration, overlay: &str) -> bool {
    written.statements.iter().any(|statement| {
        let is_overlay = statement.means("overlay");
        let mut names = statement.line.arguments.iter();
        is_overlay && names.any(|name| name.ends_with(overlay))
    })
}

fn without_rules(written: &WrittenConfiguration, database: &DatabaseConfig, findings: &mut Findings) {
    let who = if is_closed_to_anonymous(&written.configuration, database) {
        "every user"
    } else {
        "anybody, without a bind,"
    };
    let reason = format!("there is no access rule, so {who} may read everything, passwords included");
    let advice = format!("begin with: {}", written.line("access", &rule_for("userPassword")));
    let place = written.place(&database.location);
    findings.note(FindingClass::Unsafe, place, written.name("access"), reason, advice);
}

/// A rule that protects passwords.
fn rule_for(attributes: &str) -> String {
    format!("to attrs={attributes} by self =xw by anonymous auth by * none")
}

/// The rule (its position; the frontend's rules follow the database's), the deed, and the subject.
type LeakKey = (Option<usize>, Deed, Who);

/// One database whose rules are evaluated.
struct Sampling<'a> {
    samples: Samples<'a>,
    /// Whether overlay ppolicy is configured.
    has_policy: bool,
    /// Whether overlay otp is configured.
    has_tokens: bool,
}

impl Sampling<'_> {
    fn leaks(&self) -> BTreeMap<LeakKey, Leak> {
        let schema = &*self.samples.configuration.schema;
        let attributes = password_attributes(schema, &self.names());
        let mut leaks = BTreeMap::new();
        for dn in self.samples.places() {
            let entry = sample(schema, dn, &attributes);
            let subjects = self.samples.subjects(&entry.dn);
            for attribute in &attributes {
                self.leaks_of(&entry, attribute, &subjects, &mut leaks);
            }
        }
        leaks
    }

    /// A right of everybody is not reported again for authenticated users.
    fn leaks_of(
        &self,
        entry: &Entry,
        attribute: &AttributeDescription,
        subjects: &[(Who, Dn)],
        leaks: &mut BTreeMap<LeakKey, Leak>,
    ) {
        let mut known: Vec<Deed> = Vec::new();
        for (who, subject) in subjects {
            for deed in self.deeds(subject, entry, attribute) {
                if known
                    .iter()
                    .any(|known| *known == deed || (*known, deed) == (Deed::Read, Deed::Search))
                {
                    continue;
                }
                known.push(deed);
                let granted = self
                    .samples
                    .appraisal
                    .granted(self.samples.number, subject, entry, Some(attribute));
                let leak = leaks.entry((granted.rule, deed, who.clone())).or_default();
                leak.attributes
                    .insert(self.samples.configuration.schema.description_text(attribute));
                if leak.example.is_empty() {
                    entry.dn.pretty().clone_into(&mut leak.example);
                }
            }
        }
    }

    fn report(
        &self,
        written: &WrittenConfiguration,
        rule: Option<usize>,
        deed: Deed,
        who: &Who,
        leak: &Leak,
        findings: &mut Findings,
    ) {
        let names: Vec<&str> = leak.attributes.iter().map(String::as_str).collect();
        let deed = match deed {
            Deed::Change => "change",
            Deed::Read => "read",
            Deed::Search => "search by",
        };
        let example = &leak.example;
        let mut reason = format!("{who} may {deed} {} of others, for one of {example}", names.join(", "));
        let own = self.samples.database.access.len();
        let all = self
            .samples
            .database
            .access
            .iter()
            .chain(&self.samples.configuration.frontend.access);
        let found = rule.and_then(|at| all.clone().nth(at));
        let place = written.place(found.map_or(&self.samples.database.location, |rule| &rule.location));
        if let (Some(_), Some(at)) = (&place.dn, rule) {
            let number = at.checked_sub(own).unwrap_or(at);
            reason = format!("by {{{number}}}, {reason}");
        }
        let advice = format!(
            "before this rule, write {}",
            written.line("access", &rule_for(&names.join(",")))
        );
        findings.note(FindingClass::Unsafe, place, written.name("access"), reason, advice);
    }

    /// The password attributes that entries of this database may have.
    fn names(&self) -> Vec<&'static str> {
        if self.samples.number == 0 {
            return vec![ROOT_PASSWORD];
        }
        let mut names = PASSWORDS.to_vec();
        if self.has_policy {
            names.push(PASSWORD_HISTORY);
        }
        if self.has_tokens {
            names.push(TOKEN_SECRET);
        }
        names
    }

    /// What a subject may do with a password in an entry that is not its own.
    fn deeds(&self, subject: &Dn, entry: &Entry, attribute: &AttributeDescription) -> Vec<Deed> {
        let granted = |attribute| {
            self.samples
                .appraisal
                .granted(self.samples.number, subject, entry, attribute)
                .privileges
        };
        let (on_entry, on_password) = (granted(None), granted(Some(attribute)));
        let mut deeds = Vec::new();
        if self.samples.may_modify(subject) && on_password.contains(Privileges::ADD.with(Privileges::DELETE)) {
            deeds.push(Deed::Change);
        }
        let is_searchable = !self.samples.database.restrict.operations.contains(Operations::SEARCH);
        if is_searchable && on_entry.contains(Privileges::READ) {
            if on_password.contains(Privileges::READ) {
                deeds.push(Deed::Read);
            } else if on_password.contains(Privileges::SEARCH) {
                deeds.push(Deed::Search);
            }
        }
        deeds
    }

    /// Adds a size limit that lets readers take everything at once.
    fn unlimited(&self, written: &WrittenConfiguration, findings: &mut Findings) {
        let Some(position) = self.samples.number.checked_sub(1) else {
            return;
        };
        let reads = |who: &Dn| {
            self.samples.places().iter().any(|dn| {
                let entry = sample(&self.samples.configuration.schema, dn.clone(), &[]);
                let granted = self.samples.appraisal.granted(self.samples.number, who, &entry, None);
                granted.privileges.contains(Privileges::READ)
            })
        };
        let is_open = !is_closed_to_anonymous(self.samples.configuration, self.samples.database) && reads(&Dn::root());
        if is_open {
            super::protection::unlimited(written, position, self.samples.database, findings);
        }
    }
}

/// The attributes of this list that the schema has, and their subtypes.
fn password_attributes(schema: &Schema, names: &[&str]) -> Vec<AttributeDescription> {
    let known: Vec<AttributeDescription> = names
        .iter()
        .filter_map(|name| schema.attribute_description(name.as_bytes()).ok())
        .collect();
    let all = schema.attribute_types().iter();
    let all = all.filter_map(|one| schema.attribute_description(one.name().as_bytes()).ok());
    all.filter(|one| {
        known
            .iter()
            .any(|password| schema.is_description_subtype(one, password))
    })
    .collect()
}

/// A person with a password.
pub(super) fn sample(schema: &Schema, dn: Dn, passwords: &[AttributeDescription]) -> Entry {
    let classes = [
        "top",
        "person",
        "organizationalPerson",
        "inetOrgPerson",
        "posixAccount",
        "shadowAccount",
    ];
    let known = classes
        .iter()
        .filter(|class| schema.find_object_class(class.as_bytes()).is_some());
    let classes: Vec<Vec<u8>> = known.map(|class| class.as_bytes().to_vec()).collect();
    let texts = [("objectClass", classes)]
        .into_iter()
        .chain(["cn", "sn", "uid"].map(|name| (name, vec![b"sample".to_vec()])));
    let mut attributes: Vec<Attribute> = texts
        .filter_map(|(name, values)| {
            Some(Attribute {
                description: schema.attribute_description(name.as_bytes()).ok()?,
                values,
            })
        })
        .collect();
    attributes.extend(passwords.iter().map(|description| Attribute {
        description: description.clone(),
        values: vec![b"{SSHA}sample".to_vec()],
    }));
    Entry { dn, attributes }
}
