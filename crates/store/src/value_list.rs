//! Values in the order in which they were added, found by their normal forms.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

/// Values in order. The cost of adding, finding or removing one does not depend on the number of values, so a request
/// with many changes takes time in proportion to its length.
#[derive(Clone, Debug, Default)]
pub struct ValueList {
    /// `None` where a value was removed.
    values: Vec<Option<Vec<u8>>>,
    /// Places of the values with a normal form, by a hash that no client can predict. More than one place occurs only
    /// in entries that were loaded with duplicates.
    places: HashMap<Vec<u8>, SmallVec<[usize; 1]>>,
    count: usize,
}

impl ValueList {
    /// Appends a value.
    pub fn push(&mut self, normal: Vec<u8>, value: Vec<u8>) {
        let place = self.values.len();
        self.places
            .entry(normal)
            .and_modify(|places| places.push(place))
            .or_insert_with(|| smallvec![place]);
        self.count += 1;
        self.values.push(Some(value));
    }

    /// Whether a value with this normal form is there.
    pub fn contains(&self, normal: &[u8]) -> bool {
        self.places.contains_key(normal)
    }

    /// The first value with this normal form.
    pub fn get(&self, normal: &[u8]) -> Option<&[u8]> {
        let place = *self.places.get(normal)?.first()?;
        self.values.get(place)?.as_deref()
    }

    /// Removes the first value with this normal form and gives it.
    pub fn remove(&mut self, normal: &[u8]) -> Option<Vec<u8>> {
        let places = self.places.get_mut(normal)?;
        let place = (!places.is_empty()).then(|| places.remove(0))?;
        if places.is_empty() {
            self.places.remove(normal);
        }
        self.count -= 1;
        self.values.get_mut(place)?.take()
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.values.iter().flatten()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::ValueList;

    fn list(texts: &[&str]) -> ValueList {
        let mut list = ValueList::default();
        for text in texts {
            list.push(text.to_lowercase().into(), text.as_bytes().to_vec());
        }
        list
    }

    #[test]
    fn values_stay_in_order_and_are_found_by_their_normal_forms() {
        let mut list = list(&["A", "b", "C", "a"]);
        assert!(list.contains(b"a") && !list.contains(b"A"));
        assert_eq!(list.remove(b"a").as_deref(), Some(&b"A"[..]));
        assert_eq!(list.iter().collect::<Vec<_>>(), [b"b", b"C", b"a"]);
        assert!(list.remove(b"a").is_some() && list.remove(b"a").is_none());
        list.push(b"a".to_vec(), b"AA".to_vec());
        assert_eq!(list.iter().collect::<Vec<_>>(), [&b"b"[..], b"C", b"AA"]);
        assert_eq!(list.len(), 3);
        for normal in [b"a", b"b", b"c"] {
            assert!(list.remove(normal).is_some());
        }
        assert!(list.is_empty());
    }
}
