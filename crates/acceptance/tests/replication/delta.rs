//! Consumers that follow a provider's access log (`syncdata=accesslog`), and servers that follow each other's.

use ironbark_testkit::{Credentials, Flavor, Server, Tool, wait};

use crate::replication::{
    PEOPLE,
    accesslog::{ENDS, GROUPS, MODULES, logging, logging_config},
    assert_follows, change, changes, content,
    delta_config::logging_files,
    following, line,
    mesh::{assert_equal, lines_by, start_with},
};

const WORDS: &str = "type=refreshAndPersist syncdata=accesslog logbase=cn=accesslog \
                     logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\"";

/// Changes that a log must tell as they were.
const FINE: &str = "\
dn: cn=m,ou=people,dc=example,dc=com
changetype: add
objectClass: person
objectClass: extensibleObject
cn: m
cn: n
sn: s
uidNumber: 5

dn: cn=m,ou=people,dc=example,dc=com
changetype: modify
add: telephoneNumber
telephoneNumber: 1
-
add: telephoneNumber
telephoneNumber: 2
-
delete: telephoneNumber
telephoneNumber: 1
-
increment: uidNumber
uidNumber: 3
-
replace: description
description:: IGEg
description: v
-
replace: seeAlso
-
add: jpegPhoto
jpegPhoto:: AAH/Cg==

dn: cn=m,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=o
deleteoldrdn: 0

dn: cn=o,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=p+sn=t
deleteoldrdn: 1
newsuperior: ou=others,dc=example,dc=com

dn: cn=p+sn=t,ou=others,dc=example,dc=com
changetype: modify
delete: description

";

/// How often the provider was asked for its log.
fn searches_in_log(provider: &Server) -> usize {
    let log = provider.log();
    log.lines()
        .filter(|line| line.contains("SRCH base=\"cn=accesslog\""))
        .count()
}

/// Lets a server of ours follow the log of a provider of this kind through changes, kills and absences.
fn follow_through_kills(flavor: Flavor) {
    let mut provider = logging(flavor, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = following(Flavor::Ironbark, &provider, WORDS);
    assert_follows(&consumer, &provider);
    assert!(wait::until(|| (searches_in_log(&provider) > 0).then_some(())).is_some());
    provider.ldapmodify(FINE).unwrap().success().unwrap();
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    consumer.kill().unwrap();
    change(&provider, 2);
    if flavor == Flavor::Ironbark {
        provider.kill().unwrap();
    } else {
        provider.stop().unwrap();
    }
    provider.launch().unwrap();
    change(&provider, 3);
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    change(&provider, 4);
    assert_follows(&consumer, &provider);
    let log = consumer.log();
    assert!(!log.contains("a refresh of the content follows"), "{log}");
    assert!(searches_in_log(&provider) >= 2);
}

#[test]
fn we_follow_our_log() {
    follow_through_kills(Flavor::Ironbark);
}

#[test]
fn we_follow_slapds_log() {
    follow_through_kills(Flavor::OpenLdap);
}

/// A consumer of the log with these overlays.
fn consumer(flavor: Flavor, provider: &Server, overlays: &str) -> Server {
    let config = Server::people_config(MODULES, &format!("{}{overlays}", line(provider, WORDS)));
    let mut server = Server::prepare(flavor, &config).unwrap();
    server.launch().unwrap();
    server
}

/// Lets consumers follow the log of a provider with memberof, some with the overlay and some without, in both kinds.
fn follow_with_memberof(flavor: Flavor) {
    const MEMBEROF: &str = "overlay memberof\nmemberof-refint TRUE";
    let provider = logging(flavor, MEMBEROF);
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let kinds = [
        (Flavor::Ironbark, MEMBEROF),
        (Flavor::OpenLdap, MEMBEROF),
        (Flavor::Ironbark, ""),
        (Flavor::OpenLdap, ""),
    ];
    let mut consumers = kinds.map(|(flavor, overlays)| consumer(flavor, &provider, overlays));
    for consumer in &consumers {
        assert_follows(consumer, &provider);
    }
    let in_log = || (searches_in_log(&provider) >= consumers.len()).then_some(());
    assert!(wait::until(in_log).is_some(), "{}", provider.log());
    // slapd's memberof spells names as the request does.
    let groups = GROUPS.replace("CN=G, ", "cn=g,");
    let (first, second) = groups.split_at(groups.find("dn: cn=g").unwrap());
    provider.ldapmodify(first).unwrap().success().unwrap();
    assert_follows(&consumers[0], &provider);
    consumers[0].kill().unwrap();
    consumers[2].kill().unwrap();
    provider.ldapmodify(second).unwrap().success().unwrap();
    consumers[0].launch().unwrap();
    consumers[2].launch().unwrap();
    assert_follows(&consumers[0], &provider);
    assert_follows(&consumers[1], &provider);
    provider.ldapmodify(ENDS).unwrap().success().unwrap();
    let [ours, slapds, plain, slapds_plain] = &consumers;
    assert_follows(ours, &provider);
    assert_follows(slapds, &provider);
    // As with slapd alone: what memberof does is no change of its own, so who lacks the overlay lacks memberOf.
    assert_follows(plain, slapds_plain);
    assert!(!provider.log().contains("err=4096"), "{}", provider.log());
    // One that loses sync comes back to the log behind a refresh.
    assert_eq!(searches_in_log(&provider), kinds.len() + 2, "two were killed");
}

#[test]
fn consumers_of_our_log_with_and_without_memberof_end_as_slapds() {
    follow_with_memberof(Flavor::Ironbark);
}

#[test]
fn consumers_of_slapds_log_with_and_without_memberof_end_as_slapds() {
    follow_with_memberof(Flavor::OpenLdap);
}

#[test]
fn what_automember_does_reaches_consumers_that_lack_it() {
    // Two definitions for one group: it changes twice in one write.
    let definition = "overlay automember\nautomember-scope ou=people,dc=example,dc=com\n\
                      automember-filter (objectClass=person)\nautomember-default-group cn=all,dc=example,dc=com\n";
    let lines = format!("overlay memberof\n{definition}{definition}automember-grouping-attr seeAlso:dn");
    let provider = logging(Flavor::Ironbark, &lines);
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let group = "dn: cn=all,dc=example,dc=com\nobjectClass: groupOfNames\nmember: cn=none,dc=example,dc=com\n";
    provider.ldapadd(group).unwrap().success().unwrap();
    let mut consumers =
        [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| consumer(flavor, &provider, "overlay memberof"));
    for number in 1..4 {
        if number == 2 {
            for consumer in &mut consumers {
                consumer.kill().unwrap();
            }
        }
        change(&provider, number);
        if number == 2 {
            for consumer in &mut consumers {
                consumer.launch().unwrap();
            }
        }
        for consumer in &consumers {
            assert_follows(consumer, &provider);
        }
    }
    let held = content(&provider);
    for attribute in ["member", "seeAlso"] {
        assert!(
            held.contains(&format!("{attribute}: cn=a3,ou=people,dc=example,dc=com\n")),
            "{held}"
        );
    }
    assert!(held.contains("memberOf: cn=all,dc=example,dc=com\n"), "{held}");
    assert!(!provider.log().contains("err=4096"), "{}", provider.log());
}

#[test]
fn a_log_that_does_not_reach_back_leads_to_a_refresh_and_then_to_the_log_again() {
    let mut provider = logging(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = following(Flavor::Ironbark, &provider, WORDS);
    assert_follows(&consumer, &provider);
    consumer.stop().unwrap();
    change(&provider, 1);
    provider.stop().unwrap();
    // A log that begins anew knows nothing of the time before.
    for file in ["data.mdb", "lock.mdb"] {
        let _ = std::fs::remove_file(provider.layout().join(file));
    }
    provider.launch().unwrap();
    change(&provider, 2);
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    let log = consumer.log();
    assert!(log.contains("a refresh of the content follows"), "{log}");
    let in_log = || {
        let refused = provider.log().matches("err=4096").count();
        (refused > 0 && searches_in_log(&provider) > refused).then_some(())
    };
    assert!(wait::until(in_log).is_some(), "{}", provider.log());
    change(&provider, 3);
    assert_follows(&consumer, &provider);
}

/// Lets a tool change the database while provider and consumer are stopped. Returns both; the consumer has the changes.
fn changed_offline(mut provider: Server, tool: Tool, options: &[&str], text: &str) -> (Server, Server) {
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = following(Flavor::Ironbark, &provider, WORDS);
    assert_follows(&consumer, &provider);
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    consumer.stop().unwrap();
    provider.stop().unwrap();
    let options = [&["-b", "dc=example,dc=com"], options].concat();
    provider.tool(tool, &options, text).unwrap().success().unwrap();
    provider.launch().unwrap();
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    assert!(content(&consumer).contains("description: offline"));
    change(&provider, 2);
    assert_follows(&consumer, &provider);
    (provider, consumer)
}

/// How many operations the log has for a name.
fn logged_of(provider: &Server, name: &str) -> usize {
    let filter = format!("(reqDN={name})");
    let arguments = ["-LLL", "-b", "cn=accesslog", &filter, "1.1"];
    let found = provider
        .client("ldapsearch", &Credentials::ROOT, &arguments, "")
        .unwrap();
    found.success().unwrap().stdout.matches("dn: reqStart=").count()
}

#[test]
fn what_slapmodify_changes_is_in_the_log_once() {
    let changes = "dn: ou=offline,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\n\n\
                   dn: ou=offline,dc=example,dc=com\nchangetype: modify\nadd: description\ndescription: offline\n\n";
    for provider in [logging(Flavor::Ironbark, ""), logging_files()] {
        let (provider, consumer) = changed_offline(provider, Tool::Modify, &["-S", "1"], changes);
        assert_eq!(logged_of(&provider, "ou=offline,dc=example,dc=com"), 2);
        let log = consumer.log();
        assert!(!log.contains("a refresh of the content follows"), "{log}");
    }
}

#[test]
fn what_slapmodify_does_not_change_is_not_in_the_log() {
    // The server itself would log refused operations.
    let config = logging_config(1, "").replace("logsuccess TRUE\n", "");
    let mut server = Server::start(Flavor::Ironbark, &config).unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    server.stop().unwrap();
    let name = "ou=others,dc=example,dc=com";
    let change = format!("dn: {name}\nchangetype: modify\nadd: description\ndescription: a\n\n");
    let base = ["-b", "dc=example,dc=com"];
    let tried = server
        .tool(Tool::Modify, &[&base[..], &["-u"]].concat(), &change)
        .unwrap();
    tried.success().unwrap();
    server.tool(Tool::Modify, &base, &change).unwrap().success().unwrap();
    let refused = server.tool(Tool::Modify, &base, &change).unwrap();
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    server.launch().unwrap();
    assert_eq!(logged_of(&server, name), 2, "its addition and one change");
}

#[test]
fn what_slapadd_loads_is_missing_in_the_log_and_leads_to_a_refresh() {
    let entry = "dn: ou=offline,dc=example,dc=com\nobjectClass: organizationalUnit\nou: offline\n\
                 description: offline\n";
    let provider = logging(Flavor::Ironbark, "");
    let (provider, consumer) = changed_offline(provider, Tool::Add, &["-w", "-S", "1"], entry);
    assert_eq!(logged_of(&provider, "ou=offline,dc=example,dc=com"), 0);
    let log = provider.log();
    assert!(log.contains("lacks changes of its database"), "{log}");
    let log = consumer.log();
    assert!(log.contains("a refresh of the content follows"), "{log}");
}

/// The log is for the rootdn alone.
const ROOT: &str = "cn=Manager,dc=example,dc=com";

/// Two servers that write, and follow each other's logs. The first one has had the content. `more` stands behind their
/// lines.
pub(crate) fn writers(flavors: [Flavor; 2], more: &str) -> [Server; 2] {
    let mut id = 0;
    let mut servers = flavors.map(|flavor| {
        id += 1;
        Server::prepare(flavor, &logging_config(id, "#consumers")).unwrap()
    });
    for number in 0..2 {
        let lines = format!(
            "{}multiprovider TRUE\n{more}",
            lines_by(ROOT, &servers, vec![1 - number], WORDS)
        );
        start_with(&mut servers[number], &lines);
        if number == 0 {
            servers[0].ldapadd(PEOPLE).unwrap().success().unwrap();
        }
    }
    servers
}

/// Changes of one entry, and of its own ones, at a server that hears nothing of the other one.
fn apart(number: usize) -> String {
    let (attribute, value) = if number == 0 {
        ("telephoneNumber", "1")
    } else {
        ("seeAlso", "cn=x")
    };
    format!(
        "dn: cn=a1,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: {attribute}\n{attribute}: {value}\n-\n\
         add: description\ndescription: of {number}\n-\nreplace: sn\nsn: {number}\n\n{}",
        changes(number + 10)
    )
}

/// What two that were cut off from each other have written is there in the end, value by value.
fn merge(flavors: [Flavor; 2]) {
    let mut servers = writers(flavors, "");
    change(&servers[0], 1);
    assert_equal(&servers, "equal");
    change(&servers[1], 2);
    assert_equal(&servers, "equal");
    servers[1].stop().unwrap();
    servers[0].ldapmodify(&apart(0)).unwrap().success().unwrap();
    servers[0].kill().unwrap();
    servers[1].launch().unwrap();
    servers[1].ldapmodify(&apart(1)).unwrap().success().unwrap();
    servers[0].launch().unwrap();
    assert_equal(&servers, "equal");
    let held = content(&servers[0]);
    for value in [
        "telephoneNumber: 1",
        "seeAlso: cn=x",
        "description: of 0",
        "description: of 1",
        "sn: 1",
    ] {
        assert!(held.contains(&format!("{value}\n")), "{value} is missing:\n{held}");
    }
}

#[test]
fn two_of_ours_merge_what_they_have_written_apart() {
    merge([Flavor::Ironbark, Flavor::Ironbark]);
}

#[test]
fn ours_and_slapd_merge_what_they_have_written_apart() {
    merge([Flavor::Ironbark, Flavor::OpenLdap]);
}
