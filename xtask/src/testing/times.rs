//! The file of times: `speed` and the seconds of a fixed calculation, then a line `program seconds` for each program.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result};

/// Processor seconds of the test programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// Seconds that the machine takes for a fixed calculation.
    speed_s: f64,
    programs: BTreeMap<String, f64>,
}

impl Times {
    /// No times, of a machine of this speed.
    pub(super) fn new(speed_s: f64) -> Self {
        Self {
            speed_s,
            programs: BTreeMap::new(),
        }
    }

    /// Notes what a program took.
    pub(super) fn add(&mut self, program: &str, seconds: f64) {
        self.programs.insert(program.to_owned(), seconds);
    }

    /// Of all programs.
    pub(super) fn total(&self) -> f64 {
        self.programs.values().sum()
    }

    /// Reads the file; skips empty lines and lines that begin with `#`.
    pub(super) fn read(text: &str) -> Result<Self> {
        let mut times = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, seconds) = line.rsplit_once(' ').with_context(|| format!("no time: {line}"))?;
            let seconds = seconds.parse().with_context(|| format!("no number: {line}"))?;
            match name.trim_end() {
                SPEED => times.speed_s = seconds,
                name => times.add(name, seconds),
            }
        }
        Ok(times)
    }

    /// One line for each program that takes clearly longer than `known` allows.
    pub(super) fn excess(&self, known: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, seconds) in &self.programs {
            let Some(known_s) = known.programs.get(name) else {
                lines.push(format!(
                    "{name} has no time in the file; `cargo xtask test --accept` adds it"
                ));
                continue;
            };
            let allowed = known_s * self.speed_s / known.speed_s * TOLERANCE + GRANULE_S;
            if *seconds > allowed {
                lines.push(format!(
                    "{name} takes {seconds:.0} s of the processor; {known_s:.0} s are its time, {allowed:.0} s are \
                     allowed on this machine"
                ));
            }
        }
        lines
    }

    /// These times on the machine of `known`, none higher than there. Programs that are gone are left out.
    pub(super) fn lowered(&self, known: &Self) -> Self {
        let speed_s = if known.programs.is_empty() {
            self.speed_s
        } else {
            known.speed_s
        };
        let programs = self.programs.iter().map(|(name, seconds)| {
            let here = (seconds * speed_s / self.speed_s).ceil().max(1.0);
            let lower = known.programs.get(name).map_or(here, |there| there.min(here));
            (name.clone(), lower)
        });
        Self {
            speed_s,
            programs: programs.collect(),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}\n{SPEED:<40} {:.3}", self.speed_s)?;
        for (name, seconds) in &self.programs {
            writeln!(f, "{name:<40} {seconds}")?;
        }
        Ok(())
    }
}

const SPEED: &str = "speed";
/// Machines differ in more than the calculation shows.
const TOLERANCE: f64 = 1.6;
/// Short programs vary by more than a part of their time.
const GRANULE_S: f64 = 3.0;
const HEADER: &str = "# Processor seconds of each test program, and of a fixed calculation (speed).
# `cargo xtask test` compares, and with --accept it writes lower times.
# A higher time is written by hand; its commit gives the reason.";

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# words\nspeed 0.500\nmodel all 10\nstore all 4\n";

    fn times(speed_s: f64, programs: &[(&str, f64)]) -> Times {
        let mut times = Times::new(speed_s);
        for (name, seconds) in programs {
            times.add(name, *seconds);
        }
        times
    }

    #[test]
    fn a_program_fails_when_it_takes_clearly_longer_than_its_time_on_this_machine() {
        let known = Times::read(FILE).unwrap();
        let half_as_fast = |seconds| times(1.0, &[("model all", seconds)]).excess(&known);
        assert!(half_as_fast(34.9).is_empty());
        assert_eq!(half_as_fast(35.1).len(), 1);
        assert_eq!(times(0.5, &[("new all", 1.0)]).excess(&known).len(), 1);
    }

    #[test]
    fn times_only_shrink() {
        let known = Times::read(FILE).unwrap();
        let measured = times(1.0, &[("model all", 12.0), ("store all", 16.0), ("new all", 0.2)]);
        let lowered = measured.lowered(&known);
        let expected = times(0.5, &[("model all", 6.0), ("new all", 1.0), ("store all", 4.0)]);
        assert_eq!(lowered, expected);
        assert_eq!(Times::read(&lowered.to_string()).unwrap(), lowered);
    }

    #[test]
    fn a_line_without_a_number_is_an_error() {
        assert!(Times::read("model all").is_err());
        assert!(Times::read("model").is_err());
    }
}
