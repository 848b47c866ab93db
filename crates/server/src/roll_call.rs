//! Whether every reactor still takes turns: all are called, and each answers at its next turn.
//!
//! A watchdog must not be fed by a thread that works while another one hangs. So the process counts as alive when all
//! reactors have answered the last call, and only then.

use std::{
    convert::Infallible,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ironbark_runtime::Supervisor;
use tokio::sync::watch;

/// The calling side.
#[derive(Debug)]
pub(crate) struct RollCall {
    /// The number of the last call.
    calls: watch::Sender<u64>,
    /// The last call that each reactor has answered.
    answered: Vec<Arc<AtomicU64>>,
}

/// The side of one reactor.
#[derive(Debug)]
pub(crate) struct RollAnswer {
    calls: watch::Receiver<u64>,
    answered: Arc<AtomicU64>,
}

impl RollCall {
    /// One answer for each of `count` reactors.
    pub(crate) fn new(count: usize) -> (Self, Vec<RollAnswer>) {
        let (calls, receiver) = watch::channel(0);
        let answered: Vec<Arc<AtomicU64>> = (0..count).map(|_| Arc::default()).collect();
        let answers = answered
            .iter()
            .map(|answered| RollAnswer {
                calls: receiver.clone(),
                answered: Arc::clone(answered),
            })
            .collect();
        (Self { calls, answered }, answers)
    }

    fn call(&self) {
        self.calls.send_modify(|number| *number += 1);
    }

    /// The reactors that have not answered the last call, by their numbers.
    fn missing(&self) -> Vec<usize> {
        let called = *self.calls.borrow();
        let has_not_answered = |answered: &AtomicU64| answered.load(Ordering::Acquire) != called;
        let reactors = self.answered.iter().enumerate();
        reactors
            .filter(|(_, answered)| has_not_answered(answered))
            .map(|(index, _)| index)
            .collect()
    }

    /// Feeds the watchdog of the supervisor for as long as every reactor takes turns. Returns never; without a watchdog
    /// nobody is called.
    pub(crate) async fn keep_alive(&self, supervisor: &Supervisor) -> Infallible {
        let Some(limit) = supervisor.watchdog() else {
            return std::future::pending().await;
        };
        let mut is_reported = false;
        loop {
            self.call();
            let mut waits = 0_u32;
            loop {
                tokio::time::sleep(limit / TICKS_PER_LIMIT).await;
                let missing = self.missing();
                if missing.is_empty() {
                    is_reported = false;
                    tell(supervisor.alive());
                    break;
                }
                waits = waits.saturating_add(1);
                if waits >= TICKS_PER_LIMIT / 2 && !is_reported {
                    is_reported = true;
                    let (seconds, half) = (limit.as_secs_f32(), (limit / 2).as_secs_f32());
                    tracing::error!(target: "any", "daemon: reactors {missing:?} have taken no turn for {half} s; the watchdog bites after {seconds} s");
                }
            }
        }
    }
}

impl RollAnswer {
    /// Waits for the next call. May be dropped without losing one. After the end of the calling side it waits forever.
    pub(crate) async fn called(&mut self) -> u64 {
        match self.calls.changed().await {
            Ok(()) => *self.calls.borrow_and_update(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Answers the call `number`.
    pub(crate) fn answer(&self, number: u64) {
        self.answered.store(number, Ordering::Release);
    }
}

/// Logs that the supervisor has not taken a message. It is no reason to end: the supervisor decides.
pub(crate) fn tell(told: io::Result<()>) {
    if let Err(error) = told {
        tracing::warn!(target: "any", "daemon: the supervisor takes no message: {error}");
    }
}

/// A call is looked after so often in the time of the watchdog. A healthy server so reports in a quarter of it.
const TICKS_PER_LIMIT: u32 = 4;

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixDatagram, time::Duration};

    use ironbark_runtime::SupervisorSettings;

    use super::*;

    fn supervised(watchdog_ms: u64) -> (tempfile::TempDir, UnixDatagram, Supervisor) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let settings = SupervisorSettings {
            socket: Some(path.into_os_string()),
            watchdog: Some((watchdog_ms * 1_000).to_string().into()),
            watched_process: None,
        };
        let supervisor = Supervisor::connect(&settings).unwrap();
        (folder, socket, supervisor)
    }

    fn messages(socket: &UnixDatagram) -> usize {
        socket.set_nonblocking(true).unwrap();
        let mut buffer = [0; 64];
        let mut number = 0;
        while let Ok(length) = socket.recv(&mut buffer) {
            assert_eq!(&buffer[..length], b"WATCHDOG=1");
            number += 1;
        }
        number
    }

    /// Lets the watchdog's time pass `limits` times, with reactors of which `working` answer.
    async fn pass(limits: u32, reactors: usize, working: usize) -> usize {
        let (_folder, socket, supervisor) = supervised(1_000);
        let (roll, answers) = RollCall::new(reactors);
        let reactor = async |mut answer: RollAnswer| -> Infallible {
            loop {
                let number = answer.called().await;
                answer.answer(number);
            }
        };
        let mut answers = answers.into_iter();
        let work = futures_util::future::join_all(answers.by_ref().take(working).map(reactor));
        tokio::select! {
            never = roll.keep_alive(&supervisor) => match never {},
            _ = work, if working != 0 => {}
            () = tokio::time::sleep(Duration::from_millis(10) + Duration::from_secs(1) * limits) => {}
        }
        messages(&socket)
    }

    #[test]
    fn the_watchdog_is_fed_only_when_each_reactor_has_taken_a_turn_since() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            assert_eq!(pass(2, 4, 4).await, 8, "four times in the time of the watchdog");
            assert_eq!(pass(3, 4, 3).await, 0, "one does not answer");
            assert_eq!(pass(3, 1, 0).await, 0);
        });
    }

    #[test]
    fn without_a_watchdog_nobody_is_called() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (roll, mut answers) = RollCall::new(1);
            let nobody = Supervisor::default();
            let answer = answers.first_mut().unwrap();
            tokio::select! {
                never = roll.keep_alive(&nobody) => match never {},
                number = answer.called() => panic!("call {number}"),
                () = tokio::time::sleep(Duration::from_mins(1)) => {}
            }
        });
    }
}
