//! Groups whose members have no entries. Each group is ten times as large as the one before.

use super::ldif::{Ldif, push_number};
use super::suffix::Suffix;
use std::io::{self, Write};

/// Writes `ou=groups`, and groups of 1,000, 10,000, ... members up to `largest`. A group of `largest` members is always
/// written.
pub(super) fn write(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, largest: u64) -> io::Result<()> {
    suffix.write_unit(ldif, "ou=groups", "groups")?;
    let mut number = 0;
    while members(number) < largest {
        write_entry(ldif, suffix, number)?;
        number += 1;
    }
    write_group(ldif, suffix, largest)
}

/// Writes group `number`.
pub(super) fn write_entry(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, number: u64) -> io::Result<()> {
    write_group(ldif, suffix, members(number))
}

/// DN and cn of group `number`.
pub(super) fn name(suffix: &Suffix, number: u64) -> (String, String) {
    named(suffix, members(number))
}

fn named(suffix: &Suffix, size: u64) -> (String, String) {
    let cn = format!("group-{size}");
    (format!("cn={cn},ou=groups,{}", suffix.dn), cn)
}

fn members(number: u64) -> u64 {
    let exponent = u32::try_from(number).unwrap_or(u32::MAX);
    MEMBERS_OF_SMALLEST.saturating_mul(10_u64.saturating_pow(exponent))
}

fn write_group(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, size: u64) -> io::Result<()> {
    let (dn, cn) = named(suffix, size);
    ldif.line("dn", &dn);
    ldif.line("objectClass", "groupOfNames");
    ldif.line("cn", &cn);
    for member in 0..size {
        ldif.compose("member", |text| {
            text.push_str("uid=member");
            push_number(text, member, 7);
            text.push_str(",ou=people,");
            text.push_str(&suffix.dn);
        });
    }
    ldif.end()
}

/// Members of group 0. Each next group has ten times as many.
pub const MEMBERS_OF_SMALLEST: u64 = 1_000;
