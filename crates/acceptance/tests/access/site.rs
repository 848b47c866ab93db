//! Both servers with the same people and groups, and the requests of clients.

use std::collections::BTreeMap;

use ironbark_client::proto::{Filter, ModifyOperation, Scope};
use ironbark_client::{Change, Client, Options, ReceivedResult, Search};
use ironbark_testkit::{Flavor, Server};

pub(crate) const BASE: &str = "dc=example,dc=com";
pub(crate) const DATABASE: &str = "olcDatabase={1}mdb,cn=config";
pub(crate) const ANN: &str = "uid=ann,ou=People,dc=example,dc=com";
pub(crate) const BOB: &str = "uid=bob,ou=Staff,ou=People,dc=example,dc=com";
pub(crate) const GROUP: &str = "cn=editors,ou=Groups,dc=example,dc=com";
pub(crate) const IDENTITIES: [&str; 4] = ["", ANN, BOB, "uid=eve,ou=People,dc=example,dc=com"];

/// With a class that allows a supertype, and one below extensibleObject.
const SCHEMA: &str = "\
include {schema}/nis.schema
include {schema}/dyngroup.schema
objectclass ( 1.3.6.1.4.1.4203.666.3.77 NAME 'named' SUP top AUXILIARY MAY name )
objectclass ( 1.3.6.1.4.1.4203.666.3.78 NAME 'labelled' SUP named AUXILIARY MAY labeledURI )
objectclass ( 1.3.6.1.4.1.4203.666.3.79 NAME 'extended' SUP extensibleObject AUXILIARY MAY description )";

pub(crate) const DATA: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example
description: top

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: People

dn: ou=Staff,ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: Staff

dn: ou=Groups,dc=example,dc=com
objectClass: organizationalUnit
ou: Groups

dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann Able
cn: Ann
sn: Able
title: Boss
mail: ann@example.com
mail: able@example.org
description;lang-en: the boss
telephoneNumber: +1 555 0100
manager: uid=bob,ou=Staff,ou=People,dc=example,dc=com
userPassword: ann
objectClass: posixAccount
uidNumber: 55
gidNumber: 5
homeDirectory: /home/ann

dn: uid=bob,ou=Staff,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob Baker
sn: Baker
title: Clerk
mail: bob@example.com
description: xyz
manager: uid=ann,ou=People,dc=example,dc=com
seeAlso: uid=eve,ou=People,dc=example,dc=com
userPassword: bob

dn: uid=eve,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: eve
cn: Eve
sn: Ever
mail: eve@example.net
userPassword: eve

dn: cn=book,uid=ann,ou=People,dc=example,dc=com
objectClass: applicationProcess
cn: book
description: ann's own

dn: cn=editors,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
cn: editors
member: uid=ann,ou=People,dc=example,dc=com
member: cn=nested,ou=Groups,dc=example,dc=com
owner: uid=bob,ou=Staff,ou=People,dc=example,dc=com

dn: cn=nested,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
cn: nested
member: uid=bob,ou=Staff,ou=People,dc=example,dc=com

dn: cn=unique,ou=Groups,dc=example,dc=com
objectClass: groupOfUniqueNames
cn: unique
uniqueMember: uid=eve,ou=People,dc=example,dc=com

dn: cn=dynamic,ou=Groups,dc=example,dc=com
objectClass: groupOfURLs
cn: dynamic
memberURL: ldap:///ou=Staff,ou=People,dc=example,dc=com??sub?(title=clerk)
memberURL: ldap:///ou=People,dc=example,dc=com??one?(mail=*.net)
";

/// A server whose rules can be changed.
pub(crate) struct Site {
    server: Server,
    admin: Client,
    pub(crate) clients: Vec<(&'static str, Client)>,
}

/// Everybody's password is the own name.
pub(crate) fn password(dn: &str) -> &str {
    dn.get(4..7).unwrap_or_default()
}

async fn connect(server: &Server, who: &str, password: &str) -> Client {
    let address = format!("127.0.0.1:{}", server.port());
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    if !who.is_empty() {
        client
            .simple_bind(who, password.as_bytes(), &[])
            .await
            .unwrap()
            .success()
            .unwrap();
    }
    client
}

impl Site {
    pub(crate) async fn start(flavor: Flavor) -> Self {
        Self::with(flavor, DATA).await
    }

    /// The same with other entries, among which are those of the identities.
    pub(crate) async fn with(flavor: Flavor, data: &str) -> Self {
        let mut server = Self::stopped(flavor, data);
        server.launch().unwrap();
        let admin = connect(&server, "cn=config", "secret").await;
        let mut clients = Vec::new();
        for dn in IDENTITIES {
            let password = password(dn);
            clients.push((dn, connect(&server, dn, password).await));
        }
        Self { server, admin, clients }
    }

    /// A server that does not run, for tools.
    pub(crate) fn stopped(flavor: Flavor, data: &str) -> Server {
        let config =
            Server::people_config(SCHEMA, "").replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
        let server = Server::prepare(flavor, &config).unwrap();
        server.slapadd(data).unwrap();
        server
    }

    /// Both servers.
    pub(crate) async fn both() -> [Self; 2] {
        [Self::start(Flavor::OpenLdap).await, Self::start(Flavor::Ironbark).await]
    }

    /// Puts rules into force. Returns the server's result.
    pub(crate) async fn set_rules(&self, rules: &[String]) -> ReceivedResult {
        self.configure(DATABASE, "olcAccess", rules).await
    }

    /// Sets an attribute of cn=config. Returns the server's result.
    pub(crate) async fn configure(&self, dn: &str, attribute: &str, values: &[String]) -> ReceivedResult {
        let values: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
        let change = Change {
            operation: ModifyOperation::Replace,
            attribute,
            values: &values,
        };
        self.admin.modify(dn, &[change], &[]).await.unwrap()
    }

    /// The values of an attribute of cn=config.
    pub(crate) async fn configured(&self, dn: &str, attribute: &str) -> Vec<String> {
        let wanted = [attribute];
        let everything = Filter::parse(b"(objectClass=*)", 100).unwrap();
        let search = Search::new(dn, Scope::BaseObject, everything).with_attributes(&wanted);
        let found = self.admin.search(&search, &[]).unwrap().collect().await.unwrap();
        let values = found.entries[0].values(attribute).iter();
        values.map(|value| String::from_utf8(value.clone()).unwrap()).collect()
    }

    /// The server's result for a bind over a new connection.
    pub(crate) async fn bind(&self, dn: &str, password: &str) -> ReceivedResult {
        let client = connect(&self.server, "", "").await;
        client.simple_bind(dn, password.as_bytes(), &[]).await.unwrap()
    }

    /// A connection of somebody.
    pub(crate) async fn connect(&self, dn: &str, password: &str) -> Client {
        connect(&self.server, dn, password).await
    }

    /// The connection of one of the identities.
    pub(crate) fn client(&self, dn: &str) -> &Client {
        self.clients
            .iter()
            .find(|(who, _)| *who == dn)
            .map(|(_, client)| client)
            .unwrap()
    }

    /// The answers to everybody about everything, and the results of changes: one line each.
    pub(crate) async fn survey(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (who, client) in &self.clients {
            let who = who.get(4..7).unwrap_or("-");
            for (base, scope, filter) in SEARCHES {
                let answer = search(client, base, *scope, filter).await;
                lines.push(format!("{who} searches {base} {filter}: {answer}"));
            }
            for (dn, attribute, value) in COMPARES {
                let result = client.compare(dn, attribute, value.as_bytes(), &[]).await.unwrap();
                lines.push(format!("{who} compares {dn} {attribute}={value}: {}", shown(&result)));
            }
            for (at, (dn, operation, attribute, _)) in CHANGES.iter().enumerate() {
                let result = change(client, at).await;
                lines.push(format!(
                    "{who} changes {dn} {operation:?} {attribute}: {}",
                    result.code.0
                ));
            }
        }
        lines
    }
}

/// Makes one of [`CHANGES`].
pub(crate) async fn change(client: &Client, at: usize) -> ReceivedResult {
    let (dn, operation, attribute, values) = CHANGES[at];
    let values: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
    let change = Change {
        operation,
        attribute,
        values: &values,
    };
    client.modify(dn, &[change], &[]).await.unwrap()
}

fn shown(result: &ReceivedResult) -> String {
    format!("{} {}", result.code.0, result.matched_dn.to_lowercase())
}

pub(crate) async fn search(client: &Client, base: &str, scope: Scope, filter: &str) -> String {
    let filter = Filter::parse(filter.as_bytes(), 100).unwrap();
    let answer = client.search(&Search::new(base, scope, filter), &[]).unwrap();
    let answer = answer.collect().await.unwrap();
    let mut entries = BTreeMap::new();
    for entry in answer.entries {
        let mut attributes: Vec<String> = Vec::new();
        for (name, values) in entry.attributes {
            let mut values: Vec<String> = values
                .iter()
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect();
            values.sort();
            attributes.push(format!("{name}={}", values.join("+")));
        }
        attributes.sort();
        entries.insert(entry.dn, attributes.join(" "));
    }
    format!("{} {entries:?}", shown(&answer.result))
}

pub(crate) const SEARCHES: &[(&str, Scope, &str)] = &[
    (BASE, Scope::WholeSubtree, "(objectClass=*)"),
    (
        BASE,
        Scope::WholeSubtree,
        "(|(mail=ann@example.com)(title=clerk)(description=ann's own))",
    ),
    (BASE, Scope::WholeSubtree, "(&(sn=*)(!(title=boss)))"),
    (BASE, Scope::WholeSubtree, "(mail=*example*)"),
    (BASE, Scope::WholeSubtree, "(|(uidNumber=55)(objectClass=posixAccount))"),
    (ANN, Scope::BaseObject, "(cn=ann able)"),
    (
        "uid=nobody,ou=People,dc=example,dc=com",
        Scope::BaseObject,
        "(objectClass=*)",
    ),
    (
        "cn=x,cn=book,uid=ann,ou=People,dc=example,dc=com",
        Scope::BaseObject,
        "(objectClass=*)",
    ),
];

pub(crate) const COMPARES: &[(&str, &str, &str)] = &[
    (ANN, "title", "boss"),
    (ANN, "mail", "other"),
    (BOB, "userPassword", "bob"),
    (ANN, "uidNumber", "55"),
    (ANN, "uidNumber", "4"),
    (ANN, "objectClass", "inetOrgPerson"),
    (GROUP, "member", ANN),
    ("uid=nobody,ou=People,dc=example,dc=com", "cn", "x"),
];

pub(crate) const CHANGES: &[(&str, ModifyOperation, &str, &[&str])] = &[
    (ANN, ModifyOperation::Add, "title", &["Chief"]),
    (ANN, ModifyOperation::Delete, "title", &["Chief"]),
    (BOB, ModifyOperation::Replace, "telephoneNumber", &["+1 555 0199"]),
    (GROUP, ModifyOperation::Add, "member", &[BOB]),
    (GROUP, ModifyOperation::Delete, "member", &[BOB]),
    (GROUP, ModifyOperation::Add, "seeAlso", &[ANN]),
    (GROUP, ModifyOperation::Delete, "seeAlso", &[ANN]),
];

/// Puts the same rules into force in both servers and compares the answers to everybody.
pub(crate) async fn assert_same(sites: &[Site; 2], rules: &[String]) {
    let [theirs, ours] = sites;
    let (their_result, our_result) = (theirs.set_rules(rules).await, ours.set_rules(rules).await);
    assert_eq!(
        our_result.is_success(),
        their_result.is_success(),
        "{rules:#?}: {our_result} here, {their_result} there"
    );
    if !our_result.is_success() {
        return;
    }
    let (theirs, ours) = (theirs.survey().await, ours.survey().await);
    let different = theirs
        .iter()
        .zip(&ours)
        .filter(|(theirs, ours)| theirs != ours && !is_about_hidden(rules, theirs));
    let different: Vec<String> = different.map(|(theirs, ours)| unlike(theirs, ours)).collect();
    assert!(different.is_empty(), "{rules:#?}\n{}", different.join("\n"));
}

/// Whether the answer to a question differs on purpose: in slapd, a value that rules hide from the requester answers
/// substrings, and so reveals that it exists; not here.
pub(crate) fn is_about_hidden(rules: &[String], question: &str) -> bool {
    let tells_values_apart = rules.iter().any(|rule| rule.contains(" attrs=mail val"));
    tells_values_apart && (question.contains("(mail=*example*)") || question.contains(" mail=other"))
}

/// Two lines without their common parts at both ends, except for the beginning.
pub(crate) fn unlike(theirs: &str, ours: &str) -> String {
    let same = theirs
        .bytes()
        .zip(ours.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let from = |text: &str| text.chars().skip(same.saturating_sub(80)).take(200).collect::<String>();
    let question: String = theirs.chars().take(90).collect();
    format!("{question}\n  slapd: ...{}\n  ours:  ...{}", from(theirs), from(ours))
}
