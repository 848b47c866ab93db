//! Values that have an order (`X-ORDERED 'VALUES'`): `{n}` stands before each. As in slapd, a modification numbers them
//! from 0, an added value goes to its number or to the end, and a value is found by its number too.

use ironbark_model::{AttributeDescription, Schema};

use crate::{
    refusal::ModifyRefusal,
    request::modification::{Modification, ModificationKind, normal_form},
};

/// The values that a modification leaves, numbered.
///
/// # Errors
/// `attributeOrValueExists`, `noSuchAttribute`.
pub(super) fn modified(
    schema: &Schema,
    held: &[Vec<u8>],
    modification: &Modification,
    permissive: bool,
) -> Result<Vec<Vec<u8>>, ModifyRefusal> {
    let description = &modification.description;
    let mut values = Values {
        schema,
        description,
        held: held.iter().map(|value| split(value)).collect(),
    };
    // Values of an entry that was added as it was written need not have numbers.
    values.arrange();
    match modification.kind {
        ModificationKind::Delete if modification.values.is_empty() => values.held.clear(),
        ModificationKind::Delete => {
            let mut places = Vec::new();
            for value in &modification.values {
                match values.place(value) {
                    Some(place) => places.push(place),
                    None if permissive => {}
                    None => {
                        let attribute = schema.description_text(description);
                        return Err(ModifyRefusal::NoSuchValue { attribute });
                    }
                }
            }
            places.sort_unstable();
            places.dedup();
            for place in places.into_iter().rev() {
                values.held.remove(place);
            }
        }
        ModificationKind::Replace => {
            values.held = modification.values.iter().map(|value| split(value)).collect();
            values.arrange();
        }
        ModificationKind::Add | ModificationKind::AddIfAbsent | ModificationKind::Increment => {
            let is_lenient = permissive || modification.kind == ModificationKind::AddIfAbsent;
            for (index, value) in modification.values.iter().enumerate() {
                let (number, rest) = split(value);
                if values.with_text(&rest).is_none() {
                    values.insert(number, rest);
                } else if !is_lenient {
                    let attribute = schema.description_text(description);
                    return Err(ModifyRefusal::ValueExists { attribute, index });
                }
            }
        }
    }
    Ok(values.numbered())
}

struct Values<'a> {
    schema: &'a Schema,
    description: &'a AttributeDescription,
    held: Vec<(Option<usize>, Vec<u8>)>,
}

impl Values<'_> {
    /// Sorts by the numbers. Values without one follow in their order.
    fn arrange(&mut self) {
        self.held.sort_by_key(|(number, _)| number.unwrap_or(usize::MAX));
    }

    fn with_text(&self, rest: &[u8]) -> Option<usize> {
        let normal = normal_form(self.schema, self.description, rest);
        let mut held = self.held.iter();
        held.position(|(_, held)| normal_form(self.schema, self.description, held) == normal)
    }

    /// The place of `{n}`, `{n}text` or `text`.
    fn place(&self, value: &[u8]) -> Option<usize> {
        match split(value) {
            (None, rest) => self.with_text(&rest),
            (Some(number), rest) if rest.is_empty() => (number < self.held.len()).then_some(number),
            (Some(number), rest) => self.with_text(&rest).filter(|place| *place == number),
        }
    }

    fn insert(&mut self, number: Option<usize>, rest: Vec<u8>) {
        let end = self.held.len();
        let place = number.filter(|number| *number <= end).unwrap_or(end);
        self.held.insert(place, (None, rest));
    }

    fn numbered(self) -> Vec<Vec<u8>> {
        let numbered = self.held.into_iter().enumerate().map(|(number, (_, rest))| {
            let mut value = format!("{{{number}}}").into_bytes();
            value.extend_from_slice(&rest);
            value
        });
        numbered.collect()
    }
}

/// Number and rest of `{n}rest`.
fn split(value: &[u8]) -> (Option<usize>, Vec<u8>) {
    let numbered = || {
        let rest = value.strip_prefix(b"{")?;
        let end = rest.iter().position(|&byte| byte == b'}')?;
        let (digits, rest) = rest.split_at_checked(end)?;
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        Some((number, rest.get(1..)?.to_vec()))
    };
    match numbered() {
        Some((number, rest)) => (Some(number), rest),
        None => (None, value.to_vec()),
    }
}
