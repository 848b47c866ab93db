//! What was tried, and what was found.

use std::fmt::Write as _;

use crate::cluster::trial::{
    clients::Finding,
    fault::{Fault, Kind},
};

/// Faults that have struck: kinds that struck together, begin and end in seconds, operations meanwhile.
#[derive(Default)]
pub(crate) struct Table(Vec<(Vec<Kind>, (f64, f64), usize)>);

impl Table {
    pub(crate) fn struck(&mut self, faults: &[Fault], time: (f64, f64), operations: usize) {
        self.0
            .push((faults.iter().map(|fault| fault.kind).collect(), time, operations));
    }

    /// Rows: kind, how often, how often together with others, operations and findings meanwhile.
    pub(crate) fn text(&self, findings: &[Finding]) -> String {
        let mut text = String::from("| fault | times | with others | operations | findings |\n|---|---|---|---|---|\n");
        for kind in Kind::ALL {
            let strikes: Vec<_> = self.0.iter().filter(|(kinds, ..)| kinds.contains(&kind)).collect();
            let times = strikes
                .iter()
                .flat_map(|(kinds, ..)| kinds)
                .filter(|one| **one == kind)
                .count();
            let together = strikes.iter().filter(|(kinds, ..)| kinds.len() > 1).count();
            let operations: usize = strikes.iter().map(|(.., operations)| operations).sum();
            let meanwhile = |at: f64| strikes.iter().any(|(_, (begin, end), _)| *begin <= at && at <= *end);
            let findings = findings.iter().filter(|(at, _)| meanwhile(*at)).count();
            writeln!(
                text,
                "| {} | {times} | {together} | {operations} | {findings} |",
                kind.text()
            )
            .unwrap();
        }
        let faults: usize = self.0.iter().map(|(kinds, ..)| kinds.len()).sum();
        let operations: usize = self.0.iter().map(|(.., operations)| operations).sum();
        writeln!(text, "| all | {faults} | | {operations} | {} |", findings.len()).unwrap();
        text
    }
}
