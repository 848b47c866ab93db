//! Log lines about a lasting state: one when it begins, and then one a minute.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ironbark_runtime::{Clock, MonotonicTime};

/// When the line was last logged.
#[derive(Debug, Default)]
pub(crate) struct RepeatedNotice(Mutex<Option<MonotonicTime>>);

impl RepeatedNotice {
    /// Whether the line should be logged now.
    pub(crate) fn is_due(&self, clock: &Clock) -> bool {
        let now = clock.coarse_monotonic();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.saturating_since(last) >= PAUSE);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

const PAUSE: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use ironbark_runtime::{ManualClock, WallTime};

    use super::*;

    #[test]
    fn it_is_told_at_once_and_after_a_minute() {
        let manual = ManualClock::new(WallTime::from_unix_micros(0));
        let (repeated_notice, clock) = (RepeatedNotice::default(), manual.clock());
        assert!(repeated_notice.is_due(&clock));
        assert!(!repeated_notice.is_due(&clock));
        manual.advance(PAUSE.saturating_sub(Duration::from_millis(1)));
        assert!(!repeated_notice.is_due(&clock));
        manual.advance(Duration::from_millis(1));
        assert!(repeated_notice.is_due(&clock));
        assert!(!repeated_notice.is_due(&clock));
    }
}
