//! The accesslog overlay: what the log says of changes, and when.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::fmt::Write as _;

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

fn lines(settings: &str) -> String {
    format!(
        "overlay accesslog\nlogdb cn=accesslog\n{settings}\n\ndatabase mdb\nsuffix cn=accesslog\ndirectory DIR\n\
         rootdn cn=root,dc=ex"
    )
}

fn site(settings: &str) -> Site {
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        &lines(settings),
        ironbark_overlays::make,
    );
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site
}

/// The entries of the log but the first one, without the times and UUIDs that are never the same.
fn log(site: &mut Site) -> Vec<String> {
    let entries = site.search("cn=accesslog", Scope::SingleLevel, "(objectClass=*)", &["*"]);
    let unimportant = ["dn: ", "reqStart: ", "reqEnd: ", "reqMod: entryUUID:", "reqEntryUUID: "];
    let text = |entry: &String| {
        let lines = entry
            .lines()
            .filter(|line| !unimportant.iter().any(|start| line.starts_with(start)));
        lines.fold(String::new(), |text, line| text + line + "\n")
    };
    entries.iter().skip(1).map(text).collect()
}

const WHO: &str = "reqSession: 7\nreqAuthzID: cn=root,dc=ex\n";

#[test]
fn the_suffix_entry_is_made_and_says_where_the_log_begins() {
    let mut site = site("logops writes");
    let top = site.search(
        "cn=accesslog",
        Scope::BaseObject,
        "(objectClass=auditContainer)",
        &["*", "minCSN"],
    );
    let first = site.read("dc=ex", &["entryCSN"]).expect("there");
    let min = first.replace("entryCSN", "minCSN");
    assert_eq!(
        top,
        [format!(
            "dn: cn=accesslog\nobjectClass: auditContainer\ncn: accesslog\n{min}"
        )]
    );
}

#[test]
fn an_added_entry_is_logged_whole() {
    let mut site = site("logops writes");
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
    let csn = site.read("cn=x,dc=ex", &["entryCSN"]).expect("there");
    let csn = csn.trim().strip_prefix("entryCSN: ").expect("a CSN").to_owned();
    assert_eq!(
        log(&mut site),
        [format!(
            "objectClass: auditAdd\nreqType: add\n{WHO}reqDN: cn=x,dc=ex\nreqResult: 0\n\
             reqMod: objectClass:+ person\nreqMod: sn:+ s\nreqMod: structuralObjectClass:+ person\nreqMod: cn:+ x\n\
             reqMod: creatorsName:+ cn=root,dc=ex\nreqMod: createTimestamp:+ 20260102030405Z\n\
             reqMod: entryCSN:+ {csn}\nreqMod: modifiersName:+ cn=root,dc=ex\nreqMod: modifyTimestamp:+ 20260102030405Z\n"
        )]
    );
    let shown = site.search("cn=accesslog", Scope::SingleLevel, "(reqDN=cn=x,dc=ex)", &["entryCSN"]);
    assert!(
        shown[0].contains(&csn),
        "the log entry has the CSN of the change: {shown:?}"
    );
}

#[test]
fn changes_are_logged_in_the_forms_of_slapd() {
    let mut site = site("logops writes");
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
    let changes = "add: description\nd: one\nd: two\n-\nadd: description\nd: three\n-\ndelete: description\nd: one\n-\n\
                   delete: description\n-\nreplace: sn\nd: t\n-\nreplace: telephoneNumber";
    assert_eq!(site.modify("CN=x,dc=ex", changes).code, 0);
    let logged = log(&mut site).pop().expect("logged");
    let start = logged.find("reqMod").expect("changes");
    let csn = site.read("cn=x,dc=ex", &["entryCSN"]).expect("there");
    let csn = csn.trim().strip_prefix("entryCSN: ").expect("a CSN");
    assert_eq!(
        logged.split_at(start),
        (
            format!("objectClass: auditModify\nreqType: modify\n{WHO}reqDN: cn=x,dc=ex\nreqResult: 0\n").as_str(),
            format!(
                "reqMod: description:+ one\nreqMod: description:+ two\nreqMod: :\nreqMod: description:+ three\n\
                 reqMod: description:- one\nreqMod: :\nreqMod: description:-\nreqMod: sn:= t\nreqMod: telephoneNumber:=\n\
                 reqMod: entryCSN:= {csn}\nreqMod: modifiersName:= cn=root,dc=ex\n\
                 reqMod: modifyTimestamp:= 20260102030405Z\n"
            )
            .as_str()
        )
    );
}

#[test]
fn renames_and_deletes_are_logged_with_the_uuid_of_the_entry() {
    let mut site = site("logops writes");
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
    let uuid = site.read("cn=x,dc=ex", &["entryUUID"]).expect("there");
    assert_eq!(site.rename("cn=x,dc=ex", "cn=y", Some("dc=ex")).code, 0);
    assert_eq!(site.delete("cn=y,dc=ex").code, 0);
    let logged = log(&mut site);
    assert_eq!(logged.len(), 3, "{logged:?}");
    let csn = logged[1]
        .lines()
        .find(|line| line.starts_with("reqMod: entryCSN"))
        .expect("a CSN")
        .to_owned();
    assert_eq!(
        logged[1],
        format!(
            "objectClass: auditModRDN\nreqType: modrdn\n{WHO}reqDN: cn=x,dc=ex\nreqResult: 0\n{csn}\n\
             reqMod: modifiersName:= cn=root,dc=ex\nreqMod: modifyTimestamp:= 20260102030405Z\n\
             reqNewRDN: cn=y\nreqDeleteOldRDN: TRUE\nreqNewSuperior: dc=ex\nreqNewDN: cn=y,dc=ex\n"
        )
    );
    assert_eq!(
        logged[2],
        format!("objectClass: auditDelete\nreqType: delete\n{WHO}reqDN: cn=y,dc=ex\nreqResult: 0\n")
    );
    let uuid = uuid.trim().strip_prefix("entryUUID: ").expect("a UUID");
    let filter = format!("(reqEntryUUID={uuid})");
    let found = site.search("cn=accesslog", Scope::SingleLevel, &filter, &["reqType"]);
    assert_eq!(found.len(), 3);
}

#[test]
fn start_times_rise_even_if_the_clock_stands_still() {
    let mut site = site("logops writes");
    for number in 0..5 {
        site.must_add(&format!("cn={number},dc=ex"), "objectClass: person\nsn: s");
    }
    let entries = site.search(
        "cn=accesslog",
        Scope::SingleLevel,
        "(objectClass=auditWriteObject)",
        &["1.1"],
    );
    let expected: Vec<_> = (0..6)
        .map(|number| format!("dn: reqStart=20260102030405.{number:06}Z,cn=accesslog\n"))
        .collect();
    assert_eq!(entries, expected);
}

#[test]
fn only_the_named_operations_and_bases_are_logged() {
    let mut site = site("logops delete\nlogbase add|modify ou=p,dc=ex");
    site.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
    site.must_add("cn=x,ou=p,dc=ex", "objectClass: person\nsn: s");
    site.must_add("cn=y,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(site.modify("cn=y,dc=ex", "replace: sn\nd: t").code, 0);
    assert_eq!(site.modify("cn=x,ou=p,dc=ex", "replace: sn\nd: t").code, 0);
    assert_eq!(site.delete("cn=y,dc=ex").code, 0);
    let entries = site.search(
        "cn=accesslog",
        Scope::SingleLevel,
        "(objectClass=*)",
        &["reqType", "reqDN"],
    );
    let short: Vec<_> = entries
        .iter()
        .map(|entry| entry.lines().skip(1).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        short,
        [
            "reqType: add reqDN: ou=p,dc=ex",
            "reqType: add reqDN: cn=x,ou=p,dc=ex",
            "reqType: modify reqDN: cn=x,ou=p,dc=ex",
            "reqType: delete reqDN: cn=y,dc=ex",
        ]
    );
}

#[test]
fn former_values_are_logged_of_entries_that_the_filter_matches() {
    let mut site = site("logops writes\nlogold (sn=old)\nlogoldattr title");
    site.must_add(
        "cn=x,dc=ex",
        "objectClass: inetOrgPerson\nsn: old\nsn: older\ntitle: t\nmail: a@ex",
    );
    assert_eq!(
        site.modify("cn=x,dc=ex", "delete: sn\nd: older\n-\nadd: mail\nd: b@ex")
            .code,
        0
    );
    assert_eq!(site.rename("cn=x,dc=ex", "cn=y", None).code, 0);
    assert_eq!(site.modify("cn=y,dc=ex", "replace: sn\nd: new").code, 0);
    assert_eq!(site.modify("cn=y,dc=ex", "replace: sn\nd: newer").code, 0);
    let old = |entry: &String| {
        let lines = entry.lines().filter_map(|line| line.strip_prefix("reqOld: "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let logged: Vec<_> = log(&mut site).iter().map(old).collect();
    let with_stamps = |logged: &Vec<String>| {
        let stamps = ["entryCSN", "modifiersName", "modifyTimestamp"];
        logged
            .iter()
            .filter(|line| stamps.iter().any(|name| line.starts_with(name)))
            .count()
    };
    assert_eq!(with_stamps(&logged[1]), 3, "{logged:?}");
    let plain = |logged: &Vec<String>| {
        let values = logged
            .iter()
            .filter(|line| !line.starts_with("entryCSN") && !line.starts_with("modif"));
        let mut values: Vec<_> = values.cloned().collect();
        values.sort();
        values
    };
    assert_eq!(plain(&logged[1]), ["mail: a@ex", "sn: old", "sn: older", "title: t"]);
    assert_eq!(plain(&logged[2]), ["cn: x", "title: t"]);
    assert_eq!(plain(&logged[3]), ["sn: old", "title: t"]);
    assert_eq!(logged[4], Vec::<String>::new());
    assert_eq!(site.modify("cn=y,dc=ex", "replace: sn\nd: old").code, 0);
    assert_eq!(site.delete("cn=y,dc=ex").code, 0);
    let deleted = log(&mut site).iter().map(old).next_back().expect("logged");
    let expected = [
        "cn: y",
        "mail: a@ex",
        "mail: b@ex",
        "objectClass: inetOrgPerson",
        "sn: old",
        "title: t",
    ];
    let user: Vec<_> = plain(&deleted)
        .into_iter()
        .filter(|line| expected.contains(&line.as_str()))
        .collect();
    assert_eq!(user, expected);
}

#[test]
fn a_log_that_is_this_database_or_missing_is_refused() {
    let mut site = site("logops writes");
    for (target, text) in [
        ("cn=nowhere", "there is no database"),
        ("dc=ex", "cannot log to itself"),
    ] {
        let lines = format!("overlay accesslog\nlogdb {target}");
        let refused = site
            .directory
            .reconfigure(site.configuration("", &lines))
            .expect_err("wrong");
        assert!(refused.to_string().contains(text), "{refused}");
    }
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(log(&mut site).len(), 1, "the former configuration is in force");
}

#[test]
fn what_is_logged_changes_with_the_configuration() {
    let mut site = site("logops add");
    let next = site.configuration("", &lines("logops delete"));
    site.directory.reconfigure(next).expect("right");
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(site.delete("cn=x,dc=ex").code, 0);
    let entries = site.search("cn=accesslog", Scope::SingleLevel, "(objectClass=*)", &["reqType"]);
    let kinds: Vec<_> = entries.iter().filter_map(|entry| entry.lines().nth(1)).collect();
    assert_eq!(kinds, ["reqType: add", "reqType: delete"]);
}

#[test]
fn reads_binds_and_refused_changes_are_logged_when_the_settings_say_so() {
    let mut site = site("logops reads bind delete");
    let _ = site.search("dc=ex", Scope::BaseObject, "(&(objectClass=*)(O=EX))", &["o", "cn"]);
    assert_eq!(site.delete("cn=nobody,dc=ex").code, 32);
    assert_eq!(site.add("cn=nobody,dc=ex", "objectClass: nothing").code, 21);
    site.directory.close();
    let configuration = site.directory.configuration();
    let log = configuration
        .contexts
        .iter()
        .find(|context| context.suffixes()[0].pretty() == "cn=accesslog");
    let snapshot = log
        .expect("a context")
        .database()
        .expect("stored")
        .snapshot()
        .expect("read");
    let view = snapshot.view();
    let mut entries = Vec::new();
    for record in view.entries(1).expect("read") {
        let mut text = String::new();
        for held in record.expect("read").attributes() {
            let name = String::from_utf8_lossy(held.name()).into_owned();
            for value in held.to_attribute().expect("read").values {
                writeln!(text, "{name}: {}", String::from_utf8_lossy(&value)).expect("a text");
            }
        }
        let shown = text
            .lines()
            .filter(|line| line.starts_with("req") && !line.starts_with("reqStart") && !line.starts_with("reqEnd"));
        entries.push(shown.collect::<Vec<_>>().join("\n"));
    }
    let who = "reqSession: 7\nreqAuthzID: cn=root,dc=ex";
    assert_eq!(
        entries,
        [
            format!(
                "reqType: search\n{who}\nreqDN: dc=ex\nreqResult: 0\nreqScope: base\nreqDerefAliases: never\n\
                 reqAttrsOnly: FALSE\nreqFilter: (&(objectClass=*)(o=ex))\nreqAttr: o\nreqAttr: cn\nreqEntries: 1\n\
                 reqTimeLimit: -1\nreqSizeLimit: -1"
            ),
            format!("reqType: delete\n{who}\nreqDN: cn=nobody,dc=ex\nreqResult: 32"),
        ]
    );
}

#[test]
fn old_entries_are_purged_after_the_least_csn_was_raised() {
    // The searches below are logged, so that the log is never at rest.
    let mut site = site("logops writes reads\nlogpurge 00:01 00:00:01\nlogpurgebatch 2");
    for number in 0..5 {
        site.must_add(&format!("cn={number},dc=ex"), "objectClass: person\nsn: s");
    }
    let last = site.read("cn=4,dc=ex", &["entryCSN"]).expect("there");
    // The log has a search with a greater CSN by then, which no consumer knows.
    site.clock.advance(std::time::Duration::from_secs(61));
    site.must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
    loop {
        let left = site.search("cn=accesslog", Scope::SingleLevel, "(reqType=add)", &["1.1"]);
        if left.len() == 1 {
            break;
        }
        std::thread::yield_now();
    }
    let min = site.read("cn=accesslog", &["minCSN"]).expect("there");
    assert_eq!(min, last.replace("entryCSN", "minCSN"));
}

#[test]
fn the_log_is_whole_when_the_configuration_changes_under_way() {
    let mut site = site("logops writes");
    let directory = std::sync::Arc::clone(&site.directory);
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            let mut writer = ironbark_harness::TestClient::new(&directory);
            for number in 0..60 {
                writer.must_add(&format!("cn={number},dc=ex"), "objectClass: person\nsn: s");
            }
        });
        let mut turn = 0;
        while !writing.is_finished() {
            turn += 1;
            // Other settings make another overlay, which goes on where the former one was.
            let settings = if turn % 2 == 0 {
                "logops writes"
            } else {
                "logops writes reads"
            };
            let next = site.configuration("", &lines(settings));
            site.directory.reconfigure(next).expect("right");
        }
        assert!(turn > 1, "the configuration has changed meanwhile");
    });
    let next = site.configuration("", &lines("logops writes"));
    site.directory.reconfigure(next).expect("right");
    let entries = site.search("cn=accesslog", Scope::SingleLevel, "(reqType=add)", &["reqDN"]);
    let names: Vec<_> = entries.iter().filter_map(|entry| entry.lines().nth(1)).collect();
    let expected: Vec<_> = std::iter::once("reqDN: dc=ex".to_owned())
        .chain((0..60).map(|number| format!("reqDN: cn={number},dc=ex")))
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn with_a_lag_changes_are_answered_first_and_gathered() {
    let mut site = site("logops writes\naccesslog-lag 60000");
    // The thread that writes the log takes up at once what is there when it begins.
    let mut added = Vec::new();
    let is_gathered = (0..20).any(|number| {
        let name = format!("cn={number},dc=ex");
        site.must_add(&name, "objectClass: person\nsn: s");
        let is_there = log(&mut site)
            .iter()
            .any(|entry| entry.contains(&format!("reqDN: {name}\n")));
        added.push(name);
        !is_there
    });
    assert!(is_gathered, "half a minute is for gathering");
    let next = site.configuration("", &lines("logops writes"));
    site.directory.reconfigure(next).expect("right");
    added.push("cn=z,dc=ex".to_owned());
    site.must_add("cn=z,dc=ex", "objectClass: person\nsn: s");
    let logged = log(&mut site);
    let names = logged
        .iter()
        .filter_map(|entry| entry.lines().find_map(|line| line.strip_prefix("reqDN: ")));
    assert_eq!(names.collect::<Vec<_>>(), added);
}

/// Where several servers write, consumers must know below which entry an entry was put, whatever names these have.
#[test]
fn places_are_logged_with_adds_and_renames_where_several_servers_write() {
    for (writers, is_told) in [("", false), ("multiprovider on", true)] {
        let lines = lines("logops writes").replacen("\n\n", &format!("\n{writers}\n\n"), 1);
        let lines = format!("changelog-size 1000000\n{lines}");
        let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        site.must_add("ou=u,dc=ex", "objectClass: organizationalUnit");
        site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s");
        assert_eq!(site.modify("cn=x,dc=ex", "replace: sn\nsn: t").code, 0);
        assert_eq!(site.rename("cn=x,dc=ex", "cn=y", Some("ou=u,dc=ex")).code, 0);
        let uuid = |entry: String| entry.trim().rsplit(' ').next().expect("a value").to_owned();
        let top = uuid(site.read("dc=ex", &["entryUUID"]).expect("there"));
        let unit = uuid(site.read("ou=u,dc=ex", &["entryUUID"]).expect("there"));
        let entries = site.search(
            "cn=accesslog",
            Scope::SingleLevel,
            "(objectClass=*)",
            &["ironbarkReqPlace"],
        );
        let places: Vec<String> = entries
            .iter()
            .map(|entry| {
                let place = entry.lines().find_map(|line| line.strip_prefix("ironbarkReqPlace: "));
                // What the server had then comes behind it.
                let words = place.map(|place| place.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" "));
                words.unwrap_or_default()
            })
            .collect();
        let of = |superior: &str| {
            if is_told {
                format!("1 {superior}")
            } else {
                String::new()
            }
        };
        assert_eq!(
            places,
            [of("-"), of(&top), of(&top), String::new(), of(&unit)],
            "{writers}"
        );
    }
}
