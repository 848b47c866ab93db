//! How a replica differs from the first one.

use std::fmt;

use super::listing::Line;

/// What is wrong with an entry of a replica, seen from the first one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Difference {
    /// Only the first one has it.
    Missing,
    /// The first one does not have it.
    Extra,
    /// Its entryCSN is less than that of the first one.
    Older,
    /// Its entryCSN is greater.
    Newer,
    /// Both have the same entryCSN, and another name.
    Renamed,
    /// Both have the same entryCSN and name, and other attributes.
    Unlike,
}

impl Difference {
    pub(super) const ALL: [Self; 6] = [
        Self::Missing,
        Self::Extra,
        Self::Older,
        Self::Newer,
        Self::Renamed,
        Self::Unlike,
    ];

    /// `None`: both are the same.
    pub(super) fn of(first: Option<&Line>, other: Option<&Line>) -> Option<Self> {
        match (first, other) {
            (None, None) => None,
            (Some(_), None) => Some(Self::Missing),
            (None, Some(_)) => Some(Self::Extra),
            (Some(first), Some(other)) if first.csn() > other.csn() => Some(Self::Older),
            (Some(first), Some(other)) if first.csn() < other.csn() => Some(Self::Newer),
            (Some(first), Some(other)) if first.place != other.place => Some(Self::Renamed),
            (Some(first), Some(other)) => (first.content != other.content).then_some(Self::Unlike),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Older => "older",
            Self::Newer => "newer",
            Self::Renamed => "renamed",
            Self::Unlike => "unlike",
        })
    }
}

/// The UUIDs whose lines are not the same in two sorted lists.
pub(super) fn differing(first: &[Line], other: &[Line]) -> Vec<[u8; 16]> {
    let (mut left, mut right) = (first.iter().peekable(), other.iter().peekable());
    let mut found = Vec::new();
    loop {
        let (uuid, is_different) = match (left.peek(), right.peek()) {
            (None, None) => return found,
            (Some(a), None) => (a.uuid, true),
            (None, Some(b)) => (b.uuid, true),
            (Some(a), Some(b)) => (a.uuid.min(b.uuid), a != b),
        };
        if is_different {
            found.push(uuid);
        }
        left.next_if(|line| line.uuid == uuid);
        right.next_if(|line| line.uuid == uuid);
    }
}

#[cfg(test)]
mod tests {
    use ironbark_store::Csn;

    use super::*;

    fn line(uuid: u8, second: u8, place: u64, content: u64) -> Line {
        let csn = Csn::parse(format!("202001010000{second:02}.000000Z#000000#001#000000").as_bytes());
        Line::new([uuid; 16], csn.unwrap(), place, content)
    }

    #[test]
    fn lists_are_merged_by_uuid() {
        let first = [line(1, 0, 0, 0), line(2, 0, 0, 0), line(4, 0, 0, 0), line(5, 0, 0, 0)];
        let other = [
            line(0, 0, 0, 0),
            line(1, 0, 0, 0),
            line(2, 1, 0, 0),
            line(5, 0, 0, 0),
            line(6, 0, 0, 0),
        ];
        let uuids: Vec<u8> = differing(&first, &other).iter().map(|uuid| uuid[0]).collect();
        assert_eq!(uuids, [0, 2, 4, 6]);
        assert!(differing(&first, &first).is_empty());
        assert_eq!(differing(&[], &other).len(), 5);
    }

    #[test]
    fn the_first_thing_that_differs_is_named() {
        let first = line(1, 5, 7, 9);
        let of = |other: Option<Line>| Difference::of(Some(&first), other.as_ref());
        assert_eq!(of(None), Some(Difference::Missing));
        assert_eq!(Difference::of(None, Some(&first)), Some(Difference::Extra));
        assert_eq!(of(Some(line(1, 4, 0, 0))), Some(Difference::Older));
        assert_eq!(of(Some(line(1, 6, 0, 0))), Some(Difference::Newer));
        assert_eq!(of(Some(line(1, 5, 0, 0))), Some(Difference::Renamed));
        assert_eq!(of(Some(line(1, 5, 7, 0))), Some(Difference::Unlike));
        assert_eq!(of(Some(first)), None);
    }
}
