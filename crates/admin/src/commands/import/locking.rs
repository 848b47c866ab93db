//! Accounts that 389 Directory Server locks although they do not hold nsAccountLock. Its tools inactivate an account,
//! or all who have a role, by roles below `nsDisabledRole`; a Class of Service gives nsAccountLock to who has that one.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_ldif::Attributes;

use super::survey::{base_name, plain};

/// The most roles that are remembered.
const MOST_ROLES: usize = 100_000;

/// The roles of the data. All names are plain ones.
#[derive(Default, Debug)]
pub(super) struct Roles {
    /// Nested roles, and the roles in them.
    nested: BTreeMap<String, Vec<String>>,
    filtered: BTreeSet<String>,
    /// Templates of Class of Service that lock accounts, those of inactivated roles excepted.
    templates: u64,
}

/// The roles that lock who has them.
#[derive(Default, Debug)]
pub(super) struct LockingRoles(BTreeSet<String>);

impl Roles {
    /// Notes an entry; `name` is its plain name, and its classes are in small letters.
    ///
    /// # Errors
    /// There are too many roles.
    pub(super) fn see(&mut self, name: &str, classes: &[String], attributes: &Attributes) -> Result<(), String> {
        let is_of = |class: &str| classes.iter().any(|known| known == class);
        if is_of("costemplate") {
            let is_inactivation = name.contains(",cn=nsaccountinactivationtmp,");
            let mut locks = values(attributes, "nsaccountlock");
            self.templates += u64::from(!is_inactivation && locks.any(|value| value.eq_ignore_ascii_case(b"true")));
        }
        if is_of("nsnestedroledefinition") {
            let inner = values(attributes, "nsroledn").map(|value| plain(&String::from_utf8_lossy(value)));
            self.nested.insert(name.to_owned(), inner.collect());
        } else if is_of("nsfilteredroledefinition") {
            self.filtered.insert(name.to_owned());
        }
        if self.nested.len() + self.filtered.len() > MOST_ROLES {
            return Err("the data has more roles than can be looked at".to_owned());
        }
        Ok(())
    }

    /// The roles that lock who has them.
    pub(super) fn locking(&self) -> LockingRoles {
        let is_first = |name: &&String| name.starts_with("cn=nsdisabledrole,");
        let mut unread: Vec<&String> = self.nested.keys().filter(is_first).collect();
        let mut found = BTreeSet::new();
        while let Some(role) = unread.pop() {
            if found.insert(role.clone()) {
                unread.extend(self.nested.get(role).into_iter().flatten());
            }
        }
        LockingRoles(found)
    }

    /// What locks accounts there, and not here: a subject and an explanation of each kind.
    pub(super) fn notes(&self) -> Vec<(String, &'static str)> {
        let locking = self.locking();
        let filtered = locking.0.iter().filter(|role| self.filtered.contains(*role));
        let mut notes: Vec<_> = filtered
            .map(|role| (format!("the inactivated role {role}, which has a filter"), UNLOCKED))
            .collect();
        if self.templates > 0 {
            let subject = format!("nsAccountLock in {} templates of Class of Service", self.templates);
            notes.push((subject, UNLOCKED));
        }
        notes
    }
}

/// Roles name other roles.
const ROLES: [&str; 2] = ["nsRoleDefinition", "nsNestedRoleDefinition"];
const UNLOCKED: &str = "accounts that it locks there are not locked here: give them \
    `pwdAccountLockedTime: 000001010000Z`";

impl LockingRoles {
    /// Whether an account has such a role by its name.
    pub(super) fn lock(&self, attributes: &Attributes) -> bool {
        let is_locking = |value: &[u8]| self.0.contains(&plain(&String::from_utf8_lossy(value)));
        let is_role = |class: &[u8]| ROLES.iter().any(|role| class.eq_ignore_ascii_case(role.as_bytes()));
        !self.0.is_empty()
            && values(attributes, "nsroledn").any(is_locking)
            && !values(attributes, "objectclass").any(is_role)
    }
}

fn values<'a>(attributes: &'a Attributes, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let found = attributes.iter().filter(move |(known, _)| base_name(known) == name);
    found.map(|(_, value)| value.as_slice())
}
