//! Several of our servers that all take writes, while they are killed, stopped and restarted, and away for long.

use std::{
    collections::BTreeMap,
    process::Command,
    sync::{Arc, Mutex},
};

use ironbark_client::{
    Change, Client, ClientError, Options, ReceivedResult,
    proto::{ModifyDnRequest, ModifyOperation},
};
use ironbark_testkit::{Flavor::Ironbark, Server};
use nix::sys::signal::Signal;

use crate::replication::mesh::{Random, all_others, assert_equal, first_content, servers};

const ROOT: &str = "cn=Manager,dc=example,dc=com";
/// Places where entries are.
const PLACES: [&str; 4] = [
    "dc=example,dc=com",
    "ou=people,dc=example,dc=com",
    "ou=others,dc=example,dc=com",
    "ou=e0,ou=people,dc=example,dc=com",
];
/// Entries have one of so many names in a place.
const NAMES: usize = 12;
/// Writes of one client between two events.
const BURST: usize = 12;
/// A log that is trimmed to almost nothing.
const SHORT_LOG: &str = "multiprovider on\nchangelog-size 20000\n";

async fn connect(server: &Server) -> Client {
    let address = format!("127.0.0.1:{}", server.port());
    let client = Client::connect_tcp(&address, Options::default()).await.unwrap();
    let bound = client.simple_bind(ROOT, b"secret", &[]).await.unwrap();
    bound.success().unwrap();
    client
}

async fn add(client: &Client, dn: &str, name: &str, number: usize) -> Result<ReceivedResult, ClientError> {
    let value = number.to_string();
    let attributes: [(&str, &[&[u8]]); 3] = [
        ("objectClass", &[b"organizationalUnit"]),
        ("ou", &[name.as_bytes()]),
        ("description", &[value.as_bytes()]),
    ];
    client.add(dn, &attributes, &[]).await
}

async fn describe(client: &Client, dn: &str, number: usize) -> Result<ReceivedResult, ClientError> {
    let value = number.to_string();
    let change = Change {
        operation: ModifyOperation::Replace,
        attribute: "description",
        values: &[value.as_bytes()],
    };
    client.modify(dn, &[change], &[]).await
}

/// Changes of every kind, most of them of entries that others change as well, until the connection is gone.
async fn write_anything(client: Client, seed: u64) {
    let mut random = Random(seed);
    for number in 0..BURST {
        let name = format!("e{}", random.below(NAMES));
        let place = PLACES[random.below(PLACES.len())];
        let dn = format!("ou={name},{place}");
        // Any refusal will do: another client may have been faster.
        let outcome = match random.below(10) {
            0..4 => add(&client, &dn, &name, number).await,
            4..7 => describe(&client, &dn, number).await,
            7 => client.delete(&dn, &[]).await,
            _ => {
                let rdn = format!("ou=e{}", random.below(NAMES));
                let request = ModifyDnRequest {
                    entry: dn.as_bytes(),
                    new_rdn: rdn.as_bytes(),
                    delete_old_rdn: random.below(2) == 0,
                    new_superior: Some(PLACES[random.below(PLACES.len())].as_bytes()),
                };
                client.modify_dn(&request, &[]).await
            }
        };
        if outcome.is_err() {
            return;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    Stopped,
    Away,
}

/// Servers, and what happens to them.
struct Chaos {
    servers: Vec<Server>,
    states: Vec<State>,
    random: Random,
}

impl Chaos {
    fn new(servers: Vec<Server>, seed: u64) -> Self {
        let states = servers.iter().map(|_| State::Running).collect();
        servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
        assert_equal(&servers, "the first content");
        Self {
            servers,
            states,
            random: Random(seed),
        }
    }

    fn running(&self) -> Vec<usize> {
        let numbers = 0..self.servers.len();
        numbers
            .filter(|number| self.states[*number] == State::Running)
            .collect()
    }

    /// Lets something happen to a server, but not to one of `spared`.
    fn happen(&mut self, spared: Option<usize>) {
        let victim = self.random.below(self.servers.len());
        if spared == Some(victim) {
            return;
        }
        let server = &mut self.servers[victim];
        self.states[victim] = match (self.states[victim], self.random.below(3)) {
            (State::Running, 0) => {
                server.kill().unwrap();
                server.launch().unwrap();
                State::Running
            }
            (State::Running, 1) => {
                server.kill().unwrap();
                State::Away
            }
            (State::Running, _) => {
                server.signal(Signal::SIGSTOP).unwrap();
                State::Stopped
            }
            (State::Stopped, 0) => {
                server.kill().unwrap();
                State::Away
            }
            (State::Stopped, _) => {
                server.signal(Signal::SIGCONT).unwrap();
                State::Running
            }
            (State::Away, _) => {
                server.launch().unwrap();
                State::Running
            }
        };
    }

    /// All run again.
    fn end(&mut self) {
        for (server, state) in self.servers.iter_mut().zip(&mut self.states) {
            match state {
                State::Running => {}
                State::Stopped => server.signal(Signal::SIGCONT).unwrap(),
                State::Away => server.launch().unwrap(),
            }
            *state = State::Running;
        }
    }

    fn assert_equal(&self, what: &str) {
        assert_equal(&self.servers, what);
        let output = Command::new(Ironbark.program().unwrap())
            .arg("compare-replicas")
            .args(self.servers.iter().map(Server::url))
            .args(["-D", ROOT, "-w", "secret", "--deep"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(0) && text.ends_with("\nequal\n"),
            "{what}: {text}"
        );
    }
}

/// Bursts of writes at all servers at once. Meanwhile one is killed, stopped or started.
async fn write_everywhere(servers: Vec<Server>, seed: u64, rounds: usize) {
    let mut chaos = Chaos::new(servers, seed);
    for round in 0..rounds {
        let mut tasks = Vec::new();
        let running = chaos.running();
        for number in &running {
            let client = connect(&chaos.servers[*number]).await;
            let seed = seed.wrapping_mul(1 + (round * 100 + number) as u64);
            tasks.push(tokio::spawn(write_anything(client, seed)));
        }
        let is_in_the_middle = chaos.random.below(2) == 0;
        if is_in_the_middle {
            for _ in 0..chaos.random.below(200) {
                tokio::task::yield_now().await;
            }
        } else {
            for task in std::mem::take(&mut tasks) {
                task.await.unwrap();
            }
        }
        chaos.happen(None);
        if chaos.running().is_empty() {
            chaos.end();
        }
        // Clients of a server that is stopped would wait for ever.
        for (task, number) in tasks.into_iter().zip(running) {
            if chaos.states[number] == State::Stopped {
                task.abort();
            } else {
                task.await.unwrap();
            }
        }
    }
    chaos.end();
    chaos.assert_equal(&format!("seed {seed}"));
}

/// The seeds to try: `IRONBARK_SEED`, or the one of the test.
fn seed(usual: u64) -> u64 {
    let given = std::env::var("IRONBARK_SEED").ok();
    given.map_or(usual, |text| text.parse().unwrap())
}

#[tokio::test]
async fn three_that_all_write_end_equal() {
    let servers = servers(&[Ironbark; 3], all_others(3), SHORT_LOG);
    write_everywhere(servers, seed(0x5eed_0001), 40).await;
}

#[tokio::test]
async fn three_with_all_their_logs_end_equal() {
    let servers = servers(&[Ironbark; 3], all_others(3), "multiprovider on\n");
    write_everywhere(servers, seed(0x5eed_0002), 40).await;
}

/// Two pairs, and one server between them.
#[tokio::test]
async fn five_in_two_pairs_end_equal() {
    let neighbours = |number| match number {
        0 => vec![1, 2],
        1 => vec![0, 2],
        2 => vec![0, 1, 3, 4],
        3 => vec![2, 4],
        _ => vec![2, 3],
    };
    let servers = servers(&[Ironbark; 5], neighbours, SHORT_LOG);
    write_everywhere(servers, seed(0x5eed_0003), 40).await;
}

/// The last acknowledged number of each entry, or `None` if it was deleted.
type Acknowledged = Arc<Mutex<BTreeMap<String, Option<usize>>>>;

/// Adds, changes and deletes entries that nobody else writes.
async fn write_own(client: Client, start: usize, acknowledged: Acknowledged) {
    for number in start..start + BURST {
        let name = format!("w{number}");
        let dn = format!("ou={name},ou=people,dc=example,dc=com");
        add(&client, &dn, &name, number).await.unwrap().success().unwrap();
        acknowledged.lock().unwrap().insert(name.clone(), Some(number));
        if number % 2 == 0 {
            let earlier = format!("w{}", number / 2);
            let dn = format!("ou={earlier},ou=people,dc=example,dc=com");
            let changed = describe(&client, &dn, number).await.unwrap();
            if changed.is_success() {
                acknowledged.lock().unwrap().insert(earlier, Some(number));
            }
        }
        if number % 3 == 0 {
            client.delete(&dn, &[]).await.unwrap().success().unwrap();
            acknowledged.lock().unwrap().insert(name, None);
        }
    }
}

/// One server takes all writes, and is killed as well; nothing that it has acknowledged is lost anywhere.
#[tokio::test]
async fn no_acknowledged_write_of_one_writer_is_lost() {
    let seed = seed(0x5eed_0004);
    let mut chaos = Chaos::new(servers(&[Ironbark; 3], all_others(3), SHORT_LOG), seed);
    let acknowledged = Acknowledged::default();
    for round in 0..40 {
        let client = connect(&chaos.servers[0]).await;
        let task = tokio::spawn(write_own(client, round * BURST, Arc::clone(&acknowledged)));
        for _ in 0..chaos.random.below(200) {
            tokio::task::yield_now().await;
        }
        chaos.happen(Some(0));
        task.await.unwrap();
        if round % 4 == 0 {
            chaos.servers[0].kill().unwrap();
            chaos.servers[0].launch().unwrap();
        }
    }
    chaos.end();
    chaos.assert_equal(&format!("seed {seed}"));
    let held = crate::replication::content(&chaos.servers[2]);
    for (name, number) in &*acknowledged.lock().unwrap() {
        let entry = held
            .split("\n\n")
            .find(|entry| entry.starts_with(&format!("dn: ou={name},")));
        let found = entry.map(|entry| {
            let line = entry.lines().find_map(|line| line.strip_prefix("description: "));
            line.unwrap().parse::<usize>().unwrap()
        });
        assert_eq!(found, *number, "{name}, seed {seed}");
    }
}
