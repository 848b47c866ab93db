//! A directory with hidden entries, and its clients.

use ironbark_testkit::{Credentials, Flavor, ProgramOutput, Server};

pub(crate) const BASE: &str = "dc=example,dc=com";
pub(crate) const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";
pub(crate) const BOB: &str = "uid=bob,ou=people,dc=example,dc=com";
pub(crate) const BOSS: &str = "uid=boss,ou=people,dc=example,dc=com";
/// An entry that only the boss may know about, and a missing neighbour.
pub(crate) const HIDDEN: &str = "cn=secret,ou=hidden,dc=example,dc=com";
pub(crate) const ABSENT: &str = "cn=nothing,ou=hidden,dc=example,dc=com";

/// employeeNumber stands for any attribute with an order that nobody may read.
pub(crate) const RULES: &str = "\
access to attrs=userPassword by self =xw by anonymous auth by * none
access to attrs=employeeNumber by * none
access to dn.subtree=\"ou=hidden,dc=example,dc=com\" by dn.exact=\"uid=boss,ou=people,dc=example,dc=com\" write by * none
access to dn.exact=\"uid=ann,ou=people,dc=example,dc=com\" attrs=description by dn.exact=\"uid=bob,ou=people,dc=example,dc=com\" write by * read
access to dn.subtree=\"ou=mine,dc=example,dc=com\" by dn.exact=\"uid=bob,ou=people,dc=example,dc=com\" write by users read
access to * by users read by anonymous auth
";

pub(crate) const DATA: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Able
description: first
employeeNumber: 3
manager: uid=boss,ou=people,dc=example,dc=com
seeAlso: cn=secret,ou=hidden,dc=example,dc=com
userPassword: annspass

dn: uid=bob,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Baker
employeeNumber: 1
userPassword: bobspass

dn: uid=boss,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: boss
cn: Boss
sn: Big
employeeNumber: 2
userPassword: bossspass

dn: ou=mine,dc=example,dc=com
objectClass: organizationalUnit
ou: mine

dn: cn=way,ou=mine,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: way
aliasedObjectName: cn=secret,ou=hidden,dc=example,dc=com

dn: cn=nowhere,ou=mine,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: nowhere
aliasedObjectName: cn=nothing,ou=hidden,dc=example,dc=com

dn: ou=hidden,dc=example,dc=com
objectClass: organizationalUnit
ou: hidden

dn: cn=secret,ou=hidden,dc=example,dc=com
objectClass: person
cn: secret
sn: secret
description: plan
userPassword: hiddenpass

dn: cn=below,cn=secret,ou=hidden,dc=example,dc=com
objectClass: person
cn: below
sn: secret

dn: cn=subentry,ou=hidden,dc=example,dc=com
objectClass: subentry
objectClass: extensibleObject
cn: subentry
subtreeSpecification: {}
description: plan
";

/// A configuration with the rules, global lines before the database and others in it.
pub(crate) fn template(global: &str, lines: &str) -> String {
    format!("{global}\n{}{lines}\n{RULES}", Server::PEOPLE_CONFIG)
}

/// A server with the rules and the data.
pub(crate) fn site() -> Server {
    site_with("", "")
}

pub(crate) fn site_with(global: &str, lines: &str) -> Server {
    site_holding(global, lines, "")
}

/// The same with further entries.
pub(crate) fn site_holding(global: &str, lines: &str, entries: &str) -> Server {
    let mut server = Server::prepare(Flavor::Ironbark, &template(global, lines)).unwrap();
    server.slapadd(&format!("{DATA}\n{entries}")).unwrap();
    server.launch().unwrap();
    server
}

pub(crate) const NOBODY: Credentials<'_> = Credentials::Anonymous;

/// Binds with the password of the data.
pub(crate) fn user(dn: &str) -> Credentials<'_> {
    let password = match dn {
        ANN => "annspass",
        BOB => "bobspass",
        _ => "bossspass",
    };
    Credentials::Simple { dn, password }
}

/// The output of a client of ldap-utils.
pub(crate) fn run(
    server: &Server,
    who: &Credentials<'_>,
    program: &str,
    arguments: &[&str],
    input: &str,
) -> ProgramOutput {
    server.client(program, who, arguments, input).unwrap()
}

/// Exit status, answer and error, with one name replaced by another, so that the answers about two entries can be
/// compared.
pub(crate) fn told(outcome: &ProgramOutput, name: &str) -> (Option<i32>, String, String) {
    let rdn = name.split(',').next().unwrap();
    let plain = |text: &str| text.replace(name, "NAME").replace(rdn, "RDN");
    (outcome.code(), plain(&outcome.stdout), plain(&outcome.stderr))
}
