//! A provider shows who follows it, and how far each one is: cn=Monitor, metrics, `ironbark replica status`.

use std::{
    fs::File,
    process::{Child, Command, Stdio},
};

use ironbark_testkit::{Credentials, Flavor, Server, wait};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::replication::{
    PEOPLE,
    administer::{MONITOR, get, metrics, replica},
    assert_follows, change, content, following, line, providing,
};

/// A provider with cn=Monitor, and the port of its metrics.
fn provider(threads: u8) -> (Server, u16) {
    let port = ironbark_testkit::free_port().unwrap();
    let global = format!("serverID 1\nthreads {threads}\nmetrics-listener 127.0.0.1:{port}");
    let config = Server::people_config(&global, &format!("overlay syncprov\n{MONITOR}"));
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    (server, port)
}

/// The sessions of a provider, an entry each.
fn sessions(provider: &Server) -> Vec<String> {
    let arguments = [
        "-LLL",
        "-o",
        "ldif-wrap=no",
        "-b",
        "cn=Databases,cn=Monitor",
        "(ironbarkSyncRid=*)",
        "*",
        "+",
    ];
    let found = provider
        .client("ldapsearch", &Credentials::ROOT, &arguments, "")
        .unwrap();
    let entries = found.stdout.split("\n\n").filter(|entry| entry.contains("dn: "));
    entries.map(|entry| format!("{}\n", entry.trim())).collect()
}

fn value<'e>(entry: &'e str, name: &str) -> &'e str {
    let begin = format!("{name}: ");
    let mut lines = entry.lines();
    let found = lines.find_map(|line| line.strip_prefix(&begin));
    assert!(found.is_some(), "{name}: {entry}");
    found.unwrap_or_default()
}

fn number(entry: &str, name: &str) -> u64 {
    value(entry, name).parse().unwrap()
}

/// The figures of one name, each with its labels.
fn samples(port: u16, name: &str) -> Vec<(String, f64)> {
    let page = metrics(port);
    let begin = format!("{name}{{");
    let lines = page.lines().filter_map(|line| line.strip_prefix(&begin));
    let split = lines.map(|line| line.rsplit_once("} ").unwrap());
    split
        .map(|(labels, value)| (labels.to_owned(), value.parse().unwrap()))
        .collect()
}

/// Waits until all sessions persist and have everything.
#[track_caller]
fn settled(provider: &Server, count: usize) -> Vec<String> {
    let is_settled =
        |entry: &String| entry.contains("olmSRSyncPhase: Persist\n") && entry.contains("ironbarkSyncBehind: 0\n");
    let found = wait::until(|| {
        let all = sessions(provider);
        (all.len() == count && all.iter().all(is_settled)).then_some(all)
    });
    assert!(found.is_some(), "{:?}", sessions(provider));
    found.unwrap_or_default()
}

#[test]
fn consumers_are_shown_with_their_positions_until_they_leave() {
    // Entries are shared by the consumers of a thread.
    let (provider, port) = provider(1);
    assert_eq!(sessions(&provider), Vec::<String>::new());
    assert!(!metrics(port).contains("ironbark_provider_"));
    let first = following(Flavor::Ironbark, &provider, "type=refreshAndPersist");
    let mut second = following(Flavor::OpenLdap, &provider, "type=refreshAndPersist");
    let before = settled(&provider, 2);
    for entry in &before {
        let connection = number(entry, "monitorConnectionNumber");
        assert!(entry.starts_with(&format!("dn: cn=Session {connection}-")), "{entry}");
        assert!(entry.contains(",cn=Database 1,cn=Databases,cn=Monitor\n"), "{entry}");
        assert!(
            value(entry, "monitorConnectionPeerAddress").starts_with("IP=127.0.0.1:"),
            "{entry}"
        );
        // slapd sends the name in its normal form.
        let identity = value(entry, "monitorConnectionAuthzDN").to_lowercase();
        assert_eq!(identity, "cn=manager,dc=example,dc=com");
        assert_eq!(value(entry, "ironbarkSyncBase"), "dc=example,dc=com");
        assert_eq!(number(entry, "ironbarkSyncRid"), 1);
        assert_eq!(number(entry, "ironbarkSyncSid"), 0);
        assert_eq!(value(entry, "ironbarkSyncPosition"), "3 dc=example,dc=com");
        assert_eq!(number(entry, "ironbarkSyncSent"), 3);
        assert_eq!(number(entry, "ironbarkSyncLagMs"), 0);
    }
    change(&provider, 1);
    assert_follows(&first, &provider);
    let after = settled(&provider, 2);
    // Of seven changes, the last is a delete. A name is no entry.
    assert!(
        after
            .iter()
            .all(|entry| value(entry, "ironbarkSyncPosition").starts_with("10 "))
    );
    assert!(
        after.iter().all(|entry| number(entry, "ironbarkSyncSent") >= 6),
        "{after:?}"
    );
    let sessions_by_phase = samples(port, "ironbark_provider_sessions");
    let wanted = |labels: &str| sessions_by_phase.iter().find(|(known, _)| known == labels).unwrap().1;
    assert_eq!(
        wanted("suffix=\"dc=example,dc=com\",phase=\"persist\"").to_bits(),
        2_f64.to_bits()
    );
    for (name, wanted) in [
        ("ironbark_provider_session_position", 10.0_f64),
        ("ironbark_provider_session_behind_changes", 0.0),
        ("ironbark_provider_session_lag_seconds", 0.0),
    ] {
        let found = samples(port, name);
        assert_eq!(found.len(), 2, "{name}");
        assert!(
            found.iter().all(|(_, value)| value.to_bits() == wanted.to_bits()),
            "{name}: {found:?}"
        );
    }
    second.stop().unwrap();
    settled(&provider, 1);
    assert_eq!(samples(port, "ironbark_provider_session_entries_total").len(), 1);
}

#[test]
fn what_was_encoded_for_another_consumer_is_counted() {
    let (provider, port) = provider(1);
    let consumers = [(); 2].map(|()| following(Flavor::Ironbark, &provider, "type=refreshAndPersist"));
    settled(&provider, 2);
    change(&provider, 1);
    for consumer in &consumers {
        assert_follows(consumer, &provider);
    }
    let shared: u64 = settled(&provider, 2)
        .iter()
        .map(|entry| number(entry, "ironbarkSyncShared"))
        .sum();
    assert!(shared > 0, "{:?}", sessions(&provider));
    let figures = samples(port, "ironbark_provider_session_shared_entries_total");
    let all: f64 = figures.iter().map(|(_, value)| value).sum();
    assert_eq!(format!("{all}"), shared.to_string());
}

/// A client that follows the database, and can be stopped.
struct Follower(Child);

impl Follower {
    fn start(provider: &Server) -> Self {
        Self::of(provider, "cn=Manager,dc=example,dc=com", "dc=example,dc=com")
    }

    fn of(provider: &Server, who: &str, base: &str) -> Self {
        let output = File::create(provider.layout().join(base)).unwrap();
        let child = Command::new("ldapsearch")
            .args(["-x", "-D", who, "-w", "secret"])
            .args(["-H", &provider.url(), "-b", base, "-E", "!sync=rp/rid=7,sid=00b"])
            .stdin(Stdio::null())
            .stdout(output)
            .spawn();
        Self(child.unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_consumer_that_stops_reading_is_seen_to_fall_behind() {
    let (provider, port) = provider(2);
    let follower = Follower::start(&provider);
    settled(&provider, 1);
    follower.signal(Signal::SIGSTOP);
    // More than the sockets hold.
    let text = "x".repeat(200_000);
    let modify = |number: usize| {
        format!(
            "dn: ou=people,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {number} {text}\n\n"
        )
    };
    let mut written = 0;
    let stuck = wait::until(|| {
        let changes: String = (written..written + 20).map(modify).collect();
        written += 20;
        provider.ldapmodify(&changes).unwrap().success().unwrap();
        let [entry] = sessions(&provider).try_into().unwrap();
        (number(&entry, "ironbarkSyncBehind") > 20).then_some(entry)
    });
    let entry = stuck.unwrap();
    assert_eq!(number(&entry, "ironbarkSyncRid"), 7);
    assert_eq!(number(&entry, "ironbarkSyncSid"), 11);
    let (position, lag) = (
        value(&entry, "ironbarkSyncPosition"),
        number(&entry, "ironbarkSyncLagMs"),
    );
    assert!(lag > 0, "{entry}");
    let now = || {
        let [entry] = sessions(&provider).try_into().unwrap();
        entry
    };
    // It stays where it is, and what it lacks gets older.
    let older = wait::until(|| (number(&now(), "ironbarkSyncLagMs") > lag + 100).then(now));
    assert_eq!(value(&older.unwrap(), "ironbarkSyncPosition"), position);
    let [(labels, seconds)] = samples(port, "ironbark_provider_session_lag_seconds")
        .try_into()
        .unwrap();
    assert!(
        seconds > 0.1 && labels.contains("rid=\"7\",sid=\"11\",peer=\"IP=127.0.0.1:"),
        "{labels} {seconds}"
    );
    let [(_, behind)] = samples(port, "ironbark_provider_session_behind_changes")
        .try_into()
        .unwrap();
    assert!(behind > 20.0);
    let (code, table) = replica(&["status", &provider.url()]);
    assert_eq!(code, Some(0), "{table}");
    let row = table.lines().find(|row| row.contains("rid=007 sid=00b")).unwrap();
    assert!(
        row.contains(" Persist ") && row.contains(" changes, ") && row.contains(" s"),
        "{table}"
    );
    follower.signal(Signal::SIGCONT);
    settled(&provider, 1);
    drop(follower);
    assert!(wait::until(|| sessions(&provider).is_empty().then_some(())).is_some());
}

#[test]
fn each_of_glued_databases_has_a_place_and_cn_config_has_none() {
    let config = Server::people_config(
        "",
        &format!("overlay syncprov\n{MONITOR}database config\nrootpw secret\noverlay syncprov\n"),
    );
    let at = config.find("database mdb").unwrap();
    let lower = "database mdb\nsuffix ou=people,dc=example,dc=com\nsubordinate\ndirectory {dir}/people\n\
                 rootdn cn=Manager,dc=example,dc=com\n";
    let (global, rest) = config.split_at(at);
    let mut provider = Server::prepare(Flavor::Ironbark, &format!("{global}{lower}{rest}")).unwrap();
    provider.layout().make_dir("people").unwrap();
    provider.launch().unwrap();
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let _glued = Follower::start(&provider);
    let [entry] = settled(&provider, 1).try_into().unwrap();
    for place in ["2 dc=example,dc=com", "1 ou=people,dc=example,dc=com"] {
        assert!(entry.contains(&format!("ironbarkSyncPosition: {place}\n")), "{entry}");
    }
    let _tree = Follower::of(&provider, "cn=config", "cn=schema,cn=config");
    let found = wait::until(|| {
        let all = sessions(&provider);
        let is_its = |entry: &&String| entry.contains("ironbarkSyncBase: cn=schema,cn=config\n");
        all.iter()
            .find(is_its)
            .filter(|entry| entry.contains("olmSRSyncPhase: Persist\n"))
            .cloned()
    });
    let entry = found.unwrap();
    assert!(
        number(&entry, "ironbarkSyncSent") > 0 && !entry.contains("ironbarkSyncPosition"),
        "{entry}"
    );
}

#[test]
fn a_copy_is_ready_once_its_first_refresh_is_complete() {
    let mut provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    provider.stop().unwrap();
    let port = ironbark_testkit::free_port().unwrap();
    let config = Server::people_config(
        &format!("metrics-listener 127.0.0.1:{port}"),
        &line(&provider, "type=refreshAndPersist"),
    );
    let mut copy = Server::start(Flavor::Ironbark, &config).unwrap();
    let page = get(port, "/readyz");
    assert!(page.starts_with("HTTP/1.1 503 "), "{page}");
    let told = "not ok: the first refresh of dc=example,dc=com is not complete\n";
    assert!(page.ends_with(told), "{page}");
    assert!(get(port, "/livez").starts_with("HTTP/1.1 200 "));
    provider.launch().unwrap();
    let is_ready = || get(port, "/readyz").starts_with("HTTP/1.1 200 ").then_some(());
    assert!(wait::until(is_ready).is_some());
    assert_follows(&copy, &provider);
    // It is a copy still, when the provider is away.
    provider.stop().unwrap();
    copy.stop().unwrap();
    copy.launch().unwrap();
    assert!(wait::until(is_ready).is_some());
    assert!(content(&copy).contains("ou=others,"));
    // Who takes writes may be the first of several.
    drop(copy);
    let config = Server::people_config(
        &format!("serverID 5\nmetrics-listener 127.0.0.1:{port}"),
        &format!("{}multiprovider on\n", line(&provider, "type=refreshAndPersist")),
    );
    let _first = Server::start(Flavor::Ironbark, &config).unwrap();
    assert!(wait::until(is_ready).is_some());
}
