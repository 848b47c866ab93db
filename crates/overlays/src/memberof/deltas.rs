//! The net effect of a series of value changes on a value set: the new values and the removed ones.

use std::collections::HashMap;

/// Values after a series of changes, compared with those before it.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) gone: Vec<Vec<u8>>,
    pub(super) new: Vec<Vec<u8>>,
    /// Only values that a replacement of all values named again.
    pub(super) kept: Vec<Vec<u8>>,
}

/// The net effect, by normal form.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    /// Values with their place in the order of changes.
    added: HashMap<Vec<u8>, (usize, Vec<u8>)>,
    deleted: HashMap<Vec<u8>, (usize, Vec<u8>)>,
    /// Values that were there before and that a replacement named again.
    kept: HashMap<Vec<u8>, (usize, Vec<u8>)>,
    is_replaced: bool,
    next: usize,
}

impl Deltas {
    pub(super) fn add(&mut self, normal: Vec<u8>, value: &[u8]) {
        self.next += 1;
        if self.deleted.remove(&normal).is_none() {
            self.added.insert(normal, (self.next, value.to_vec()));
        } else if self.is_replaced {
            self.kept.insert(normal, (self.next, value.to_vec()));
        }
    }

    pub(super) fn delete(&mut self, normal: Vec<u8>, value: &[u8]) {
        self.next += 1;
        self.kept.remove(&normal);
        if self.added.remove(&normal).is_none() {
            self.deleted.insert(normal, (self.next, value.to_vec()));
        }
    }

    /// Removes everything that was there before the first change.
    pub(super) fn clear(&mut self, before: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) {
        self.added.clear();
        self.deleted.clear();
        self.kept.clear();
        self.is_replaced = true;
        for (normal, value) in before {
            self.next += 1;
            self.deleted.insert(normal, (self.next, value));
        }
    }

    /// The resulting values, each kind in the order of the changes.
    pub(super) fn finish(self) -> Outcome {
        Outcome {
            gone: in_order(self.deleted),
            new: in_order(self.added),
            kept: in_order(self.kept),
        }
    }
}

fn in_order(values: HashMap<Vec<u8>, (usize, Vec<u8>)>) -> Vec<Vec<u8>> {
    let mut values: Vec<_> = values.into_values().collect();
    values.sort_unstable_by_key(|(place, _)| *place);
    values.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::{Deltas, Outcome};

    fn bytes(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    #[test]
    fn a_replacement_is_what_it_leaves_different() {
        let mut deltas = Deltas::default();
        deltas.add(bytes("d"), b"D");
        deltas.clear(["a", "b", "c"].map(|name| (bytes(name), bytes(name))).into_iter());
        for name in ["c", "x", "a"] {
            deltas.add(bytes(name), name.as_bytes());
        }
        let outcome = Outcome {
            gone: vec![bytes("b")],
            new: vec![bytes("x")],
            kept: vec![bytes("c"), bytes("a")],
        };
        assert_eq!(deltas.finish(), outcome);
    }

    #[test]
    fn what_goes_after_a_replacement_is_not_kept() {
        let mut deltas = Deltas::default();
        deltas.clear(["a", "b"].map(|name| (bytes(name), bytes(name))).into_iter());
        deltas.add(bytes("a"), b"a");
        deltas.add(bytes("b"), b"b");
        deltas.delete(bytes("a"), b"a");
        let outcome = Outcome {
            gone: vec![bytes("a")],
            new: vec![],
            kept: vec![bytes("b")],
        };
        assert_eq!(deltas.finish(), outcome);
    }

    #[test]
    fn what_comes_and_goes_leaves_nothing() {
        let mut deltas = Deltas::default();
        deltas.add(bytes("a"), b"a");
        deltas.delete(bytes("a"), b"A");
        deltas.delete(bytes("b"), b"b");
        deltas.add(bytes("b"), b"B");
        let outcome = Outcome {
            gone: vec![],
            new: vec![],
            kept: vec![],
        };
        assert_eq!(deltas.finish(), outcome);
    }
}
