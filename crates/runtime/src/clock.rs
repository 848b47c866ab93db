//! Wall time for timestamps and monotonic time for limits, from the machine or from a test.

use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::UtcTime;

/// The source of time. All clones show the same time.
///
/// Reading never allocates and never enters the kernel on Linux; the coarse readings cost a few nanoseconds.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Manual(Arc<ManualState>),
}

#[derive(Debug)]
struct ManualState {
    wall_us: AtomicI64,
    monotonic_ns: AtomicU64,
}

/// A point in wall time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

/// A point in time that never goes back: nanoseconds since an origin that is fixed while the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicTime(u64);

/// Moves a manual [`Clock`].
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<ManualState>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// The wall time, exact to the microsecond. It may go back when the machine's clock is set.
    pub fn now(&self) -> WallTime {
        match &self.0 {
            Source::System => wall_time(clock_gettime(ClockId::Realtime)),
            Source::Manual(state) => WallTime(state.wall_us.load(Ordering::Acquire)),
        }
    }

    /// The wall time of the last timer tick. It is up to 10 ms old, and is the cheapest reading.
    pub fn coarse_now(&self) -> WallTime {
        match &self.0 {
            Source::System => wall_time(clock_gettime(COARSE_WALL)),
            Source::Manual(_) => self.now(),
        }
    }

    /// The monotonic time, for durations that are reported.
    pub fn monotonic(&self) -> MonotonicTime {
        match &self.0 {
            Source::System => monotonic_time(clock_gettime(ClockId::Monotonic)),
            Source::Manual(state) => MonotonicTime(state.monotonic_ns.load(Ordering::Acquire)),
        }
    }

    /// The monotonic time of the last timer tick. It is up to 10 ms old; use it for time limits and idle timeouts. Its
    /// origin is that of [`Clock::monotonic`].
    pub fn coarse_monotonic(&self) -> MonotonicTime {
        match &self.0 {
            Source::System => monotonic_time(clock_gettime(COARSE_MONOTONIC)),
            Source::Manual(_) => self.monotonic(),
        }
    }
}

impl ManualClock {
    /// A clock that stands still at `start`, with its monotonic time at one hour.
    pub fn new(start: WallTime) -> Self {
        Self(Arc::new(ManualState {
            wall_us: AtomicI64::new(start.0),
            monotonic_ns: AtomicU64::new(3_600 * NANOSECONDS_PER_SECOND),
        }))
    }

    /// The clock for the code under test.
    pub fn clock(&self) -> Clock {
        Clock(Source::Manual(Arc::clone(&self.0)))
    }

    /// Moves wall and monotonic time forward.
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.0.wall_us.fetch_add(micros, Ordering::AcqRel);
        self.0.monotonic_ns.fetch_add(nanos, Ordering::AcqRel);
    }

    /// Sets only the wall time, forward or back, as an administrator or NTP does.
    pub fn set_wall(&self, to: WallTime) {
        self.0.wall_us.store(to.0, Ordering::Release);
    }
}

impl WallTime {
    /// The point this many microseconds after 1970-01-01T00:00:00Z.
    pub const fn from_unix_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROSECONDS_PER_SECOND)
    }

    /// The calendar date and time of day in UTC.
    pub fn utc(self) -> UtcTime {
        UtcTime::from_wall(self)
    }

    /// The point in time so much later, or the last one that there is.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this point; zero when `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl MonotonicTime {
    /// The point this many nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this point; zero when `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for MonotonicTime {
    type Output = Self;

    /// The point `rhs` later, or the end of time if that point cannot be represented.
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

fn wall_time(time: Timespec) -> WallTime {
    WallTime(
        time.tv_sec
            .saturating_mul(MICROSECONDS_PER_SECOND)
            .saturating_add(time.tv_nsec / 1_000),
    )
}

fn monotonic_time(time: Timespec) -> MonotonicTime {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    MonotonicTime(seconds.saturating_mul(NANOSECONDS_PER_SECOND).saturating_add(nanos))
}

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(target_os = "linux")]
const COARSE_WALL: ClockId = ClockId::RealtimeCoarse;
#[cfg(target_os = "linux")]
const COARSE_MONOTONIC: ClockId = ClockId::MonotonicCoarse;
#[cfg(not(target_os = "linux"))]
const COARSE_WALL: ClockId = ClockId::Realtime;
#[cfg(not(target_os = "linux"))]
const COARSE_MONOTONIC: ClockId = ClockId::Monotonic;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_time_lags_by_at_most_some_ticks_and_never_leads() {
        let clock = Clock::system();
        let coarse = clock.coarse_monotonic();
        let exact = clock.monotonic();
        assert!(coarse <= exact);
        assert!(exact <= clock.coarse_monotonic() + Duration::from_millis(50));
        assert!(clock.coarse_now() <= clock.now());
    }

    #[test]
    fn system_wall_time_is_in_this_century() {
        let year = Clock::system().now().utc().year;
        assert!((2026..2100).contains(&year), "{year}");
    }

    #[test]
    fn manual_clock_stands_still_until_it_is_advanced() {
        let hand = ManualClock::new(WallTime::from_unix_micros(1_000_000));
        let clock = hand.clock();
        let (wall, monotonic) = (clock.now(), clock.monotonic());
        assert_eq!((clock.coarse_now(), clock.coarse_monotonic()), (wall, monotonic));
        hand.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now().saturating_since(wall), Duration::from_millis(1_500));
        assert_eq!(
            clock.monotonic().saturating_since(monotonic),
            Duration::from_millis(1_500)
        );
    }

    #[test]
    fn setting_the_wall_back_leaves_monotonic_time_alone() {
        let hand = ManualClock::new(WallTime::from_unix_micros(5_000_000));
        let clock = hand.clock();
        let monotonic = clock.monotonic();
        hand.set_wall(WallTime::from_unix_micros(-1));
        assert_eq!(clock.now().unix_seconds(), -1);
        assert_eq!(clock.monotonic(), monotonic);
        assert_eq!(
            clock.now().saturating_since(WallTime::from_unix_micros(0)),
            Duration::ZERO
        );
    }

    #[test]
    fn a_deadline_past_the_end_of_time_is_the_end_of_time() {
        assert_eq!(
            MonotonicTime::from_nanos(7) + Duration::MAX,
            MonotonicTime::from_nanos(u64::MAX)
        );
    }
}
