//! cn=config of a cluster: one configuration on all servers, but for what each has for itself.

use std::thread;

use ironbark_testkit::{Credentials, Etcd, Flavor, ProgramOutput, Server, Tool, wait};

use crate::cluster::{
    TOP,
    common::{ironbark, succeed},
    count, person,
};

const CONFIG: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

/// A server that was never started, with a configuration directory of its own, made apart from those of others.
fn prepared(etcd: &Etcd, global: &str, of_database: &str) -> Server {
    let config = format!(
        "database config\nrootpw secret\ncluster {} timeout=2\ndatabase mdb",
        etcd.urls()
    );
    let template = Server::people_config(global, of_database).replacen("database mdb", &config, 1);
    let server = Server::prepare(Flavor::Ironbark, &template).unwrap();
    if of_database.contains("/log") {
        server.layout().make_dir("log").unwrap();
        let top = "dn: cn=log\nobjectClass: device\ncn: log\n";
        server
            .tool(Tool::Add, &["-b", "cn=log"], top)
            .unwrap()
            .success()
            .unwrap();
    }
    in_directory(server)
}

/// The server with a configuration directory in place of its file. It has a database then.
pub(crate) fn in_directory(server: Server) -> Server {
    // slaptest wants a database that exists.
    server.slapadd(TOP).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    let (file, shown) = (server.config_path().display().to_string(), folder.display().to_string());
    let arguments = ["-f", &file, "-F", &shown];
    let tested = Tool::Test.run(Flavor::Ironbark, &arguments, "").unwrap();
    tested.success().unwrap();
    server.from_directory(folder)
}

fn started(etcd: &Etcd, count: usize) -> Vec<Server> {
    let begin = |_| {
        let mut server = prepared(etcd, "", "");
        server.launch().unwrap();
        server.wait_for_log("cluster: cn=config: ").unwrap();
        server
    };
    (0..count).map(begin).collect()
}

fn modify(server: &Server, change: &str) -> ProgramOutput {
    server.client("ldapmodify", &CONFIG, &[], change).unwrap()
}

fn replace(attribute: &str, value: &str) -> String {
    format!("dn: cn=config\nchangetype: modify\nreplace: {attribute}\n{attribute}: {value}\n")
}

/// The value of an attribute of an entry; empty: it has none.
fn value(server: &Server, base: &str, attribute: &str) -> String {
    let arguments = ["-o", "ldif-wrap=no", "-b", base, "-s", "base", attribute];
    let found = server.client("ldapsearch", &CONFIG, &arguments, "").unwrap();
    let start = format!("{attribute}: ");
    let values = found.stdout.lines().filter_map(|line| line.strip_prefix(&start));
    values.collect::<Vec<_>>().join("|")
}

fn assert_becomes(server: &Server, base: &str, attribute: &str, wanted: &str) {
    let is_so = wait::until(|| (value(server, base, attribute) == wanted).then_some(()));
    assert!(
        is_so.is_some(),
        "{attribute}: {}\n{}",
        value(server, base, attribute),
        said(server)
    );
}

/// The log without the operations of clients.
fn said(server: &Server) -> String {
    let log = server.log();
    let lines = log.lines().filter(|line| !line.contains(" conn="));
    lines.collect::<Vec<_>>().join("\n")
}

const DATABASE: &str = "olcDatabase={1}mdb,cn=config";

#[test]
fn a_change_at_any_server_is_in_force_on_all_and_what_is_a_servers_own_stays() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 3);
    let own = |server: &Server| {
        [
            value(server, DATABASE, "olcDbDirectory"),
            value(server, "cn=config", "olcPidFile"),
            value(server, "olcDatabase={0}config,cn=config", "olcDbCluster"),
        ]
    };
    let before: Vec<_> = all.iter().map(own).collect();
    assert_ne!(before[0], before[1]);
    for (number, server) in all.iter().enumerate() {
        let limit = format!("{}", number + 100);
        modify(server, &replace("olcSizeLimit", &limit)).success().unwrap();
        for other in &all {
            assert_becomes(other, "cn=config", "olcSizeLimit", &limit);
        }
    }
    let uuids: Vec<_> = all.iter().map(|one| value(one, DATABASE, "entryUUID")).collect();
    assert!(uuids.windows(2).all(|pair| pair[0] == pair[1]), "{uuids:?}");
    // What is a server's own is changed there alone, also beside something else.
    let both = "dn: cn=config\nchangetype: modify\nreplace: olcPidFile\nolcPidFile: /run/own.pid\n-\nreplace: \
                olcTimeLimit\nolcTimeLimit: 77\n";
    modify(&all[1], both).success().unwrap();
    assert_becomes(&all[0], "cn=config", "olcTimeLimit", "77");
    assert_becomes(&all[2], "cn=config", "olcTimeLimit", "77");
    assert_eq!(value(&all[1], "cn=config", "olcPidFile"), "/run/own.pid");
    assert_eq!(own(&all[0]), before[0]);
    assert_eq!(own(&all[2]), before[2]);
}

/// A value is replaced only if it is still what the client has seen.
fn step(from: usize) -> String {
    let (from, to) = (format!("{}", from + 1000), format!("{}", from + 1001));
    format!(
        "dn: cn=config\nchangetype: modify\ndelete: olcSizeLimit\nolcSizeLimit: {from}\n-\nadd: \
         olcSizeLimit\nolcSizeLimit: {to}\n"
    )
}

#[test]
fn of_two_changes_that_exclude_each_other_one_succeeds_wherever_they_are_made() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 3);
    modify(&all[0], &replace("olcSizeLimit", "1000")).success().unwrap();
    for round in 0..8 {
        let change = step(round);
        let codes: Vec<_> = thread::scope(|scope| {
            let begin = |server| {
                let change = &change;
                scope.spawn(move || modify(server, change).code())
            };
            let threads: Vec<_> = all.iter().map(begin).collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (done, refused): (Vec<_>, Vec<_>) = codes.iter().partition(|code| **code == Some(0));
        assert_eq!(
            (done.len(), refused),
            (1, vec![&Some(16); 2]),
            "round {round}: {codes:?}"
        );
    }
}

/// An acknowledged change is seen at once where the newest is asked for.
#[test]
fn a_read_that_may_not_use_a_copy_sees_every_acknowledged_change() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 2);
    for limit in 500..510 {
        let limit = limit.to_string();
        modify(&all[0], &replace("olcSizeLimit", &limit)).success().unwrap();
        let arguments = ["-E", "!dontUseCopy", "-b", "cn=config", "-s", "base", "olcSizeLimit"];
        let found = all[1].client("ldapsearch", &CONFIG, &arguments, "").unwrap();
        let shown = format!("olcSizeLimit: {limit}\n");
        assert!(found.stdout.contains(&shown), "{}{}", found.stdout, found.stderr);
    }
}

#[test]
fn without_etcd_the_configuration_serves_and_takes_only_changes_of_the_servers_own() {
    let mut etcd = Etcd::start(1).unwrap();
    let mut all = started(&etcd, 2);
    modify(&all[0], &replace("olcSizeLimit", "321")).success().unwrap();
    assert_becomes(&all[1], "cn=config", "olcSizeLimit", "321");
    etcd.kill(0).unwrap();
    let refused = modify(&all[1], &replace("olcSizeLimit", "322"));
    assert_eq!(refused.code(), Some(51), "{}", refused.stderr);
    let newest = ["-E", "!dontUseCopy", "-b", "cn=config", "-s", "base"];
    let newest = all[1].client("ldapsearch", &CONFIG, &newest, "").unwrap();
    assert_eq!(newest.code(), Some(51), "{}", newest.stderr);
    modify(&all[1], &replace("olcPidFile", "/run/own.pid"))
        .success()
        .unwrap();
    // A server that is started meanwhile has what it had.
    all[1].stop().unwrap();
    all[1].launch().unwrap();
    assert_eq!(value(&all[1], "cn=config", "olcSizeLimit"), "321");
    assert_eq!(value(&all[1], "cn=config", "olcPidFile"), "/run/own.pid");
    let refused = modify(&all[1], &replace("olcSizeLimit", "322"));
    assert_eq!(refused.code(), Some(51), "{}", refused.stderr);
    etcd.launch(0).unwrap();
    etcd.wait_for_answer().unwrap();
    let done = || (modify(&all[1], &replace("olcSizeLimit", "323")).code() == Some(0)).then_some(());
    assert!(wait::until(done).is_some(), "{}", said(&all[1]));
    assert_becomes(&all[0], "cn=config", "olcSizeLimit", "323");
}

#[test]
fn a_server_that_was_away_or_was_changed_meanwhile_takes_what_the_others_have() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = started(&etcd, 2);
    let directory = value(&all[1], DATABASE, "olcDbDirectory");
    all[1].stop().unwrap();
    for limit in ["401", "402"] {
        modify(&all[0], &replace("olcSizeLimit", limit)).success().unwrap();
    }
    let schema = "dn: cn=more,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: more\nolcAttributeTypes: ( \
                  1.3.6.1.4.1.4203.666.11.99 NAME 'favouriteTree' SUP name )\n";
    let added = all[0].client("ldapadd", &CONFIG, &[], schema).unwrap();
    added.success().unwrap();
    let file = all[1].layout().join("slapd.d").display().to_string();
    let change = replace("olcTimeLimit", "5");
    let tool = ["-F", file.as_str(), "-n", "0"];
    Tool::Modify
        .run(Flavor::Ironbark, &tool, &change)
        .unwrap()
        .success()
        .unwrap();
    all[1].launch().unwrap();
    assert_becomes(&all[1], "cn=config", "olcSizeLimit", "402");
    assert_becomes(&all[1], "cn=config", "olcTimeLimit", "");
    assert_becomes(&all[1], "cn={3}more,cn=schema,cn=config", "cn", "{3}more");
    assert_eq!(value(&all[1], DATABASE, "olcDbDirectory"), directory);
    // And again when it is started once more, without a change.
    all[1].stop().unwrap();
    all[1].launch().unwrap();
    assert_eq!(value(&all[1], "cn=config", "olcSizeLimit"), "402");
}

const TREE: &str = "olcAttributeTypes: ( 1.3.6.1.4.1.4203.666.11.99 NAME 'favouriteTree' SUP name )\n";

/// Its database has values of an attribute that others no longer need.
#[test]
fn a_server_that_cannot_take_a_change_says_so_goes_on_and_takes_the_next() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 2);
    let schema = format!("dn: cn=more,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: more\n{TREE}");
    let added = all[0].client("ldapadd", &CONFIG, &[], &schema).unwrap();
    added.success().unwrap();
    let more = "cn={3}more,cn=schema,cn=config";
    assert_becomes(&all[1], more, "cn", "{3}more");
    let entry = "dn: ou=trees,dc=example,dc=com\nobjectClass: organizationalUnit\nobjectClass: extensibleObject\nou: \
                 trees\nfavouriteTree: ironbark\n";
    all[1].ldapadd(entry).unwrap().success().unwrap();
    let drop = format!("dn: {more}\nchangetype: modify\ndelete: olcAttributeTypes\n");
    modify(&all[0], &drop).success().unwrap();
    all[1].wait_for_log("cannot be put into force").unwrap();
    assert!(all[1].log().contains("favouriteTree"), "{}", said(&all[1]));
    let refused = modify(&all[1], &replace("olcSizeLimit", "55"));
    assert_eq!(refused.code(), Some(52), "{}", refused.stderr);
    modify(&all[1], &replace("olcPidFile", "/run/own.pid"))
        .success()
        .unwrap();
    modify(&all[0], &replace("olcSizeLimit", "56")).success().unwrap();
    assert_eq!(value(&all[1], "cn=config", "olcSizeLimit"), "");
    let back = format!("dn: {more}\nchangetype: modify\nadd: olcAttributeTypes\n{TREE}");
    modify(&all[0], &back).success().unwrap();
    assert_becomes(&all[1], "cn=config", "olcSizeLimit", "56");
    modify(&all[1], &replace("olcSizeLimit", "57")).success().unwrap();
    assert_becomes(&all[0], "cn=config", "olcSizeLimit", "57");
}

/// A tree that is longer than a value of etcd may be.
#[test]
fn a_long_configuration_is_put_in_parts() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 2);
    let types = (0..6000).map(|number| {
        format!(
            "olcAttributeTypes: ( 1.3.6.1.4.1.4203.666.11.98.{number} NAME 'tree{number}' DESC 'one of very many \
             attributes, with a name that is long enough to make the whole long' SUP name )\n"
        )
    });
    let schema = format!(
        "dn: cn=many,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: many\n{}",
        types.collect::<String>()
    );
    let added = all[0].client("ldapadd", &CONFIG, &[], &schema).unwrap();
    added.success().unwrap();
    assert_becomes(&all[1], "cn={3}many,cn=schema,cn=config", "cn", "{3}many");
    modify(&all[1], &replace("olcSizeLimit", "58")).success().unwrap();
    assert_becomes(&all[0], "cn=config", "olcSizeLimit", "58");
}

#[test]
fn after_the_loss_of_etcd_changes_are_refused_until_a_server_puts_its_configuration_there() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = started(&etcd, 2);
    modify(&all[0], &replace("olcSizeLimit", "61")).success().unwrap();
    assert_becomes(&all[1], "cn=config", "olcSizeLimit", "61");
    let prefix = "/ironbark/cn=config/";
    etcd.etcdctl(&["del", "--prefix", prefix]).unwrap().success().unwrap();
    all[0].wait_for_log("etcd has lost its data").unwrap();
    let refused = modify(&all[0], &replace("olcSizeLimit", "62"));
    assert_eq!(refused.code(), Some(52), "{}", refused.stderr);
    let folder = all[0].layout().join("slapd.d").display().to_string();
    let begin = ["cluster", "begin", "-F", &folder, "-n", "0"];
    succeed(&begin);
    let done = || (modify(&all[1], &replace("olcSizeLimit", "63")).code() == Some(0)).then_some(());
    assert!(wait::until(done).is_some(), "{}", said(&all[1]));
    assert_becomes(&all[0], "cn=config", "olcSizeLimit", "63");
    // To go back: the other servers need not be stopped, and the tree that is there is not replaced without a word.
    let said = ironbark(&begin);
    assert!(
        String::from_utf8_lossy(&said.stderr).contains("--replace-log"),
        "{said:?}"
    );
    let change = replace("olcSizeLimit", "64");
    let tool = ["-F", folder.as_str(), "-n", "0"];
    all[0].stop().unwrap();
    Tool::Modify
        .run(Flavor::Ironbark, &tool, &change)
        .unwrap()
        .success()
        .unwrap();
    succeed(&["cluster", "begin", "-F", &folder, "-n", "0", "--replace-log"]);
    all[0].launch().unwrap();
    for server in &all {
        assert_becomes(server, "cn=config", "olcSizeLimit", "64");
    }
    // Each server tells of itself within seconds.
    let status = || String::from_utf8(ironbark(&["cluster", "status", "-F", &folder, "-n", "0"]).stdout).unwrap();
    let shown = wait::until(|| (status().matches("  server  ").count() == 2).then(status));
    assert!(
        shown.is_some_and(|shown| shown.contains("the newest state is in etcd")),
        "{}",
        status()
    );
}

#[test]
fn it_needs_a_directory_and_a_server_that_leaves_keeps_what_it_has() {
    let etcd = Etcd::start(1).unwrap();
    let line = format!("database config\nrootpw secret\ncluster {}\ndatabase mdb", etcd.urls());
    let alone = Server::people_config("", "").replace("database mdb", &line);
    let refused = Server::start(Flavor::Ironbark, &alone).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("configuration directory"), "{refused}");
    for word in ["age=2", "copy=127.0.0.1:4000"] {
        let with = alone.replacen("\ndatabase mdb", &format!(" {word}\ndatabase mdb"), 1);
        let refused = Server::start(Flavor::Ironbark, &with).map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains("no meaning for cn=config"), "{refused}");
    }
    let all = started(&etcd, 2);
    let leave = "dn: olcDatabase={0}config,cn=config\nchangetype: modify\ndelete: olcDbCluster\n";
    modify(&all[1], leave).success().unwrap();
    assert!(!all[1].layout().join("slapd.d/ironbark-cluster").exists());
    modify(&all[1], &replace("olcSizeLimit", "71")).success().unwrap();
    modify(&all[0], &replace("olcTimeLimit", "72")).success().unwrap();
    assert_eq!(value(&all[0], "cn=config", "olcSizeLimit"), "");
    assert_eq!(value(&all[1], "cn=config", "olcTimeLimit"), "");
    // It comes back by the same way, and has what the others have.
    let join = format!(
        "dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\nadd: olcDbCluster\nolcDbCluster: {}\n",
        etcd.urls()
    );
    modify(&all[1], &join).success().unwrap();
    assert_becomes(&all[1], "cn=config", "olcTimeLimit", "72");
    assert_becomes(&all[1], "cn=config", "olcSizeLimit", "");
}

/// What others have changed is told to those who follow a server, as its own changes are.
#[test]
fn a_consumer_outside_hears_from_any_server_what_another_has_changed() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 2);
    let provide = "dn: olcOverlay=syncprov,olcDatabase={0}config,cn=config\nchangetype: add\nobjectClass: \
                   olcOverlayConfig\nobjectClass: olcSyncProvConfig\nolcOverlay: syncprov\n";
    modify(&all[0], provide).success().unwrap();
    let overlay = "olcOverlay={0}syncprov,olcDatabase={0}config,cn=config";
    assert_becomes(&all[1], overlay, "olcOverlay", "{0}syncprov");
    let plain = Server::people_config("", "").replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    let consumer = Server::start(Flavor::Ironbark, &plain).unwrap();
    let follow = format!(
        "dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\nadd: olcSyncrepl\nolcSyncrepl: rid=001 \
         provider={} bindmethod=simple binddn=cn=config credentials=secret searchbase=cn=schema,cn=config \
         type=refreshAndPersist retry=\"1 +\"\n",
        all[1].url()
    );
    modify(&consumer, &follow).success().unwrap();
    for (number, name) in ["one", "two"].iter().enumerate() {
        let schema = format!(
            "dn: cn={name},cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: {name}\nolcAttributeTypes: ( \
             1.1.2.{number} NAME 'attribute{name}' SUP name )\n"
        );
        let added = all[0].client("ldapadd", &CONFIG, &[], &schema).unwrap();
        added.success().unwrap();
        let dn = format!("cn={{{}}}{name},cn=schema,cn=config", number + 3);
        assert_becomes(&consumer, &dn, "cn", &format!("{{{}}}{name}", number + 3));
    }
    // What is a server's own is no change of the cluster.
    modify(&all[0], &replace("olcPidFile", "/run/own.pid"))
        .success()
        .unwrap();
    let vectors: Vec<_> = all.iter().map(|one| value(one, "cn=config", "contextCSN")).collect();
    assert!(!vectors[0].is_empty() && vectors[0] == vectors[1], "{vectors:?}");
}

#[test]
fn changes_of_the_configuration_are_logged_at_every_server() {
    let etcd = Etcd::start(1).unwrap();
    let log = "\ndatabase mdb\nsuffix cn=log\nrootdn cn=config\ndirectory {dir}/log\n";
    let mut all: Vec<_> = (0..2)
        .map(|_| {
            let mut server = prepared(&etcd, "", log);
            server.launch().unwrap();
            server.wait_for_log("cluster: cn=config: ").unwrap();
            server
        })
        .collect();
    let overlay = "dn: olcOverlay=accesslog,olcDatabase={0}config,cn=config\nchangetype: add\nobjectClass: \
                   olcOverlayConfig\nobjectClass: olcAccessLogConfig\nolcOverlay: accesslog\n\
                   olcAccessLogDB: cn=log\nolcAccessLogOps: writes\n";
    modify(&all[0], overlay).success().unwrap();
    let name = "olcOverlay={0}accesslog,olcDatabase={0}config,cn=config";
    assert_becomes(&all[1], name, "olcOverlay", "{0}accesslog");
    let logged = |server: &Server| {
        let found = server.client("ldapsearch", &CONFIG, &["-b", "cn=log", "reqMod=*", "reqMod"], "");
        found.unwrap().stdout.matches("olcSizeLimit:= ").count()
    };
    let assert_logged = |all: &[Server], wanted: usize| {
        for server in all {
            let is_so = wait::until(|| (logged(server) == wanted).then_some(()));
            assert!(is_so.is_some(), "{} {}", logged(server), said(server));
        }
    };
    for number in 0..4 {
        let limit = format!("{}", 100 + number);
        modify(&all[number % 2], &replace("olcSizeLimit", &limit))
            .success()
            .unwrap();
    }
    assert_logged(&all, 4);
    // One that was away knows what the configuration is, and that its log lacks how it became so.
    all[1].stop().unwrap();
    modify(&all[0], &replace("olcSizeLimit", "200")).success().unwrap();
    all[1].launch().unwrap();
    assert_becomes(&all[1], "cn=config", "olcSizeLimit", "200");
    assert_logged(&all[..1], 5);
    modify(&all[0], &replace("olcSizeLimit", "201")).success().unwrap();
    assert_logged(&all[..1], 6);
    let has_last = wait::until(|| (logged(&all[1]) >= 5).then_some(()));
    assert!(has_last.is_some(), "{}", said(&all[1]));
    if logged(&all[1]) < 6 {
        all[1].wait_for_log("begins anew").unwrap();
    }
}

#[test]
fn what_cannot_be_read_in_etcd_changes_nothing() {
    let etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 1);
    modify(&all[0], &replace("olcSizeLimit", "81")).success().unwrap();
    let put = |key: &str, text: &str| {
        let key = format!("/ironbark/cn=config/{key}");
        etcd.etcdctl(&["put", &key, text]).unwrap().success().unwrap();
    };
    let tail = etcd
        .etcdctl(&["get", "--print-value-only", "/ironbark/cn=config/tail"])
        .unwrap();
    let generation = tail.stdout.split(' ').next().unwrap().to_owned();
    // Half of a configuration: with it nobody would be the administrator.
    let half = format!("{}dn: cn=config\nobjectClass: olcGlobal\ncn: config\n", "\0".repeat(17));
    etcd.put("/ironbark/cn=config/tree", half.as_bytes())
        .unwrap()
        .success()
        .unwrap();
    put("tail", &format!("{generation} {:016x} {:032x}", 98, 0));
    all[0].wait_for_log("out of the cluster").unwrap();
    put("tree", "nonsense");
    put("tail", &format!("{generation} {:016x} {:032x}", 99, 0));
    all[0].wait_for_log("/tree: malformed").unwrap();
    let refused = modify(&all[0], &replace("olcSizeLimit", "82"));
    assert_eq!(refused.code(), Some(52), "{}", refused.stderr);
    // Behind the last of all numbers there is none for the next change.
    let chain = tail.stdout.trim_end().split(' ').nth(2).unwrap();
    put("tail", &format!("{generation} {:016x} {chain}", u64::MAX));
    all[0].wait_for_log("/tail: malformed").unwrap();
    let refused = modify(&all[0], &replace("olcSizeLimit", "83"));
    assert_eq!(refused.code(), Some(52), "{}", refused.stderr);
    assert!(!said(&all[0]).contains("panicked"), "{}", said(&all[0]));
    put("tail", "nonsense");
    assert_eq!(value(&all[0], "cn=config", "olcSizeLimit"), "81");
    modify(&all[0], &replace("olcPidFile", "/run/own.pid"))
        .success()
        .unwrap();
}

/// Anybody may ask for what is newest. Each such request waits for etcd, and an administrator for one of them at most.
#[test]
fn requests_that_wait_for_etcd_hold_nobody_up_one_after_the_other() {
    let mut etcd = Etcd::start(1).unwrap();
    let all = started(&etcd, 1);
    etcd.kill(0).unwrap();
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let newest = ["-E", "!dontUseCopy", "-b", "cn=config", "-s", "base"];
                let outcome = all[0]
                    .client("ldapsearch", &Credentials::Anonymous, &newest, "")
                    .unwrap();
                assert_eq!(outcome.code(), Some(51), "{}", outcome.stderr);
            });
        }
    });
    modify(&all[0], &replace("olcPidFile", "/run/own.pid"))
        .success()
        .unwrap();
    // Each line is an answer of etcd that was waited for.
    let waits = said(&all[0]).matches("cluster: cn=config: ").count();
    assert!(waits < 25, "{}", said(&all[0]));
}

#[test]
fn a_new_server_needs_no_more_than_the_way_to_the_cluster_and_its_folders() {
    let etcd = Etcd::start(1).unwrap();
    let line = format!("cluster {} timeout=2\n", etcd.urls());
    let mut first = prepared(&etcd, "sizelimit 91", &line);
    first.launch().unwrap();
    first.ldapadd(&person("ann")).unwrap().success().unwrap();
    let bare = format!(
        "include {{schema}}/core.schema\npidfile {{dir}}/slapd.pid\ndatabase config\nrootpw other\n{line}database \
         mdb\nsuffix dc=example,dc=com\ndirectory {{dir}}/db\n"
    );
    let server = Server::prepare(Flavor::Ironbark, &bare).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    // It is converted at its start.
    let mut server = server.arguments(&["-F", &folder.display().to_string()]);
    server.launch().unwrap();
    assert_becomes(&server, "cn=config", "olcSizeLimit", "91");
    assert_becomes(&server, DATABASE, "olcDbIndex", &value(&first, DATABASE, "olcDbIndex"));
    assert_ne!(
        value(&server, DATABASE, "olcDbDirectory"),
        value(&first, DATABASE, "olcDbDirectory")
    );
    // Its database joins as well, and gets a copy.
    let has = || (count(&server, "ann") == 1).then_some(());
    assert!(wait::until(has).is_some(), "{}", said(&server));
    server.ldapadd(&person("bob")).unwrap().success().unwrap();
    assert!(wait::until(|| (count(&first, "bob") == 1).then_some(())).is_some());
}
