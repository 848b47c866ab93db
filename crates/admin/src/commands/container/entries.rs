//! The entries of a new directory, as LDIF.

use ironbark_ldif::LdifWriter;

use super::settings::{Account, Entries, Settings, Users};
use crate::commands::init::Suffix;

/// LDIF of the entries that the settings ask for. `hash` gives the stored form of a password, `passwords` those of the
/// users.
///
/// # Errors
/// A base that cannot be the name of a first entry, or other numbers of users and passwords.
pub(super) fn ldif(
    settings: &Settings,
    passwords: &[String],
    reader_hash: Option<&str>,
    hash: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<u8>, String> {
    let mut out = Ldif(Vec::new());
    match &settings.entries {
        Entries::None => {}
        Entries::Root => out.root(&settings.suffix, settings.organization.as_deref())?,
        Entries::Users(users) => {
            out.root(&users.root, None)?;
            out.users(users, passwords, hash)?;
        }
    }
    if let (Some(Account { dn, .. }), Some(hash)) = (&settings.reader, reader_hash) {
        let name = dn
            .split_once('=')
            .and_then(|(_, rest)| rest.split_once(','))
            .map_or("", |(name, _)| name);
        out.entry(
            dn,
            &["simpleSecurityObject", "organizationalRole"],
            &[
                ("cn", name),
                ("userPassword", hash),
                ("description", "LDAP read only user"),
            ],
        );
    }
    Ok(out.0)
}

struct Ldif(Vec<u8>);

impl Ldif {
    fn entry(&mut self, dn: &str, classes: &[&str], attributes: &[(&str, &str)]) {
        let writer = LdifWriter::default();
        writer.dn(&mut self.0, dn.as_bytes());
        for class in classes {
            writer.attribute(&mut self.0, b"objectClass", class.as_bytes());
        }
        for (name, value) in attributes {
            writer.attribute(&mut self.0, name.as_bytes(), value.as_bytes());
        }
        self.0.push(b'\n');
    }

    fn root(&mut self, dn: &str, organization: Option<&str>) -> Result<(), String> {
        let suffix = Suffix::new(dn, organization)?;
        self.0.extend_from_slice(&suffix.root_entry());
        Ok(())
    }

    fn users(
        &mut self,
        users: &Users,
        passwords: &[String],
        hash: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        if users.names.len() != passwords.len() {
            return Err("LDAP_USERS and LDAP_PASSWORDS must have as many words".to_owned());
        }
        let Users {
            root,
            unit,
            group,
            group_unit,
            ..
        } = users;
        self.entry(&format!("ou={unit},{root}"), &["organizationalUnit"], &[("ou", unit)]);
        if group_unit != unit {
            self.entry(
                &format!("ou={group_unit},{root}"),
                &["organizationalUnit"],
                &[("ou", group_unit)],
            );
        }
        let mut members = Vec::new();
        for ((number, name), password) in (1_u32..).zip(&users.names).zip(passwords) {
            let dn = format!("cn={name},ou={unit},{root}");
            let id = (number + 999).to_string();
            self.entry(
                &dn,
                &["inetOrgPerson", "posixAccount", "shadowAccount"],
                &[
                    ("cn", name),
                    ("cn", &format!("User{number}")),
                    ("sn", &format!("Bar{number}")),
                    ("userPassword", &hash(password)?),
                    ("uid", name),
                    ("uidNumber", &id),
                    ("gidNumber", &id),
                    ("homeDirectory", &format!("/home/{name}")),
                ],
            );
            members.push(dn);
        }
        // A group without members is none.
        if !members.is_empty() {
            let mut attributes = vec![("cn", group.as_str())];
            attributes.extend(members.iter().map(|dn| ("member", dn.as_str())));
            self.entry(
                &format!("cn={group},ou={group_unit},{root}"),
                &["groupOfNames"],
                &attributes,
            );
        }
        Ok(())
    }
}
