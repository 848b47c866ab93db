//! Runs one workload with one number of clients after the other.

use std::collections::VecDeque;

use crate::{
    engine::{self, EngineError, Measurement, MeasurementProgress},
    result::{Point, Unit},
    target::Target,
    workload::Workload,
};

/// The numbers of clients that are measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Steps {
    /// These, in this order.
    Given(Vec<u32>),
    /// More and more clients, until three steps bring no gain, as in SLAMD's optimizing jobs.
    Optimize {
        /// Clients of the first measurement.
        start: u32,
        /// Clients that each next measurement adds.
        increment: u32,
        /// The greatest number of clients, if every step brings a gain.
        most: u32,
    },
}

/// Gives the numbers of clients one after the other, and learns the rates that they reach.
#[derive(Clone, Debug)]
struct Walk {
    left: VecDeque<u32>,
    optimize: Option<Optimize>,
}

#[derive(Clone, Copy, Debug)]
struct Optimize {
    next: u32,
    increment: u32,
    most: u32,
    best: f64,
    without_gain: u32,
}

/// Measures each step. `each` gets its result before the next step begins, and may add to it. `progress` gets the
/// number of clients and the progress of the step.
///
/// # Errors
/// Those of [`engine::run`]. Earlier measurements are then lost.
pub fn run(
    workload: &dyn Workload,
    plan: &Measurement,
    steps: &Steps,
    target: &Target,
    progress: &mut dyn FnMut(u32, MeasurementProgress),
    each: &mut dyn FnMut(&mut Point),
) -> Result<Vec<Point>, EngineError> {
    let mut walk = Walk::new(steps);
    let mut points = Vec::new();
    while let Some(clients) = walk.next() {
        let plan = Measurement {
            connections: clients,
            ..plan.clone()
        };
        let mut point = engine::run(workload, &plan, target, &mut |so_far| progress(clients, so_far))?;
        each(&mut point);
        walk.hear(match workload.unit() {
            Unit::Operations => point.rate,
            Unit::Entries => point.entries_rate,
        });
        points.push(point);
    }
    Ok(points)
}

impl Walk {
    fn new(steps: &Steps) -> Self {
        match *steps {
            Steps::Given(ref clients) => Self {
                left: clients.iter().copied().collect(),
                optimize: None,
            },
            Steps::Optimize { start, increment, most } => Self {
                left: VecDeque::new(),
                optimize: Some(Optimize {
                    next: start,
                    increment: increment.max(1),
                    most,
                    best: 0.0,
                    without_gain: 0,
                }),
            },
        }
    }

    fn next(&mut self) -> Option<u32> {
        let Some(optimize) = &mut self.optimize else {
            return self.left.pop_front();
        };
        if optimize.without_gain >= STEPS_WITHOUT_GAIN || optimize.next > optimize.most {
            return None;
        }
        let clients = optimize.next;
        optimize.next = clients.saturating_add(optimize.increment);
        Some(clients)
    }

    fn hear(&mut self, rate: f64) {
        if let Some(optimize) = &mut self.optimize {
            if rate > optimize.best {
                optimize.best = rate;
                optimize.without_gain = 0;
            } else {
                optimize.without_gain += 1;
            }
        }
    }
}

const STEPS_WITHOUT_GAIN: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(steps: &Steps, rates: &[f64]) -> Vec<u32> {
        let mut walk = Walk::new(steps);
        let mut seen = Vec::new();
        for rate in rates {
            let Some(clients) = walk.next() else { break };
            seen.push(clients);
            walk.hear(*rate);
        }
        seen
    }

    #[test]
    fn given_numbers_are_measured_in_their_order() {
        assert_eq!(walked(&Steps::Given(vec![3, 1, 2]), &[1.0; 9]), [3, 1, 2]);
    }

    #[test]
    fn three_steps_without_gain_end_an_optimization() {
        let steps = |most| Steps::Optimize {
            start: 1,
            increment: 4,
            most,
        };
        let rates = [10.0, 20.0, 20.0, 15.0, 21.0, 20.0, 19.0, 18.0, 30.0];
        assert_eq!(walked(&steps(100), &rates), [1, 5, 9, 13, 17, 21, 25, 29]);
        assert_eq!(walked(&steps(10), &rates), [1, 5, 9]);
    }
}
