//! Two databases of a cluster whose log is in memory. It arranges what comes between the steps of a commit, which a
//! real log cannot.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, Ordering::SeqCst},
    },
    time::Duration,
};

use ironbark_directory::{Append, CommitLog, Received, Seat, Turn};
use ironbark_harness::{Site, peer};
use ironbark_store::{Batch, ClusterLogPlace, change::Position};

/// The batches of a log.
type Batches = Arc<Mutex<Vec<Arc<Received>>>>;

/// The log, as one server sees it.
#[derive(Clone, Debug)]
struct ServerLog {
    batches: Batches,
    faults: Arc<Faults>,
    server: u8,
}

#[derive(Default, Debug)]
struct Faults {
    /// The server learns of batches only when it is overtaken.
    is_late: AtomicBool,
    /// The log is not reached.
    is_away: AtomicBool,
    marks: AtomicU8,
}

fn origin() -> ClusterLogPlace {
    ClusterLogPlace {
        position: Position {
            generation: 7,
            sequence: 0,
        },
        chain: [0; 16],
    }
}

impl ServerLog {
    fn end_now(&self) -> ClusterLogPlace {
        let batches = self.batches.lock().unwrap();
        batches.last().map_or_else(origin, |last| last.behind)
    }

    /// The answer to who wants to append behind a place. A server that was overtaken gets the batches.
    fn judge(&self, place: ClusterLogPlace) -> Append {
        if self.faults.is_away.load(SeqCst) {
            return Append::Away;
        }
        if place == self.end_now() {
            return Append::Committed;
        }
        self.faults.is_late.store(false, SeqCst);
        Append::Overtaken
    }
}

impl CommitLog for ServerLog {
    fn generation(&self) -> Option<u64> {
        Some(origin().position.generation)
    }
    fn reached(&self, _: ClusterLogPlace) {}
    fn kept(&self, _: u64) {}
    fn next(&self, place: ClusterLogPlace) -> Option<Arc<Received>> {
        if self.faults.is_late.load(SeqCst) {
            return None;
        }
        let batches = self.batches.lock().unwrap();
        let begins = std::iter::once(origin()).chain(batches.iter().map(|one| one.behind));
        let mut pairs = begins.zip(batches.iter());
        pairs.find(|(begin, _)| *begin == place).map(|(_, one)| Arc::clone(one))
    }
    fn turn(&self, place: ClusterLogPlace, _: Duration) -> Turn {
        let is_behind = !self.faults.is_late.load(SeqCst) && place != self.end_now();
        if is_behind { Turn::Behind } else { Turn::Mine }
    }
    fn append(&self, place: ClusterLogPlace, batch: &[u8], last: u64, _: bool, _: Duration) -> Append {
        let append = self.judge(place);
        if append == Append::Committed {
            self.batches.lock().unwrap().push(Arc::new(Received {
                batch: Batch::decode(batch).unwrap(),
                behind: place.behind(batch, last),
                octets: batch.len(),
            }));
        }
        append
    }
    fn confirm(&self, place: ClusterLogPlace, _: Duration) -> Append {
        self.judge(place)
    }
    fn end(&self, _: Duration) -> Option<ClusterLogPlace> {
        Some(self.end_now())
    }
    fn may_be_older_than(&self, _: Duration) -> bool {
        false
    }
    fn mark(&self) -> [u8; 16] {
        [self.server.wrapping_mul(100) + self.faults.marks.fetch_add(1, SeqCst); 16]
    }
    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }
    fn failed(&self, _: ClusterLogPlace, _: &str) {}
}

/// A server whose database takes its changes from these batches.
fn server(number: u8, batches: &Batches) -> (Site, Arc<Faults>) {
    let site = Site::open_server(number.into(), "cluster http://192.0.2.1:2379");
    let log = ServerLog {
        batches: Arc::clone(batches),
        faults: Arc::default(),
        server: number,
    };
    let faults = Arc::clone(&log.faults);
    Seat::of(&peer::context(&site))
        .expect("of a cluster")
        .take_log(Some(Box::new(log)));
    (site, faults)
}

/// A person with this name.
fn add(site: &mut Site, name: &str) -> u32 {
    let dn = format!("cn={name},ou=p,dc=ex");
    site.add(&dn, "objectClass: person\nsn: s").brief().0
}

fn has(site: &mut Site, name: &str) -> bool {
    site.read(&format!("cn={name},ou=p,dc=ex"), &["cn"]).is_some()
}

#[test]
fn an_overtaken_group_is_executed_again_behind_what_came_before_it() {
    let batches = Batches::default();
    let (mut one, _) = server(1, &batches);
    let (mut other, faults) = server(2, &batches);
    one.populate();
    assert_eq!(add(&mut other, "first"), 0, "it has applied what the log had");
    // Its first execution finds no such entry.
    faults.is_late.store(true, SeqCst);
    assert_eq!(add(&mut one, "both"), 0);
    assert_eq!(add(&mut other, "both"), 68);
    // A success is one behind what it had not seen.
    faults.is_late.store(true, SeqCst);
    assert_eq!(add(&mut one, "mine"), 0);
    assert_eq!(add(&mut other, "yours"), 0);
    assert_eq!(add(&mut one, "last"), 0);
    for name in ["first", "both", "mine", "yours"] {
        assert!(has(&mut one, name) && has(&mut other, name), "{name}");
    }
}

#[test]
fn a_refusal_that_rests_on_old_data_does_not_count() {
    let batches = Batches::default();
    let (mut one, _) = server(1, &batches);
    let (mut other, faults) = server(2, &batches);
    one.populate();
    assert_eq!(add(&mut other, "gone"), 0);
    assert_eq!(add(&mut one, "behind"), 0);
    faults.is_late.store(true, SeqCst);
    assert_eq!(one.delete("cn=gone,ou=p,dc=ex").brief().0, 0);
    assert_eq!(add(&mut other, "gone"), 0, "the first answer would be that it exists");
}

#[test]
fn what_the_log_does_not_take_is_not_here() {
    let batches = Batches::default();
    let (mut site, faults) = server(1, &batches);
    site.populate();
    let taken = batches.lock().unwrap().len();
    faults.is_away.store(true, SeqCst);
    assert_eq!(add(&mut site, "new"), 51);
    // A refusal is not confirmed either.
    assert_eq!(add(&mut site, "a"), 51);
    assert!(!has(&mut site, "new"));
    faults.is_away.store(false, SeqCst);
    assert_eq!(add(&mut site, "a"), 68);
    assert_eq!(add(&mut site, "new"), 0);
    assert_eq!(batches.lock().unwrap().len(), taken + 1);
}
