//! Time stamps of writes: generalizedTime text and change sequence numbers (CSN, draft-ietf-ldup-model).
//!
//! Invariant: the CSNs that one generator gives out strictly rise, also when the clock stands still or goes back.

use std::sync::{Mutex, PoisonError};

use ironbark_runtime::{Clock, UtcTime, WallTime};

/// What one write operation is stamped with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// `entryCSN`: `YYYYmmddHHMMSS.uuuuuuZ#cccccc#sss#mmmmmm`.
    pub csn: String,
    /// `createTimestamp`/`modifyTimestamp`: `YYYYmmddHHMMSSZ`.
    pub time: String,
}

/// Gives out CSNs.
#[derive(Debug)]
pub(crate) struct StampGenerator {
    server_id: u16,
    /// Microseconds since 1970 and the change count of the last CSN.
    last: Mutex<(i64, u32)>,
}

impl StampGenerator {
    /// `server_id` is slapd's `serverID`, 0 to 4095.
    pub(crate) fn new(server_id: u16) -> Self {
        Self {
            server_id,
            last: Mutex::new((0, 0)),
        }
    }

    /// The next stamp. Microseconds never go back; equal ones are told apart by the change count.
    pub(crate) fn next(&self, clock: &Clock) -> Stamp {
        let now = clock.now().unix_micros();
        let (micros, count) = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = if now > last.0 { (now, 0) } else { (last.0, last.1 + 1) };
            *last
        };
        let utc = WallTime::from_unix_micros(micros).utc();
        let seconds = generalized_time(utc);
        Stamp {
            csn: format!(
                "{seconds}.{:06}Z#{count:06x}#{:03x}#000000",
                utc.microsecond, self.server_id
            ),
            time: format!("{seconds}Z"),
        }
    }
}

/// `YYYYmmddHHMMSS`, without a zone.
fn generalized_time(utc: UtcTime) -> String {
    let UtcTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        ..
    } = utc;
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ironbark_runtime::{ManualClock, WallTime};

    use super::StampGenerator;

    #[test]
    fn csns_rise_while_the_clock_stands_still_or_goes_back() {
        let hand = ManualClock::new(WallTime::from_unix_micros(1_709_251_199_000_001));
        let clock = hand.clock();
        let generator = StampGenerator::new(2);
        let first = generator.next(&clock);
        assert_eq!(first.csn, "20240229235959.000001Z#000000#002#000000");
        assert_eq!(first.time, "20240229235959Z");
        let second = generator.next(&clock);
        assert_eq!(second.csn, "20240229235959.000001Z#000001#002#000000");
        hand.set_wall(WallTime::from_unix_micros(1_000_000_000_000_000));
        assert!(generator.next(&clock).csn > second.csn);
        hand.set_wall(WallTime::from_unix_micros(1_709_251_199_000_001));
        hand.advance(Duration::from_secs(1));
        assert_eq!(generator.next(&clock).csn, "20240301000000.000001Z#000000#002#000000");
    }
}
