//! Increment (RFC 4525): adds a number to each value of an attribute of INTEGER syntax.
//!
//! Numbers have any length. With a greatest number, a client that may write an attribute but not read it could learn
//! its values from overflow errors.

use std::cmp::Ordering;

use crate::refusal::ModifyRefusal;

/// Each value with the increment added; `None` when the increment is zero.
///
/// # Errors
/// `invalidAttributeSyntax` if a value is no number.
pub(super) fn incremented(values: &[Vec<u8>], increment: &[u8]) -> Result<Option<Vec<Vec<u8>>>, ModifyRefusal> {
    let increment = Number::read(increment).ok_or(ModifyRefusal::InvalidIncrement)?;
    if increment.digits.is_empty() {
        return Ok(None);
    }
    let add = |value: &Vec<u8>| {
        let value = Number::read(value).ok_or(ModifyRefusal::InvalidOriginal)?;
        Ok(value.plus(increment))
    };
    values.iter().map(add).collect::<Result<_, _>>().map(Some)
}

/// A decimal number as text.
#[derive(Clone, Copy)]
struct Number<'a> {
    is_negative: bool,
    /// The most significant one first, without leading zeros; none for zero.
    digits: &'a [u8],
}

impl<'a> Number<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        let (is_negative, digits) = match text.split_first() {
            Some((b'-', digits)) => (true, digits),
            _ => (false, text),
        };
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let digits = digits.get(zeros..).unwrap_or_default();
        Some(Self { is_negative, digits })
    }

    fn plus(self, other: Self) -> Vec<u8> {
        if self.is_negative == other.is_negative {
            return text(self.is_negative, sum(self.digits, other.digits));
        }
        let lengths = self.digits.len().cmp(&other.digits.len());
        match lengths.then_with(|| self.digits.cmp(other.digits)) {
            Ordering::Less => text(other.is_negative, difference(other.digits, self.digits)),
            Ordering::Equal => b"0".to_vec(),
            Ordering::Greater => text(self.is_negative, difference(self.digits, other.digits)),
        }
    }
}

/// The digits of two numbers, beginning with the least significant; the shorter number is filled with zeros.
fn columns<'a>(longer: &'a [u8], shorter: &'a [u8]) -> impl Iterator<Item = (u8, u8)> + 'a {
    let digit = |digit: &u8| digit - b'0';
    let filled = shorter.iter().rev().map(digit).chain(std::iter::repeat(0));
    longer.iter().rev().map(digit).zip(filled)
}

/// Digits of the sum, the least significant one first.
fn sum(one: &[u8], other: &[u8]) -> Vec<u8> {
    let (longer, shorter) = if one.len() < other.len() {
        (other, one)
    } else {
        (one, other)
    };
    let mut carry = 0;
    let mut digits = Vec::with_capacity(longer.len() + 2);
    for (high, low) in columns(longer, shorter) {
        let column = high + low + carry;
        digits.push(b'0' + column % 10);
        carry = column / 10;
    }
    if carry > 0 {
        digits.push(b'0' + carry);
    }
    digits
}

/// Digits of the difference, the least significant one first; `greater` is greater.
fn difference(greater: &[u8], less: &[u8]) -> Vec<u8> {
    let mut borrowed = 0;
    let mut digits = Vec::with_capacity(greater.len() + 1);
    for (high, low) in columns(greater, less) {
        let column = high + 10 - low - borrowed;
        digits.push(b'0' + column % 10);
        borrowed = u8::from(column < 10);
    }
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    digits
}

/// The text of a number that is not zero.
fn text(is_negative: bool, mut reversed: Vec<u8>) -> Vec<u8> {
    if is_negative {
        reversed.push(b'-');
    }
    reversed.reverse();
    reversed
}

#[cfg(test)]
mod tests {
    use super::incremented;

    #[test]
    fn each_value_grows_whatever_its_length() {
        let values = [b"5".to_vec(), b"-7".to_vec()];
        assert_eq!(
            incremented(&values, b"3").expect("numbers"),
            Some(vec![b"8".to_vec(), b"-4".to_vec()])
        );
        assert_eq!(incremented(&values, b"0").expect("numbers"), None);
        assert_eq!(
            incremented(&[i64::MAX.to_string().into_bytes()], b"1").expect("numbers"),
            Some(vec![b"9223372036854775808".to_vec()])
        );
        assert_eq!(
            incremented(&values, b"99999999999999999999").expect("numbers"),
            Some(vec![
                b"100000000000000000004".to_vec(),
                b"99999999999999999992".to_vec()
            ])
        );
        assert!(incremented(&values, b"x").is_err());
        assert!(incremented(&[b"-".to_vec()], b"1").is_err());
    }

    #[test]
    fn sums_are_those_of_machine_numbers() {
        let numbers = [
            i64::MIN,
            -1_000_000_000,
            -999,
            -100,
            -99,
            -10,
            -1,
            0,
            1,
            9,
            10,
            90,
            99,
            101,
            1000,
            i64::MAX,
        ];
        for value in numbers {
            for increment in numbers.into_iter().filter(|increment| *increment != 0) {
                let sum = incremented(&[value.to_string().into_bytes()], increment.to_string().as_bytes());
                let expected = i128::from(value) + i128::from(increment);
                assert_eq!(sum.expect("numbers"), Some(vec![expected.to_string().into_bytes()]));
            }
        }
    }
}
