//! A university: people in departments (inetOrgPerson, eduPerson, posixAccount), then the groups of courses.

use super::ldif::{Ldif, push_number, push_uuid};
use super::names::{Person, person, push_lower};
use super::random::Random;
use super::suffix::Suffix;
use super::words::{DEPARTMENTS, PLACES, Place, TITLES, push_sentence, push_street, push_telephone};
use std::io::{self, Write};

/// Writes the departments, `count` people, and a group for each fifty people.
pub(super) fn write(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, count: u64, seed: u64) -> io::Result<()> {
    suffix.write_unit(ldif, "ou=Departments", "Departments")?;
    suffix.write_unit(ldif, "ou=Groups", "Groups")?;
    for department in DEPARTMENTS {
        suffix.write_unit(ldif, &format!("ou={department},ou=Departments"), department)?;
    }
    for number in 0..count {
        write_entry(ldif, suffix, number, seed)?;
    }
    for group in 0..count / PEOPLE_PER_GROUP {
        write_group(ldif, suffix, group, count, seed)?;
    }
    Ok(())
}

/// DN and uid of a person.
pub(super) fn name(suffix: &Suffix, number: u64, seed: u64) -> (String, String) {
    let identity = Identity::new(&mut Random::for_entry(seed, number), number);
    let (mut dn, mut uid) = (String::new(), String::new());
    identity.push_dn(&mut dn, &suffix.dn);
    identity.push_uid(&mut uid);
    (dn, uid)
}

/// The parts of a person's DN: the first numbers that the person's generator draws.
struct Identity {
    person: Person,
    department: &'static str,
    number: u64,
}

impl Identity {
    fn new(random: &mut Random, number: u64) -> Self {
        let person = person(random);
        Self {
            person,
            department: random.pick(DEPARTMENTS),
            number,
        }
    }

    fn push_uid(&self, text: &mut String) {
        push_lower(text, self.person.given.1.get(..2).unwrap_or_default());
        push_lower(text, self.person.surname.1);
        push_number(text, self.number, 1);
    }

    fn push_dn(&self, text: &mut String, suffix: &str) {
        text.push_str("uid=");
        self.push_uid(text);
        text.push_str(",ou=");
        text.push_str(self.department);
        text.push_str(",ou=Departments,");
        text.push_str(suffix);
    }

    fn push_address(&self, text: &mut String, suffix: &Suffix) {
        self.push_uid(text);
        text.push('@');
        text.push_str(&suffix.mail_domain);
    }
}

/// Writes one person.
pub(super) fn write_entry(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, number: u64, seed: u64) -> io::Result<()> {
    let random = &mut Random::for_entry(seed, number);
    let identity = Identity::new(random, number);
    let affiliation = random.pick(AFFILIATIONS);
    ldif.compose("dn", |text| identity.push_dn(text, &suffix.dn));
    for class in ["inetOrgPerson", "eduPerson", "posixAccount", "shadowAccount"] {
        ldif.line("objectClass", class);
    }
    write_person(ldif, suffix, &identity, random);
    write_account(ldif, &identity, random);
    write_membership(ldif, suffix, &identity, affiliation, random);
    ldif.end()
}

fn write_person(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, identity: &Identity, random: &mut Random) {
    let person = identity.person;
    let (town, _, country): Place = random.pick(PLACES);
    for attribute in ["cn", "displayName"] {
        ldif.compose(attribute, |text| {
            text.push_str(person.given.0);
            text.push(' ');
            text.push_str(person.surname.0);
        });
    }
    if person.language != "en" {
        ldif.compose("cn", |text| {
            text.push_str(person.given.1);
            text.push(' ');
            text.push_str(person.surname.1);
        });
    }
    ldif.line("sn", person.surname.0);
    ldif.line("givenName", person.given.0);
    ldif.line("preferredLanguage", person.language);
    ldif.compose("mail", |text| identity.push_address(text, suffix));
    ldif.line("ou", identity.department);
    ldif.line("title", random.pick(TITLES));
    ldif.line("l", town);
    ldif.compose("postalAddress", |text| {
        push_street(text, random);
        text.push('$');
        text.push_str(town);
        text.push('$');
        text.push_str(country);
    });
    ldif.compose("telephoneNumber", |text| push_telephone(text, random));
    if random.percent(60) {
        ldif.compose("mobile", |text| push_telephone(text, random));
    }
    ldif.compose("employeeNumber", |text| push_number(text, identity.number, 8));
    ldif.compose("description", |text| {
        let words = 4 + random.below(10);
        push_sentence(text, random, words);
    });
}

fn write_account(ldif: &mut Ldif<'_, impl Write>, identity: &Identity, random: &mut Random) {
    ldif.compose("uid", |text| identity.push_uid(text));
    let mut uid = String::new();
    identity.push_uid(&mut uid);
    ldif.password(random, &uid);
    ldif.compose("uidNumber", |text| {
        push_number(text, identity.number.saturating_add(10_000), 1);
    });
    ldif.line("gidNumber", "1000");
    ldif.compose("homeDirectory", |text| {
        text.push_str("/home/");
        identity.push_uid(text);
    });
    ldif.line(
        "loginShell",
        random.pick(&["/bin/bash", "/bin/bash", "/bin/zsh", "/bin/tcsh", "/sbin/nologin"]),
    );
    ldif.compose("gecos", |text| {
        text.push_str(identity.person.given.1);
        text.push(' ');
        text.push_str(identity.person.surname.1);
        text.push_str(",,,");
    });
    ldif.compose("shadowLastChange", |text| {
        push_number(text, 14_000 + random.below(2_000), 1);
    });
    ldif.line("shadowMax", "365");
}

fn write_membership(
    ldif: &mut Ldif<'_, impl Write>,
    suffix: &Suffix,
    identity: &Identity,
    affiliation: &str,
    random: &mut Random,
) {
    ldif.line("eduPersonAffiliation", "member");
    ldif.line("eduPersonAffiliation", affiliation);
    ldif.line("eduPersonPrimaryAffiliation", affiliation);
    ldif.compose("eduPersonScopedAffiliation", |text| {
        text.push_str(affiliation);
        text.push('@');
        text.push_str(&suffix.mail_domain);
    });
    ldif.compose("eduPersonPrincipalName", |text| identity.push_address(text, suffix));
    ldif.line("eduPersonEntitlement", "urn:mace:dir:entitlement:common-lib-terms");
    ldif.line("eduPersonOrgDN", &suffix.dn);
    ldif.compose("eduPersonPrimaryOrgUnitDN", |text| {
        text.push_str("ou=");
        text.push_str(identity.department);
        text.push_str(",ou=Departments,");
        text.push_str(&suffix.dn);
    });
    ldif.compose("eduPersonUniqueId", |text| {
        let start = text.len();
        push_uuid(text, random);
        text.retain(|character| character != '-');
        text.truncate(start + 32);
        text.push('@');
        text.push_str(&suffix.mail_domain);
    });
}

fn write_group(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, group: u64, count: u64, seed: u64) -> io::Result<()> {
    let random = &mut Random::for_entry(seed ^ GROUP_SEED, group);
    let push_cn = |text: &mut String| {
        text.push_str("course-");
        push_number(text, group, 5);
    };
    ldif.compose("dn", |text| {
        text.push_str("cn=");
        push_cn(text);
        text.push_str(",ou=Groups,");
        text.push_str(&suffix.dn);
    });
    ldif.line("objectClass", "groupOfNames");
    ldif.compose("cn", push_cn);
    ldif.compose("description", |text| {
        let words = 3 + random.below(6);
        push_sentence(text, random, words);
    });
    // Steps through all people from a random start, so that each member is named once.
    let members = (10 + random.below(140)).min(count);
    let start = random.below(count);
    let step = count / members.max(1);
    for member in 0..members {
        let number = (start + member * step) % count;
        ldif.compose("member", |text| {
            Identity::new(&mut Random::for_entry(seed, number), number).push_dn(text, &suffix.dn);
        });
    }
    ldif.end()
}

const PEOPLE_PER_GROUP: u64 = 50;
const GROUP_SEED: u64 = 0x6772_6f75_7073;
const AFFILIATIONS: &[&str] = &[
    "student",
    "student",
    "student",
    "student",
    "student",
    "student",
    "faculty",
    "staff",
    "employee",
    "affiliate",
];
