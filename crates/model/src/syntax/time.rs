//! Generalized Time and UTC Time (RFC 4517 §3.3.13, §3.3.34).

use super::{InvalidValue, Syntax, oid, require};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::GENERALIZED_TIME, "Generalized Time", generalized_time),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.53", "UTC Time", utc_time).hidden(),
];

/// A point in time as written in a Generalized Time, zone applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Time<'a> {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    /// 60 in a leap second.
    pub(crate) second: u32,
    pub(crate) fraction: Fraction<'a>,
}

/// The digits after the seconds, or the rest of a fraction of an hour or minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fraction<'a> {
    /// The digits of a fraction of a second, without the separator.
    OfSecond(&'a [u8]),
    /// Nanoseconds: the remainder of a fraction of an hour or a minute.
    Nanoseconds(u32),
}

fn generalized_time(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    Time::parse(value).map(|_| ())
}

impl<'a> Time<'a> {
    /// Reads `YYYYMMDDHH[MM[SS]][(.|,)fraction](Z|(+|-)HH[MM])`.
    pub(crate) fn parse(value: &'a [u8]) -> Result<Self, InvalidValue> {
        let mut digits = Digits(value);
        let mut time = Self {
            year: digits.number(4)?,
            month: digits.number(2)?,
            day: digits.number(2)?,
            hour: digits.number(2)?,
            minute: 0,
            second: 0,
            fraction: Fraction::OfSecond(&[]),
        };
        let mut unit_seconds: u64 = 3600;
        if digits.more() {
            time.minute = digits.number(2)?;
            unit_seconds = 60;
            if digits.more() {
                time.second = digits.number(2)?;
                unit_seconds = 1;
            }
        }
        let in_range = (1..=12).contains(&time.month)
            && (1..=days_in_month(time.year, time.month)).contains(&time.day)
            && time.hour < 24
            && time.minute < 60
            && time.second <= 60;
        require(in_range)?;
        time.read_fraction(&mut digits, unit_seconds)?;
        let offset = digits.zone()?;
        time.shift(-offset)?;
        Ok(time)
    }

    fn read_fraction(&mut self, digits: &mut Digits<'a>, unit_seconds: u64) -> Result<(), InvalidValue> {
        let [b'.' | b',', rest @ ..] = digits.0 else {
            return Ok(());
        };
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, rest) = rest.split_at_checked(length).ok_or(InvalidValue)?;
        require(!fraction.is_empty())?;
        digits.0 = rest;
        let significant = fraction
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        let fraction = fraction.get(..significant).unwrap_or_default();
        if unit_seconds == 1 {
            self.fraction = Fraction::OfSecond(fraction);
            return Ok(());
        }
        // Twelve digits of an hour are finer than a nanosecond.
        let mut billionths: u64 = 0;
        for position in 0..12 {
            let digit = fraction.get(position).map_or(0, |digit| u64::from(digit - b'0'));
            billionths = billionths * 10 + digit;
        }
        let nanoseconds = u128::from(billionths) * u128::from(unit_seconds) / 1000;
        let seconds = u32::try_from(nanoseconds / 1_000_000_000).map_err(|_| InvalidValue)?;
        self.minute += seconds / 60;
        self.second += seconds % 60;
        let rest = u32::try_from(nanoseconds % 1_000_000_000).map_err(|_| InvalidValue)?;
        self.fraction = Fraction::Nanoseconds(rest);
        Ok(())
    }

    /// Moves the time by minutes. The result must stay within the years 0000 to 9999.
    fn shift(&mut self, minutes: i32) -> Result<(), InvalidValue> {
        if minutes == 0 {
            return Ok(());
        }
        let of_day = i32::try_from(self.hour * 60 + self.minute).map_err(|_| InvalidValue)? + minutes;
        let days = of_day.div_euclid(24 * 60);
        let of_day = u32::try_from(of_day.rem_euclid(24 * 60)).map_err(|_| InvalidValue)?;
        self.hour = of_day / 60;
        self.minute = of_day % 60;
        // An offset is less than a day, so the date moves by one day at most.
        if days > 0 {
            self.day += 1;
            if self.day > days_in_month(self.year, self.month) {
                self.day = 1;
                self.month += 1;
            }
            if self.month > 12 {
                self.month = 1;
                self.year += 1;
            }
        } else if days < 0 {
            if self.day > 1 {
                self.day -= 1;
            } else if self.month > 1 {
                self.month -= 1;
                self.day = days_in_month(self.year, self.month);
            } else {
                self.year = self.year.checked_sub(1).ok_or(InvalidValue)?;
                self.month = 12;
                self.day = 31;
            }
        }
        require(self.year <= 9999)
    }
}

/// `YYMMDDHHMM[SS][Z|(+|-)HHMM]`.
fn utc_time(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut digits = Digits(value);
    let year = digits.number(2)?;
    // RFC 5280 §4.1.2.5.1: 50 to 99 belong to the twentieth century.
    let year = if year < 50 { 2000 + year } else { 1900 + year };
    let (month, day) = (digits.number(2)?, digits.number(2)?);
    let (hour, minute) = (digits.number(2)?, digits.number(2)?);
    let second = if digits.more() { digits.number(2)? } else { 0 };
    require(
        (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60,
    )?;
    match digits.0 {
        [] => Ok(()),
        _ => digits.zone().map(|_| ()),
    }
}

struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn more(&self) -> bool {
        self.0.first().is_some_and(u8::is_ascii_digit)
    }

    fn number(&mut self, length: usize) -> Result<u32, InvalidValue> {
        let (digits, rest) = self.0.split_at_checked(length).ok_or(InvalidValue)?;
        self.0 = rest;
        let mut number = 0;
        for digit in digits {
            require(digit.is_ascii_digit())?;
            number = number * 10 + u32::from(digit - b'0');
        }
        Ok(number)
    }

    /// The zone at the end of the value: minutes east of Greenwich.
    fn zone(&mut self) -> Result<i32, InvalidValue> {
        let (sign, rest) = match self.0 {
            b"Z" => return Ok(0),
            [b'+', rest @ ..] => (1, rest),
            [b'-', rest @ ..] => (-1, rest),
            _ => return Err(InvalidValue),
        };
        self.0 = rest;
        let hours = self.number(2)?;
        let minutes = if self.more() { self.number(2)? } else { 0 };
        require(self.0.is_empty() && hours < 24 && minutes < 60)?;
        Ok(sign * i32::try_from(hours * 60 + minutes).map_err(|_| InvalidValue)?)
    }
}

fn days_in_month(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
