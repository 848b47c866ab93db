//! `pwdHistory`: former passwords, `time#syntax#length#value`.

use ironbark_directory::stamp::generalized_time;
use ironbark_model::syntax::oid;

/// The former passwords of an entry, the oldest first.
pub(super) struct History<'e> {
    /// Time, the whole value, and the password in it.
    former: Vec<(i64, &'e [u8], &'e [u8])>,
}

impl<'e> History<'e> {
    /// Values that cannot be parsed are left out.
    pub(super) fn of(values: &'e [Vec<u8>]) -> Self {
        let mut former: Vec<_> = values.iter().filter_map(|value| parse(value)).collect();
        former.sort_by_key(|(time, ..)| *time);
        Self { former }
    }

    /// The last `count` passwords, as they were stored.
    pub(super) fn last(&self, count: usize) -> impl Iterator<Item = &'e [u8]> {
        self.former.iter().rev().take(count).map(|(_, _, stored)| *stored)
    }

    /// The values that must be removed before another one is added, if `kept` values are kept.
    pub(super) fn excess(&self, kept: usize) -> Vec<Vec<u8>> {
        let count = (self.former.len() + 1).saturating_sub(kept);
        let oldest = self.former.iter().take(count);
        oldest.map(|(_, value, _)| value.to_vec()).collect()
    }
}

/// The passwords in values of `pwdHistory`, as they were stored.
pub(super) fn passwords(values: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let parsed = values.iter().filter_map(|value| parse(value));
    parsed.map(|(_, _, stored)| stored.to_vec()).collect()
}

/// The value for a stored password.
pub(super) fn value(now: i64, stored: &[u8]) -> Vec<u8> {
    let head = format!(
        "{}#{}#{}#",
        generalized_time::text(now),
        oid::OCTET_STRING,
        stored.len()
    );
    [head.as_bytes(), stored].concat()
}

fn parse(value: &[u8]) -> Option<(i64, &[u8], &[u8])> {
    let mut parts = value.splitn(4, |byte| *byte == b'#');
    let time = generalized_time::seconds(parts.next()?)?;
    let _syntax = parts.next()?;
    let length: usize = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let stored = parts.next()?;
    (stored.len() == length).then_some((time, value, stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_the_order_of_their_times() {
        let values = [
            value(20, b"b#c"),
            value(10, b"a"),
            b"junk".to_vec(),
            b"19700101000000Z#1.2#9#x".to_vec(),
        ];
        assert_eq!(values[1], b"19700101000010Z#1.3.6.1.4.1.1466.115.121.1.40#1#a");
        let history = History::of(&values);
        assert_eq!(history.last(2).collect::<Vec<_>>(), [&b"b#c"[..], b"a"]);
        assert_eq!(history.last(1).count(), 1);
        assert_eq!(history.excess(2), [values[1].clone()]);
        assert!(history.excess(3).is_empty());
    }
}
