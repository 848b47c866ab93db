//! Calendar date and time of day in UTC, as timestamps and logs show them.

use crate::WallTime;

/// A calendar date and time of day in UTC (proleptic Gregorian calendar, no leap seconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    /// Astronomical year: 0 is 1 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub microsecond: u32,
}

impl UtcTime {
    /// Date and time of day at `time`.
    pub(crate) fn from_wall(time: WallTime) -> Self {
        let micros = time.unix_micros();
        let days = micros.div_euclid(MICROSECONDS_PER_DAY);
        let in_day = micros.rem_euclid(MICROSECONDS_PER_DAY);
        let (year, month, day) = date_of_day(days);
        let seconds = in_day / 1_000_000;
        Self {
            year,
            month,
            day,
            hour: small(seconds / 3_600),
            minute: small(seconds / 60 % 60),
            second: small(seconds % 60),
            microsecond: u32::try_from(in_day % 1_000_000).unwrap_or(0),
        }
    }

    /// The point of time. `None` when a field is out of range or the month has no such day.
    pub fn wall(self) -> Option<WallTime> {
        let in_range = (1..=12).contains(&self.month)
            && self.day >= 1
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.microsecond < 1_000_000;
        if !in_range {
            return None;
        }
        let days = day_of_date(self.year, self.month, self.day);
        // The 31st of a short month comes back as a day of the next month.
        if date_of_day(days) != (self.year, self.month, self.day) {
            return None;
        }
        let seconds = i64::from(self.hour) * 3_600 + i64::from(self.minute) * 60 + i64::from(self.second);
        days.checked_mul(MICROSECONDS_PER_DAY)?
            .checked_add(seconds * 1_000_000 + i64::from(self.microsecond))
            .map(WallTime::from_unix_micros)
    }
}

/// The date that lies `days` after 1970-01-01.
///
/// Years are counted from 1 March. So the leap day is the last day of a year, and the first day of each month is a
/// linear function of its number. 400 years are one era of a fixed number of days.
fn date_of_day(days: i64) -> (i32, u8, u8) {
    let shifted = days + DAYS_FROM_MARCH_0_TO_EPOCH;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (i32::try_from(year).unwrap_or(i32::MAX), small(month), small(day))
}

/// Days from 1970-01-01 to a date. Days past the end of the month count into the next month.
fn day_of_date(year: i32, month: u8, day: u8) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_FROM_MARCH_0_TO_EPOCH
}

fn small(value: i64) -> u8 {
    u8::try_from(value).unwrap_or(0)
}

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
const DAYS_PER_ERA: i64 = 146_097;
const DAYS_FROM_MARCH_0_TO_EPOCH: i64 = 719_468;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utc(unix_seconds: i64) -> (i32, u8, u8, u8, u8, u8) {
        let t = WallTime::from_unix_micros(unix_seconds * 1_000_000).utc();
        (t.year, t.month, t.day, t.hour, t.minute, t.second)
    }

    #[test]
    fn known_points_of_time() {
        assert_eq!(utc(0), (1970, 1, 1, 0, 0, 0));
        assert_eq!(utc(-1), (1969, 12, 31, 23, 59, 59));
        assert_eq!(utc(951_782_400), (2000, 2, 29, 0, 0, 0));
        assert_eq!(utc(1_234_567_890), (2009, 2, 13, 23, 31, 30));
        assert_eq!(utc(4_107_542_400), (2100, 3, 1, 0, 0, 0));
        assert_eq!(utc(-62_135_596_800), (1, 1, 1, 0, 0, 0));
        assert_eq!(utc(253_402_300_799), (9999, 12, 31, 23, 59, 59));
    }

    #[test]
    fn a_day_that_does_not_exist_is_refused() {
        let good = WallTime::from_unix_micros(0).utc();
        assert_eq!(
            UtcTime {
                year: 2024,
                month: 2,
                day: 29,
                ..good
            }
            .wall()
            .map(|w| w.utc().day),
            Some(29)
        );
        for bad in [
            UtcTime {
                year: 2023,
                month: 2,
                day: 29,
                ..good
            },
            UtcTime { month: 13, ..good },
            UtcTime { month: 0, ..good },
            UtcTime { day: 0, ..good },
            UtcTime {
                month: 4,
                day: 31,
                ..good
            },
            UtcTime { hour: 24, ..good },
            UtcTime { second: 60, ..good },
            UtcTime {
                microsecond: 1_000_000,
                ..good
            },
            UtcTime { year: i32::MAX, ..good },
        ] {
            assert_eq!(bad.wall(), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn calendar_and_count_agree(micros in any::<i64>()) {
            let time = WallTime::from_unix_micros(micros);
            prop_assert_eq!(time.utc().wall(), Some(time));
        }

        #[test]
        fn order_is_kept(a in any::<i64>(), b in any::<i64>()) {
            let (a, b) = (WallTime::from_unix_micros(a), WallTime::from_unix_micros(b));
            prop_assert_eq!(a.cmp(&b), a.utc().cmp(&b.utc()));
        }
    }
}
