//! Storms: three servers that all take writes and follow each other, clients that write the same entries at all of
//! them, and kills, stops and absences meanwhile. In the end all servers are equal, and no acknowledged write is lost.
//!
//! `IRONBARK_STORMS=20` runs so many seeds, from `IRONBARK_STORM_SEED=7` on, with `IRONBARK_STORM_OPERATIONS=1200`
//! operations each. What is known of a storm that failed is kept in the folder that the message names.

mod client;
mod held;
mod judge;
mod ledger;
mod own;
mod shared;
mod world;

use std::{
    process::Command,
    sync::{Arc, Mutex},
};

use ironbark_testkit::{Flavor::Ironbark, difference};
use tokio::{sync::watch, task::JoinHandle};

use crate::mesh::Random;
use client::{Outcome, Shared, Writer};
use held::{Image, SUFFIX};
use judge::Judge;
use ledger::{Ledger, Request};
use own::addition;
use shared::{CARRIERS, GROUPS, PLACES, group, member};
use world::{Event, State, World, folder};

/// How servers follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Plain,
    /// By their access logs, with the changes for which that is documented to end equal.
    Delta,
    /// The same with all changes.
    DeltaBeyond,
}

const WRITERS: usize = 6;
/// Operations of a client in a round.
const BURST: usize = 12;

/// A storm under way.
struct Storm {
    world: World,
    states: Vec<State>,
    random: Random,
    shared: Shared,
    /// Those that write nothing now.
    idle: Vec<Option<Writer>>,
    tasks: Vec<Option<JoinHandle<Writer>>>,
}

impl Storm {
    async fn begin(mode: Mode, seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let has_short_log = mode == Mode::Plain && (0..20).map(|_| random.below(3)).last() != Some(0);
        let world = World::start(mode, has_short_log);
        let shared = Shared {
            mode,
            ledger: Arc::new(Mutex::new(Ledger::default())),
            progress: watch::Sender::new(0),
        };
        let mut idle = Vec::new();
        for number in 0..WRITERS {
            let server = number % world.addresses.len();
            idle.push(Some(Writer::new(
                number,
                (server, &world.addresses[server]),
                seed,
                &shared,
            )));
        }
        let mut storm = Self {
            states: vec![State::Running; world.addresses.len()],
            world,
            random,
            shared,
            idle,
            tasks: (0..WRITERS).map(|_| None).collect(),
        };
        storm.settle().await;
        storm.prepare(seed).await;
        storm.settle().await;
        storm
    }

    /// Waits until all servers follow each other and hold the same.
    async fn settle(&self) {
        self.world.connected().await;
        let (is_equal, images) = self.world.settled().await;
        assert!(is_equal, "before the storm: {}", unequal(&images));
    }

    /// Adds what is never deleted.
    async fn prepare(&mut self, seed: u64) {
        let address = &self.world.addresses[0];
        let mut first = Writer::new(WRITERS, (0, address), seed, &self.shared);
        let image = held::images(&[address.clone()]).await.unwrap().remove(0);
        for place in PLACES {
            let uuid = image.uuid_at(place).unwrap();
            self.fix(held::rdn_of(place), uuid);
        }
        let mut roots = Vec::new();
        for number in 0..CARRIERS {
            let request = addition(&format!("ou=car{number}"), PLACES[1], "fixed");
            roots.push(self.add_fixed(&mut first, request).await);
        }
        for number in 0..GROUPS {
            let members = [member(9_999)].into_iter().chain((1_000..1_070).map(member));
            let values = |name: &str, values: Vec<String>| (name.to_owned(), values);
            let request = Request::Add {
                dn: group(number),
                attributes: vec![
                    values("objectClass", vec!["groupOfNames".to_owned()]),
                    values("member", members.collect()),
                ],
            };
            self.add_fixed(&mut first, request).await;
        }
        // Each server has written something: its CSN is known everywhere.
        for number in 0..WRITERS {
            let mut writer = self.idle[number].take().unwrap();
            let request = addition(&format!("ou=home{number}"), SUFFIX, "fixed");
            let home = self.add_fixed(&mut writer, request).await;
            writer.own.roots = [roots.as_slice(), &[home]].concat();
            self.idle[number] = Some(writer);
        }
    }

    fn fix(&self, rdn: &str, uuid: String) {
        self.shared.ledger.lock().unwrap().fixed.insert(rdn.to_owned(), uuid);
    }

    async fn add_fixed(&self, writer: &mut Writer, request: Request) -> String {
        let Outcome::Done(held) = writer.send(request.clone(), None).await else {
            panic!("{request:?} was refused");
        };
        self.fix(held.rdn(), held.uuid());
        held.uuid()
    }

    fn note(&self, what: String) {
        self.shared.ledger.lock().unwrap().note_event(what);
    }

    /// Lets clients of running servers begin to write.
    fn set_off(&mut self, only: Option<usize>) -> usize {
        let mut begun = 0;
        for number in 0..WRITERS {
            let server = number % self.states.len();
            let is_meant = only.is_none_or(|only| only == server);
            if self.states[server] == State::Running
                && is_meant
                && let Some(writer) = self.idle[number].take()
            {
                self.tasks[number] = Some(tokio::spawn(writer.burst(BURST)));
                begun += 1;
            }
        }
        begun
    }

    /// Waits for clients, except for those whose server is frozen.
    async fn gather(&mut self) {
        for number in 0..WRITERS {
            if self.states[number % self.states.len()] != State::Frozen
                && let Some(task) = self.tasks[number].take()
            {
                self.idle[number] = Some(task.await.unwrap());
            }
        }
    }

    async fn happen(&mut self, server: usize, event: Event) {
        self.note(format!("server {server}: {event:?}"));
        self.world.happen(server, event).await;
        self.note(format!("server {server}: {event:?} is over"));
        self.states[server] = event.leads_to();
    }

    /// All clients write, and something happens meanwhile.
    async fn round(&mut self) {
        self.shared.progress.send_replace(0);
        let begun = self.set_off(None);
        let moment = self.random.below(BURST * begun + 1);
        let mut progress = self.shared.progress.subscribe();
        progress.wait_for(|done| *done >= moment).await.unwrap();
        let server = self.random.below(self.states.len());
        let event = match (self.states[server], self.random.below(7)) {
            (State::Running, 0 | 1) => Some(Event::KillAndStart),
            (State::Running, 2) => Some(Event::StopAndStart),
            (State::Running, 3) => Some(Event::Kill),
            (State::Running, 4) => Some(Event::Stop),
            (State::Running, 5) => Some(Event::Freeze),
            (State::Frozen, 0) => Some(Event::Kill),
            (State::Frozen, 1..5) => Some(Event::Thaw),
            (State::Away, 0..4) => Some(Event::Start),
            _ => None,
        };
        if let Some(event) = event {
            self.happen(server, event).await;
        }
        self.gather().await;
        if !self.states.contains(&State::Running) {
            self.all_run().await;
        }
    }

    /// Each server is alone for a while, and takes writes.
    async fn apart(&mut self) {
        self.all_run().await;
        let begin = self.random.below(self.states.len());
        for server in 0..self.states.len() {
            self.happen(server, Event::Stop).await;
        }
        for step in 0..self.states.len() {
            let server = (begin + step) % self.states.len();
            self.happen(server, Event::Start).await;
            self.set_off(Some(server));
            self.gather().await;
            let end = [Event::Kill, Event::Stop][self.random.below(2)];
            self.happen(server, end).await;
        }
        self.all_run().await;
    }

    async fn all_run(&mut self) {
        for server in 0..self.states.len() {
            match self.states[server] {
                State::Running => {}
                State::Frozen => self.happen(server, Event::Thaw).await,
                State::Away => self.happen(server, Event::Start).await,
            }
        }
        self.gather().await;
    }

    /// All servers run, and all clients know what they have done.
    async fn end(&mut self) {
        self.all_run().await;
        for writer in self.idle.iter_mut().flatten() {
            while writer.own.has_open() {
                writer.settle().await;
                tokio::task::yield_now().await;
            }
        }
    }

    /// What is wrong at the end.
    async fn findings(&self) -> (Vec<String>, Vec<Image>) {
        let (is_equal, images) = self.world.settled().await;
        let ledger = self.shared.ledger.lock().unwrap();
        let mut findings = ledger.faults.clone();
        if !is_equal {
            findings.push(format!("UNEQUAL:\n{}", unequal(&images)));
        }
        let contents: Vec<Image> = images.iter().map(Image::without_vector).collect();
        findings.extend(self.compare(contents.iter().all(|content| *content == contents[0])));
        let logs = self.world.logs();
        let conflicts = logs
            .iter()
            .flat_map(|log| log.lines())
            .filter(|line| line.contains("conflict: "));
        let mut judge = Judge {
            mode: self.shared.mode,
            images: &images,
            ledger: &ledger,
            own: self.idle.iter().flatten().map(|writer| &writer.own.entries).collect(),
            conflicts: conflicts.collect(),
            findings,
        };
        judge.judge();
        (judge.findings, images)
    }

    /// What the tool says; it should say the same as the test.
    fn compare(&self, is_equal: bool) -> Option<String> {
        let output = Command::new(Ironbark.program().unwrap())
            .arg("compare-replicas")
            .args(self.world.urls())
            .args([
                "-b",
                SUFFIX,
                "-D",
                "cn=Manager,dc=example,dc=com",
                "-w",
                "secret",
                "--deep",
            ])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let wanted = i32::from(!is_equal);
        (output.status.code() != Some(wanted)).then(|| format!("COMPARED with {:?}: {text}", output.status))
    }

    /// Keeps what is known for who looks for the cause.
    fn keep(&self, seed: u64, findings: &[String], images: &[Image]) {
        let folder = folder(self.shared.mode, seed);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, log) in self.world.logs().iter().enumerate() {
            std::fs::write(folder.join(format!("server-{number}.log")), log).unwrap();
        }
        for (number, image) in images.iter().enumerate() {
            std::fs::write(folder.join(format!("server-{number}.ldif")), image.text()).unwrap();
        }
        std::fs::write(folder.join("findings"), findings.join("\n")).unwrap();
        let ledger = self.shared.ledger.lock().unwrap();
        std::fs::write(folder.join("ledger"), ledger.lines.join("\n")).unwrap();
    }
}

fn unequal(images: &[Image]) -> String {
    let texts: Vec<String> = images.iter().map(Image::text).collect();
    let others = texts.iter().enumerate().skip(1);
    let unlike = others.map(|(number, text)| difference("server 0", &texts[0], &format!("server {number}"), text));
    unlike.collect()
}

/// Runs a storm; the findings.
async fn storm(mode: Mode, seed: u64, operations: usize) -> Vec<String> {
    let mut storm = Storm::begin(mode, seed).await;
    let mut number = 0;
    while storm.shared.ledger.lock().unwrap().lines.len() < operations {
        number += 1;
        storm.note(format!("round {number}"));
        if number % 6 == 0 {
            storm.apart().await;
        } else {
            storm.round().await;
        }
    }
    storm.end().await;
    let (findings, images) = storm.findings().await;
    let ledger = storm.shared.ledger.lock().unwrap();
    let (written, refused) = (ledger.written.len(), format!("{:?}", ledger.refused));
    drop(ledger);
    eprintln!(
        "storm {mode:?} of seed {seed}: {written} acknowledged, refused {refused}, {} findings",
        findings.len()
    );
    if !findings.is_empty() {
        storm.keep(seed, &findings, &images);
    }
    findings
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

async fn storms(mode: Mode, usual_seed: u64) {
    let first = variable("IRONBARK_STORM_SEED").unwrap_or(usual_seed);
    let operations = usize::try_from(variable("IRONBARK_STORM_OPERATIONS").unwrap_or(300)).unwrap();
    let mut failed = Vec::new();
    for seed in first..first + variable("IRONBARK_STORMS").unwrap_or(1) {
        let findings = storm(mode, seed, operations).await;
        if !findings.is_empty() {
            let shown = findings.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
            failed.push(format!(
                "seed {seed}, kept in {}:\n{shown}",
                folder(mode, seed).display()
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[tokio::test]
async fn three_in_a_storm_end_equal_and_lose_nothing() {
    storms(Mode::Plain, 1).await;
}

#[tokio::test]
async fn three_that_follow_logs_in_a_storm_end_equal_and_lose_nothing() {
    storms(Mode::Delta, 1).await;
}

#[tokio::test]
#[ignore = "names used twice at once, and moves of a subtree beside adds below it, may end unequal"]
async fn three_that_follow_logs_in_a_storm_of_everything() {
    storms(Mode::DeltaBeyond, 1).await;
}
