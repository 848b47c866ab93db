//! Zimbra mail accounts: the account's own attributes, and the defaults of its class of service, repeated in each
//! account.

use super::ldif::{Ldif, block, push_number, push_time, push_uuid};
use super::names::{Person, person, push_lower};
use super::random::Random;
use super::suffix::Suffix;
use super::words::{PLACES, Place, TITLES, push_sentence, push_street, push_telephone};
use std::io::{self, Write};

/// Writes the classes of service, ten domains with `ou=people`, and the accounts. The accounts go to the domains in
/// turn.
pub(super) fn write(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, count: u64, seed: u64) -> io::Result<()> {
    write_services(ldif, suffix, seed)?;
    let services = common(seed);
    for domain in 0..DOMAINS {
        write_domain(ldif, suffix, domain, seed)?;
    }
    for number in 0..count {
        write_entry(ldif, suffix, number, seed, &services)?;
    }
    Ok(())
}

/// Writes one account.
pub(super) fn write_entry(
    ldif: &mut Ldif<'_, impl Write>,
    suffix: &Suffix,
    number: u64,
    seed: u64,
    services: &[Vec<u8>],
) -> io::Result<()> {
    let random = &mut Random::for_entry(seed, number);
    Account::new(random, number, suffix).write(ldif, suffix, services, random)
}

/// The lines that an account of each class of service repeats.
pub(super) fn common(seed: u64) -> Vec<Vec<u8>> {
    let lines = |(index, (_, own)): (u64, &Service)| {
        let mut lines = block(&[("zimbraCOSId", &service_id(seed, index))]);
        lines.extend(block(own));
        lines.extend(block(DEFAULTS));
        lines.extend(block(&[("zimbraPrefMailSignatureEnabled", "TRUE")]));
        lines
    };
    (0..).zip(SERVICES).map(lines).collect()
}

fn service_id(seed: u64, index: u64) -> String {
    let mut id = String::new();
    push_uuid(&mut id, &mut Random::for_entry(seed ^ SERVICE_SEED, index));
    id
}

/// DN and uid of an account.
pub(super) fn name(suffix: &Suffix, number: u64, seed: u64) -> (String, String) {
    let account = Account::new(&mut Random::for_entry(seed, number), number, suffix);
    let mut dn = String::new();
    account.push_dn(&mut dn, &suffix.dn);
    (dn, account.uid)
}

/// Writes `cn=cos` and its entries.
fn write_services(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, seed: u64) -> io::Result<()> {
    ldif.compose("dn", |text| {
        text.push_str("cn=cos,");
        text.push_str(&suffix.dn);
    });
    ldif.line("objectClass", "organizationalRole");
    ldif.line("cn", "cos");
    ldif.end()?;
    for (index, (name, own)) in (0..).zip(SERVICES) {
        ldif.compose("dn", |text| {
            text.push_str("cn=");
            text.push_str(name);
            text.push_str(",cn=cos,");
            text.push_str(&suffix.dn);
        });
        ldif.line("objectClass", "zimbraCOS");
        ldif.line("cn", name);
        ldif.line("zimbraId", &service_id(seed, index));
        ldif.raw(&block(own));
        ldif.raw(&block(DEFAULTS));
        ldif.end()?;
    }
    Ok(())
}

fn write_domain(ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, domain: u64, seed: u64) -> io::Result<()> {
    let random = &mut Random::for_entry(seed ^ DOMAIN_SEED, domain);
    let mut path = "dc=".to_owned();
    push_domain(&mut path, domain);
    let label = path.get(3..).unwrap_or_default().to_owned();
    ldif.compose("dn", |text| {
        text.push_str(&path);
        text.push(',');
        text.push_str(&suffix.dn);
    });
    for class in ["dcObject", "organization", "zimbraDomain"] {
        ldif.line("objectClass", class);
    }
    ldif.line("dc", &label);
    ldif.line("o", &label);
    ldif.compose("zimbraId", |text| push_uuid(text, random));
    ldif.line("zimbraDomainType", "local");
    ldif.compose("zimbraDomainName", |text| {
        text.push_str(&label);
        text.push('.');
        text.push_str(&suffix.mail_domain);
    });
    ldif.line("zimbraDomainStatus", "active");
    ldif.line("zimbraMailStatus", "enabled");
    ldif.end()?;
    suffix.write_unit(ldif, &format!("ou=people,{path}"), "people")
}

fn push_domain(text: &mut String, domain: u64) {
    text.push('d');
    push_number(text, domain, 2);
}

/// The names of one account.
struct Account {
    person: Person,
    number: u64,
    uid: String,
    address: String,
}

impl Account {
    fn new(random: &mut Random, number: u64, suffix: &Suffix) -> Self {
        let person = person(random);
        let mut uid = String::with_capacity(40);
        push_lower(&mut uid, person.given.1);
        uid.push('.');
        push_lower(&mut uid, person.surname.1);
        push_number(&mut uid, number, 1);
        let mut account = Self {
            person,
            number,
            uid,
            address: String::with_capacity(64),
        };
        let mut address = String::with_capacity(64);
        address.push_str(&account.uid);
        account.push_at(&mut address, suffix);
        account.address = address;
        account
    }

    fn push_dn(&self, text: &mut String, suffix: &str) {
        text.push_str("uid=");
        text.push_str(&self.uid);
        text.push_str(",ou=people,dc=");
        push_domain(text, self.number % DOMAINS);
        text.push(',');
        text.push_str(suffix);
    }

    fn push_at(&self, text: &mut String, suffix: &Suffix) {
        text.push('@');
        push_domain(text, self.number % DOMAINS);
        text.push('.');
        text.push_str(&suffix.mail_domain);
    }

    fn push_name(&self, text: &mut String) {
        text.push_str(self.person.given.0);
        text.push(' ');
        text.push_str(self.person.surname.0);
    }

    fn write(
        &self,
        ldif: &mut Ldif<'_, impl Write>,
        suffix: &Suffix,
        services: &[Vec<u8>],
        random: &mut Random,
    ) -> io::Result<()> {
        ldif.compose("dn", |text| self.push_dn(text, &suffix.dn));
        for class in ["inetOrgPerson", "zimbraAccount"] {
            ldif.line("objectClass", class);
        }
        self.write_person(ldif, random);
        self.write_mail(ldif, suffix, random);
        Self::write_state(ldif, random);
        // Most accounts belong to the default class.
        let class = if random.percent(80) { 0 } else { 1 + random.below(2) };
        let service = usize::try_from(class).ok().and_then(|class| services.get(class));
        ldif.raw(service.map(Vec::as_slice).unwrap_or_default());
        ldif.end()
    }

    fn write_person(&self, ldif: &mut Ldif<'_, impl Write>, random: &mut Random) {
        let (town, state, country): Place = random.pick(PLACES);
        ldif.line("uid", &self.uid);
        ldif.compose("cn", |text| self.push_name(text));
        ldif.line("sn", self.person.surname.0);
        ldif.line("givenName", self.person.given.0);
        ldif.compose("displayName", |text| self.push_name(text));
        ldif.line("title", random.pick(TITLES));
        ldif.compose("street", |text| push_street(text, random));
        ldif.line("l", town);
        ldif.line("st", state);
        ldif.line("co", country);
        ldif.compose("postalCode", |text| push_number(text, random.below(100_000), 5));
        ldif.compose("telephoneNumber", |text| push_telephone(text, random));
        if random.percent(50) {
            ldif.compose("mobile", |text| push_telephone(text, random));
        }
        ldif.password(random, &self.uid);
    }

    fn write_mail(&self, ldif: &mut Ldif<'_, impl Write>, suffix: &Suffix, random: &mut Random) {
        let host = random.below(16);
        ldif.line("mail", &self.address);
        let aliases = random.below(3);
        for alias in 0..aliases {
            for attribute in ["mail", "zimbraMailAlias"] {
                ldif.compose(attribute, |text| {
                    text.push_str(
                        ALIAS_PREFIXES
                            .get(usize::try_from(alias).unwrap_or(0))
                            .copied()
                            .unwrap_or("a"),
                    );
                    push_number(text, self.number, 1);
                    self.push_at(text, suffix);
                });
            }
        }
        ldif.line("zimbraMailDeliveryAddress", &self.address);
        ldif.line("zimbraPrefFromAddress", &self.address);
        ldif.compose("zimbraPrefFromDisplay", |text| self.push_name(text));
        let push_host = |text: &mut String| {
            text.push_str("store");
            push_number(text, host, 2);
            text.push('.');
            text.push_str(&suffix.mail_domain);
        };
        ldif.compose("zimbraMailHost", push_host);
        ldif.compose("zimbraMailTransport", |text| {
            text.push_str("lmtp:");
            push_host(text);
            text.push_str(":7025");
        });
        ldif.line("zimbraMailStatus", "enabled");
        ldif.compose("zimbraSignatureId", |text| push_uuid(text, random));
        ldif.compose("zimbraPrefMailSignature", |text| {
            self.push_name(text);
            text.push_str(" - ");
            let words = 6 + random.below(12);
            push_sentence(text, random, words);
        });
        if random.percent(12) {
            ldif.compose("zimbraMailForwardingAddress", |text| {
                text.push_str(&self.uid);
                text.push_str("@mail.example.net");
            });
        }
    }

    fn write_state(ldif: &mut Ldif<'_, impl Write>, random: &mut Random) {
        ldif.compose("zimbraId", |text| push_uuid(text, random));
        ldif.line(
            "zimbraAccountStatus",
            if random.percent(96) { "active" } else { "closed" },
        );
        ldif.compose("zimbraCreateTimestamp", |text| push_time(text, random, 2006, 2012));
        ldif.compose("zimbraPasswordModifiedTime", |text| push_time(text, random, 2012, 2013));
        ldif.compose("zimbraLastLogonTimestamp", |text| push_time(text, random, 2013, 2014));
        ldif.compose("zimbraAuthTokenValidityValue", |text| {
            push_number(text, random.below(20), 1);
        });
    }
}

const DOMAINS: u64 = 10;
const DOMAIN_SEED: u64 = 0x646f_6d61_696e;
const SERVICE_SEED: u64 = 0x0063_6f73;
const ALIAS_PREFIXES: &[&str] = &["m", "info.", "x"];

/// The attributes that differ between classes of service.
type Service = (&'static str, &'static [(&'static str, &'static str)]);

const SERVICES: &[Service] = &[
    (
        "default",
        &[
            ("zimbraMailQuota", "1073741824"),
            ("zimbraFeatureCalendarEnabled", "TRUE"),
        ],
    ),
    (
        "premium",
        &[
            ("zimbraMailQuota", "10737418240"),
            ("zimbraFeatureCalendarEnabled", "TRUE"),
        ],
    ),
    (
        "basic",
        &[
            ("zimbraMailQuota", "268435456"),
            ("zimbraFeatureCalendarEnabled", "FALSE"),
        ],
    ),
];

/// The attributes that all classes of service share.
const DEFAULTS: &[(&str, &str)] = &[
    ("zimbraPrefLocale", "en_US"),
    ("zimbraPrefTimeZoneId", "America/Los_Angeles"),
    ("zimbraPrefSkin", "harmony"),
    ("zimbraPrefSaveToSent", "TRUE"),
    ("zimbraPrefGroupMailBy", "conversation"),
    ("zimbraPrefMailItemsPerPage", "25"),
    ("zimbraPrefMailInitialSearch", "in:inbox"),
    ("zimbraPrefSentMailFolder", "sent"),
    ("zimbraPrefUseKeyboardShortcuts", "TRUE"),
    ("zimbraAuthTokenLifetime", "2d"),
    ("zimbraMailTrashLifetime", "30d"),
    ("zimbraMailSpamLifetime", "30d"),
    ("zimbraContactMaxNumEntries", "10000"),
    ("zimbraPrefMailPollingInterval", "5m"),
    ("zimbraAttachmentsBlocked", "FALSE"),
    ("zimbraFeatureMailEnabled", "TRUE"),
    ("zimbraPrefComposeFormat", "html"),
    ("zimbraPrefCalendarInitialView", "workWeek"),
    ("zimbraPrefClientType", "advanced"),
];
