//! What is to be measured.

use std::time::Duration;

use crate::{target::TargetError, wire::RequestSlot};

/// One measurement: the number of connections and the length.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Connections.
    pub connections: u32,
    /// Requests under way on each connection at most, 1 to [`RequestSlot::MOST`].
    pub in_flight: u16,
    /// When requests leave.
    pub arrival: Arrival,
    /// Time before the measurement, with the same load.
    pub warm_up: Duration,
    /// Length of the measurement.
    pub duration: Duration,
    /// The measurement ends after this many requests, if they come first. Those of the warm-up count too.
    pub requests: Option<u64>,
    /// Longest time without any answer while requests are under way. After that the requests are given up, and the
    /// measurement ends.
    pub patience: Duration,
    /// Threads that generate the load.
    pub threads: u32,
    /// The server's process, if its processor time is measured.
    pub server: Option<u32>,
}

/// When requests leave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrival {
    /// As soon as an answer frees a slot.
    Closed,
    /// At a fixed rate.
    Open {
        /// Requests a second of all connections together.
        rate: f64,
    },
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No connection.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The system refuses a thread, a poll, or the figures of a process.
    #[error("{what}: {source}")]
    System {
        /// The attempted operation.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A number is out of its range.
    #[error("{0}")]
    Plan(String),
}

impl Measurement {
    /// Whether it can be carried out.
    ///
    /// # Errors
    /// [`EngineError::Plan`]: a number is out of its range.
    pub fn check(&self) -> Result<(), EngineError> {
        let refuse = |text: &str| Err(EngineError::Plan(text.to_owned()));
        if self.connections == 0 || self.threads == 0 {
            return refuse("at least one connection and one thread are needed");
        }
        if self.in_flight == 0 || self.in_flight > RequestSlot::MOST {
            return Err(EngineError::Plan(format!(
                "requests in flight: 1 to {}",
                RequestSlot::MOST
            )));
        }
        if self.duration.is_zero() {
            return refuse("a measurement takes longer than no time");
        }
        if let Arrival::Open { rate } = self.arrival
            && !(rate.is_finite() && (0.001..=1e9).contains(&rate))
        {
            return refuse("the rate is 0.001 to 1,000,000,000 requests a second");
        }
        Ok(())
    }
}
