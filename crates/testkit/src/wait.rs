//! Waiting for a condition in another process. The only place where tests read the clock or sleep.

use std::thread;
use std::time::{Duration, Instant};

/// How long tests wait for a condition that should take milliseconds. A busy machine must not fail a test.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// Polls `condition` until it is `Some`, first every millisecond and later every 20; `None` after [`DEADLINE`].
pub fn until<T>(condition: impl FnMut() -> Option<T>) -> Option<T> {
    until_deadline(DEADLINE, condition)
}

/// As [`until`], with a deadline of its own.
#[allow(
    clippy::disallowed_methods,
    reason = "a condition in another process can only be polled"
)]
pub fn until_deadline<T>(deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(value) = condition() {
            return Some(value);
        }
        if start.elapsed() >= deadline {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_until_the_condition_holds() {
        let mut calls = 0;
        let value = until(|| {
            calls += 1;
            (calls == 3).then_some("there")
        });
        assert_eq!((value, calls), (Some("there"), 3));
    }

    #[test]
    fn gives_up_at_the_deadline_but_asks_at_least_once() {
        let mut calls = 0;
        let value: Option<()> = until_deadline(Duration::ZERO, || {
            calls += 1;
            None
        });
        assert_eq!((value, calls), (None, 1));
    }
}
