//! Groups of writes, some of which are refused after an effect: the cost for the others, and the committed result.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
};

use ironbark_directory::{
    OperationError, Started,
    overlay::{AppliedEffect, EffectHooks, Execution, Overlay},
};
use ironbark_harness::{Site, read_answer};
use ironbark_ldap_proto::{AddRequest, MessageId, PartialAttribute, Request, frame, message::encode_request};
use ironbark_model::ResultCode;
use ironbark_store::Effect;

/// Counts how often each add has had its effect, and refuses some after it: `cn=bad...` always, `cn=late...` the second
/// time, and `cn=early...` the first time. `cn=gate` waits until the test has sent all.
struct Referee {
    executed: Mutex<HashMap<String, usize>>,
    arrived: Sender<()>,
    open: Mutex<Receiver<()>>,
}

impl EffectHooks for Referee {
    fn in_transaction(&self, _: &mut Execution<'_, '_>, applied: AppliedEffect<'_>) -> Result<(), OperationError> {
        let Effect::Add { dn, .. } = applied.effect else {
            return Ok(());
        };
        let Some(name) = dn.strip_suffix(",dc=ex") else {
            return Ok(());
        };
        if name == "cn=gate" {
            self.arrived.send(()).expect("the test waits");
            self.open.lock().expect("not poisoned").recv().expect("the test opens");
        }
        let times = {
            let mut executed = self.executed.lock().expect("not poisoned");
            let times = executed.entry(name.to_owned()).or_default();
            *times += 1;
            *times
        };
        let is_refused = name.starts_with("cn=bad")
            || name.starts_with("cn=late") && times == 2
            || name.starts_with("cn=early") && times == 1;
        if is_refused {
            return Err(OperationError::new(ResultCode::CONSTRAINT_VIOLATION, "referee"));
        }
        Ok(())
    }
}

/// A site, and the writes of one group in sending order.
struct Game {
    site: Site,
    referee: Arc<Referee>,
    arrivals: Receiver<()>,
    opener: Sender<()>,
}

impl Game {
    fn new() -> Self {
        let (arrived, arrivals) = channel();
        let (opener, open) = channel();
        let referee = Arc::new(Referee {
            executed: Mutex::default(),
            arrived,
            open: Mutex::new(open),
        });
        let effects: Arc<dyn EffectHooks> = Arc::<Referee>::clone(&referee);
        let mut site = Site::open_with("overlay tested", move |_, _| {
            Ok(Overlay {
                effects: Some(Arc::clone(&effects)),
                ..Overlay::new("referee")
            })
        });
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        Self {
            site,
            referee,
            arrivals,
            opener,
        }
    }

    /// Adds people with these names in one group. Returns the result codes.
    fn play(&mut self, names: &[String]) -> Vec<u32> {
        let gate = self.submit(1, "gate");
        self.arrivals.recv().expect("the writer is at the gate");
        let submitted: Vec<_> = (2..).zip(names).map(|(id, name)| self.submit(id, name)).collect();
        self.opener.send(()).expect("the writer waits");
        let (worker, session) = self.site.parts();
        let codes = [gate].into_iter().chain(submitted).map(|(started, mut out)| {
            match started {
                Started::Submitted(submitted) => {
                    let completion = submitted.receiver.blocking_recv().expect("completes");
                    worker.finish(session, completion, &mut out);
                }
                Started::Answered => {}
                _ => panic!("a write is carried out elsewhere"),
            }
            assert_eq!(frame(&out, 1 << 20).expect("frames"), Some(out.len()), "one answer");
            read_answer(&out).code
        });
        codes.skip(1).collect()
    }

    /// Also returns the answer, if there is one already.
    fn submit(&mut self, id: i32, name: &str) -> (Started, Vec<u8>) {
        let dn = format!("cn={name},dc=ex");
        let attributes = [("objectClass", "person"), ("sn", "s")].map(|(name, value)| (name, [value.as_bytes()]));
        let attributes = attributes.each_ref().map(|(name, values)| PartialAttribute {
            description: name.as_bytes(),
            values: values.as_slice().into(),
        });
        let request = Request::Add(AddRequest {
            entry: dn.as_bytes(),
            attributes: attributes.as_slice().into(),
        });
        let (mut pdu, mut out) = (Vec::new(), Vec::new());
        encode_request(&mut pdu, MessageId::new(id).expect("in range"), &request, &[]);
        let (worker, session) = self.site.parts();
        (worker.start(session, &pdu, &mut out), out)
    }

    fn executed(&self, name: &str) -> usize {
        let executed = self.referee.executed.lock().expect("not poisoned");
        executed.get(&format!("cn={name}")).copied().unwrap_or_default()
    }

    fn is_there(&mut self, name: &str) -> bool {
        self.site.read(&format!("cn={name},dc=ex"), &["1.1"]).is_some()
    }
}

fn names(word: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{word}{number}")).collect()
}

#[test]
fn a_write_is_executed_twice_at_most_however_many_behind_it_are_refused() {
    let mut game = Game::new();
    let all = [names("good", 10), names("bad", 300), names("fine", 10)].concat();
    let codes = game.play(&all);
    for (name, code) in all.iter().zip(codes) {
        let (expected, times) = match name {
            name if name.starts_with("good") => (0, 2),
            name if name.starts_with("bad") => (19, 1),
            _ => (0, 1),
        };
        assert_eq!((code, game.executed(name)), (expected, times), "{name}");
        assert_eq!(game.is_there(name), expected == 0, "{name}");
    }
}

#[test]
fn writes_between_refused_ones_are_executed_twice_at_most() {
    let mut game = Game::new();
    let pairs = names("good", 100).into_iter().zip(names("bad", 100));
    let all: Vec<String> = pairs.flat_map(|(good, bad)| [good, bad]).collect();
    let codes = game.play(&all);
    for (name, code) in all.iter().zip(codes) {
        let (expected, times) = if name.starts_with("good") { (0, 2) } else { (19, 1) };
        assert_eq!((code, game.executed(name)), (expected, times), "{name}");
    }
}

#[test]
fn a_write_that_is_refused_only_the_second_time_leaves_nothing() {
    let mut game = Game::new();
    let all = ["good", "late", "between", "bad", "after"].map(str::to_owned);
    assert_eq!(game.play(&all), [0, 19, 0, 19, 0]);
    // Each refusal costs the writes before it once more, and this one comes when they are executed again.
    assert_eq!(
        ["good", "late", "between", "bad", "after"].map(|name| game.executed(name)),
        [3, 2, 3, 2, 1]
    );
    assert_eq!(
        ["good", "late", "between", "bad", "after"].map(|name| game.is_there(name)),
        [true, false, true, false, true]
    );
}

#[test]
fn what_was_refused_after_an_effect_is_not_tried_again() {
    let mut game = Game::new();
    let all = ["good", "early", "after"].map(str::to_owned);
    assert_eq!(game.play(&all), [0, 19, 0]);
    assert_eq!((game.executed("early"), game.is_there("early")), (1, false));
}

#[test]
fn what_depends_on_a_refused_write_is_refused_and_what_does_not_is_not() {
    let mut game = Game::new();
    let all = ["good", "bad", "x,cn=bad", "y,cn=good", "good"].map(str::to_owned);
    assert_eq!(game.play(&all), [0, 19, 32, 0, 68]);
}

#[test]
fn nothing_of_a_sequence_is_executed_behind_its_refused_write() {
    let mut game = Game::new();
    game.site.parts().1.stop_at_refusal();
    let all = ["good", "bad", "after", "last"].map(str::to_owned);
    assert_eq!(game.play(&all), [0, 19, 118, 118]);
    assert_eq!(
        ["good", "bad", "after", "last"].map(|name| game.executed(name)),
        [2, 1, 0, 0]
    );
}

#[test]
fn nothing_of_a_sequence_is_executed_behind_a_write_that_is_refused_before_the_writer_has_it() {
    let mut game = Game::new();
    game.site.parts().1.stop_at_refusal();
    let all = ["good", "no,name", "after", "last"].map(str::to_owned);
    assert_eq!(game.play(&all), [0, 34, 118, 118]);
    assert_eq!(["good", "after", "last"].map(|name| game.executed(name)), [1, 0, 0]);
}

#[test]
fn commits_are_counted_with_what_they_hold() {
    let mut game = Game::new();
    let before = game.site.directory.statistics().committed_writes();
    game.play(&[names("good", 3), names("bad", 5), names("fine", 4)].concat());
    let statistics = game.site.directory.statistics();
    assert_eq!(statistics.committed_writes() - before, 8, "with the one at the gate");
    let groups: Vec<_> = statistics
        .commits()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .collect();
    // One entry and the gate alone; three; four: each is counted under the next power of two.
    assert_eq!(groups, [(1, 2), (4, 2)]);
}
