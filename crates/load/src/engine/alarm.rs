//! Waits for less than a millisecond. The poll's own timeout counts in milliseconds.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    time::Duration,
};

use mio::{Interest, Registry, Token, unix::SourceFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A timer that wakes a poll.
#[derive(Debug)]
pub(super) struct Alarm(OwnedFd);

impl Alarm {
    /// A timer that is not set yet. Its poll events have `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self(timer))
    }

    /// Wakes the poll once, after this time.
    pub(super) fn set(&self, wait: Duration) -> io::Result<()> {
        const NEVER: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec {
            it_interval: NEVER,
            // A time of zero would disable the timer.
            it_value: Timespec {
                tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: i64::from(wait.subsec_nanos()).max(1),
            },
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &timer)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mio::{Events, Poll};

    use super::*;

    #[test]
    fn a_poll_is_woken_each_time_the_alarm_goes_off() {
        let mut poll = Poll::new().unwrap();
        let alarm = Alarm::new(poll.registry(), Token(7)).unwrap();
        let mut events = Events::with_capacity(4);
        for wait in [Duration::ZERO, Duration::from_micros(50), Duration::from_micros(50)] {
            alarm.set(wait).unwrap();
            poll.poll(&mut events, Some(Duration::from_mins(1))).unwrap();
            assert_eq!(
                events.iter().map(mio::event::Event::token).collect::<Vec<_>>(),
                [Token(7)]
            );
        }
    }
}
