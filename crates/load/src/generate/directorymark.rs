//! The people of the DirectoryMark benchmark: inetOrgPerson entries named by cn in a few organizational units.

use super::ldif::{Ldif, push_number};
use super::names::{Person, person, push_lower};
use super::random::Random;
use super::suffix::Suffix;
use super::words::{PLACES, Place, TITLES, push_street, push_telephone};
use std::io::{self, Write};

/// Writes the units, then the people.
pub(super) fn write(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, count: u64, seed: u64) -> io::Result<()> {
    for unit in UNITS {
        suffix.write_unit(ldif, &format!("ou={unit}"), unit)?;
    }
    for number in 0..count {
        write_entry(ldif, suffix, number, seed)?;
    }
    Ok(())
}

/// DN and uid of a person.
pub(super) fn name(suffix: &Suffix, number: u64, seed: u64) -> (String, String) {
    let (person, unit) = identity(&mut Random::for_entry(seed, number));
    let (mut dn, mut uid) = (String::new(), String::new());
    push_dn(&mut dn, &person, unit, number, &suffix.dn);
    push_uid(&mut uid, &person, number);
    (dn, uid)
}

/// The parts of an entry's DN: the first numbers that its generator draws.
fn identity(random: &mut Random) -> (Person, &'static str) {
    let person = person(random);
    (person, random.pick(UNITS))
}

fn push_cn(text: &mut String, person: &Person, number: u64) {
    text.push_str(person.given.0);
    text.push(' ');
    text.push_str(person.surname.0);
    text.push(' ');
    push_number(text, number, 1);
}

fn push_dn(text: &mut String, person: &Person, unit: &str, number: u64, suffix: &str) {
    text.push_str("cn=");
    push_cn(text, person, number);
    text.push_str(",ou=");
    text.push_str(unit);
    text.push(',');
    text.push_str(suffix);
}

fn push_uid(text: &mut String, person: &Person, number: u64) {
    push_lower(text, person.given.1.get(..1).unwrap_or_default());
    push_lower(text, person.surname.1);
    push_number(text, number, 1);
}

const TELEPHONES: [&str; 5] = [
    "telephoneNumber",
    "facsimileTelephoneNumber",
    "homePhone",
    "mobile",
    "pager",
];
const EMPLOYEE_TYPES: [&str; 6] = ["Manager", "Peon", "Temp", "Contract", "Employee", "Normal"];

/// Writes one person.
pub(super) fn write_entry(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, number: u64, seed: u64) -> io::Result<()> {
    let random = &mut Random::for_entry(seed, number);
    let (person, unit) = identity(random);
    let (town, state, _): Place = random.pick(PLACES);
    let title = random.pick(TITLES);
    ldif.compose("dn", |text| {
        push_dn(text, &person, unit, number, &suffix.dn);
    });
    for class in ["top", "person", "organizationalPerson", "inetOrgPerson"] {
        ldif.line("objectClass", class);
    }
    ldif.compose("cn", |text| push_cn(text, &person, number));
    ldif.line("sn", person.surname.0);
    ldif.line("givenName", person.given.0);
    ldif.compose("initials", |text| {
        text.extend(person.given.1.chars().next());
        text.extend(person.surname.1.chars().next());
    });
    ldif.compose("uid", |text| push_uid(text, &person, number));
    let mut uid = String::new();
    push_uid(&mut uid, &person, number);
    ldif.password(random, &uid);
    ldif.compose("mail", |text| {
        push_uid(text, &person, number);
        text.push('@');
        text.push_str(&suffix.mail_domain);
    });
    ldif.compose("description", |text| {
        text.push_str("This is ");
        push_cn(text, &person, number);
        text.push_str("'s description");
    });
    ldif.line("ou", unit);
    ldif.line("title", title);
    ldif.line("l", town);
    for attribute in TELEPHONES {
        ldif.compose(attribute, |text| push_telephone(text, random));
    }
    ldif.compose("postalAddress", |text| {
        push_street(text, random);
        text.push('$');
        text.push_str(town);
        text.push('$');
        text.push_str(state);
    });
    ldif.compose("carLicense", |text| push_plate(text, random));
    ldif.compose("departmentNumber", |text| {
        push_number(text, 1000 + random.below(9000), 4);
    });
    ldif.line("employeeType", random.pick(&EMPLOYEE_TYPES));
    ldif.compose("roomNumber", |text| push_number(text, random.below(10_000), 4));
    if number > 0 {
        let boss = number / 16;
        ldif.compose("manager", |text| {
            let (person, unit) = identity(&mut Random::for_entry(seed, boss));
            push_dn(text, &person, unit, boss, &suffix.dn);
        });
    }
    ldif.end()
}

fn push_plate(text: &mut String, random: &mut Random) {
    push_number(text, random.below(10), 1);
    for _ in 0..3 {
        let letter = u8::try_from(random.below(26)).unwrap_or(0);
        text.push(char::from(b'A' + letter));
    }
    push_number(text, random.below(1000), 3);
}

const UNITS: &[&str] = &[
    "Accounting",
    "Product Development",
    "Product Testing",
    "Human Resources",
    "Payroll",
];
