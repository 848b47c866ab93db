//! An entry during its changes: each attribute and each value is found at once, even in a request with many changes.

use ironbark_model::number_map::NumberMap;

use crate::{
    ValueChange, ValueList,
    catalog::Catalog,
    external,
    record::{
        codec,
        image::{Image, ImageAttribute, ValueSet},
    },
};

/// The attributes of an entry under change.
pub(super) struct Working {
    image: Image,
    /// In the order of the entry; `None` where one was removed.
    attributes: Vec<Option<WorkingAttribute>>,
    places: NumberMap<usize>,
    loads: NumberMap<Load>,
}

/// The size of the changes of one attribute.
#[derive(Clone, Copy, Default)]
struct Load {
    changes: usize,
    values: u64,
}

pub(super) struct WorkingAttribute {
    pub(super) number: u16,
    pub(super) set: WorkingSet,
}

/// A value set under change.
pub(super) enum WorkingSet {
    /// As it will be in the record.
    Closed(ValueSet),
    /// In memory, until all changes are made.
    Open(OpenSet),
}

/// A value set in memory. The rows of a former external set have been deleted.
#[derive(Default)]
pub(super) struct OpenSet {
    list: ValueList,
    /// Octets that the values take in a record.
    octets: usize,
    /// Whether it belongs in `values`.
    is_external: bool,
}

impl OpenSet {
    pub(super) fn of(catalog: &Catalog, number: u16, tlvs: &[u8], is_external: bool) -> Self {
        let mut open = Self::default();
        for value in codec::values(tlvs) {
            open.push(catalog, number, value);
        }
        open.is_external = is_external;
        open
    }

    pub(super) fn add(&mut self, catalog: &Catalog, number: u16, values: &[Vec<u8>]) {
        for value in values {
            self.push(catalog, number, value);
        }
        self.is_external |= external::is_external(self.list.len(), self.octets);
    }

    /// `false`: one of them is not there.
    pub(super) fn delete(&mut self, catalog: &Catalog, number: u16, values: &[Vec<u8>]) -> bool {
        for value in values {
            let Some(gone) = self.list.remove(&normal_form(catalog, number, value)) else {
                return false;
            };
            self.octets -= codec::value_length(&gone);
        }
        self.is_external &= self.list.len() as u64 >= external::BACK_COUNT;
        true
    }

    /// The value with this normal form.
    pub(super) fn get(&self, normal: &[u8]) -> Option<&[u8]> {
        self.list.get(normal)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.list.iter().map(Vec::as_slice)
    }

    pub(super) fn is_external(&self) -> bool {
        self.is_external
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn push(&mut self, catalog: &Catalog, number: u16, value: &[u8]) {
        self.octets += codec::value_length(value);
        self.list.push(normal_form(catalog, number, value), value.to_vec());
    }
}

pub(super) fn normal_form(catalog: &Catalog, number: u16, value: &[u8]) -> Vec<u8> {
    let mut normal = Vec::new();
    catalog.normal_form(number, value, &mut normal);
    normal
}

impl Working {
    pub(super) fn new(mut image: Image, changes: &[ValueChange], numbers: &[u16]) -> Self {
        let mut loads: NumberMap<Load> = NumberMap::default();
        for (change, &number) in changes.iter().zip(numbers) {
            let load = loads.entry(number.into()).or_default();
            load.changes += 1;
            load.values += change.values().len() as u64;
        }
        let attributes: Vec<_> = std::mem::take(&mut image.attributes)
            .into_iter()
            .map(|ImageAttribute { number, set }| {
                let set = WorkingSet::Closed(set);
                Some(WorkingAttribute { number, set })
            })
            .collect();
        let places = (0..)
            .zip(&attributes)
            .filter_map(|(place, attribute)| Some((attribute.as_ref()?.number.into(), place)))
            .collect();
        Self {
            image,
            attributes,
            places,
            loads,
        }
    }

    /// Whether more than one change is about this attribute.
    pub(super) fn is_changed_again(&self, number: u16) -> bool {
        self.loads.get(&number.into()).is_some_and(|load| load.changes > 1)
    }

    /// Whether a set with this many rows should be changed in memory: the changes touch at least as many values, one
    /// after the other.
    pub(super) fn outweighs(&self, number: u16, count: u64) -> bool {
        let load = self.loads.get(&number.into()).copied().unwrap_or_default();
        load.changes > 1 && load.values >= count
    }

    pub(super) fn get(&self, number: u16) -> Option<&WorkingSet> {
        let place = *self.places.get(&number.into())?;
        Some(&self.attributes.get(place)?.as_ref()?.set)
    }

    pub(super) fn get_mut(&mut self, number: u16) -> Option<&mut WorkingSet> {
        let place = *self.places.get(&number.into())?;
        Some(&mut self.attributes.get_mut(place)?.as_mut()?.set)
    }

    /// Appends a new attribute behind the others.
    pub(super) fn push(&mut self, number: u16, set: WorkingSet) {
        self.places.insert(number.into(), self.attributes.len());
        self.attributes.push(Some(WorkingAttribute { number, set }));
    }

    pub(super) fn remove(&mut self, number: u16) -> Option<WorkingSet> {
        let place = self.places.remove(&number.into())?;
        let removed = self.attributes.get_mut(place)?.take();
        removed.map(|attribute| attribute.set)
    }

    /// The entry without its attributes, and the remaining attributes.
    pub(super) fn into_parts(self) -> (Image, impl Iterator<Item = WorkingAttribute>) {
        (self.image, self.attributes.into_iter().flatten())
    }
}
