//! Limits and restrictions, compared with Debian's slapd: `limits`, `sizelimit`, `timelimit`; `restrict`, `require`,
//! `disallow`, `readonly`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod conversion;
mod paged;
mod restrictions;
mod search;

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, Server};

/// The suffix.
pub(crate) const BASE: &str = "dc=example,dc=com";

/// A configuration with these lines in its database.
pub(crate) fn config(lines: &str) -> String {
    format!("{}{lines}\n", Server::PEOPLE_CONFIG)
}

/// Two units with users, groups that name them, and `roles` further entries.
pub(crate) fn data(roles: usize) -> String {
    let mut data = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    for unit in ["people", "staff", "groups"] {
        let _ = write!(
            data,
            "dn: ou={unit},{BASE}\nobjectClass: organizationalUnit\nou: {unit}\n\n"
        );
    }
    for (name, unit) in [("ann", "people"), ("bob", "people"), ("eve", "staff"), ("max", "staff")] {
        let _ = write!(
            data,
            "dn: cn={name},ou={unit},{BASE}\nobjectClass: person\ncn: {name}\nsn: {name}\nuserPassword: secret\n\n"
        );
    }
    let _ = write!(
        data,
        "dn: cn=names,ou=groups,{BASE}\nobjectClass: groupOfNames\ncn: names\nmember: cn=EVE,ou=staff,{BASE}\n\n\
         dn: cn=unique,ou=groups,{BASE}\nobjectClass: groupOfUniqueNames\ncn: unique\nuniqueMember: cn=max,ou=staff,{BASE}\n\n\
         dn: cn=other,ou=groups,{BASE}\nobjectClass: organizationalRole\nobjectClass: extensibleObject\ncn: other\n\
         member: cn=max,ou=staff,{BASE}\n\n"
    );
    for number in 0..roles {
        let _ = write!(
            data,
            "dn: cn=r{number},{BASE}\nobjectClass: organizationalRole\ncn: r{number}\n\n"
        );
    }
    data
}

/// A user of [`data`].
pub(crate) fn user(dn: &str) -> Credentials<'_> {
    Credentials::Simple { dn, password: "secret" }
}

pub(crate) const ANN: &str = "cn=ann,ou=people,dc=example,dc=com";
pub(crate) const BOB: &str = "cn=bob,ou=people,dc=example,dc=com";
pub(crate) const EVE: &str = "cn=eve,ou=staff,dc=example,dc=com";
pub(crate) const MAX: &str = "cn=max,ou=staff,dc=example,dc=com";
