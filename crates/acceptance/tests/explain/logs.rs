//! Indexes that logs show to be missing, and indexes that the configuration shows to be missing.

use ironbark_testkit::{Flavor, Server};

use super::{LOCAL, database, explain, private, run};

/// The suffix, and people.
fn people(count: usize) -> String {
    let mut ldif =
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n"
            .to_owned();
    for number in 0..count {
        let person = format!(
            "dn: cn=p{number},dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: p{number}\nsn: n{number}\nmail: m{number}@example.com\n\n"
        );
        ldif += &person;
    }
    ldif
}

/// The log of a server that got searches without an index.
fn log_of(flavor: Flavor, entries: usize, settings: &str, file: Option<&str>) -> String {
    // slapd reports missing indexes at level `filter` (32), this server at `stats` (256).
    let mut server = Server::prepare(flavor, &format!("{settings}{}", Server::PEOPLE_CONFIG))
        .unwrap()
        .debug_level("288");
    server.slapadd(&people(entries)).unwrap();
    server.launch().unwrap();
    for filter in [
        "(sn=n1)",
        "(sn=n2)",
        "(&(objectClass=person)(mail=*5@ex*))",
        "(objectClass=*)",
    ] {
        server.search(&["-b", "dc=example,dc=com", filter, "1.1"]).unwrap();
    }
    server.stop().unwrap();
    match file {
        Some(name) => std::fs::read_to_string(server.layout().join(name)).unwrap(),
        None => server.log(),
    }
}

/// The findings of a log for a configuration with one index.
fn explained(log: &str) -> super::Explained {
    let layout = private();
    layout.write("slapd.conf", database("index sn pres\n")).unwrap();
    layout.write("log", log).unwrap();
    run(layout.path(), &["-f", "slapd.conf", "-h", LOCAL, "--log", "log"])
}

fn assert_both(found: &super::Explained) {
    found.assert_has(
        "slapd.conf:5: missing: index: the log has 2 searches that found no index, such as (sn=?)",
        "Write index sn eq,pres in place of index sn pres",
    );
    found.assert_has(
        "slapd.conf:5: missing: index: the log has 1 search that found no index, such as (&(objectClass=?)(mail=*?*))",
        "Write index mail sub",
    );
    found.assert_has("2 missing; the configuration loads", "");
}

#[test]
fn slapds_log_shows_which_indexes_are_needed() {
    let log = log_of(Flavor::OpenLdap, 2_000, "", None);
    assert!(log.contains("<= mdb_equality_candidates: (sn) not indexed"), "{log}");
    assert_both(&explained(&log));
}

#[test]
fn our_log_does_in_every_format() {
    // Another item of the second filter has an index: only the slow log shows that the index leads to too many entries.
    let found = explained(&log_of(Flavor::Ironbark, 2_000, "", None));
    found.assert_has(
        "slapd.conf:5: missing: index: the log has 2 searches",
        "Write index sn eq,pres",
    );
    found.assert_has("1 missing; the configuration loads", "");
    let settings =
        |format: &str| format!("logfile {{dir}}/log.txt\nlogfile-format {format}\nlogfile-only on\nslowlog 1\n");
    for format in ["json", "rfc3339-utc", "syslog-utc"] {
        // So many that a search of them takes several milliseconds, and counts as slow.
        let log = log_of(Flavor::Ironbark, 20_000, &settings(format), Some("log.txt"));
        let found = explained(&log);
        found.assert_has("slapd.conf:5: missing: index: ", "Write index sn eq,pres");
        found.assert_has("slapd.conf:5: missing: index: ", "Write index mail sub");
    }
}

#[test]
fn slow_lines_tell_what_was_examined_and_what_is_cheap_is_not_worth_an_index() {
    let line = |number: u32, examined: u32| {
        format!(
            "conn=1 op={number} SLOW SRCH etime=0.3 err=0 nentries=1 examined={examined} filter=\"(mail=*?*)\" plan=\"way: scan of all entries\"\n"
        )
    };
    let found = explained(&(line(1, 20_000) + &line(2, 10_000)));
    found.assert_has(
        "slapd.conf:5: missing: index: ",
        "30000 entries were looked at and 2 returned. Write index mail sub",
    );
    let found = explained(&line(1, 50));
    assert_eq!(found.text, "nothing found; the configuration loads\n");
}

#[test]
fn a_search_that_took_long_for_what_it_returned_shows_an_index_too() {
    let search = |elapsed: &str, entries: u32| {
        format!(
            "conn=1 op=1 SRCH base=\"dc=example,dc=com\" scope=2 deref=0 filter=\"(title=x)\"\n\
             conn=1 op=1 SEARCH RESULT tag=101 err=0 qtime=0.000010 etime={elapsed} nentries={entries} text=\n"
        )
    };
    explained(&search("0.250000", 1)).assert_has("slapd.conf:5: missing: index: ", "Write index title eq");
    for quick in [search("0.001000", 1), search("0.250000", 5_000)] {
        assert_eq!(explained(&quick).text, "nothing found; the configuration loads\n");
    }
    // No findings for a database that is not configured here.
    let elsewhere = search("0.25", 1).replace("dc=example,dc=com", "cn=Monitor");
    assert_eq!(explained(&elsewhere).text, "nothing found; the configuration loads\n");
    // An existing index counts, even if the server of the log had none.
    let there = search("0.25", 1).replace("title=x", "objectClass=person");
    assert_eq!(explained(&there).text, "nothing found; the configuration loads\n");
}

#[test]
fn several_logs_and_databases_are_told_apart() {
    let layout = private();
    let second = format!("database mdb\nsuffix o=b\ndirectory b\n{}", super::RULES);
    layout.write("slapd.conf", database(&second)).unwrap();
    let log = |base: &str, attribute: &str| {
        format!(
            "conn=1 op=1 SRCH base=\"{base}\" scope=2 deref=0 filter=\"({attribute}=x)\"\n<= mdb_equality_candidates: ({attribute}) not indexed\n"
        )
    };
    layout.write("a", log("dc=example,dc=com", "sn")).unwrap();
    layout.write("b", log("ou=x,o=b", "mail")).unwrap();
    layout
        .write("c", "<= mdb_equality_candidates: (title) not indexed\n")
        .unwrap();
    let found = run(
        layout.path(),
        &["-f", "slapd.conf", "-h", LOCAL, "--log", "a", "--log=b", "--log", "c"],
    );
    found.assert_has("slapd.conf:5: missing: index: ", "Write index sn eq");
    found.assert_has("slapd.conf:10: missing: index: ", "Write index mail eq");
    found.assert_has(
        "slapd.conf: missing: index: ",
        "Write index title eq in the right database",
    );
}

#[test]
fn overlays_and_replication_need_indexes_of_their_own() {
    let overlays = "overlay memberof\nmemberof-addcheck TRUE\noverlay refint\nrefint_attributes manager\noverlay unique\nunique_uri ldap:///?uid?sub\n";
    let found = explain(&database(overlays));
    for attribute in ["member", "manager", "uid"] {
        found.assert_has(
            "slapd.conf:5: missing: index: overlay ",
            &format!("Write index {attribute} eq"),
        );
    }
    assert_eq!(found.status, 0, "{}", found.text);
    let indexed = explain(&database(&format!("index member,manager,uid eq\n{overlays}")));
    assert_eq!(indexed.text, "nothing found; the configuration loads\n");
    let found = explain(&database("syncrepl rid=1 provider=ldap://x searchbase=o=x\n"));
    let missing = found.found("missing", "index");
    assert!(
        matches!(missing.as_slice(), [one] if one.contains("Write index entryUUID eq")),
        "entryCSN needs none: {}",
        found.text
    );
}
