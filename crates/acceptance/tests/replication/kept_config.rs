//! The configuration of consumers, kept in an ldif database of the provider as cn=config,cn=consumer. Its schema is
//! that of the provider: the database follows cn=schema,cn=config of its own server.

use ironbark_testkit::{Credentials, Flavor, Server, Tool, wait};

use crate::replication::{PEOPLE, assert_follows, change, content, following};

const BARE: &str = "database config\nrootpw secret\n";
const KEPT: Credentials<'static> = Credentials::Simple {
    dn: "cn=config,cn=consumer",
    password: "repsecret",
};

pub(crate) fn config(password: &str) -> Credentials<'_> {
    Credentials::Simple {
        dn: "cn=config",
        password,
    }
}

/// A server with a configuration directory.
fn server(flavor: Flavor, file: &str) -> Server {
    converted(Server::prepare(flavor, file).unwrap())
}

/// Starts a server from a configuration directory that is made of its file.
pub(crate) fn converted(server: Server) -> Server {
    let directory = server.layout().make_dir("slapd.d").unwrap();
    let converted = server.tool(Tool::Test, &["-F", directory.to_str().unwrap()], "");
    converted.unwrap().success().unwrap();
    let mut server = server.from_directory(directory).debug_level("stats,sync");
    server.launch().unwrap();
    server
}

#[track_caller]
pub(crate) fn configure(server: &Server, who: &Credentials<'_>, ldif: &str) {
    let outcome = server.client("ldapmodify", who, &[], ldif).unwrap();
    let done = outcome.success();
    assert!(done.is_ok(), "{done:?}\n{}", server.log());
}

/// `syncrepl` to the provider.
fn line(provider: &Server, words: &str) -> String {
    format!(
        "rid=001 provider={} bindmethod=simple {words} type=refreshAndPersist retry=\"1 +\"",
        provider.url()
    )
}

/// `syncrepl` of the consumer, in its own cn=config and in the one that is kept for it.
fn to_kept(provider: &Server) -> String {
    let words = "binddn=cn=config,cn=consumer credentials=repsecret searchbase=cn=config,cn=consumer \
                 suffixmassage=cn=config";
    format!(
        "olcSyncrepl: {}\nolcUpdateRef: {}\n",
        line(provider, words),
        provider.url()
    )
}

/// Keeps the configuration of a consumer, whose administrator has the password `topsecret`.
fn keep(provider: &Server) {
    let directory = provider.layout().make_dir("kept").unwrap();
    let schema = line(
        provider,
        "binddn=cn=config credentials=secret searchbase=cn=schema,cn=config \
         suffixmassage=cn=schema,cn=config,cn=consumer",
    );
    let overlay = "changetype: add\nobjectClass: olcOverlayConfig\nobjectClass: olcSyncProvConfig\n\
                   olcOverlay: syncprov\n";
    let ldif = format!(
        "dn: olcOverlay=syncprov,olcDatabase={{0}}config,cn=config\n{overlay}\n\
         dn: cn=config\nchangetype: modify\nreplace: olcServerID\nolcServerID: 1\n\n\
         dn: olcDatabase={{1}}ldif,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\n\
         objectClass: olcLdifConfig\nolcDatabase: {{1}}ldif\nolcDbDirectory: {}\nolcSuffix: cn=config,cn=consumer\n\
         olcRootDN: cn=config,cn=consumer\nolcRootPW: repsecret\nolcAccess: to * by dn.base=\"cn=config\" write\n\n\
         dn: olcOverlay=syncprov,olcDatabase={{1}}ldif,cn=config\n{overlay}\n\
         dn: cn=config,cn=consumer\nchangetype: add\nobjectClass: olcGlobal\ncn: config\n\n\
         dn: olcDatabase={{0}}config,cn=config,cn=consumer\nchangetype: add\nobjectClass: olcDatabaseConfig\n\
         olcDatabase: {{0}}config\nolcRootPW: topsecret\n{}\n\
         dn: olcDatabase={{1}}ldif,cn=config\nchangetype: modify\nadd: olcSyncrepl\nolcSyncrepl: {schema}\n-\n\
         add: olcMultiProvider\nolcMultiProvider: TRUE\n",
        directory.display(),
        to_kept(provider),
    );
    configure(provider, &config("secret"), &ldif);
}

fn follow(consumer: &Server, provider: &Server) {
    let lines = to_kept(provider);
    let (follow, refer) = lines.split_once('\n').unwrap();
    let ldif = format!(
        "dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\nadd: olcSyncrepl\n{follow}\n-\n\
         add: olcUpdateRef\n{refer}"
    );
    configure(consumer, &config("secret"), &ldif);
}

pub(crate) fn read(server: &Server, who: &Credentials<'_>, base: &str, what: &[&str]) -> String {
    let mut arguments = vec!["-LLL", "-o", "ldif-wrap=no", "-b", base];
    arguments.extend(what);
    server.client("ldapsearch", who, &arguments, "").unwrap().stdout
}

/// The context vectors of both sides.
fn vectors(provider: &Server, consumer: &Server, password: &str) -> [Vec<String>; 2] {
    let of = |server: &Server, who: &Credentials<'_>, base: &str| {
        let text = read(server, who, base, &["-s", "base", "contextCSN"]);
        let lines = text.lines().filter(|line| line.starts_with("contextCSN: "));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    [
        of(provider, &KEPT, "cn=config,cn=consumer"),
        of(consumer, &config(password), "cn=config"),
    ]
}

#[track_caller]
fn assert_same_vector(provider: &Server, consumer: &Server, password: &str) {
    let same = wait::until(|| {
        let [kept, used] = vectors(provider, consumer, password);
        (kept.len() == 2 && kept == used).then_some(())
    });
    assert!(
        same.is_some(),
        "{:?}\n{}",
        vectors(provider, consumer, password),
        consumer.log()
    );
}

#[track_caller]
fn assert_used(consumer: &Server, password: &str, base: &str, wanted: &str) {
    let found = || read(consumer, &config(password), base, &[]);
    let has_come = wait::until(|| found().contains(wanted).then_some(()));
    assert!(has_come.is_some(), "{wanted}: {}\n{}", found(), consumer.log());
}

/// Schema for the provider itself, and a database for its consumers.
fn extend(provider: &Server, consumer: &Server) {
    let schema = "dn: cn=own,cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: own\n\
                  olcAttributeTypes: ( 1.1.2.1 NAME 'attrOwn' SUP name )\n";
    configure(provider, &config("secret"), schema);
    assert_used(consumer, "secret", "cn=schema,cn=config", "attrOwn");
    let held = consumer.layout().make_dir("held").unwrap();
    let database = format!(
        "dn: olcDatabase={{1}}ldif,cn=config,cn=consumer\nchangetype: add\nobjectClass: olcDatabaseConfig\n\
         objectClass: olcLdifConfig\nolcDatabase: {{1}}ldif\nolcDbDirectory: {}\nolcSuffix: cn=held\n",
        held.display()
    );
    configure(provider, &config("secret"), &database);
    assert_used(
        consumer,
        "secret",
        "olcDatabase={1}ldif,cn=config",
        "olcSuffix: cn=held",
    );
}

#[test]
fn what_is_kept_for_a_consumer_is_its_configuration() {
    for flavor in Flavor::ALL {
        let provider = server(flavor, &format!("moduleload syncprov\n{BARE}"));
        keep(&provider);
        let consumer = server(Flavor::Ironbark, BARE);
        follow(&consumer, &provider);
        extend(&provider, &consumer);
        assert_same_vector(&provider, &consumer, "secret");
        let contexts = consumer
            .search(&["-LLL", "-s", "base", "-b", "", "namingContexts"])
            .unwrap();
        assert!(contexts.stdout.contains("namingContexts: cn=held"), "{contexts:?}");
        // The consumer's own entry is newer than the one that is kept for it, until that changes.
        let entry = "olcDatabase={0}config,cn=config";
        let newer = format!("dn: {entry},cn=consumer\nchangetype: modify\nadd: olcLimits\nolcLimits: users size=7\n");
        configure(&provider, &config("secret"), &newer);
        assert_used(&consumer, "topsecret", entry, "olcLimits: {0}users size=7");
        let change = "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 100\n";
        let refused = consumer
            .client("ldapmodify", &config("topsecret"), &[], change)
            .unwrap();
        assert_eq!(refused.code(), Some(10), "{refused:?}\n{}", consumer.log());
        assert!(
            refused.stderr.contains(provider.url().trim_end_matches('/')),
            "{refused:?}"
        );
    }
}

#[test]
fn an_export_with_newer_stamps_comes_to_the_consumer_that_was_loaded_from_it() {
    let mut provider = server(Flavor::Ironbark, BARE);
    keep(&provider);
    let mut consumer = server(Flavor::Ironbark, BARE);
    follow(&consumer, &provider);
    extend(&provider, &consumer);
    assert_same_vector(&provider, &consumer, "secret");
    provider.stop().unwrap();
    consumer.stop().unwrap();
    let directory = |server: &Server| server.layout().join("slapd.d").to_str().unwrap().to_owned();
    let (of_provider, of_consumer) = (directory(&provider), directory(&consumer));
    let run = |tool: Tool, arguments: &[&str], input: &str| {
        let outcome = tool.run(Flavor::Ironbark, arguments, input).unwrap();
        outcome.success().unwrap().stdout.clone()
    };
    let kept = ["-o", "ldif-wrap=no", "-F", &of_provider, "-b", "cn=config,cn=consumer"];
    let export = run(Tool::Cat, &kept, "");
    assert_eq!(export.matches("contextCSN: ").count(), 2, "{export}");
    // The consumer begins with the export.
    std::fs::remove_dir_all(&of_consumer).unwrap();
    consumer.layout().make_dir("slapd.d").unwrap();
    run(
        Tool::Add,
        &["-F", &of_consumer, "-n", "0"],
        &export.replace(",cn=consumer\n", "\n"),
    );
    consumer.launch().unwrap();
    // The provider has the same entries, all of them with a newer stamp.
    std::fs::remove_dir_all(provider.layout().join("kept")).unwrap();
    provider.layout().make_dir("kept").unwrap();
    let old = export
        .lines()
        .find(|line| line.starts_with("contextCSN: ") && line.contains("#001#"));
    let newer = old
        .unwrap()
        .replace("contextCSN: ", "")
        .replace("Z#000000#", "Z#000fff#");
    assert!(newer.contains("Z#000fff#"));
    let restamped = export.lines().map(|line| match line.split_once(": ") {
        Some(("entryCSN", _)) => format!("entryCSN: {newer}\n"),
        Some(("contextCSN", csn)) if csn.contains("#001#") => format!("contextCSN: {newer}\n"),
        _ => format!("{line}\n"),
    });
    run(
        Tool::Add,
        &["-F", &of_provider, "-b", "cn=config,cn=consumer"],
        &restamped.collect::<String>(),
    );
    provider.launch().unwrap();
    assert_same_vector(&provider, &consumer, "topsecret");
    let [_, used] = vectors(&provider, &consumer, "topsecret");
    assert!(used.iter().any(|csn| csn.ends_with(&newer)), "{used:?}");
    assert_used(&consumer, "topsecret", "cn=schema,cn=config", "attrOwn");
}

#[test]
fn the_vector_of_an_ldif_database_outlives_a_crash() {
    let file = "include {schema}/core.schema\ninclude {schema}/cosine.schema\nserverID 1\n\
                database ldif\nsuffix dc=example,dc=com\ndirectory {dir}/db\n\
                rootdn cn=Manager,dc=example,dc=com\nrootpw secret\noverlay syncprov\n";
    let mut provider = Server::start(Flavor::Ironbark, file).unwrap();
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let consumer = following(Flavor::Ironbark, &provider, "type=refreshAndPersist");
    change(&provider, 1);
    // No entry has the last CSN.
    let gone = "dn: cn=d1,ou=others,dc=example,dc=com\nchangetype: delete\n";
    let below = "dn: cn=c,cn=d1,ou=others,dc=example,dc=com\nchangetype: delete\n";
    provider
        .ldapmodify(&format!("{below}\n{gone}"))
        .unwrap()
        .success()
        .unwrap();
    assert_follows(&consumer, &provider);
    let before = content(&provider);
    provider.kill().unwrap();
    let arguments = ["-b", "dc=example,dc=com"];
    let export = provider.tool(Tool::Cat, &arguments, "").unwrap().stdout;
    let told = before.lines().find(|line| line.starts_with("contextCSN: ")).unwrap();
    assert!(export.contains(told), "{told}: {export}");
    provider.launch().unwrap();
    assert_eq!(content(&provider), before);
    change(&provider, 2);
    assert_follows(&consumer, &provider);
    assert!(!consumer.log().contains("newer"), "{}", consumer.log());
}
