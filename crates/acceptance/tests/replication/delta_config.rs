//! cn=config in an access log, and consumers of cn=config that follow the log of their provider.

use ironbark_testkit::{Flavor, Server, Tool, wait};

use crate::replication::{
    accesslog::logged,
    kept_config::{config, configure, converted, read},
};

const ADMIN: &str = "secret";
const DATABASE: &str = "dn: olcDatabase={0}config,cn=config\nchangetype: modify\n";
const ACCESSLOG: &str = "dn: olcOverlay={1}accesslog,olcDatabase={0}config,cn=config\n";

/// A provider whose cn=config is logged. The log has the number 2.
fn logging(flavor: Flavor) -> Server {
    logging_as(flavor, 1)
}

/// The same with this server ID.
fn logging_as(flavor: Flavor, id: u16) -> Server {
    let provider = Server::prepare(flavor, &logging_file(id)).unwrap();
    create(&provider, 2);
    converted(provider)
}

/// Makes the databases, without which a configuration is not converted.
fn create(server: &Server, databases: u32) {
    for number in 1..=databases {
        let made = server.tool(Tool::Add, &["-n", &number.to_string()], "").unwrap();
        made.success().unwrap();
    }
}

fn logging_file(id: u16) -> String {
    let lines = "\ndatabase mdb\nsuffix cn=accesslog\ndirectory {dir}\nrootdn cn=config\n\
                 index entryCSN,objectClass,reqResult,reqStart,reqDN eq\n\
                 overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n\
                 access to * by dn.exact=cn=reader,dc=example,dc=com read by * none\n\n\
                 database config\nrootpw secret\noverlay syncprov\noverlay accesslog\nlogdb cn=accesslog\n\
                 logops writes\nlogold (objectClass=*)\n";
    Server::people_config(
        &format!("serverID {id}\nmoduleload syncprov\nmoduleload accesslog\nloglevel stats"),
        lines,
    )
}

/// A server whose schema is that of the provider, by its log.
fn following(flavor: Flavor, provider: &Server) -> Server {
    let file = Server::people_config("moduleload syncprov", "") + "\ndatabase config\nrootpw secret\n";
    let consumer = Server::prepare(flavor, &file).unwrap();
    create(&consumer, 1);
    let consumer = converted(consumer);
    configure(
        &consumer,
        &config(ADMIN),
        &format!("{DATABASE}add: olcSyncrepl\nolcSyncrepl: {}\n", line(provider)),
    );
    consumer
}

fn line(provider: &Server) -> String {
    format!(
        "rid=001 provider={} bindmethod=simple binddn=cn=config credentials=secret searchbase=cn=schema,cn=config \
         type=refreshAndPersist retry=\"1 +\" syncdata=accesslog logbase=cn=accesslog \
         logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\"",
        provider.url()
    )
}

fn schema(name: &str, number: u32) -> String {
    format!(
        "dn: cn={name},cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: {name}\n\
         olcAttributeTypes: ( 1.1.2.{number} NAME '{name}' SUP name )\n\n"
    )
}

/// A second attribute in schema that is there.
fn more(name: &str, number: u32, at: u32) -> String {
    format!(
        "dn: cn={{{at}}}{name},cn=schema,cn=config\nchangetype: modify\nadd: olcAttributeTypes\n\
         olcAttributeTypes: ( 1.1.3.{number} NAME 'more{name}' SUP name )\n\n"
    )
}

/// The schema of a server that the tests have added, numbers and stamps included.
fn held(server: &Server) -> String {
    let what = [
        "(cn=*attr*)",
        "*",
        "entryUUID",
        "entryCSN",
        "modifiersName",
        "modifyTimestamp",
    ];
    let mut entries: Vec<String> = Vec::new();
    for entry in read(server, &config(ADMIN), "cn=schema,cn=config", &what).split("\n\n") {
        let mut lines: Vec<&str> = entry.lines().collect();
        lines.sort_unstable();
        entries.push(lines.join("\n"));
    }
    entries.sort_unstable();
    entries.join("\n\n")
}

#[track_caller]
fn assert_held(consumer: &Server, provider: &Server, wanted: &str) {
    let same = wait::until(|| {
        let text = held(consumer);
        (text.contains(wanted) && text == held(provider)).then_some(())
    });
    assert!(
        same.is_some(),
        "held:\n{}\nwanted {wanted}:\n{}\nlog:\n{}",
        held(consumer),
        held(provider),
        consumer.log()
    );
}

fn searches_in_log(provider: &Server) -> usize {
    provider.log().matches("SRCH base=\"cn=accesslog\"").count()
}

/// What is done to cn=config, in every form.
fn operations(server: &Server) -> String {
    let directory = server.layout().make_dir("held").unwrap();
    let directory = directory.display();
    schema("attrOne", 1)
        + "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcAccess\n\
           olcAccess: to * by * read\nolcAccess: {0}to attrs=userPassword by * none\n-\n\
           replace: olcSizeLimit\nolcSizeLimit: 5\n\n\
           dn: olcDatabase={0}config,cn=config\nchangetype: modify\nreplace: olcRootPW\nolcRootPW: secret\n\n\
           dn: olcOverlay=syncprov,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcOverlayConfig\n\
           objectClass: olcSyncProvConfig\nolcOverlay: syncprov\n\n"
        + &format!(
            "dn: olcDatabase=ldif,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\n\
             objectClass: olcLdifConfig\nolcDatabase: ldif\nolcDbDirectory: {directory}\nolcSuffix: cn=l\n\n"
        )
        + "dn: olcDatabase={3}ldif,cn=config\nchangetype: modrdn\nnewrdn: olcDatabase={1}ldif\ndeleteoldrdn: 1\n\n\
           dn: olcOverlay={0}syncprov,olcDatabase={2}mdb,cn=config\nchangetype: delete\n"
}

#[test]
fn the_log_of_cn_config_is_as_slapds() {
    let [ours, slapds] = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| {
        let provider = logging(flavor);
        configure(&provider, &config(ADMIN), &operations(&provider));
        // What is refused is no change.
        let refused = "dn: cn={77}x,cn=schema,cn=config\nchangetype: delete\n";
        let refused = provider.client("ldapmodify", &config(ADMIN), &[], refused).unwrap();
        assert_ne!(refused.code(), Some(0), "{refused:?}");
        let base = provider.layout().join("held").display().to_string();
        let entries = logged(&provider, &config(ADMIN)).into_iter();
        entries
            .filter(|entry| entry.contains("reqResult: 0"))
            .map(|entry| entry.replace(&base, "DIR"))
            .collect::<Vec<_>>()
    });
    assert_eq!(slapds.len(), 7);
    // slapd 2.5 leaves the stamps of a rename out, which newer ones log.
    let without_stamps = |entry: &String| {
        let is_rename = entry.contains("reqType: modrdn");
        let kept = entry
            .lines()
            .filter(|line| !(is_rename && line.starts_with("reqMod: modifiersName")));
        kept.fold(String::new(), |text, line| text + line + "\n")
    };
    let ours: Vec<String> = ours.iter().map(without_stamps).collect();
    for (ours, slapds) in ours.iter().zip(&slapds) {
        assert_eq!(ours, slapds);
    }
    assert_eq!(ours.len(), slapds.len());
    assert!(ours.iter().any(|entry| entry.contains("reqMod: olcRootPW:= secret")));
}

#[test]
fn access_rules_of_the_log_decide_who_reads_it() {
    let provider = logging(Flavor::Ironbark);
    configure(&provider, &config(ADMIN), &operations(&provider));
    let root = ironbark_testkit::Credentials::ROOT;
    let found = provider
        .client("ldapsearch", &root, &["-LLL", "-b", "cn=accesslog"], "")
        .unwrap();
    assert_eq!((found.code(), found.stdout.as_str()), (Some(32), ""));
    // Failed changes are logged where the settings say so, and once.
    let failed = "(&(reqType=delete)(reqResult=32))";
    let gone = "dn: cn={77}x,cn=schema,cn=config\nchangetype: delete\n";
    let refused = provider.client("ldapmodify", &config(ADMIN), &[], gone).unwrap();
    assert_eq!(refused.code(), Some(32), "{refused:?}");
    let count = || {
        read(&provider, &config(ADMIN), "cn=accesslog", &[failed, "reqDN"])
            .matches("reqDN: ")
            .count()
    };
    assert!(wait::until(|| (count() == 1).then_some(())).is_some());
}

/// Lets a consumer follow the log through changes, kills and absences.
fn follow(providing: Flavor, consuming: Flavor) {
    let mut provider = logging(providing);
    configure(&provider, &config(ADMIN), &schema("attrOne", 1));
    let mut consumer = following(consuming, &provider);
    assert_held(&consumer, &provider, "attrOne");
    assert!(wait::until(|| (searches_in_log(&provider) > 0).then_some(())).is_some());
    configure(
        &provider,
        &config(ADMIN),
        &(schema("attrTwo", 2) + &more("attrOne", 1, 3)),
    );
    assert_held(&consumer, &provider, "moreattrOne");
    if consuming == Flavor::Ironbark {
        consumer.kill().unwrap();
    } else {
        consumer.stop().unwrap();
    }
    configure(
        &provider,
        &config(ADMIN),
        &(schema("attrThree", 3) + &more("attrTwo", 2, 4)),
    );
    if providing == Flavor::Ironbark {
        provider.kill().unwrap();
        provider.launch().unwrap();
        configure(&provider, &config(ADMIN), &schema("attrFour", 4));
    }
    consumer.launch().unwrap();
    assert_held(&consumer, &provider, "moreattrTwo");
    // A change that is no business of this consumer.
    let other = "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: 7\n\n";
    let other = if consuming == Flavor::Ironbark { other } else { "" };
    configure(&provider, &config(ADMIN), &(other.to_owned() + &schema("attrFive", 5)));
    assert_held(&consumer, &provider, "attrFive");
    let log = consumer.log();
    assert!(!log.contains("a refresh of the content follows"), "{log}");
    assert!(searches_in_log(&provider) >= 2, "{}", provider.log());
    let shown = read(
        &consumer,
        &config(ADMIN),
        "olcDatabase={1}mdb,cn=config",
        &["olcSizeLimit"],
    );
    assert!(!shown.contains("olcSizeLimit: 7"), "{shown}");
}

#[test]
fn we_follow_our_log_of_cn_config() {
    follow(Flavor::Ironbark, Flavor::Ironbark);
}

#[test]
fn we_follow_slapds_log_of_cn_config() {
    follow(Flavor::OpenLdap, Flavor::Ironbark);
}

#[test]
fn slapd_follows_our_log_of_cn_config() {
    follow(Flavor::Ironbark, Flavor::OpenLdap);
}

#[test]
fn a_consumer_logs_what_it_takes_over_and_is_followed_itself() {
    let provider = logging(Flavor::Ironbark);
    configure(&provider, &config(ADMIN), &schema("attrOne", 1));
    let middle = logging_as(Flavor::Ironbark, 2);
    let follow = format!("{DATABASE}add: olcSyncrepl\nolcSyncrepl: {}\n", line(&provider));
    configure(&middle, &config(ADMIN), &follow);
    assert_held(&middle, &provider, "attrOne");
    let mut last = following(Flavor::Ironbark, &middle);
    assert_held(&last, &provider, "attrOne");
    configure(
        &provider,
        &config(ADMIN),
        &(schema("attrTwo", 2) + &more("attrOne", 1, 3)),
    );
    assert_held(&last, &provider, "moreattrOne");
    last.stop().unwrap();
    let gone = "dn: cn={3}attrOne,cn=schema,cn=config\nchangetype: delete\n";
    configure(&provider, &config(ADMIN), &(schema("attrThree", 3) + gone));
    assert_held(&middle, &provider, "attrThree");
    last.launch().unwrap();
    assert_held(&last, &provider, "attrThree");
    assert!(!held(&last).contains("attrOne"), "{}", held(&last));
    assert!(
        !last.log().contains("a refresh of the content follows"),
        "{}",
        last.log()
    );
    // Of each change the log of the server in the middle has one entry, with its CSN.
    let of_schema = |server: &Server| {
        let text = read(
            server,
            &config(ADMIN),
            "cn=accesslog",
            &["(reqDN=*)", "reqDN", "reqType", "entryCSN"],
        );
        let entries = text.split("\n\n").filter(|entry| entry.contains("attr"));
        let mut all: Vec<String> = entries
            .map(|entry| {
                let mut lines: Vec<&str> = entry
                    .lines()
                    .filter(|line| line.starts_with("entryCSN") || line.starts_with("reqType"))
                    .collect();
                lines.sort_unstable();
                lines.join(" ")
            })
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(of_schema(&middle), of_schema(&provider));
}

/// Changes the schema while the log of cn=config is not kept, and when it is kept again.
fn change_beside_the_log(provider: &Server, names: [(&str, u32); 2]) {
    let overlay = ACCESSLOG.trim_start_matches("dn: ").trim_end();
    let attributes = read(provider, &config(ADMIN), overlay, &["*"]);
    configure(provider, &config(ADMIN), &format!("{ACCESSLOG}changetype: delete\n"));
    configure(provider, &config(ADMIN), &schema(names[0].0, names[0].1));
    let again = attributes.replacen('\n', "\nchangetype: add\n", 1);
    configure(provider, &config(ADMIN), &again);
    configure(provider, &config(ADMIN), &schema(names[1].0, names[1].1));
}

#[test]
fn a_log_that_was_not_kept_meanwhile_begins_anew() {
    let provider = logging(Flavor::Ironbark);
    configure(&provider, &config(ADMIN), &schema("attrOne", 1));
    let mut consumer = following(Flavor::Ironbark, &provider);
    assert_held(&consumer, &provider, "attrOne");
    consumer.stop().unwrap();
    change_beside_the_log(&provider, [("attrTwo", 2), ("attrThree", 3)]);
    assert!(
        provider.log().contains("lacks changes of its database"),
        "{}",
        provider.log()
    );
    consumer.launch().unwrap();
    assert_held(&consumer, &provider, "attrThree");
    assert!(
        consumer.log().contains("a refresh of the content follows"),
        "{}",
        consumer.log()
    );
    assert!(held(&consumer).contains("attrTwo"));
    // And then the log again.
    let before = searches_in_log(&provider);
    assert!(wait::until(|| (before >= 2).then_some(())).is_some());
    configure(&provider, &config(ADMIN), &schema("attrFour", 4));
    assert_held(&consumer, &provider, "attrFour");
}

#[test]
fn a_consumer_that_stays_hears_that_the_log_begins_anew() {
    let provider = logging(Flavor::Ironbark);
    let consumer = following(Flavor::Ironbark, &provider);
    configure(&provider, &config(ADMIN), &schema("attrOne", 1));
    assert_held(&consumer, &provider, "attrOne");
    change_beside_the_log(&provider, [("attrTwo", 2), ("attrThree", 3)]);
    assert_held(&consumer, &provider, "attrThree");
    assert!(held(&consumer).contains("attrTwo"), "{}", consumer.log());
    configure(&provider, &config(ADMIN), &schema("attrFour", 4));
    assert_held(&consumer, &provider, "attrFour");
}

/// A server that logs the changes of an ldif database.
pub(crate) fn logging_files() -> Server {
    let file = "include {schema}/core.schema\ninclude {schema}/cosine.schema\nserverID 1\n\
                database ldif\nsuffix dc=example,dc=com\ndirectory {dir}/db\n\
                rootdn cn=Manager,dc=example,dc=com\nrootpw secret\noverlay syncprov\noverlay accesslog\n\
                logdb cn=accesslog\nlogops writes\nlogsuccess TRUE\n\n\
                database mdb\nsuffix cn=accesslog\ndirectory {dir}\nrootdn cn=Manager,dc=example,dc=com\n\
                index entryCSN,objectClass,reqResult,reqStart,reqDN eq\n\
                overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n";
    Server::start(Flavor::Ironbark, file).unwrap()
}

#[test]
fn the_log_of_an_ldif_database_begins_anew_after_changes_that_it_did_not_see() {
    let mut provider = logging_files();
    provider.ldapadd(crate::replication::PEOPLE).unwrap().success().unwrap();
    let words = "type=refreshAndPersist syncdata=accesslog logbase=cn=accesslog";
    let mut consumer = crate::replication::following(Flavor::Ironbark, &provider, words);
    crate::replication::assert_follows(&consumer, &provider);
    crate::replication::change(&provider, 1);
    crate::replication::assert_follows(&consumer, &provider);
    consumer.stop().unwrap();
    provider.kill().unwrap();
    let change = "dn: ou=offline,dc=example,dc=com\nobjectClass: organizationalUnit\nou: offline\n";
    let base = ["-w", "-b", "dc=example,dc=com"];
    provider.tool(Tool::Add, &base, change).unwrap().success().unwrap();
    provider.launch().unwrap();
    crate::replication::change(&provider, 2);
    consumer.launch().unwrap();
    crate::replication::assert_follows(&consumer, &provider);
    assert!(crate::replication::content(&consumer).contains("ou: offline"));
    assert!(
        consumer.log().contains("a refresh of the content follows"),
        "{}",
        consumer.log()
    );
}

#[test]
fn a_change_is_in_the_log_once_whenever_the_provider_is_killed() {
    let mut provider = logging(Flavor::Ironbark);
    configure(&provider, &config(ADMIN), &schema("attrFirst", 99_999));
    let consumer = following(Flavor::Ironbark, &provider);
    assert_held(&consumer, &provider, "attrFirst");
    for round in 0..8 {
        std::thread::scope(|scope| {
            let provider = &provider;
            let ldif: String = (0..200)
                .map(|number| schema(&format!("attr{round}x{number}"), round * 1_000 + number))
                .collect();
            let writing = scope.spawn(move || provider.client("ldapmodify", &config(ADMIN), &[], &ldif));
            let count = move || held(provider).matches("cn: {").count();
            let (begun, more) = (count(), 3 + round as usize);
            assert!(wait::until(|| (count() >= begun + more).then_some(())).is_some());
            provider.signal(nix::sys::signal::Signal::SIGKILL).unwrap();
            writing.join().unwrap().unwrap();
        });
        provider.kill().unwrap();
        provider.launch().unwrap();
        let names = |text: String, start: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(start));
            let mut names: Vec<String> = lines.filter(|name| name.contains('x')).map(str::to_owned).collect();
            names.sort_unstable();
            names
        };
        let in_force = read(&provider, &config(ADMIN), "cn=schema,cn=config", &["(cn=*x*)", "cn"]);
        let in_force = names(in_force, "cn: ");
        let in_force: Vec<&str> = in_force
            .iter()
            .filter_map(|name| Some(name.split_once('}')?.1))
            .collect();
        let all = read(&provider, &config(ADMIN), "cn=accesslog", &["(reqType=add)", "reqDN"]);
        let all = names(all, "reqDN: cn=");
        let mut in_log: Vec<&str> = all.iter().filter_map(|name| Some(name.split_once(',')?.0)).collect();
        in_log.sort_unstable();
        let mut in_force = in_force;
        in_force.sort_unstable();
        assert_eq!(in_log, in_force, "round {round}: {}", provider.log());
    }
    assert_held(&consumer, &provider, "attr7x");
    assert!(!provider.log().contains("lacks changes"), "{}", provider.log());
    assert!(
        !consumer.log().contains("a refresh of the content follows"),
        "{}",
        consumer.log()
    );
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let provider = logging(Flavor::Ironbark);
    let refused = |ldif: &str| {
        let outcome = provider.client("ldapmodify", &config(ADMIN), &[], ldif).unwrap();
        assert_ne!(outcome.code(), Some(0), "{ldif}");
        outcome.stderr
    };
    // Without a history, changes of several writers could not be merged.
    let several = format!(
        "{DATABASE}add: olcMultiProvider\nolcMultiProvider: TRUE\n-\nadd: olcSyncrepl\nolcSyncrepl: {}\n",
        line(&provider)
    );
    let text = refused(&several);
    assert!(text.contains("syncdata=accesslog only without multiprovider"), "{text}");
    // The log is needed as long as something is logged there.
    let text = refused(
        "dn: olcOverlay={0}syncprov,olcDatabase={2}mdb,cn=config\nchangetype: delete\n\n\
                        dn: olcDatabase={2}mdb,cn=config\nchangetype: delete\n",
    );
    assert!(text.contains("there is no database \"cn=accesslog\""), "{text}");
    let to_itself = format!("{ACCESSLOG}changetype: modify\nreplace: olcAccessLogDB\nolcAccessLogDB: cn=config\n");
    let text = refused(&to_itself);
    assert!(text.contains("cannot log to itself"), "{text}");
    // What is refused is not logged.
    let written = read(&provider, &config(ADMIN), "cn=accesslog", &["(reqResult=0)", "reqDN"]);
    assert_eq!(written.matches("reqDN: ").count(), 1, "{written}");
}
