//! The access log beside slapd's, and consumers that follow it (`syncdata=accesslog`).

use std::collections::BTreeMap;

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{PEOPLE, assert_follows, change, content, following};

const LOG: &str = "cn=accesslog";
/// Overlays whose effects the log is asked about.
pub(crate) const MODULES: &str = "moduleload memberof\nmoduleload refint\nmoduleload ppolicy";

/// A slapd.conf with this server ID whose changes are logged in a database that consumers can follow.
pub(crate) fn logging_config(id: u16, lines: &str) -> String {
    logging_config_behind(id, "", lines)
}

/// The same with overlays before overlay accesslog.
fn logging_config_behind(id: u16, overlays: &str, lines: &str) -> String {
    Server::people_config(
        &format!("serverID {id}\nmoduleload syncprov\nmoduleload accesslog\n{MODULES}\nloglevel stats"),
        &format!(
            "overlay syncprov\n{overlays}\noverlay accesslog\nlogdb {LOG}\nlogops writes\nlogsuccess TRUE\n{lines}\n\ndatabase mdb\n\
             suffix {LOG}\ndirectory {{dir}}\nrootdn cn=Manager,dc=example,dc=com\n\
             index entryCSN,objectClass,reqResult,reqStart,reqDN eq\n\
             overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n\
             access to * by dn.exact=cn=Manager,dc=example,dc=com read by * none"
        ),
    )
}

/// A server with it.
pub(crate) fn logging(flavor: Flavor, lines: &str) -> Server {
    let mut server = Server::prepare(flavor, &logging_config(1, lines)).unwrap();
    server.launch().unwrap();
    server
}

/// The entries of the log, without what is never the same.
pub(crate) fn logged(server: &Server, who: &Credentials<'_>) -> Vec<String> {
    let arguments = ["-LLL", "-o", "ldif-wrap=no", "-b", LOG, "-s", "one", "*"];
    let found = server.client("ldapsearch", who, &arguments, "").unwrap();
    let text = found.success().unwrap().stdout;
    let own = [
        "dn: ",
        "reqStart: ",
        "reqEnd: ",
        "reqSession: ",
        "reqEntryUUID: ",
        "reqMod: entryUUID:",
        "reqMod: entryCSN:",
        "reqMod: createTimestamp:",
        "reqMod: modifyTimestamp:",
        "reqMod: pwdChangedTime:",
        "reqOld: entryUUID:",
        "reqOld: entryCSN:",
        "reqOld: createTimestamp:",
        "reqOld: modifyTimestamp:",
    ];
    let entry = |text: &str| {
        let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in text
            .lines()
            .filter(|line| !own.iter().any(|start| line.starts_with(start)))
        {
            kinds
                .entry(line.split(':').next().unwrap_or_default())
                .or_default()
                .push(line);
        }
        for (name, lines) in &mut kinds {
            // The order of attributes in an entry is free; that of changes is not.
            if *name == "reqOld" || lines.iter().all(|line| line.contains(":+ ")) {
                lines.sort_unstable();
            }
        }
        kinds
            .into_values()
            .flatten()
            .fold(String::new(), |text, line| text + line + "\n")
    };
    text.split("\n\n")
        .filter(|entry| !entry.trim().is_empty())
        .map(entry)
        .collect()
}

#[test]
fn the_log_says_what_slapds_says() {
    let lines = "logold (objectClass=person)\nlogoldattr cn";
    let servers = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| logging(flavor, lines));
    let [ours, slapds] = servers.each_ref().map(|server| {
        server.ldapadd(PEOPLE).unwrap().success().unwrap();
        change(server, 1);
        let further = "dn: cn=a1,ou=people,dc=example,dc=com\nchangetype: modify\nadd: telephoneNumber\ntelephoneNumber: 1\n-\n\
             add: telephoneNumber\ntelephoneNumber: 2\n-\ndelete: telephoneNumber\ntelephoneNumber: 1\n-\n\
             delete: telephoneNumber\n-\nreplace: seeAlso\n-\nreplace: description\ndescription:: IGE=\ndescription: b\n\n\
             dn: cn=a1,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 0\n\n\
             dn: cn=z,ou=people,dc=example,dc=com\nchangetype: delete\n";
        server.ldapmodify(further).unwrap().success().unwrap();
        logged(server, &Credentials::ROOT)
    });
    assert_eq!(ours.join("\n"), slapds.join("\n"));
    let everybody = Credentials::Anonymous;
    let found = servers[0]
        .client("ldapsearch", &everybody, &["-LLL", "-b", LOG, "1.1"], "")
        .unwrap();
    assert_eq!((found.code(), &*found.stdout), (Some(32), ""));
}

/// Groups, members, and their ends.
pub(crate) const GROUPS: &str = "\
dn: cn=a,ou=people,dc=example,dc=com
changetype: add
objectClass: person
sn: s

dn: cn=b,ou=people,dc=example,dc=com
changetype: add
objectClass: person
sn: s

dn: cn=g,ou=others,dc=example,dc=com
changetype: add
objectClass: groupOfNames
member: cn=a,ou=people,dc=example,dc=com

dn: CN=G, ou=others,dc=example,dc=com
changetype: modify
add: member
member: cn=b,ou=people,dc=example,dc=com
-
delete: member
member: cn=a,ou=people,dc=example,dc=com

dn: cn=b,ou=people,dc=example,dc=com
changetype: modify
replace: userPassword
userPassword: secret

dn: cn=b,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=c
deleteoldrdn: 1

dn: cn=g,ou=others,dc=example,dc=com
changetype: modify
add: member
member: cn=a,ou=people,dc=example,dc=com

";

/// What follows when slapd's refint, which acts a moment later, has nothing more to do.
pub(crate) const ENDS: &str = "\
dn: cn=a,ou=people,dc=example,dc=com
changetype: delete

dn: cn=c,ou=people,dc=example,dc=com
changetype: modify
add: description
description: d

dn: cn=g,ou=others,dc=example,dc=com
changetype: delete

";

/// Which entry each entry of the log is about, by `reqEntryUUID`.
fn assert_names_own_entries(server: &Server) {
    let arguments = [
        "-LLL",
        "-o",
        "ldif-wrap=no",
        "-b",
        LOG,
        "-s",
        "one",
        "reqDN",
        "reqType",
        "reqEntryUUID",
    ];
    let log = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    let held = content(server);
    let uuid = |name: &str| {
        let entry = held
            .split("\n\n")
            .find(|entry| entry.starts_with(&format!("dn: {name}\n")));
        let line = entry.and_then(|entry| entry.lines().find_map(|line| line.strip_prefix("entryUUID: ")));
        line.map(str::to_owned)
    };
    for entry in log.success().unwrap().stdout.split("\n\n") {
        let of = |start: &str| entry.lines().find_map(|line| line.strip_prefix(start));
        if let Some(known) = of("reqDN: ").and_then(uuid) {
            assert_eq!(of("reqEntryUUID: "), Some(known.as_str()), "{entry}");
        }
    }
}

#[test]
fn beside_other_overlays_the_log_says_what_slapds_says_in_either_order() {
    let others = [
        "overlay memberof\nmemberof-refint TRUE",
        "overlay refint\nrefint_attributes member",
        "overlay ppolicy",
        "overlay memberof\noverlay refint\nrefint_attributes member\noverlay ppolicy",
    ];
    for overlays in others {
        for (before, after) in [(overlays, ""), ("", overlays)] {
            let old = if overlays.contains("refint_attributes") {
                ""
            } else {
                "logold (objectClass=*)\nlogoldattr cn"
            };
            let [ours, slapds] = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| {
                let config = logging_config_behind(1, before, &format!("{old}\n{after}"));
                let server = Server::start(flavor, &config).unwrap();
                server.ldapadd(PEOPLE).unwrap().success().unwrap();
                server.ldapmodify(GROUPS).unwrap().success().unwrap();
                let is_renamed = || content(&server).contains("member: cn=c,ou=people").then_some(());
                assert!(
                    !overlays.contains("refint") || wait::until(is_renamed).is_some(),
                    "{flavor:?}"
                );
                server.ldapmodify(ENDS).unwrap().success().unwrap();
                assert_names_own_entries(&server);
                logged(&server, &Credentials::ROOT)
            });
            assert_eq!(ours.join("\n"), slapds.join("\n"), "before: {before}\nafter: {after}");
        }
    }
}

#[test]
fn a_slapd_follows_our_log() {
    let mut provider = logging(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let words = format!(
        "type=refreshAndPersist syncdata=accesslog logbase={LOG} \
         logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\""
    );
    let mut consumer = following(Flavor::OpenLdap, &provider, &words);
    assert_follows(&consumer, &provider);
    let follows_log = || provider.log().contains(&format!("SRCH base=\"{LOG}\"")).then_some(());
    assert!(wait::until(follows_log).is_some(), "{}", provider.log());
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    consumer.kill().unwrap();
    change(&provider, 2);
    provider.kill().unwrap();
    provider.launch().unwrap();
    change(&provider, 3);
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    change(&provider, 4);
    assert_follows(&consumer, &provider);
    let log = provider.log();
    let searches = log
        .lines()
        .filter(|line| line.contains(&format!("SRCH base=\"{LOG}\"")));
    assert!(searches.count() >= 2, "it comes back to the log:\n{log}");
    assert!(!log.contains("err=4096"), "{log}");
}

#[test]
fn who_follows_an_empty_provider_gets_its_first_changes() {
    for flavor in [Flavor::Ironbark, Flavor::OpenLdap] {
        let provider = logging(Flavor::Ironbark, "");
        let words = format!(
            "type=refreshAndPersist retry=\"3600 +\" syncdata=accesslog logbase={LOG} \
             logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\""
        );
        let consumer = following(flavor, &provider, &words);
        let follows_log = || provider.log().contains(&format!("SRCH base=\"{LOG}\"")).then_some(());
        assert!(wait::until(follows_log).is_some(), "{flavor:?}: {}", provider.log());
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        assert_follows(&consumer, &provider);
    }
}

#[test]
fn a_cookie_from_before_the_log_is_refused_and_a_later_one_gets_the_rest() {
    let provider = logging(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let search = |csn: &str| {
        let control = format!("sync=ro/rid=001,csn={csn}");
        let arguments = ["-b", LOG, "-E", &control, "(objectClass=auditWriteObject)", "reqDN"];
        provider
            .client("ldapsearch", &Credentials::ROOT, &arguments, "")
            .unwrap()
    };
    let refused = search("20200101000000.000000Z#000000#001#000000");
    let text = format!("{}{}", refused.stdout, refused.stderr);
    assert!(text.contains("sync cookie is stale"), "{refused:?}");
    let arguments = ["-b", LOG, "-s", "base", "minCSN"];
    let top = provider
        .client("ldapsearch", &Credentials::ROOT, &arguments, "")
        .unwrap()
        .success()
        .unwrap();
    let min = top
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("minCSN: "))
        .unwrap();
    let rest = search(min).success().unwrap();
    let names: Vec<_> = rest.stdout.lines().filter(|line| line.starts_with("reqDN: ")).collect();
    let others = [
        "reqDN: ou=people,dc=example,dc=com",
        "reqDN: ou=others,dc=example,dc=com",
    ];
    assert_eq!(names, others);
}
