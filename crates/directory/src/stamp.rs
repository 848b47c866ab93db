//! Timestamps of writes: generalizedTime text and change sequence numbers (CSN, draft-ietf-ldup-model).
//!
//! Invariant: the CSNs of one generator strictly rise, even if the clock stands still or goes back.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU16, Ordering},
};

use ironbark_runtime::{Clock, UtcTime, WallTime};
use ironbark_store::Csn;

/// The stamp of one write operation.
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

/// How far a CSN lies ahead of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    /// No more than clocks usually differ.
    Little,
    /// So much that a clock is wrong.
    Much,
    /// So much that it must not be followed.
    TooFar,
}

impl Ahead {
    fn of(clock: &Clock, csn: Csn) -> Self {
        match csn.unix_micros().saturating_sub(clock.now().unix_micros()) {
            ahead if ahead > TOO_FAR_MICROS => Self::TooFar,
            ahead if ahead > MUCH_MICROS => Self::Much,
            _ => Self::Little,
        }
    }
}

/// Microseconds by which clocks may differ. The second constant is the most that a CSN may lie ahead of the clock.
const MUCH_MICROS: i64 = 60 * 1_000_000;
const TOO_FAR_MICROS: i64 = 86_400 * 1_000_000;

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

    /// `serverID`.
    pub(crate) fn server_id(&self) -> u16 {
        self.server_id.load(Ordering::Relaxed)
    }

    /// Sets another `serverID`.
    pub(crate) fn set_server_id(&self, server_id: u16) {
        self.server_id.store(server_id, Ordering::Relaxed);
    }

    /// The next stamp. Microseconds never go back; the change count distinguishes equal ones.
    pub(crate) fn next(&self, clock: &Clock) -> Stamp {
        let block = self.block(clock, 1);
        Stamp {
            csn: block.csn(0, 0),
            time: block.time,
        }
    }

    /// Microseconds since 1970 and the change count of the last CSN that was drawn, or seen of other servers.
    pub(crate) fn last(&self) -> (i64, u32) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes notice of a CSN of any server: later CSNs of this generator are greater. So a change of an entry that was
    /// read always has a greater CSN than the entry, even if clocks differ. A CSN that lies too far ahead is not
    /// followed.
    pub(crate) fn observe(&self, clock: &Clock, csn: Csn) -> Ahead {
        let ahead = Ahead::of(clock, csn);
        if ahead != Ahead::TooFar {
            self.follow(csn);
        }
        ahead
    }

    /// Takes notice of a CSN as [`Self::observe`] does, however far it lies ahead.
    pub(crate) fn follow(&self, csn: Csn) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (*last).max((csn.unix_micros(), csn.change_count()));
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
            time: format!("{}Z", digits(utc)),
            microsecond: utc.microsecond,
            first,
            server_id: self.server_id.load(Ordering::Relaxed),
        }
    }
}

impl StampBlock {
    /// `createTimestamp`/`modifyTimestamp` of all stamps in the block.
    pub fn time(&self) -> &str {
        &self.time
    }

    /// `entryCSN` of the write with this number, from 0; `part` counts within that write.
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

/// Generalized time of whole seconds since 1970: writing it, and reading the server's own values.
pub mod generalized_time {
    use ironbark_runtime::WallTime;

    /// `YYYYmmddHHMMSSZ`.
    pub fn text(unix_seconds: i64) -> String {
        let time = WallTime::from_unix_micros(unix_seconds.saturating_mul(1_000_000));
        format!("{}Z", super::digits(time.utc()))
    }

    /// `YYYYmmddHHMMSS.uuuuuuZ`.
    pub fn text_with_micros(unix_micros: i64) -> String {
        let utc = WallTime::from_unix_micros(unix_micros).utc();
        format!("{}.{:06}Z", super::digits(utc), utc.microsecond)
    }

    /// Seconds since 1970 of `YYYYmmddHHMM[SS][.fraction]Z`; the fraction is left out. The year 0000 gives a negative
    /// number, also with month and day 00 or 01. `None` for anything else.
    pub fn seconds(text: &[u8]) -> Option<i64> {
        let text = text.strip_suffix(b"Z")?;
        let end = text.iter().position(|byte| matches!(byte, b'.' | b','));
        let digits = text.get(..end.unwrap_or(text.len()))?;
        if !digits.iter().all(u8::is_ascii_digit) || !matches!(digits.len(), 10 | 12 | 14) {
            return None;
        }
        let number = |from: usize, to: usize| -> i64 {
            let part = digits.get(from..to).unwrap_or_default();
            part.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
        };
        let days = days_since_1970(number(0, 4), number(4, 6), number(6, 8));
        Some(((days * 24 + number(8, 10)) * 60 + number(10, 12)) * 60 + number(12, 14))
    }

    /// For the proleptic Gregorian calendar. The year begins in March here, so that the leap day comes last.
    fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }
}

/// `YYYYmmddHHMMSS`, without a zone.
fn digits(utc: UtcTime) -> String {
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

    use ironbark_store::Csn;

    use super::{Ahead, StampGenerator, generalized_time};

    #[test]
    fn generalized_times_come_back() {
        for text in [
            "19700101000000Z",
            "20240229235959Z",
            "20000301000000Z",
            "20991231235959Z",
            "19691231235959Z",
        ] {
            let seconds = generalized_time::seconds(text.as_bytes()).unwrap();
            assert_eq!(generalized_time::text(seconds), text);
        }
        assert_eq!(generalized_time::seconds(b"19700101000001.999999Z"), Some(1));
        assert!(generalized_time::seconds(b"000001010000Z").unwrap() < 0);
        assert_eq!(generalized_time::seconds(b"19700101000001+01"), None);
        assert_eq!(generalized_time::text_with_micros(1_500_000), "19700101000001.500000Z");
    }

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
    fn what_was_seen_of_other_servers_lies_before_what_comes() {
        let now = 1_709_251_199_000_001;
        let hand = ManualClock::new(WallTime::from_unix_micros(now));
        let generator = StampGenerator::new(2);
        let seen = |text: &str| generator.observe(&hand.clock(), Csn::parse(text.as_bytes()).expect("a CSN"));
        assert_eq!(seen("20240301000030.000000Z#00000f#fff#000000"), Ahead::Little);
        assert_eq!(
            generator.next(&hand.clock()).csn,
            "20240301000030.000000Z#000010#002#000000"
        );
        assert_eq!(seen("20240229000000.000000Z#000000#001#000000"), Ahead::Little);
        assert_eq!(seen("20240301100000.000000Z#000000#001#000000"), Ahead::Much);
        assert_eq!(seen("20240305000000.000000Z#000000#001#000000"), Ahead::TooFar);
        assert_eq!(
            generator.next(&hand.clock()).csn,
            "20240301100000.000000Z#000001#002#000000"
        );
        generator.follow(Csn::parse(b"20240305000000.000000Z#000000#001#000000").expect("a CSN"));
        assert_eq!(
            generator.next(&hand.clock()).csn,
            "20240305000000.000000Z#000001#002#000000"
        );
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
