//! After kill -9, acknowledged changes are there and whole, and every index finds them. A full database refuses writes
//! and continues.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ironbark_client::proto::{Assertion, Filter, ModifyOperation, Scope};
use ironbark_client::{Change, Client, Options, Search};
use ironbark_ldif::{Attributes, LdifChange as LoggedChange, LdifReader, NoFiles, RecordKind};
use ironbark_testkit::{Flavor, Server};

const BASE: &str = "dc=example,dc=com";
const ROOT: &str = "cn=Manager,dc=example,dc=com";
const WRITERS: usize = 16;
const ROUNDS: usize = 10;
const SEED: u64 = 0x5eed_1a5c_a9e5_0001;

/// The state of an entry: `None` means that it is missing.
type State = Option<&'static str>;

/// The clients' knowledge of each entry: the last acknowledged change, and changes under way, which may or may not have
/// been made.
#[derive(Default)]
struct Known {
    acknowledged: BTreeMap<String, State>,
    open: BTreeMap<String, State>,
    writes: usize,
}

impl Known {
    fn begin(&mut self, name: &str, state: State) {
        self.open.insert(name.to_owned(), state);
    }

    fn acknowledge(&mut self, name: &str) {
        if let Some(state) = self.open.remove(name) {
            self.acknowledged.insert(name.to_owned(), state);
            self.writes += 1;
        }
    }

    /// After a crash, the found state is taken for changes that were under way.
    fn settle(&mut self, present: &BTreeMap<String, String>) {
        for (name, wanted) in std::mem::take(&mut self.open) {
            let found = present.get(&name).map(String::as_str);
            let before = self.acknowledged.get(&name).copied().flatten();
            assert!(
                found == wanted || found == before,
                "{name} is {found:?}, neither {before:?} nor {wanted:?}"
            );
            self.acknowledged
                .insert(name, if found == wanted { wanted } else { before });
        }
    }
}

async fn connect(server: &Server) -> Client {
    let address = format!("127.0.0.1:{}", server.port());
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    client
        .simple_bind(ROOT, b"secret", &[])
        .await
        .unwrap()
        .success()
        .unwrap();
    client
}

/// Adds entries; changes every second one, and deletes every fifth; until the connection is gone.
async fn write(client: Client, prefix: String, known: Arc<Mutex<Known>>) {
    for number in 0_usize.. {
        let name = format!("{prefix}n{number}");
        let dn = format!("cn={name},{BASE}");
        known.lock().unwrap().begin(&name, Some("first"));
        let attributes: [(&str, &[&[u8]]); 5] = [
            ("objectClass", &[b"person"]),
            ("cn", &[name.as_bytes()]),
            ("sn", &[name.as_bytes()]),
            ("description", &[b"first"]),
            ("telephoneNumber", &[b"+1 555 0100", b"+1 555 0101"]),
        ];
        let Ok(added) = client.add(&dn, &attributes, &[]).await else {
            return;
        };
        added.success().unwrap();
        known.lock().unwrap().acknowledge(&name);
        if number % 2 == 1 {
            known.lock().unwrap().begin(&name, Some("second"));
            let change = Change {
                operation: ModifyOperation::Replace,
                attribute: "description",
                values: &[b"second"],
            };
            let Ok(changed) = client.modify(&dn, &[change], &[]).await else {
                return;
            };
            changed.success().unwrap();
            known.lock().unwrap().acknowledge(&name);
        }
        if number % 5 == 0 {
            known.lock().unwrap().begin(&name, None);
            let Ok(deleted) = client.delete(&dn, &[]).await else {
                return;
            };
            deleted.success().unwrap();
            known.lock().unwrap().acknowledge(&name);
        }
    }
}

/// Names and descriptions of the entries that a filter finds below the base.
async fn found(client: &Client, filter: Filter<'_>) -> BTreeMap<String, String> {
    let answer = client
        .search(&Search::new(BASE, Scope::SingleLevel, filter), &[])
        .unwrap()
        .collect()
        .await
        .unwrap();
    answer.result.success().unwrap();
    let mut present = BTreeMap::new();
    for entry in &answer.entries {
        let name = entry.text("cn").unwrap();
        assert_eq!(entry.dn, format!("cn={name},{BASE}"));
        assert_eq!(entry.text("sn").as_ref(), Some(&name), "{name} is whole");
        assert_eq!(entry.values("telephoneNumber").len(), 2, "{name} is whole");
        present.insert(name, entry.text("description").unwrap());
    }
    present
}

fn equality<'a>(attribute: &'a str, value: &'a str) -> Filter<'a> {
    Filter::Equality(Assertion {
        attribute: attribute.as_bytes().into(),
        value: value.as_bytes().into(),
    })
}

/// Reads everything by a scan and by each index, and compares it with the known state.
async fn verify(server: &Server, known: &mut Known) {
    let client = connect(server).await;
    // No index serves the absence of a value: this is a scan.
    let scanned = found(&client, Filter::Not(Box::new(equality("title", "none")))).await;
    let first = found(&client, equality("description", "first")).await;
    let second = found(&client, equality("description", "second")).await;
    assert!(first.values().all(|text| text == "first") && second.values().all(|text| text == "second"));
    let indexed: BTreeMap<_, _> = first.into_iter().chain(second).collect();
    assert!(
        indexed == scanned,
        "what the index of description finds is not what a scan finds"
    );
    let by_class = found(&client, equality("objectClass", "person")).await;
    assert!(
        by_class == scanned,
        "what the index of objectClass finds is not what a scan finds"
    );
    known.settle(&scanned);
    for (name, state) in &known.acknowledged {
        assert_eq!(scanned.get(name).map(String::as_str), *state, "{name} was acknowledged");
    }
    let expected = known.acknowledged.iter().filter(|(_, state)| state.is_some());
    assert!(
        scanned.keys().eq(expected.map(|(name, _)| name)),
        "entries that nobody added"
    );
    for name in scanned.keys().step_by(1 + scanned.len() / 50) {
        assert_eq!(
            found(&client, equality("cn", name)).await.len(),
            1,
            "{name} by the index of cn"
        );
    }
}

/// Numbers that look random and are the same in each run.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[tokio::test]
async fn no_acknowledged_write_is_lost_by_kill_9() {
    let config = format!(
        "{}limits * size=unlimited\nindex description eq\n",
        Server::PEOPLE_CONFIG
    );
    write_and_kill(&config, ROUNDS).await;
}

fn value_of(attributes: &Attributes, name: &str) -> Option<String> {
    let (_, value) = attributes.iter().find(|(found, _)| found == name.as_bytes())?;
    String::from_utf8(value.clone()).ok()
}

#[tokio::test]
async fn the_audit_log_says_everything_once_whatever_kill_9_comes_between() {
    let people = Server::PEOPLE_CONFIG.replace("database mdb", "moduleload auditlog\ndatabase mdb");
    let config = format!(
        "{people}limits * size=unlimited\nindex description eq\noverlay auditlog\nauditlog {{dir}}/audit.ldif\n"
    );
    let (server, known) = write_and_kill(&config, ROUNDS).await;
    let text = std::fs::read(server.layout().path().join("audit.ldif")).unwrap();
    let mut reader = LdifReader::new(&*text, NoFiles);
    let mut logged: BTreeMap<String, String> = BTreeMap::new();
    while let Some(record) = reader.read().unwrap() {
        let dn = String::from_utf8(record.dn).unwrap();
        let RecordKind::Change { change, .. } = record.kind else {
            panic!("{dn}: no change");
        };
        match change {
            LoggedChange::Add(attributes) => {
                let before = logged.insert(dn.clone(), value_of(&attributes, "description").unwrap_or_default());
                assert!(before.is_none(), "{dn} is added twice");
            }
            LoggedChange::Delete => assert!(logged.remove(&dn).is_some(), "{dn} is deleted and was not there"),
            LoggedChange::Modify(modifications) => {
                let values = &modifications.first().unwrap().values;
                let new = String::from_utf8(values.concat()).unwrap();
                let before = logged.insert(dn.clone(), new);
                assert_eq!(before.as_deref(), Some("first"), "{dn} is changed once");
            }
            LoggedChange::ModifyDn { .. } => panic!("{dn} is renamed"),
        }
    }
    assert!(logged.remove(BASE).is_some());
    let expected = known
        .acknowledged
        .iter()
        .filter_map(|(name, state)| Some((format!("cn={name},{BASE}"), (*state)?.to_owned())));
    assert_eq!(logged, expected.collect());
}

#[tokio::test]
async fn the_access_log_has_every_change_once_whatever_kill_9_comes_between() {
    let people = Server::PEOPLE_CONFIG.replace("database mdb", "moduleload accesslog\ndatabase mdb");
    let config = format!(
        "{people}limits * size=unlimited\nindex description eq\noverlay accesslog\nlogdb cn=accesslog\nlogops writes\n\
         database mdb\nsuffix cn=accesslog\ndirectory {{dir}}\nrootdn \"{ROOT}\"\nlimits * size=unlimited\n"
    );
    let (mut server, known) = write_and_kill(&config, ROUNDS).await;
    server.launch().unwrap();
    let client = connect(&server).await;
    let search = Search::new(
        "cn=accesslog",
        Scope::SingleLevel,
        Filter::Present(b"objectClass".into()),
    );
    let found = client.search(&search, &[]).unwrap().collect().await.unwrap();
    assert!(found.result.is_success(), "{:?}", found.result);
    let mut logged: BTreeMap<String, String> = BTreeMap::new();
    for entry in &found.entries {
        let one = |name: &str| {
            let values = entry.values(name);
            let first = values.first().map(|value| String::from_utf8_lossy(value).into_owned());
            first.unwrap_or_default()
        };
        let changed = |sign: &str| {
            let start = format!("description:{sign} ");
            let values = entry.values("reqMod");
            let mut texts = values.iter().map(|value| String::from_utf8_lossy(value).into_owned());
            texts
                .find_map(|text| text.strip_prefix(&start).map(str::to_owned))
                .unwrap_or_default()
        };
        let dn = one("reqDN");
        match &*one("reqType") {
            "add" => {
                let before = logged.insert(dn.clone(), changed("+"));
                assert!(before.is_none(), "{dn} is added twice");
            }
            "delete" => assert!(logged.remove(&dn).is_some(), "{dn} is deleted and was not there"),
            "modify" => {
                let before = logged.insert(dn.clone(), changed("="));
                assert_eq!(before.as_deref(), Some("first"), "{dn} is changed once");
            }
            other => panic!("{dn}: {other}"),
        }
    }
    assert!(logged.remove(BASE).is_some());
    let expected = known
        .acknowledged
        .iter()
        .filter_map(|(name, state)| Some((format!("cn={name},{BASE}"), (*state)?.to_owned())));
    assert_eq!(logged, expected.collect());
}

#[tokio::test]
async fn no_acknowledged_write_to_files_is_lost_by_kill_9() {
    let config = Server::PEOPLE_CONFIG.replace("database mdb", "database ldif");
    let config = config.replace("index objectClass,cn,uid eq\n", "limits * size=unlimited\n");
    // Each write is flushed on its own.
    write_and_kill(&config, ROUNDS / 3).await;
}

/// Returns the stopped server, and the state of its database.
async fn write_and_kill(config: &str, rounds: usize) -> (Server, Known) {
    let mut server = Server::start(Flavor::Ironbark, config).unwrap();
    server
        .ldapadd(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"))
        .unwrap()
        .success()
        .unwrap();
    let known = Arc::new(Mutex::new(Known::default()));
    let mut seed = SEED;
    for round in 0..rounds {
        let mut tasks = Vec::new();
        for writer in 0..WRITERS {
            let client = connect(&server).await;
            tasks.push(tokio::spawn(write(
                client,
                format!("r{round}w{writer}"),
                Arc::clone(&known),
            )));
        }
        // The moment of the crash is a number of acknowledged writes.
        let goal = known.lock().unwrap().writes + 20 + usize::try_from(random(&mut seed) % 400).unwrap();
        while known.lock().unwrap().writes < goal {
            assert!(
                tasks.iter().all(|task| !task.is_finished()),
                "a writer ended before the crash:\n{}",
                server.log()
            );
            tokio::task::yield_now().await;
        }
        server.kill().unwrap();
        for task in tasks {
            task.await.unwrap();
        }
        server.launch().unwrap();
        let mut state = std::mem::take(&mut *known.lock().unwrap());
        verify(&server, &mut state).await;
        *known.lock().unwrap() = state;
    }
    server.stop().unwrap();
    let known = std::mem::take(&mut *known.lock().unwrap());
    (server, known)
}

#[tokio::test]
async fn a_full_database_refuses_writes_with_a_reason_and_is_read_on() {
    // The ceiling is 2 MiB.
    let config = format!("{}maxsize 2097152\n", Server::PEOPLE_CONFIG);
    let mut server = Server::start(Flavor::Ironbark, &config).unwrap();
    server
        .ldapadd(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"))
        .unwrap()
        .success()
        .unwrap();
    let text = "x".repeat(20_000);
    let mut client = connect(&server).await;
    for start in 0..2 {
        let mut added = 0;
        let refused = loop {
            let name = format!("s{start}n{added}");
            let unlike = format!("{name} {text}");
            let attributes: [(&str, &[&[u8]]); 4] = [
                ("objectClass", &[b"person"]),
                ("cn", &[name.as_bytes()]),
                ("sn", &[b"x"]),
                ("description", &[unlike.as_bytes()]),
            ];
            let result = client
                .add(&format!("cn={name},{BASE}"), &attributes, &[])
                .await
                .unwrap();
            if !result.is_success() {
                break result;
            }
            added += 1;
            assert!(added < 1000, "2 MiB hold no 20 MB");
        };
        assert!(!refused.diagnostic.is_empty(), "{refused:?}");
        assert!(start == 1 || added > 10, "{added} entries fit");
        let search = Search::new(BASE, Scope::SingleLevel, Filter::Present(b"objectClass".into()));
        let found = client.search(&search, &[]).unwrap().collect().await.unwrap();
        assert!(found.entries.len() > 10 && found.result.is_success());
        assert!(found.entries.iter().all(|entry| entry.values("description").len() == 1));
        // It starts again, and is as full as before.
        server.stop().unwrap();
        server.launch().unwrap();
        client = connect(&server).await;
    }
}
