//! Time stamps of writes: generalizedTime text and change sequence numbers (CSN, draft-ietf-ldup-model).
//!
//! Invariant: the CSNs that one generator gives out strictly rise, also when the clock stands still or goes back.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU16, Ordering},
};

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
pub struct StampGenerator {
    server_id: AtomicU16,
    /// Microseconds since 1970 and the change count of the last CSN.
    last: Mutex<(i64, u32)>,
}

/// CSNs of one microsecond, reserved for writes that are stamped later, on any thread.
#[derive(Clone, Debug)]
pub struct StampBlock {
    /// `YYYYmmddHHMMSSZ`.
    time: String,
    microsecond: u32,
    first: u32,
    server_id: u16,
}

/// The greatest change count of a CSN.
const MAX_COUNT: u32 = 0xff_ffff;

impl StampGenerator {
    /// `server_id` is slapd's `serverID`, 0 to 4095.
    pub fn new(server_id: u16) -> Self {
        Self {
            server_id: AtomicU16::new(server_id),
            last: Mutex::new((0, 0)),
        }
    }

    /// Another `serverID`.
    pub(crate) fn set_server_id(&self, server_id: u16) {
        self.server_id.store(server_id, Ordering::Relaxed);
    }

    /// The next stamp. Microseconds never go back; equal ones are told apart by the change count.
    pub(crate) fn next(&self, clock: &Clock) -> Stamp {
        let block = self.block(clock, 1);
        Stamp {
            csn: block.csn(0, 0),
            time: block.time,
        }
    }

    /// The next `count` stamps (at most 16,777,216).
    pub fn block(&self, clock: &Clock, count: u32) -> StampBlock {
        let now = clock.now().unix_micros();
        let further = count.saturating_sub(1).min(MAX_COUNT);
        let (micros, first) = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let start = if now > last.0 {
                (now, 0)
            } else if last.1 < MAX_COUNT - further {
                (last.0, last.1 + 1)
            } else {
                (last.0 + 1, 0)
            };
            *last = (start.0, start.1 + further);
            start
        };
        let utc = WallTime::from_unix_micros(micros).utc();
        StampBlock {
            time: format!("{}Z", generalized_time(utc)),
            microsecond: utc.microsecond,
            first,
            server_id: self.server_id.load(Ordering::Relaxed),
        }
    }
}

impl StampBlock {
    /// `createTimestamp`/`modifyTimestamp` of all of them.
    pub fn time(&self) -> &str {
        &self.time
    }

    /// `entryCSN` of the write of this number, from 0; `part` counts within that write.
    pub fn csn(&self, number: u32, part: u32) -> String {
        format!(
            "{}.{:06}Z#{:06x}#{:03x}#{part:06x}",
            self.time.trim_end_matches('Z'),
            self.microsecond,
            self.first.saturating_add(number),
            self.server_id
        )
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

    #[test]
    fn blocks_rise_though_the_clock_stands() {
        let hand = ManualClock::new(WallTime::from_unix_micros(1_709_251_199_000_001));
        let generator = StampGenerator::new(10);
        let first = generator.block(&hand.clock(), 3);
        assert_eq!(first.csn(0, 0), "20240229235959.000001Z#000000#00a#000000");
        assert_eq!(first.time(), "20240229235959Z");
        let second = generator.block(&hand.clock(), u32::MAX);
        let in_order = [
            first.csn(0, 0),
            first.csn(0, 1),
            first.csn(2, 0),
            second.csn(0, 0),
            second.csn(0xff_ffff, 0),
            generator.next(&hand.clock()).csn,
        ];
        assert!(in_order.is_sorted());
        assert_eq!(in_order[3], "20240229235959.000002Z#000000#00a#000000");
    }
}
