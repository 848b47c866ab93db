//! Weights of values: `{17}text`.

/// Why a value has no weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WeightError {
    /// There is no brace.
    Missing,
    /// The text behind the brace is no number with a closing brace.
    Misformatted,
}

/// The weight of a value, and the text behind it. As in slapd, the weight need not stand at the beginning; the text
/// before it is left out too.
///
/// # Errors
/// It has none.
pub(super) fn weight(value: &[u8]) -> Result<(i64, &[u8]), WeightError> {
    let open = value
        .iter()
        .position(|octet| *octet == b'{')
        .ok_or(WeightError::Missing)?;
    let behind = value.get(open + 1..).unwrap_or_default();
    let (weight, length) = leading_number(behind);
    match behind.get(length..) {
        Some([b'}', text @ ..]) => Ok((weight, text)),
        _ => Err(WeightError::Misformatted),
    }
}

/// The number at the beginning of a value, 0 if there is none.
pub(super) fn number(value: &[u8]) -> i64 {
    leading_number(value).0
}

/// A number in the notations of C (`12`, `-0x1f`, `017`) and its length. A number that is too big becomes the greatest
/// or least one.
fn leading_number(text: &[u8]) -> (i64, usize) {
    let blanks = text.iter().take_while(|octet| octet.is_ascii_whitespace()).count();
    let rest = text.get(blanks..).unwrap_or_default();
    let (is_negative, sign) = match rest.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let digits = rest.get(sign..).unwrap_or_default();
    let (radix, prefix) = match digits {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, 2),
        [b'0', ..] => (8, 0),
        _ => (10, 0),
    };
    let (mut number, mut length) = (0_i64, 0);
    for octet in digits.get(prefix..).unwrap_or_default() {
        let Some(digit) = char::from(*octet).to_digit(radix) else {
            break;
        };
        number = number.saturating_mul(i64::from(radix)).saturating_add(i64::from(digit));
        length += 1;
    }
    match length {
        0 => (0, 0),
        _ => (
            if is_negative { number.saturating_neg() } else { number },
            blanks + sign + prefix + length,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_numbers_as_c_writes_them() {
        assert_eq!(weight(b"{1}a"), Ok((1, &b"a"[..])));
        assert_eq!(weight(b"{-0x10}"), Ok((-16, &b""[..])));
        assert_eq!(weight(b"x{010}a{2}b"), Ok((8, &b"a{2}b"[..])));
        assert_eq!(weight(b"a"), Err(WeightError::Missing));
        assert_eq!(weight(b"{1a}"), Err(WeightError::Misformatted));
        assert_eq!(weight(b"{1"), Err(WeightError::Misformatted));
        // As strtol(3): no number counts as 0, and nothing is consumed.
        assert_eq!(weight(b"{}a"), Ok((0, &b"a"[..])));
        assert_eq!(weight(b"{x}a"), Err(WeightError::Misformatted));
        assert_eq!(weight(b"{99999999999999999999}a"), Ok((i64::MAX, &b"a"[..])));
    }

    #[test]
    fn a_value_counts_as_the_number_that_it_begins_with() {
        assert_eq!([&b"12"[..], b" 7 a", b"-3", b"a", b""].map(number), [12, 7, -3, 0, 0]);
    }
}
