//! Two processes in turns on one database: random reads, writes, refusals, failures and kills. What each process shows
//! is what a model has, and after all of it the file is sound.
//!
//! `IRONBARK_TURNS` says how many schedules are run. A schedule that fails is told with its number, which
//! `IRONBARK_TURNS_FROM` takes as the first one.

use super::{
    model::{Act, Model, Step},
    process::{ENDS, Process},
};
use crate::points::Point;

/// What a process has open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Closed,
    Reading,
    Writing,
}

/// One of the two processes.
struct Side {
    process: Process,
    mode: Mode,
    /// What its snapshot shows that it keeps.
    held: Option<Model>,
}

impl Side {
    fn new() -> Self {
        Self {
            process: Process::start(),
            mode: Mode::Closed,
            held: None,
        }
    }

    fn is_gone(&mut self) {
        self.process.kill();
        *self = Self::new();
    }
}

/// A schedule under way.
struct Schedule<'s> {
    number: u64,
    random: u64,
    directory: &'s str,
    sides: &'s mut [Side; 2],
    model: Model,
    counts: &'s mut Counts,
    orders: Vec<String>,
}

/// What has happened in all schedules.
#[derive(Default, Debug)]
struct Counts {
    orders: u64,
    refused: u64,
    in_use: u64,
    failed: u64,
    killed: u64,
    most_sets: usize,
}

impl Drop for Schedule<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "IRONBARK_TURNS_FROM={}: {:#?}\n{:?}",
                self.number, self.orders, self.model
            );
        }
    }
}

impl Schedule<'_> {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % end
    }

    fn one_of(&mut self, end: u8) -> u8 {
        u8::try_from(self.below(u64::from(end))).unwrap()
    }

    fn ask(&mut self, side: usize, order: &str) -> Option<String> {
        self.orders.push(format!("{side}: {order}"));
        self.counts.orders += 1;
        self.sides[side].process.ask(order)
    }

    fn expect(&mut self, side: usize, order: &str, expected: &str) {
        let answer = self.ask(side, order);
        assert_eq!(answer.as_deref(), Some(expected), "{side}: {order}");
    }

    fn run(&mut self) {
        self.open(0, Mode::Writing);
        self.write(0, "commit");
        for _ in 0..16 {
            let side = usize::from(self.one_of(2));
            self.turn(side);
        }
        for side in [0, 1] {
            self.close(side);
        }
        self.open(1, Mode::Writing);
        self.read(1);
        self.expect(1, "check", "done");
        self.close(1);
    }

    fn turn(&mut self, side: usize) {
        match (self.sides[side].mode, self.below(16)) {
            (Mode::Closed, 0..10) => self.open(side, Mode::Writing),
            (Mode::Closed, _) => self.open(side, Mode::Reading),
            (Mode::Writing, 0..6) => self.write(side, "commit"),
            (Mode::Writing, 6..10) => self.write(side, "drop"),
            (Mode::Writing, 10..12) => self.write(side, "full"),
            (Mode::Writing, 12) if self.below(2) == 0 => self.die(side),
            (_, 12..14) => self.hold(side),
            (Mode::Writing, 14) | (Mode::Reading, 14..) => self.close(side),
            _ => {}
        }
        for side in [0, 1] {
            self.read(side);
        }
    }

    fn open(&mut self, side: usize, mode: Mode) {
        let order = if mode == Mode::Writing { "open" } else { "look" };
        let order = format!("{order} {}", self.directory);
        if mode == Mode::Writing && self.sides[1 - side].mode == Mode::Writing {
            self.counts.in_use += 1;
            return self.expect(side, &order, "in use");
        }
        self.expect(side, &order, "done");
        self.sides[side].mode = mode;
    }

    fn close(&mut self, side: usize) {
        self.expect(side, "close", "done");
        self.sides[side].mode = Mode::Closed;
        self.sides[side].held = None;
    }

    fn hold(&mut self, side: usize) {
        self.expect(side, "hold", "done");
        self.sides[side].held = Some(self.model.clone());
    }

    fn read(&mut self, side: usize) {
        if self.sides[side].mode == Mode::Closed {
            return;
        }
        let answer = self.ask(side, "read").unwrap();
        let (shown, sets) = answer.strip_suffix(')').unwrap().rsplit_once(", ").unwrap();
        assert_eq!(shown, format!("({:?}", self.model), "{side}");
        self.counts.most_sets = self.counts.most_sets.max(sets.parse().unwrap());
        if let Some(held) = self.sides[side].held.clone() {
            self.expect(side, "held", &format!("{held:?}"));
        }
    }

    /// One transaction, which ends as said.
    fn write(&mut self, side: usize, ending: &str) {
        let (steps, after) = self.steps();
        let answer = self.ask(side, &format!("write {ending} {steps}"));
        match (after, ending, answer.as_deref()) {
            (None, _, Some("refused")) => self.counts.refused += 1,
            (Some(after), "commit" | "full", Some("done")) => self.model = after,
            (Some(_), "full", Some("failed")) => self.counts.failed += 1,
            (Some(_), "drop", Some("dropped")) => {}
            (_, _, answer) => panic!("{side}: {ending}: {answer:?}"),
        }
    }

    /// A process ends by kill -9 in the middle of a commit.
    fn die(&mut self, side: usize) {
        let (steps, after) = self.steps();
        let at = ENDS[usize::from(self.one_of(ENDS.len() as u8))];
        let answer = self.ask(side, &format!("write {at:?} {steps}"));
        match (after, at, answer.as_deref()) {
            (_, Point::Begun, None) => {}
            (None, _, Some("refused")) => return,
            (Some(after), Point::Committed, None) => self.model = after,
            (Some(_), _, None) => {}
            (_, _, answer) => panic!("{side}: {at:?}: {answer:?}"),
        }
        self.counts.killed += 1;
        self.sides[side].is_gone();
    }

    fn step(&mut self, model: &Model) -> Step {
        let mut step = Step {
            act: ACTS[usize::from(self.one_of(ACTS.len() as u8))],
            entry: self.one_of(12),
            option: self.one_of(4).saturating_sub(1),
            value: self.one_of(6),
        };
        // The directory never asks the store for a value twice.
        if step.act == Act::More && model.has(step) {
            step.act = Act::Set;
        }
        step
    }

    /// Changes, and what is there after them. `None`: one of them must be refused.
    fn steps(&mut self) -> (String, Option<Model>) {
        let mut after = self.model.clone();
        let (mut texts, mut is_applicable) = (Vec::new(), true);
        for _ in 0..=self.below(6) {
            let mut step = self.step(&after);
            // Few of what is drawn without a look is refused.
            while !after.clone().apply(step) && self.below(16) > 0 {
                step = self.step(&after);
            }
            texts.push(step.to_string());
            is_applicable = after.apply(step);
            if !is_applicable {
                break;
            }
        }
        (texts.join(" "), is_applicable.then_some(after))
    }
}

/// Half of the changes make the same sets again and again.
const ACTS: [Act; 8] = [
    Act::Add,
    Act::Add,
    Act::Set,
    Act::Set,
    Act::Set,
    Act::More,
    Act::Less,
    Act::Delete,
];

fn number_in(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn two_processes_show_what_a_model_has() {
    let (first, count) = (number_in("IRONBARK_TURNS_FROM", 1), number_in("IRONBARK_TURNS", 150));
    let mut sides = [Side::new(), Side::new()];
    let mut counts = Counts::default();
    for number in first..first + count {
        let folder = tempfile::tempdir().unwrap();
        let mut schedule = Schedule {
            number,
            random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            directory: folder.path().to_str().unwrap(),
            sides: &mut sides,
            model: Model::default(),
            counts: &mut counts,
            orders: Vec::new(),
        };
        schedule.run();
    }
    eprintln!("{count} schedules: {counts:?}");
    if count >= 100 {
        let Counts {
            refused,
            in_use,
            failed,
            killed,
            most_sets,
            ..
        } = counts;
        assert!(
            refused > 0 && in_use > 0 && failed > 0 && killed > 0 && most_sets > 1,
            "{counts:?}"
        );
    }
}
