//! The course of a storm: rounds in which all clients write, and something happens to a server.

use std::sync::{Arc, Mutex};

use tokio::{sync::watch, task::JoinHandle};

use super::{
    Mode,
    client::{Outcome, Shared, Writer},
    held::{self, Image, SUFFIX},
    ledger::{Ledger, Request},
    outcome::unequal,
    own::addition,
    shared::{CARRIERS, GROUPS, PLACES, group, member},
    world::{Event, State, World},
};
use crate::replication::mesh::Random;

const WRITERS: usize = 6;
/// Operations of a client in a round.
const BURST: usize = 12;

/// A storm under way.
pub(super) struct Storm {
    pub(super) world: World,
    states: Vec<State>,
    random: Random,
    pub(super) shared: Shared,
    /// Those that write nothing now.
    pub(super) idle: Vec<Option<Writer>>,
    tasks: Vec<Option<JoinHandle<Writer>>>,
}

impl Storm {
    pub(super) async fn begin(mode: Mode, seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let has_short_log = mode != Mode::Delta && (0..20).map(|_| random.below(3)).last() != Some(0);
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
        let (is_equal, images) = self.world.settled(Image::clone).await;
        assert!(is_equal, "before the storm: {}", unequal(&images));
    }

    /// Adds what is never deleted.
    async fn prepare(&mut self, seed: u64) {
        let address = &self.world.addresses[0];
        let mut first = Writer::new(WRITERS, (0, address), seed, &self.shared);
        let image = held::images(std::slice::from_ref(address)).await.unwrap().remove(0);
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

    pub(super) fn note(&self, what: String) {
        self.shared.ledger.lock().unwrap().note_event(what);
    }

    /// Lets clients of running servers begin to write.
    fn set_off(&mut self, is_meant: impl Fn(usize) -> bool) -> usize {
        let mut begun = 0;
        for number in 0..WRITERS {
            let server = number % self.states.len();
            if self.states[server] == State::Running
                && is_meant(server)
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
    pub(super) async fn round(&mut self) {
        self.shared.progress.send_replace(0);
        let server = self.next_victim();
        let event = self.event_at(server);
        let mode = self.shared.mode;
        let waits = event.is_some_and(Event::ends_process) && mode.forgets_its_last_change(server);
        let begun = self.set_off(|other| !(waits && other == server));
        let moment = self.random.below(BURST * begun + 1);
        let mut progress = self.shared.progress.subscribe();
        progress.wait_for(|done| *done >= moment).await.unwrap();
        if let Some(event) = event {
            self.happen(server, event).await;
        }
        self.gather().await;
        if !self.states.contains(&State::Running) {
            self.all_run().await;
        }
    }

    fn next_victim(&mut self) -> usize {
        let server = self.random.below(self.states.len());
        if !self.shared.mode.comes_back_in_calm() {
            return server;
        }
        let away = self.states.iter().position(|state| *state != State::Running);
        away.unwrap_or(server)
    }

    fn event_at(&mut self, server: usize) -> Option<Event> {
        if self.shared.mode.comes_back_in_calm() {
            let events = [Event::Kill, Event::Stop, Event::Freeze];
            let event = events[self.random.below(events.len())];
            return (self.states[server] == State::Running).then_some(event);
        }
        Some(match (self.states[server], self.random.below(7)) {
            (State::Running, 0 | 1) => Event::KillAndStart,
            (State::Running, 2) => Event::StopAndStart,
            (State::Running, 3) => Event::Kill,
            (State::Running, 4) => Event::Stop,
            (State::Running, 5) => Event::Freeze,
            (State::Frozen, 0) => Event::Kill,
            (State::Frozen, 1..5) => Event::Thaw,
            (State::Away, 0..4) => Event::Start,
            _ => return None,
        })
    }

    /// The server that was away comes back, nobody writes, and all become equal. Otherwise how they differ.
    pub(super) async fn calm(&mut self) -> Option<String> {
        let away: Vec<usize> = (0..self.states.len())
            .filter(|server| self.states[*server] == State::Away)
            .collect();
        let before = self.world.logs().iter().map(String::len).collect();
        self.all_run().await;
        self.world.refreshed_at_slapd(away, before).await;
        let (is_equal, images) = self.world.settled(Image::clone).await;
        (!is_equal).then(|| unequal(&images))
    }

    /// Each server is alone for a while, and takes writes.
    pub(super) async fn apart(&mut self) {
        self.all_run().await;
        let begin = self.random.below(self.states.len());
        for server in 0..self.states.len() {
            self.happen(server, Event::Stop).await;
        }
        for step in 0..self.states.len() {
            let server = (begin + step) % self.states.len();
            self.happen(server, Event::Start).await;
            self.set_off(|only| only == server);
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
    pub(super) async fn end(&mut self) {
        self.all_run().await;
        for writer in self.idle.iter_mut().flatten() {
            while writer.own.has_open() {
                writer.settle().await;
                tokio::task::yield_now().await;
            }
        }
    }
}
