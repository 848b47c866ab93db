//! What clients see under faults is what one server without faults might have shown them (linearizability).

use std::{process::Command, time::Duration};

use ironbark_testkit::wait;

use crate::cluster::trial::{
    Trial,
    clients::{now, say},
    fault::{Fault, Kind},
};

/// Faults that strike at the same time, at most.
const TOGETHER: usize = 3;

/// Random numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn fault(&mut self) -> Fault {
        Fault {
            kind: Kind::ALL[self.roll(Kind::ALL.len())],
            number: self.roll(1 << 20),
        }
    }

    /// One fault, or several that may strike together.
    fn faults(&mut self) -> Vec<Fault> {
        let mut faults = vec![self.fault()];
        for _ in 0..self.roll(TOGETHER) {
            let further = self.fault();
            if faults.iter().all(|one| one.agrees_with(further)) {
                faults.push(further);
            }
        }
        faults
    }
}

/// `MINUTES` in the environment: as many faults as the time allows, in random order, several at a time. `SEED` repeats
/// the order.
#[test]
fn no_client_sees_what_one_server_without_faults_would_not_show() {
    let mut trial = match Trial::begin() {
        Ok(trial) => trial,
        Err(why) => return say(&format!("NOT RUN: the trial of a cluster under faults: {why}")),
    };
    for (number, kind) in Kind::ALL.into_iter().enumerate() {
        trial.strike(&[Fault {
            kind,
            number: number * 7,
        }]);
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(minutes) = number("MINUTES") {
        let seed = number("SEED").unwrap_or_else(|| u64::from(std::process::id()));
        say(&format!("the faults of seed {seed} for {minutes} minutes"));
        let mut dice = Dice(seed);
        // After a finding the cluster may be in any state: what comes then says nothing.
        wait::until_deadline(Duration::from_mins(minutes), || {
            let (faults, begun) = (dice.faults(), now());
            trial.strike(&faults);
            let kinds: Vec<_> = faults.iter().map(|fault| fault.kind.text()).collect();
            say(&format!("{:.1} s: {}", now() - begun, kinds.join("; ")));
            (!trial.findings.is_empty()).then_some(())
        });
    }
    let (table, findings) = trial.judge();
    say(&table);
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn the_judge_finds_what_cannot_have_been_and_nothing_else() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/judge_cases.py");
    let judged = Command::new("/usr/bin/python3").arg("-B").arg(cases).output().unwrap();
    let said = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success(), "{said}");
}
