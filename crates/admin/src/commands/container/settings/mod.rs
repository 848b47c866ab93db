//! What the variables ask for, as one typed value, whichever image they come from.
//!
//! Invariant: a value is made without a look at files or at this host, so that the variables of the last start give the
//! settings of the last start.

mod bitnami;
mod cluster;
mod common;
mod osixia;

use core::net::IpAddr;
use std::path::PathBuf;

pub(super) use self::cluster::Cluster;
use super::{
    environment::Given,
    state::Facts,
    variables::{self, Image},
};

/// All that is asked for.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) image: Image,
    /// Suffix of the database.
    pub(super) suffix: String,
    /// Name of `o` of the first entry.
    pub(super) organization: Option<String>,
    pub(super) admin: Account,
    pub(super) config_admin: Option<Account>,
    /// A user that may read everything; an entry.
    pub(super) reader: Option<Account>,
    /// Schemas by name, core first.
    pub(super) schemas: Vec<String>,
    /// Files and folders with further schemas.
    pub(super) schema_places: Vec<PathBuf>,
    /// Files and folders with LDIF.
    pub(super) ldif_places: Vec<PathBuf>,
    /// Names in double braces that LDIF files may use, and what they stand for.
    pub(super) placeholders: Vec<(&'static str, String)>,
    pub(super) import: Option<PathBuf>,
    pub(super) entries: Entries,
    pub(super) ports: Ports,
    pub(super) tls: Option<Tls>,
    /// Whether operations need protection.
    pub(super) requires_tls: bool,
    pub(super) allows_anonymous: bool,
    /// Levels for `-d`.
    pub(super) log_level: String,
    pub(super) password_hash: Option<String>,
    pub(super) policy: Option<Policy>,
    pub(super) access_log: Option<AccessLog>,
    /// Lines of overlay syncprov.
    pub(super) provider: Option<Vec<String>>,
    pub(super) replication: Option<Replication>,
    pub(super) cluster: Option<Cluster>,
    /// Where to listen; `None`: at all addresses.
    pub(super) address: Option<IpAddr>,
    pub(super) open_files: Option<u64>,
    pub(super) metrics: Option<String>,
    /// Octets.
    pub(super) max_size: u64,
    /// User and group to become.
    pub(super) user: Option<String>,
    pub(super) group: Option<String>,
}

/// A name with its password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Account {
    pub(super) dn: String,
    pub(super) password: Secret,
}

/// A secret by the name of its variable; its value is kept apart, so that it cannot be shown by mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Secret(pub(super) &'static str);

/// The entries of a new database, where no LDIF file makes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entries {
    None,
    /// The entry of the suffix.
    Root,
    /// That, units, users and their group.
    Users(Box<Users>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Users {
    /// The entry above the units.
    pub(super) root: String,
    pub(super) names: Vec<String>,
    pub(super) unit: String,
    pub(super) group: String,
    pub(super) group_unit: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ports {
    pub(super) plain: Option<u16>,
    pub(super) tls: Option<u16>,
    pub(super) proxied: Option<u16>,
    pub(super) proxied_tls: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tls {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) authority: Option<String>,
    pub(super) parameters: Option<String>,
    /// The word of `TLSVerifyClient`.
    pub(super) verify: String,
    pub(super) ciphers: Option<String>,
    /// Whether a certificate is made if there is none.
    pub(super) may_be_made: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Policy {
    pub(super) uses_lockout: bool,
    pub(super) hashes: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AccessLog {
    pub(super) suffix: String,
    pub(super) admin: Account,
    /// Keyword and argument of each line of the overlay.
    pub(super) lines: Vec<(&'static str, String)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Replication {
    /// All hosts, or the providers of a consumer.
    pub(super) hosts: Vec<String>,
    pub(super) is_consumer: bool,
    /// The first `rid`.
    pub(super) first_rid: u16,
    /// Options of every line; `$NAME` of a secret stands for it.
    pub(super) options: String,
}

impl Settings {
    /// The settings that the variables ask for. `facts` are those of the host that are part of the configuration.
    ///
    /// # Errors
    /// Everything that is wrong, in one text.
    pub(super) fn new(image: Image, given: &Given, facts: &Facts) -> Result<Self, String> {
        let mut settings = match image {
            Image::Osixia => osixia::settings(given)?,
            _ => bitnami::settings(given)?,
        };
        if settings.cluster.is_some() && settings.replication.is_some() {
            return Err(
                "IRONBARK_CLUSTER contradicts the variables of replication: a server of a cluster follows etcd alone"
                    .to_owned(),
            );
        }
        if facts.has_made_certificate
            && let Some(tls) = &mut settings.tls
        {
            let made = |name: &str| format!("{}/{name}", facts.made_certificate);
            (tls.certificate, tls.key) = (made("server.crt"), made("server.key"));
            tls.authority = Some(made("ca.crt"));
        }
        if !facts.has_parameters
            && settings.image == Image::Osixia
            && let Some(tls) = &mut settings.tls
        {
            tls.parameters = None;
        }
        Ok(settings)
    }
}

/// Passwords that the other images have if none is given.
const WELL_KNOWN: &[(Image, &str, &str)] = &[
    (Image::Bitnami, "LDAP_ADMIN_PASSWORD", "adminpassword"),
    (Image::Bitnami, "LDAP_CONFIG_ADMIN_PASSWORD", "configpassword"),
    (Image::Bitnami, "LDAP_ACCESSLOG_ADMIN_PASSWORD", "accesspassword"),
    (Image::Bitnami, "LDAP_USERS", "user01,user02"),
    (Image::Bitnami, "LDAP_PASSWORDS", "bitnami1,bitnami2"),
    (Image::Osixia, "LDAP_ADMIN_PASSWORD", "admin"),
    (Image::Osixia, "LDAP_CONFIG_PASSWORD", "config"),
    (Image::Osixia, "LDAP_READONLY_USER_PASSWORD", "readonly"),
];

/// Puts the well-known passwords of an image in, if that is asked for.
///
/// # Errors
/// The variable has no known word.
pub(super) fn complete(image: Image, given: &mut Given) -> Result<(), String> {
    if let Some(password) = given.values.remove("LDAP_ACCESSLOG_PASSWORD") {
        let known = given
            .values
            .insert("LDAP_ACCESSLOG_ADMIN_PASSWORD".to_owned(), password.clone());
        if known.is_some_and(|known| known != password) {
            return Err("LDAP_ACCESSLOG_PASSWORD and LDAP_ACCESSLOG_ADMIN_PASSWORD differ".to_owned());
        }
    }
    if given.is_set("IRONBARK_DEFAULT_PASSWORDS", false)? {
        let has_users = given.value("LDAP_USERS").is_some() || given.value("LDAP_PASSWORDS").is_some();
        for (_, name, value) in WELL_KNOWN.iter().filter(|(of, _, _)| *of == image) {
            if !(has_users && matches!(*name, "LDAP_USERS" | "LDAP_PASSWORDS")) {
                given
                    .values
                    .entry((*name).to_owned())
                    .or_insert_with(|| (*value).to_owned());
            }
        }
    }
    Ok(())
}

/// Lets a start without passwords pass, where the configuration is served as it is.
pub(super) fn without_passwords(image: Image, given: &mut Given) {
    for (_, name, value) in WELL_KNOWN.iter().filter(|(of, _, _)| *of == image) {
        given
            .values
            .entry((*name).to_owned())
            .or_insert_with(|| (*value).to_owned());
    }
}

/// The secret of a variable that must be given.
fn required(given: &Given, name: &'static str) -> Result<Secret, String> {
    debug_assert!(variables::find(name).is_some_and(|row| row.is_secret));
    match given.value(name) {
        Some(_) => Ok(Secret(name)),
        None => Err(format!(
            "{name} or {name}_FILE is needed: there is no default password (IRONBARK_DEFAULT_PASSWORDS=yes brings \
             the well-known ones back)"
        )),
    }
}

#[cfg(test)]
mod tests;
