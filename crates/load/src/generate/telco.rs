//! Mobile subscribers of a home location register, spread over six units.

use super::ldif::{Ldif, block, push_number, push_time};
use super::password::PasswordStorage;
use super::random::Random;
use super::suffix::Suffix;
use std::io::{self, Write};

/// Writes units `ou=hlr1` to `ou=hlr6` and the subscribers, in turn.
pub(super) fn write(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, count: u64, seed: u64) -> io::Result<()> {
    for unit in UNITS {
        suffix.write_unit(ldif, &format!("ou={unit}"), unit)?;
    }
    let profiles = common();
    for number in 0..count {
        write_entry(ldif, suffix, number, seed, &profiles)?;
    }
    Ok(())
}

/// The lines of each service profile.
pub(super) fn common() -> Vec<Vec<u8>> {
    PROFILES.iter().map(|lines| block(lines)).collect()
}

/// DN and IMSI of a subscriber.
pub(super) fn name(suffix: &Suffix, number: u64) -> (String, String) {
    let (mut dn, mut imsi) = (String::new(), String::new());
    push_dn(&mut dn, number, &suffix.dn);
    push_imsi(&mut imsi, number);
    (dn, imsi)
}

fn push_dn(text: &mut String, number: u64, suffix: &str) {
    text.push_str("imsi=");
    push_imsi(text, number);
    text.push_str(",ou=");
    text.push_str(
        usize::try_from(number % 6)
            .ok()
            .and_then(|unit| UNITS.get(unit))
            .copied()
            .unwrap_or("hlr1"),
    );
    text.push(',');
    text.push_str(suffix);
}

fn push_imsi(text: &mut String, number: u64) {
    text.push_str("26201");
    push_number(text, spread(number, 7_368_787_601), 10);
}

/// Writes one subscriber. A subscriber has a password only when passwords are requested.
pub(super) fn write_entry(
    ldif: &mut Ldif<'_, impl Write>,
    suffix: &Suffix,
    number: u64,
    seed: u64,
    profiles: &[Vec<u8>],
) -> io::Result<()> {
    let random = &mut Random::for_entry(seed, number);
    ldif.compose("dn", |text| push_dn(text, number, &suffix.dn));
    ldif.line("objectClass", "telcoSubscriber");
    let has_password = ldif.passwords() != PasswordStorage::Usual;
    if has_password {
        ldif.line("objectClass", "simpleSecurityObject");
    }
    ldif.compose("imsi", |text| push_imsi(text, number));
    ldif.compose("msisdn", |text| {
        text.push_str("49");
        push_number(text, spread(number, 6_125_423_371), 10);
    });
    ldif.compose("iccid", |text| {
        text.push_str("894902");
        push_number(text, random.below(10_000_000_000_000), 13);
    });
    ldif.compose("imei", |text| {
        text.push_str(random.pick(MODELS));
        push_number(text, random.below(1_000_000), 6);
        push_number(text, random.below(100), 2);
    });
    ldif.line(
        "subscriberStatus",
        if random.percent(97) {
            "serviceGranted"
        } else {
            "operatorDeterminedBarring"
        },
    );
    let profile = usize::try_from(random.below(PROFILES_U64))
        .ok()
        .and_then(|index| profiles.get(index));
    ldif.raw(profile.map(Vec::as_slice).unwrap_or_default());
    if random.percent(15) {
        ldif.compose("supplementaryService", |text| {
            text.push_str("cfnrc active 49");
            push_number(text, random.below(10_000_000_000), 10);
        });
    }
    ldif.compose("authenticationKey", |text| {
        for _ in 0..2 {
            push_hex(text, random.next());
        }
    });
    ldif.compose("sequenceNumber", |text| push_number(text, random.below(1 << 43), 1));
    ldif.compose("servingNode", |text| {
        text.push_str("491770");
        push_number(text, random.below(48), 3);
    });
    ldif.compose("lastLocationUpdate", |text| push_time(text, random, 2013, 2014));
    if has_password {
        let mut imsi = String::new();
        push_imsi(&mut imsi, number);
        ldif.password(random, &imsi);
    }
    ldif.end()
}

/// A number of ten digits that is different for each entry: multiplication by a number that has no common factor with
/// 10^10.
fn spread(number: u64, factor: u64) -> u64 {
    u64::try_from(u128::from(number) * u128::from(factor) % 10_000_000_000).unwrap_or(0)
}

/// Appends 16 hexadecimal digits.
fn push_hex(text: &mut String, bits: u64) {
    for position in (0..16_u32).rev() {
        let nibble = u32::try_from((bits >> (4 * position)) & 0xf).unwrap_or(0);
        text.push(char::from_digit(nibble, 16).unwrap_or('0'));
    }
}

const UNITS: &[&str] = &["hlr1", "hlr2", "hlr3", "hlr4", "hlr5", "hlr6"];

/// Type allocation codes of handsets.
const MODELS: &[&str] = &[
    "35693803", "35824005", "01332700", "35316605", "35739804", "86073402", "35420704",
];

/// Service profiles: the part that many subscribers have in common.
const PROFILES: &[&[(&str, &str)]] = &[
    &[
        ("subscriberCategory", "10"),
        ("networkAccessMode", "0"),
        ("teleservice", "17"),
        ("teleservice", "33"),
        ("teleservice", "34"),
        ("bearerService", "38"),
        ("supplementaryService", "clip provisioned"),
        ("supplementaryService", "cw active"),
        ("supplementaryService", "hold provisioned"),
        ("apn", "internet.example qci=9"),
        ("apn", "mms.example qci=8"),
        ("authenticationKeyIndex", "3"),
        ("chargingCharacteristics", "0800"),
    ],
    &[
        ("subscriberCategory", "10"),
        ("networkAccessMode", "0"),
        ("teleservice", "17"),
        ("teleservice", "33"),
        ("teleservice", "34"),
        ("supplementaryService", "clip provisioned"),
        ("supplementaryService", "boic active"),
        ("apn", "prepaid.example qci=9"),
        ("authenticationKeyIndex", "3"),
        ("chargingCharacteristics", "0400"),
    ],
    &[
        ("subscriberCategory", "10"),
        ("networkAccessMode", "2"),
        ("teleservice", "33"),
        ("apn", "machines.example qci=7"),
        ("authenticationKeyIndex", "5"),
        ("chargingCharacteristics", "0100"),
    ],
];
const PROFILES_U64: u64 = 3;
