//! The `{n}` of cn=config: before values whose order matters, before the names of siblings, and behind the names of
//! module lists.

/// Number and rest of `{n}rest`.
pub(super) fn split(text: &str) -> (Option<i64>, &str) {
    let found = text.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    match found.and_then(|(digits, rest)| Some((digits.parse().ok()?, rest))) {
        Some((number, rest)) => (Some(number), rest),
        None => (None, text),
    }
}

/// Number and rest of `rest{n}`.
pub(super) fn split_behind(text: &str) -> (Option<i64>, &str) {
    let found = text.strip_suffix('}').and_then(|rest| rest.rsplit_once('{'));
    match found.and_then(|(rest, digits)| Some((digits.parse().ok()?, rest))) {
        Some((number, rest)) => (Some(number), rest),
        None => (None, text),
    }
}

/// The same for a value, which need not be text.
pub(super) fn split_value(value: &[u8]) -> (Option<i64>, &[u8]) {
    let end = match value {
        [b'{', rest @ ..] => rest.iter().position(|&byte| byte == b'}'),
        _ => None,
    };
    let number = end.and_then(|end| {
        let digits = std::str::from_utf8(value.get(1..=end)?).ok()?;
        Some((digits.parse().ok()?, value.get(end + 2..)?))
    });
    match number {
        Some((number, rest)) => (Some(number), rest),
        None => (None, value),
    }
}

/// `{n}rest`.
pub(super) fn joined(number: i64, rest: &[u8]) -> Vec<u8> {
    let mut value = format!("{{{number}}}").into_bytes();
    value.extend_from_slice(rest);
    value
}

/// Numbers values from 0 in their present order.
pub(super) fn number(values: &mut [Vec<u8>]) {
    for (number, value) in values.iter_mut().enumerate() {
        let rest = split_value(value).1.to_vec();
        *value = joined(i64::try_from(number).unwrap_or(i64::MAX), &rest);
    }
}

/// Inserts a value at the place of its `{n}`, or at the end.
pub(super) fn insert(values: &mut Vec<Vec<u8>>, value: Vec<u8>) {
    let place = split_value(&value).0.and_then(|number| usize::try_from(number).ok());
    let place = place.unwrap_or(values.len()).min(values.len());
    values.insert(place, value);
}

/// Arranges the values of a request or a file by their numbers, and numbers them without gaps.
pub(super) fn arrange(values: &mut [Vec<u8>]) {
    // Values without a number follow in their original order.
    values.sort_by_key(|value| split_value(value).0.unwrap_or(i64::MAX));
    number(values);
}

/// The value that `{n}`, `{n}text` or `text` names.
///
/// # Errors
/// There is no such value.
pub(super) fn find(values: &[Vec<u8>], wanted: &[u8], same: impl Fn(&[u8], &[u8]) -> bool) -> Option<usize> {
    let (number, rest) = split_value(wanted);
    let Some(number) = number else {
        return values.iter().position(|value| same(split_value(value).1, rest));
    };
    let place = usize::try_from(number).ok()?;
    let known = split_value(values.get(place)?).1;
    (rest.is_empty() || same(known, rest)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn numbers_stand_before_or_behind() {
        assert_eq!(split("{1}mdb"), (Some(1), "mdb"));
        assert_eq!(split("{-1}frontend"), (Some(-1), "frontend"));
        assert_eq!(split("{SSHA}x"), (None, "{SSHA}x"));
        assert_eq!(split_behind("module{0}"), (Some(0), "module"));
        assert_eq!(split_behind("module"), (None, "module"));
        assert_eq!(split_value(b"{12}"), (Some(12), &b""[..]));
    }

    #[test]
    fn a_value_goes_where_its_number_says_and_the_others_move() {
        let mut held = values(&["{0}a", "{1}b"]);
        insert(&mut held, b"{1}new".to_vec());
        insert(&mut held, b"last".to_vec());
        insert(&mut held, b"{99}beyond".to_vec());
        number(&mut held);
        assert_eq!(held, values(&["{0}a", "{1}new", "{2}b", "{3}last", "{4}beyond"]));
    }

    #[test]
    fn values_are_found_by_number_by_text_or_by_both() {
        let held = values(&["{0}a", "{1}b"]);
        let find = |wanted: &str| find(&held, wanted.as_bytes(), |one, other| one == other);
        assert_eq!(find("{1}"), Some(1));
        assert_eq!(find("b"), Some(1));
        assert_eq!(find("{0}a"), Some(0));
        assert_eq!(find("{0}b"), None);
        assert_eq!(find("{2}"), None);
    }

    #[test]
    fn given_numbers_order_values_and_those_without_follow() {
        let mut held = values(&["{5}x", "y", "{2}z"]);
        arrange(&mut held);
        assert_eq!(held, values(&["{0}z", "{1}x", "{2}y"]));
    }
}
