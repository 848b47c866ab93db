//! Servers that follow each other, ours and Debian's slapd on either side.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod accesslog;
mod administer;
mod changelog;
mod chaos;
mod compare;
mod config;
mod conflicts;
mod consumer;
mod consumer_tls;
mod cookies;
mod delta;
mod delta_config;
mod dir_sync;
mod glued;
mod hardship;
mod hostile;
mod interop;
mod kept_config;
mod lag;
mod live;
mod mesh;
mod migration;
mod namespace;
mod provider;
mod restored;
mod sessions;
mod shadow;
mod storm;
mod strict;
mod told;
use crate::overload::wire;

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, Server, wait};

const PEOPLE: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=others,dc=example,dc=com
objectClass: organizationalUnit
ou: others
";

/// Computed by each server for itself.
const OWN: [&str; 4] = ["auditContext", "entryDN", "hasSubordinates", "subschemaSubentry"];

/// A server with overlay syncprov.
fn providing(flavor: Flavor, lines: &str) -> Server {
    let config = Server::people_config("serverID 1\nmoduleload syncprov", &format!("overlay syncprov\n{lines}"));
    let mut server = Server::prepare(flavor, &config).unwrap();
    server.launch().unwrap();
    server
}

/// The usual line `syncrepl` for a provider.
fn line(provider: &Server, words: &str) -> String {
    format!(
        "syncrepl rid=001 provider={} bindmethod=simple binddn=cn=Manager,dc=example,dc=com credentials=secret \
         searchbase=dc=example,dc=com retry=\"1 +\" {words}\n",
        provider.url()
    )
}

/// A server that follows a provider.
fn following(flavor: Flavor, provider: &Server, words: &str) -> Server {
    let mut server = Server::prepare(flavor, &Server::people_config("", &line(provider, words))).unwrap();
    server.launch().unwrap();
    server
}

fn content(server: &Server) -> String {
    let arguments = ["-LLL", "-o", "ldif-wrap=no", "-b", "dc=example,dc=com", "*", "+"];
    let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    NormalizedLdif::new(&found.stdout).without(&OWN).sorted().to_string()
}

#[track_caller]
fn assert_follows(consumer: &Server, provider: &Server) {
    let wanted = content(provider);
    assert!(wanted.contains("contextCSN: "), "{wanted}");
    let same = wait::until(|| (content(consumer) == wanted).then_some(()));
    assert!(
        same.is_some(),
        "held:\n{}\nwanted:\n{wanted}\nlog:\n{}",
        content(consumer),
        consumer.log()
    );
}

/// Changes of every kind, different for each number.
fn changes(number: usize) -> String {
    format!(
        "dn: cn=a{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
         dn: cn=b{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalRole\n\n\
         dn: cn=c,cn=b{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
         dn: cn=a{number},ou=people,dc=example,dc=com\nchangetype: modify\nadd: description\ndescription: {number}\n-\n\
         replace: sn\nsn: t\n\n\
         dn: cn=b{number},ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=d{number}\ndeleteoldrdn: 1\n\
         newsuperior: ou=others,dc=example,dc=com\n\n\
         dn: cn=e{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
         dn: cn=e{number},ou=people,dc=example,dc=com\nchangetype: delete\n"
    )
}

fn change(provider: &Server, number: usize) {
    provider.ldapmodify(&changes(number)).unwrap().success().unwrap();
}
