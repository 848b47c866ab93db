//! Consumers come, change and go while the server runs, and cn=Monitor shows them.

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{PEOPLE, assert_follows, change, content, line, providing};

const CONFIG: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

fn configure(server: &Server, ldif: &str) {
    let outcome = server.client("ldapmodify", &CONFIG, &[], ldif).unwrap();
    outcome.success().unwrap();
}

/// The attributes of the consumer in cn=Monitor.
fn shown(server: &Server) -> String {
    let arguments = [
        "-LLL",
        "-o",
        "ldif-wrap=no",
        "-b",
        "cn=Monitor",
        "(objectClass=olmSyncReplInstance)",
        "*",
        "+",
    ];
    server
        .client("ldapsearch", &Credentials::ROOT, &arguments, "")
        .unwrap()
        .stdout
}

fn server() -> Server {
    let config = Server::people_config("serverID 2", "") + "\ndatabase config\nrootpw secret\ndatabase monitor\n";
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn a_line_that_is_added_changed_and_deleted_takes_effect_at_once() {
    let provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let consumer = server();
    assert_eq!(shown(&consumer), "");
    let words = line(&provider, "type=refreshAndPersist");
    let words = words.trim().strip_prefix("syncrepl ").unwrap();
    let name = "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\n";
    configure(&consumer, &format!("{name}add: olcSyncrepl\nolcSyncrepl: {words}\n"));
    assert_follows(&consumer, &provider);
    let text = shown(&consumer);
    for wanted in [
        "dn: cn=Consumer 001,cn=Database 1,cn=Databases,cn=Monitor",
        &format!("olmSRProviderURIList: {}", provider.url().trim_end_matches('/')),
        "olmSRConnection: IP=127.0.0.1:",
        "olmSRSyncPhase: Persist",
        "olmSRNextConnect: 00000101000000Z",
        "olmSRLastCookieRcvd: rid=001,sid=001,csn=",
        "ironbarkSyncRefreshes: 1",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // Another setting does not disturb the session.
    configure(
        &consumer,
        &format!("{name}replace: olcMaxDerefDepth\nolcMaxDerefDepth: 9\n"),
    );
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    assert!(
        shown(&consumer).contains("ironbarkSyncRefreshes: 1"),
        "{}",
        shown(&consumer)
    );
    let wrong = words.replace("credentials=secret", "credentials=wrong");
    configure(
        &consumer,
        &format!("{name}replace: olcSyncrepl\nolcSyncrepl: {wrong}\n"),
    );
    let told = wait::until(|| shown(&consumer).contains("ironbarkSyncError: ").then_some(()));
    assert!(told.is_some(), "{}", shown(&consumer));
    change(&provider, 2);
    configure(
        &consumer,
        &format!("{name}replace: olcSyncrepl\nolcSyncrepl: {words}\n"),
    );
    assert_follows(&consumer, &provider);
    configure(&consumer, &format!("{name}delete: olcSyncrepl\n"));
    let gone = wait::until(|| shown(&consumer).is_empty().then_some(()));
    assert!(gone.is_some());
    change(&provider, 3);
    let own = "dn: cn=own,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalRole\n";
    consumer.ldapmodify(own).unwrap().success().unwrap();
    assert!(!content(&consumer).contains("cn=d3,"), "nobody follows any more");
}
