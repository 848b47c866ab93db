//! Key-value records as in YCSB: a key and ten fields of 400 bytes. Any server with inetOrgPerson accepts them.

use super::ldif::{Ldif, push_number};
use super::random::Random;
use super::suffix::Suffix;
use std::io::{self, Write};

/// Writes `ou=usertable` and the records.
pub(super) fn write(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, count: u64, seed: u64) -> io::Result<()> {
    suffix.write_unit(ldif, "ou=usertable", "usertable")?;
    for number in 0..count {
        write_entry(ldif, suffix, number, seed)?;
    }
    Ok(())
}

/// Writes one record.
pub(super) fn write_entry(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, number: u64, seed: u64) -> io::Result<()> {
    let random = &mut Random::for_entry(seed, number);
    let (dn, key) = name(suffix, number);
    ldif.line("dn", &dn);
    ldif.line("objectClass", "inetOrgPerson");
    ldif.line("uid", &key);
    ldif.line("cn", &key);
    ldif.line("sn", &key);
    for field in FIELDS {
        ldif.compose(field, |text| push_field(text, random));
    }
    ldif.end()
}

/// DN and key of a record. Keys have a fixed length, so an initial substring selects a range of keys.
pub(super) fn name(suffix: &Suffix, number: u64) -> (String, String) {
    let mut key = "user".to_owned();
    push_number(&mut key, number, 12);
    (format!("uid={key},ou=usertable,{}", suffix.dn), key)
}

/// Appends a field: 400 letters and digits.
pub(crate) fn push_field(text: &mut String, random: &mut Random) {
    for _ in 0..FIELD_BYTES / 10 {
        // Ten characters of 6 bits from one number.
        let bits = random.next();
        text.extend((0..10).map(|position| {
            let index = usize::try_from((bits >> (6 * position)) & 0x3f).unwrap_or(0);
            char::from(ALPHABET.get(index).copied().unwrap_or(b'a'))
        }));
    }
}

/// The attributes that hold the fields: directory strings that may be long.
pub(crate) const FIELDS: [&str; 10] = [
    "description",
    "title",
    "street",
    "carLicense",
    "departmentNumber",
    "employeeType",
    "roomNumber",
    "businessCategory",
    "physicalDeliveryOfficeName",
    "displayName",
];
const FIELD_BYTES: u64 = 400;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
