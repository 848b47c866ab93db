//! When requests of an open loop leave.

/// Points of time at equal distances. Late calls do not move them.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    start_ns: u64,
    rate: f64,
    /// Requests taken.
    taken: u64,
}

impl Schedule {
    /// `rate` requests a second. The first one leaves after a share `phase` (0 to 1) of the distance between two
    /// requests.
    pub(super) fn new(start_ns: u64, rate: f64, phase: f64) -> Self {
        Self {
            start_ns: start_ns.saturating_add(whole(phase * NANOSECONDS / rate)),
            rate,
            taken: 0,
        }
    }

    /// When the next request is due.
    pub(super) fn next_ns(&self) -> u64 {
        self.time_of(self.taken)
    }

    /// The scheduled time of the next request, if it is due. The request after it is next then.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.next_ns();
        (due <= now_ns).then(|| {
            self.taken += 1;
            due
        })
    }

    /// The number of requests that were due before `end_ns` and have not been taken.
    pub(super) fn overdue(&self, end_ns: u64) -> u64 {
        let mut later = self.clone();
        let elapsed = end_ns.saturating_sub(self.start_ns);
        // The estimate is too low by one at most. This makes it exact.
        later.taken = later
            .taken
            .max(whole(float(elapsed) * self.rate / NANOSECONDS).saturating_sub(1));
        while later.next_ns() < end_ns {
            later.taken += 1;
        }
        later.taken - self.taken
    }

    fn time_of(&self, number: u64) -> u64 {
        self.start_ns
            .saturating_add(whole(float(number) * NANOSECONDS / self.rate))
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53, far beyond any measurement")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, which is the end of time"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

const NANOSECONDS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_even_distances_however_late_it_is_asked() {
        let mut schedule = Schedule::new(1_000, 1_000.0, 0.0);
        assert_eq!(schedule.take(999), None);
        assert_eq!(schedule.take(1_000), Some(1_000));
        assert_eq!(schedule.take(1_000_999), None);
        let late: Vec<u64> = std::iter::from_fn(|| schedule.take(3_500_000)).collect();
        assert_eq!(late, [1_001_000, 2_001_000, 3_001_000]);
        assert_eq!(schedule.next_ns(), 4_001_000);
    }

    #[test]
    fn distances_do_not_drift() {
        let mut schedule = Schedule::new(0, 3.0, 0.0);
        let count = std::iter::from_fn(|| schedule.take(1_000_000_000_000)).count();
        assert_eq!(count, 3_001);
        assert_eq!(schedule.next_ns(), 1_000_333_333_333);
    }

    #[test]
    fn threads_take_turns() {
        let first: Vec<u64> = (0..3)
            .map(|_| 0)
            .scan(Schedule::new(0, 10.0, 0.0), |s, _| s.take(u64::MAX))
            .collect();
        let second: Vec<u64> = (0..3)
            .map(|_| 0)
            .scan(Schedule::new(0, 10.0, 0.5), |s, _| s.take(u64::MAX))
            .collect();
        assert_eq!(first, [0, 100_000_000, 200_000_000]);
        assert_eq!(second, [50_000_000, 150_000_000, 250_000_000]);
    }

    #[test]
    fn requests_that_never_left_are_counted() {
        let mut schedule = Schedule::new(0, 100.0, 0.0);
        assert_eq!(schedule.overdue(0), 0);
        assert_eq!(schedule.overdue(1), 1);
        assert_eq!(schedule.overdue(1_000_000_000), 100);
        for _ in 0..30 {
            schedule.take(u64::MAX);
        }
        assert_eq!(schedule.overdue(1_000_000_000), 70);
        assert_eq!(schedule.overdue(100), 0);
    }
}
