//! Another configuration while serving: databases, overlays, schema and settings come and go, and no operation suffers.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use ironbark_config::{Operations, Restrict};
use ironbark_directory::{
    Progress, SearchRun, Started,
    overlay::{Changes, Follower, Overlay},
};
use ironbark_harness::{Site, TestClient, encoded, read_answer, search_request};
use ironbark_ldap_proto::{Request, Scope};
use ironbark_store::Staging;

/// A second database, as lines behind the first.
const SECOND: &str = "\ndatabase mdb\nsuffix o=two\nrootdn cn=root,dc=ex\ndirectory DIR/two\n";

fn with_second() -> Site {
    let site = Site::populated("");
    fs::create_dir(site.folder.path().join("two")).expect("a folder");
    site
}

fn reconfigure(site: &Site, settings: &str, lines: &str) -> Result<(), String> {
    let configuration = site.configuration(settings, lines);
    site.directory
        .reconfigure(configuration)
        .map_err(|error| error.to_string())
}

fn names(client: &mut TestClient, base: &str, filter: &str) -> Vec<String> {
    let found = client.search(base, Scope::WholeSubtree, filter, &["1.1"]);
    let name = |entry: &String| entry.trim_end().trim_start_matches("dn: ").to_owned();
    found.iter().map(name).collect()
}

fn contexts(client: &mut TestClient) -> Vec<String> {
    let text = client.read("", &["namingContexts"]).expect("a root DSE");
    text.lines().map(|line| line.replace("namingContexts: ", "")).collect()
}

#[test]
fn a_database_comes_and_goes_and_its_entries_stay() {
    let mut site = with_second();
    assert_eq!(site.add("o=two", "objectClass: organization").code, 53);
    reconfigure(&site, "", SECOND).expect("a database more");
    assert_eq!(contexts(&mut site), ["dc=ex", "o=two"]);
    site.must_add("o=two", "objectClass: organization");
    for _ in 0..3 {
        reconfigure(&site, "", "").expect("a database less");
        assert_eq!(contexts(&mut site), ["dc=ex"]);
        assert_eq!(site.add("ou=a,o=two", "objectClass: organizationalUnit").code, 53);
        // At once, although the reactor has not been idle yet.
        reconfigure(&site, "", SECOND).expect("the database again");
        assert_eq!(names(&mut site, "o=two", "(objectClass=*)"), ["o=two"]);
    }
    assert_eq!(names(&mut site, "dc=ex", "(cn=a)"), ["cn=a,ou=p,dc=ex"]);
}

#[test]
fn a_database_that_is_gone_is_closed_when_the_reactors_have_gone_on() {
    let mut site = with_second();
    reconfigure(&site, "", SECOND).expect("a database more");
    site.must_add("o=two", "objectClass: organization");
    reconfigure(&site, "", "").expect("a database less");
    site.rest();
    let file = fs::canonicalize(site.folder.path().join("two/data.mdb")).expect("a file");
    let maps = fs::read_to_string("/proc/self/maps").expect("readable");
    assert!(
        !maps.contains(file.to_str().expect("a name")),
        "the file is not mapped any more"
    );
    // Another file at the same place is another database.
    fs::remove_file(&file).expect("removed");
    fs::remove_file(site.folder.path().join("two/lock.mdb")).expect("removed");
    reconfigure(&site, "", SECOND).expect("an empty database");
    assert!(names(&mut site, "o=two", "(objectClass=*)").is_empty());
}

#[test]
fn who_may_not_search_at_a_glued_database_finds_nothing_of_it() {
    let glued = |rules: &str| {
        format!(
            "\ndatabase mdb\nsuffix ou=sub,dc=ex\nsubordinate\nrootdn cn=root,dc=ex\ndirectory DIR/two\n{rules}\naccess to * by * read\n"
        )
    };
    for (rules, count) in [("", 2), ("access to dn.base=\"ou=sub,dc=ex\" by * disclose", 0)] {
        let mut site = with_second();
        reconfigure(&site, &glued(rules), "").expect("a glued database");
        site.must_add("ou=sub,dc=ex", "objectClass: organizationalUnit");
        site.must_add("ou=below,ou=sub,dc=ex", "objectClass: organizationalUnit");
        for who in ["cn=a,ou=p,dc=ex", ""] {
            site.become_(who);
            let answer = site.search_as_self("dc=ex", Scope::WholeSubtree, "(|(ou=sub)(ou=below))", &["1.1"]);
            assert_eq!((answer.code, answer.entries.len()), (0, count), "{rules} {who}");
        }
    }
}

#[test]
fn what_fails_leaves_everything_as_it_was() {
    let mut site = with_second();
    let before = site.directory.configuration();
    let missing = SECOND.replace("DIR/two", "DIR/missing");
    let error = reconfigure(&site, "", &format!("{SECOND}{}", missing.replace("o=two", "o=three")))
        .expect_err("a directory is missing");
    assert!(error.contains("database o=three:"), "{error}");
    let error = reconfigure(&site, "", "overlay tested").expect_err("no such overlay here");
    assert!(error.contains("no overlays here"), "{error}");
    let twice = SECOND.replace("DIR/two", "DIR/two/../db");
    let error = reconfigure(&site, "", &twice).expect_err("one directory for two databases");
    assert!(error.contains("another database already has the directory"), "{error}");
    assert!(Arc::ptr_eq(&before, &site.directory.configuration()));
    site.must_add("cn=d,ou=p,dc=ex", "objectClass: person\nsn: s");
    // The database that was opened in between is closed again.
    reconfigure(&site, "", SECOND).expect("a database more");
    site.must_add("o=two", "objectClass: organization");
}

#[test]
fn what_is_prepared_is_not_in_force_and_dropped_leaves_everything_as_it_was() {
    let mut site = with_second();
    let service = Arc::clone(&site.directory);
    let before = service.configuration();
    let next = || site.configuration(FRESH, &format!("readonly on\nindex sn eq{SECOND}"));
    let (first, second) = (next(), next());
    let prepared = service.prepare(first).expect("all of it can be had");
    assert!(Arc::ptr_eq(&before, &service.configuration()));
    assert_eq!(contexts(&mut site), ["dc=ex"]);
    assert_eq!(names(&mut site, "dc=ex", "(cn=*)").len(), 3);
    drop(prepared);
    assert!(Arc::ptr_eq(&before, &service.configuration()));
    assert!(service.index_builds().expect("readable").is_empty());
    site.must_add("cn=d,ou=p,dc=ex", "objectClass: person\nsn: s");
    // The new database is closed, and its empty files stay.
    assert!(site.folder.path().join("two/data.mdb").exists());
    let prepared = service.prepare(second).expect("once more");
    std::thread::scope(|scope| {
        // Its write waits for the writer, and is executed under the next configuration.
        let service = &service;
        let late = scope.spawn(|| {
            TestClient::new(service)
                .modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: late")
                .code
        });
        prepared.commit();
        assert!(matches!(late.join().expect("an answer"), 0 | 53));
    });
    assert_eq!(contexts(&mut site), ["dc=ex", "o=two"]);
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").brief(), (53, "operation restricted"));
    site.must_add("o=two", "objectClass: organization");
}

#[test]
fn settings_are_live_and_numbers_follow_the_configuration() {
    let mut site = with_second();
    reconfigure(&site, "", "readonly on").expect("read-only");
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").brief(), (53, "operation restricted"));
    reconfigure(&site, "sizelimit 2", SECOND).expect("a size limit");
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").code, 0);
    let numbers = |site: &Site| -> Vec<(i32, String)> {
        let configuration = site.directory.configuration();
        let contexts = configuration.contexts.iter();
        contexts
            .map(|context| (context.number, context.suffixes()[0].pretty().to_owned()))
            .collect()
    };
    assert_eq!(numbers(&site), [(1, "dc=ex".to_owned()), (2, "o=two".to_owned())]);
    assert_eq!(site.directory.configuration().frontend.number, -1);
    // The other order: both continue unchanged.
    let path = site.folder.path().display();
    let first = format!("database mdb\nsuffix o=two\nrootdn cn=root,dc=ex\ndirectory {path}/two");
    site.must_add("o=two", "objectClass: organization");
    reconfigure(&site, &first, "").expect("another order");
    assert_eq!(numbers(&site), [(1, "o=two".to_owned()), (2, "dc=ex".to_owned())]);
    assert_eq!(names(&mut site, "o=two", "(objectClass=*)"), ["o=two"]);
    assert_eq!(names(&mut site, "dc=ex", "(cn=*)").len(), 2);
    // A disabled database keeps its number.
    reconfigure(&site, &format!("{first}\nhidden on"), "").expect("hidden");
    assert_eq!(contexts(&mut site), ["dc=ex"]);
}

#[test]
fn clients_notice_nothing_while_databases_come_and_go() {
    let site = with_second();
    let (done, refused) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let directory = Arc::clone(&site.directory);
            let (done, refused) = (&done, &refused);
            scope.spawn(move || {
                let mut client = TestClient::new(&directory);
                for n in 0.. {
                    let name = format!("cn=t{thread}-{n},ou=p,dc=ex");
                    client.must_add(&name, "objectClass: person\nsn: s");
                    assert_eq!(
                        names(&mut client, "dc=ex", &format!("(cn=t{thread}-{n})")),
                        [name.as_str()]
                    );
                    assert_eq!(client.modify(&name, "replace: sn\nsn: other").brief(), (0, ""));
                    assert_eq!(client.delete(&name).brief(), (0, ""));
                    // The other database may exist or not.
                    let answer = client.add(&format!("ou=t{thread}-{n},o=two"), "objectClass: organizationalUnit");
                    match answer.code {
                        0 | 32 | 52 | 53 => {
                            refused.fetch_add(u32::from(answer.code != 0), Ordering::Relaxed);
                        }
                        _ => panic!("{answer:?}"),
                    }
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        for round in 0..30 {
            let schema = ["", "attributetype ( 1.2.3.4.5 NAME 'fresh' SUP name )"][round / 2 % 2];
            let lines = ["", SECOND][round % 2];
            reconfigure(&site, schema, lines).expect("another configuration");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(
        refused.load(Ordering::Relaxed) > 0,
        "the database was away now and then"
    );
}

/// Remembers what it was told, and when it was closed.
#[derive(Default)]
struct Listener {
    heard: Mutex<Vec<String>>,
}

impl Follower for Listener {
    fn name(&self) -> String {
        "listener".to_owned()
    }
    fn take(&self, changes: Changes<'_>) -> std::io::Result<Vec<u8>> {
        let mut heard = self.heard.lock().expect("not poisoned");
        heard.extend(changes.records.iter().map(|_| "commit".to_owned()));
        Ok(Vec::new())
    }
    fn close(&self) {
        self.heard.lock().expect("not poisoned").push("close".to_owned());
    }
}

#[test]
fn an_overlay_stays_while_its_settings_do_and_is_closed_after_its_last_write() {
    let made = Arc::<Mutex<Vec<Arc<Listener>>>>::default();
    let factory = Arc::clone(&made);
    let mut site = Site::open_with("overlay tested", move |_, _| {
        let listener = Arc::<Listener>::default();
        factory.lock().expect("not poisoned").push(Arc::clone(&listener));
        Ok(Overlay {
            follower: Some(listener),
            ..Overlay::new("listener")
        })
    });
    site.populate();
    let heard = || -> Vec<Vec<String>> {
        let made = made.lock().expect("not poisoned");
        made.iter()
            .map(|one| one.heard.lock().expect("not poisoned").clone())
            .collect()
    };
    reconfigure(&site, "sizelimit 7", "overlay tested").expect("nothing about the overlay");
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").code, 0);
    assert_eq!(heard(), [["commit"; 6].map(str::to_owned).to_vec()]);
    reconfigure(&site, "", "overlay tested\ntested-switch TRUE").expect("another setting");
    assert_eq!(site.delete("cn=b,ou=p,dc=ex").code, 0);
    assert_eq!(heard()[0].last().map(String::as_str), Some("close"));
    assert_eq!(heard()[1], ["commit"]);
    let schema = "attributetype ( 1.2.3.4.5 NAME 'fresh' SUP name )";
    reconfigure(&site, schema, "overlay tested\ntested-switch TRUE").expect("another schema");
    reconfigure(&site, schema, "").expect("no overlay");
    assert_eq!(site.delete("cn=c,ou=p,dc=ex").code, 0);
    assert_eq!(heard()[1], ["commit", "close"]);
    assert_eq!(heard()[2], ["close"]);
    assert_eq!(heard().len(), 3);
}

const FRESH: &str =
    "attributetype ( 1.2.3.4.5 NAME 'fresh' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
objectclass ( 1.2.3.4.6 NAME 'freshThing' SUP top AUXILIARY MAY fresh )";

#[test]
fn schema_that_entries_use_cannot_go_and_what_none_uses_can() {
    let mut site = Site::populated("");
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", "add: fresh\nfresh: x").code, 17);
    reconfigure(&site, FRESH, "index fresh eq").expect("more schema");
    let class = "add: objectClass\nobjectClass: freshThing";
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", class).brief(), (0, ""));
    assert_eq!(
        site.modify("cn=b,ou=p,dc=ex", &format!("{class}\n-\nadd: fresh\nfresh: x"))
            .code,
        0
    );
    assert_eq!(names(&mut site, "dc=ex", "(fresh=X)"), ["cn=b,ou=p,dc=ex"]);
    let error = reconfigure(&site, "", "").expect_err("both are in use");
    assert_eq!(error, "database dc=ex: attribute type \"fresh\": entries have it");
    let other_rule = FRESH.replace("caseIgnoreMatch", "caseExactMatch");
    let error = reconfigure(&site, &other_rule, "").expect_err("values would be compared in another way");
    assert!(error.contains("equality rule cannot change"), "{error}");
    assert_eq!(site.modify("cn=b,ou=p,dc=ex", "delete: fresh").code, 0);
    let error = reconfigure(&site, "", "").expect_err("the class is in use");
    assert_eq!(error, "database dc=ex: object class \"freshThing\": entries are of it");
    assert_eq!(
        site.read("cn=a,ou=p,dc=ex", &["objectClass"])
            .expect("there")
            .lines()
            .count(),
        2
    );
    for name in ["a", "b"] {
        let answer = site.modify(
            &format!("cn={name},ou=p,dc=ex"),
            "delete: objectClass\nobjectClass: freshThing",
        );
        assert_eq!(answer.brief(), (0, ""));
    }
    reconfigure(&site, &other_rule, "").expect("no entry has a value");
    reconfigure(&site, "", "").expect("no entry uses them");
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", class).code, 21);
    assert_eq!(names(&mut site, "dc=ex", "(sn=s)").len(), 3);
    // It may come back, and the file opens with and without it.
    reconfigure(&site, FRESH, "").expect("again");
    assert_eq!(
        site.modify("cn=c,ou=p,dc=ex", &format!("{class}\n-\nadd: fresh\nfresh: y"))
            .code,
        0
    );
    assert_eq!(names(&mut site, "dc=ex", "(fresh=y)"), ["cn=c,ou=p,dc=ex"]);
}

#[test]
fn an_index_is_built_beside_writes_and_then_used() {
    let mut site = Site::populated("");
    for n in 0..500 {
        site.must_add(
            &format!("cn=p{n},ou=p,dc=ex"),
            &format!("objectClass: person\nsn: s{}", n % 10),
        );
    }
    let unindexed = |site: &mut Site| {
        let before = site.directory.statistics().unindexed_searches();
        assert_eq!(names(site, "dc=ex", "(sn=s3)").len(), 50);
        site.directory.statistics().unindexed_searches() > before
    };
    assert!(unindexed(&mut site));
    reconfigure(&site, "", "index sn eq").expect("an index");
    for n in 500..600 {
        let class = "objectClass: person";
        site.must_add(&format!("cn=p{n},ou=p,dc=ex"), &format!("{class}\nsn: t{n}"));
    }
    // A write comes between any two steps: each makes one happen.
    while !site.directory.index_builds().expect("readable").is_empty() {
        assert_eq!(site.modify("cn=p1,ou=p,dc=ex", "replace: sn\nsn: s1").code, 0);
    }
    assert!(!unindexed(&mut site));
    assert_eq!(names(&mut site, "dc=ex", "(sn=t555)"), ["cn=p555,ou=p,dc=ex"]);
    reconfigure(&site, "", "").expect("no index");
    assert!(unindexed(&mut site));
}

#[test]
fn a_database_gets_another_file_while_the_server_runs() {
    let mut site = with_second();
    let two = fs::canonicalize(site.folder.path()).expect("a folder").join("two");
    reconfigure(&site, "", SECOND).expect("a database more");
    site.must_add("o=two", "objectClass: organization");
    let staging = Staging::new(&two).expect("a place for a copy");
    let context = |site: &Site| {
        let configuration = site.directory.configuration();
        let found = configuration
            .contexts
            .iter()
            .find(|one| one.settings.directory.ends_with("two"));
        found.map(Arc::clone).expect("a context")
    };
    context(&site)
        .database()
        .expect("stored")
        .copy_to(staging.path(), false)
        .expect("a copy");
    site.must_add("ou=later,o=two", "objectClass: organizationalUnit");
    // An operation that has begun holds it open: it is served again as it was.
    let held = context(&site);
    let renewal = site
        .directory
        .begin_renewal(&two)
        .expect("not ending")
        .expect("a database");
    assert!(!renewal.is_closed_within(Duration::ZERO));
    reconfigure(&site, "", SECOND).expect("another change of the configuration meanwhile");
    assert!(context(&site).database().is_none());
    site.directory.end_renewal(&renewal).expect("opened");
    assert_eq!(names(&mut site, "o=two", "(ou=later)"), ["ou=later,o=two"]);
    drop(held);
    let renewal = site
        .directory
        .begin_renewal(&two)
        .expect("not ending")
        .expect("a database");
    site.rest();
    assert!(renewal.is_closed_within(Duration::from_mins(1)));
    assert_eq!(names(&mut site, "dc=ex", "(cn=a)"), ["cn=a,ou=p,dc=ex"]);
    staging.replace(&two).expect("replaced");
    site.directory.end_renewal(&renewal).expect("opened");
    assert_eq!(names(&mut site, "o=two", "(objectClass=*)"), ["o=two"]);
    site.must_add("ou=new,o=two", "objectClass: organizationalUnit");
    let nowhere = site.directory.begin_renewal(&two.join("x")).expect("not ending");
    assert!(nowhere.is_none());
}

#[test]
fn only_searches_of_a_database_that_is_replaced_are_ended_for_it() {
    let mut site = with_second();
    let two = fs::canonicalize(site.folder.path()).expect("a folder").join("two");
    reconfigure(&site, "", SECOND).expect("a database more");
    site.must_add("o=two", "objectClass: organization");
    let long = "x".repeat(20_000);
    for base in ["dc=ex", "o=two"] {
        for name in ["k", "l", "m"] {
            let text = format!("objectClass: device\ndescription: {long}");
            site.must_add(&format!("cn={name},{base}"), &text);
        }
    }
    // Clients that do not read: their searches stay as they are.
    let mut out = Vec::new();
    let [(mut other, mut run), (mut ended, mut to_end)] = ["dc=ex", "o=two"].map(|base| {
        let mut client = site.connect();
        let request = search_request(base, Scope::WholeSubtree, "(objectClass=*)", &[]);
        let (worker, session) = client.parts();
        match worker.start(session, &encoded(&Request::Search(request), &[]), &mut out) {
            Started::Search(run) => (client, run),
            _ => panic!("too much for the first turn"),
        }
    });
    let renewal = site.directory.begin_renewal(&two);
    let renewal = renewal.expect("not ending").expect("a database");
    let must_end = |client: &mut TestClient, run: &mut SearchRun| {
        let (worker, session) = client.parts();
        worker.must_end(session, run)
    };
    assert!(!must_end(&mut ended, &mut to_end), "nobody waits");
    site.directory.end_searches_of_closed(true);
    assert!(!must_end(&mut other, &mut run));
    assert!(must_end(&mut ended, &mut to_end));
    drop(to_end);
    for client in [&mut site, &mut other, &mut ended] {
        client.rest();
    }
    assert!(
        renewal.is_closed_within(Duration::from_mins(1)),
        "the other one does not hold it"
    );
    let (worker, session) = other.parts();
    while worker.step(session, &mut run, &mut out) == Progress::More {}
    assert_eq!(read_answer(&out).code, 0);
    site.directory.end_searches_of_closed(false);
    site.directory.end_renewal(&renewal).expect("opened");
}

#[test]
fn a_type_that_gets_a_supertype_is_found_by_it_at_once_and_when_the_index_is_built() {
    let type_with = |rest: &str| format!("attributetype ( 1.9.1 NAME 'nick' {rest} )\n");
    let alone = type_with("EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15");
    let mut site = Site::populated("");
    let indexes = "index name,nick eq\n";
    reconfigure(&site, &alone, indexes).expect("a type more");
    let inactive = |site: &Site| {
        let configuration = site.directory.configuration();
        let database = configuration.contexts[0].database().expect("a store");
        database.inactive_indexes()
    };
    let build = |site: &Site| {
        while !inactive(site).is_empty() {
            std::thread::yield_now();
        }
    };
    build(&site);
    site.must_add(
        "cn=n,dc=ex",
        "objectClass: person\nobjectClass: extensibleObject\nsn: s\nnick: bob",
    );
    assert_eq!(names(&mut site, "dc=ex", "(name=bob)"), Vec::<String>::new());
    reconfigure(&site, &type_with("SUP name"), indexes).expect("the type with a supertype");
    assert_eq!(names(&mut site, "dc=ex", "(name=bob)"), ["cn=n,dc=ex"]);
    build(&site);
    assert_eq!(names(&mut site, "dc=ex", "(name=bob)"), ["cn=n,dc=ex"]);
    reconfigure(&site, &alone, indexes).expect("the type without it");
    assert_eq!(
        names(&mut site, "dc=ex", "(!(name=bob))").len(),
        names(&mut site, "dc=ex", "(objectClass=*)").len()
    );
    build(&site);
    assert_eq!(names(&mut site, "dc=ex", "(name=bob)"), Vec::<String>::new());
}

#[test]
fn a_restriction_is_of_one_database_though_others_of_its_kind_have_no_directory_either() {
    let mut site = Site::populated("");
    let two = "\ndatabase null\nsuffix o=one\nbind on\ndatabase null\nsuffix o=two\n";
    reconfigure(&site, "", two).expect("two databases without a directory");
    let refused = Restrict {
        operations: Operations::WRITE,
        ..Restrict::default()
    };
    site.directory.restrict(3, refused).expect("restricted");
    let mut codes = || ["cn=x,o=one", "cn=x,o=two"].map(|name| site.delete(name).code);
    assert_eq!(codes(), [0, 53]);
    site.directory.restrict(3, Restrict::default()).expect("allowed again");
    let mut codes = || ["cn=x,o=one", "cn=x,o=two"].map(|name| site.delete(name).code);
    assert_eq!(codes(), [0, 0]);
}
