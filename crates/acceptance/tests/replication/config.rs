//! cn=config as provider and consumer, ours and Debian's slapd on either side.

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, Server, wait};

const CONFIG: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};
const DATABASE: &str = "dn: olcDatabase={0}config,cn=config\nchangetype: modify\n";
const PROVIDE: &str = "dn: olcOverlay=syncprov,olcDatabase={0}config,cn=config\nchangetype: add\n\
                       objectClass: olcOverlayConfig\nobjectClass: olcSyncProvConfig\nolcOverlay: syncprov\n";

fn server(flavor: Flavor) -> Server {
    let config = Server::people_config("moduleload syncprov", "") + "\ndatabase config\nrootpw secret\n";
    let mut server = Server::prepare(flavor, &config).unwrap().debug_level("stats,sync");
    server.launch().unwrap();
    server
}

fn configure(server: &Server, ldif: &str) {
    server
        .client("ldapmodify", &CONFIG, &[], ldif)
        .unwrap()
        .success()
        .unwrap();
}

fn read(server: &Server, base: &str, what: &[&str]) -> String {
    let mut arguments = vec!["-LLL", "-o", "ldif-wrap=no", "-b", base];
    arguments.extend(what);
    server.client("ldapsearch", &CONFIG, &arguments, "").unwrap().stdout
}

fn follow(consumer: &Server, provider: &Server, rid: u16) {
    follow_with(consumer, provider, rid, "");
}

/// With further changes in the same request.
fn follow_with(consumer: &Server, provider: &Server, rid: u16, more: &str) {
    let line = format!(
        "rid={rid:03} provider={} bindmethod=simple binddn=cn=config credentials=secret searchbase=cn=schema,cn=config \
         type=refreshAndPersist retry=\"1 +\"",
        provider.url()
    );
    configure(
        consumer,
        &format!("{DATABASE}add: olcSyncrepl\nolcSyncrepl: {line}\n{more}"),
    );
}

fn schema(name: &str, number: u32) -> String {
    format!(
        "dn: cn={name},cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: {name}\n\
         olcAttributeTypes: ( 1.1.2.{number} NAME '{name}' SUP name )\n"
    )
}

#[track_caller]
fn assert_has(server: &Server, base: &str, wanted: &str) {
    let found = wait::until(|| read(server, base, &[]).contains(wanted).then_some(()));
    assert!(
        found.is_some(),
        "{wanted}: {}\n{}",
        read(server, base, &[]),
        server.log()
    );
}

#[test]
fn schema_comes_with_the_refresh_and_then_each_change() {
    for (providing, following) in [
        (Flavor::Ironbark, Flavor::Ironbark),
        (Flavor::OpenLdap, Flavor::Ironbark),
        (Flavor::Ironbark, Flavor::OpenLdap),
    ] {
        let (provider, consumer) = (server(providing), server(following));
        configure(&provider, PROVIDE);
        configure(&provider, &schema("attrOne", 1));
        follow(&consumer, &provider, 1);
        assert_has(&consumer, "cn=schema,cn=config", "attrOne");
        configure(&provider, &schema("attrTwo", 2));
        assert_has(&consumer, "cn=schema,cn=config", "attrTwo");
        let stamps = |server: &Server| {
            let shown = read(
                server,
                "cn=schema,cn=config",
                &["(cn=*attrTwo)", "entryUUID", "entryCSN"],
            );
            NormalizedLdif::new(&shown).to_string()
        };
        assert_eq!(stamps(&consumer), stamps(&provider));
    }
}

#[test]
fn what_the_loader_refuses_changes_nothing_and_is_tried_again() {
    // The schema here is older than the provider, which has none: so it counts as deleted there.
    let consumer = server(Flavor::Ironbark);
    let mut provider = Server::prepare(Flavor::Ironbark, "database config\nrootpw secret\n").unwrap();
    provider.launch().unwrap();
    configure(&provider, PROVIDE);
    let before = read(&consumer, "cn=schema,cn=config", &["cn"]);
    // The database here could not do without it.
    follow(&consumer, &provider, 1);
    let refused = "<olcSuffix> invalid DN \"dc=example,dc=com\"; trying again in 1 s";
    let told = wait::until(|| (consumer.log().matches(refused).count() >= 2).then_some(()));
    assert!(told.is_some(), "{}", consumer.log());
    assert_eq!(read(&consumer, "cn=schema,cn=config", &["cn"]), before);
}

#[test]
fn who_removes_the_overlay_ends_the_sessions() {
    let provider = server(Flavor::Ironbark);
    configure(&provider, PROVIDE);
    let (url, mut session) = (provider.url().clone(), None);
    std::thread::scope(|scope| {
        let provider = &provider;
        let searching = scope.spawn(move || {
            let arguments = ["-b", "cn=config", "-E", "!sync=rp"];
            provider.client("ldapsearch", &CONFIG, &arguments, "").unwrap()
        });
        let seen = wait::until(|| provider.log().contains("SRCH base=\"cn=config\"").then_some(()));
        assert!(seen.is_some(), "{url}: {}", provider.log());
        configure(
            provider,
            "dn: olcOverlay={0}syncprov,olcDatabase={0}config,cn=config\nchangetype: delete\n",
        );
        session = searching.join().ok();
    });
    assert_eq!(session.unwrap().code(), Some(52));
    let refused = provider.client("ldapsearch", &CONFIG, &["-b", "cn=config", "-E", "!sync=ro"], "");
    assert_eq!(refused.unwrap().code(), Some(12));
}

#[test]
fn two_servers_that_both_write_end_with_one_schema() {
    let (one, other) = (server(Flavor::Ironbark), server(Flavor::Ironbark));
    let number = |number| format!("dn: cn=config\nchangetype: modify\nadd: olcServerID\nolcServerID: {number}\n");
    // As in slapd, it takes writes of its own once it follows the other one.
    let several = "-\nadd: olcMultiProvider\nolcMultiProvider: TRUE\n";
    configure(&one, &number(1));
    configure(&one, PROVIDE);
    configure(&one, &schema("attrFirst", 7));
    // The other one takes over what there is before it provides anything itself.
    configure(&other, &number(2));
    follow_with(&other, &one, 1, several);
    assert_has(&other, "cn=schema,cn=config", "attrFirst");
    configure(&other, PROVIDE);
    follow_with(&one, &other, 1, several);
    configure(&one, &schema("attrOne", 1));
    assert_has(&other, "cn=schema,cn=config", "attrOne");
    configure(&other, &schema("attrTwo", 2));
    assert_has(&one, "cn=schema,cn=config", "attrTwo");
    let names = |server: &Server| read(server, "cn=schema,cn=config", &["cn"]);
    assert_eq!(names(&one), names(&other), "numbers and all");
}

#[test]
fn a_line_to_oneself_is_passed_over() {
    let server = server(Flavor::Ironbark);
    let line = format!(
        "rid=001 provider={} bindmethod=simple binddn=cn=config credentials=secret searchbase=cn=config \
         type=refreshAndPersist",
        server.url()
    );
    configure(&server, &format!("{DATABASE}add: olcSyncrepl\nolcSyncrepl: {line}\n"));
    // It is no copy, so it still takes changes.
    configure(&server, &schema("attrOne", 1));
}
