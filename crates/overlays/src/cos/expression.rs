//! `cosExpression`: `<attribute> [<words of cosAttribute>] = <text>`; without words, `=` may be left out. In the text,
//! `${uid}` stands for the values of an attribute, `${uid:lower}` for them in small letters, `${rdn}` for the first
//! value of the entry's RDN. There is one value for each value of the first attribute that is named; of the others the
//! first value counts.

use ironbark_model::{AttributeDescription, Dn, Schema};

use super::attribute::CosAttribute;

/// One value of `cosExpression`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expression {
    pub(super) gives: CosAttribute,
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Part {
    Literal(String),
    Values {
        attribute: AttributeDescription,
        is_lower: bool,
    },
    Rdn {
        is_lower: bool,
    },
}

/// Octets of all values that an expression makes for one entry. The others are left out.
const MOST_OCTETS: usize = 1 << 20;
/// Parts of an expression. One of more is malformed.
const MOST_PARTS: usize = 32;

impl Expression {
    /// `None`: it is malformed, or the schema lacks an attribute.
    pub(super) fn parse(schema: &Schema, text: &str) -> Option<Self> {
        let text = text.trim_start();
        let (head, body) = text.split_once(char::is_whitespace)?;
        let (words, body) = match body.split_once('=') {
            Some((words, body)) if !words.contains('$') && !words.contains('@') => (words, body),
            _ => ("", body),
        };
        let gives = CosAttribute::parse(schema, &format!("{head} {words}"))?;
        let parts = parts(schema, body.trim())?;
        // Without a variable a template does the same.
        let has_variable = parts.iter().any(|part| !matches!(part, Part::Literal(_)));
        (has_variable && parts.len() <= MOST_PARTS).then_some(Self { gives, parts })
    }

    /// The values that it makes of those of an entry.
    pub(super) fn values<E>(
        &self,
        dn: &Dn,
        schema: &Schema,
        mut held: impl FnMut(&AttributeDescription) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Vec<Vec<u8>>, E> {
        let mut made = vec![Vec::new()];
        let mut is_first = true;
        for part in &self.parts {
            let found = match part {
                Part::Literal(text) => {
                    for value in &mut made {
                        value.extend_from_slice(text.as_bytes());
                    }
                    continue;
                }
                Part::Values { attribute, is_lower } => cased(held(attribute)?, *is_lower),
                Part::Rdn { is_lower } => {
                    let rdn = dn.leaf_assertions(schema).into_iter().next();
                    cased(rdn.map(|(_, value)| value).into_iter().collect(), *is_lower)
                }
            };
            let Some(first) = found.first() else {
                return Ok(Vec::new());
            };
            if std::mem::take(&mut is_first) {
                let begin = made.pop().unwrap_or_default();
                made.extend(found.iter().map(|value| [&*begin, value].concat()));
            } else {
                for value in &mut made {
                    value.extend_from_slice(first);
                }
            }
            bound(&mut made);
        }
        Ok(made)
    }

    /// The attribute that every entry with a value holds.
    pub(super) fn needs(&self) -> Option<&AttributeDescription> {
        self.parts.iter().find_map(|part| match part {
            Part::Values { attribute, .. } => Some(attribute),
            _ => None,
        })
    }

    /// The only attribute, and the texts before and behind it; `None`: there are others.
    pub(super) fn around(&self) -> Option<(&str, &AttributeDescription, &str)> {
        match &*self.parts {
            [Part::Values { attribute, .. }] => Some(("", attribute, "")),
            [Part::Literal(before), Part::Values { attribute, .. }] => Some((before, attribute, "")),
            [Part::Values { attribute, .. }, Part::Literal(behind)] => Some(("", attribute, behind)),
            [
                Part::Literal(before),
                Part::Values { attribute, .. },
                Part::Literal(behind),
            ] => Some((before, attribute, behind)),
            _ => None,
        }
    }
}

/// Leaves out what is too much, so that memory is bounded whatever is stored.
fn bound(made: &mut Vec<Vec<u8>>) {
    let mut octets = 0_usize;
    made.retain(|value| {
        octets = octets.saturating_add(value.len());
        octets <= MOST_OCTETS
    });
}

fn cased(mut values: Vec<Vec<u8>>, is_lower: bool) -> Vec<Vec<u8>> {
    if is_lower {
        for value in &mut values {
            if let Ok(text) = std::str::from_utf8(value) {
                *value = text.to_lowercase().into_bytes();
            }
        }
    }
    values
}

fn parts(schema: &Schema, mut text: &str) -> Option<Vec<Part>> {
    let mut found = Vec::new();
    while let Some((before, rest)) = text.split_once("${") {
        if !before.is_empty() {
            found.push(Part::Literal(before.to_owned()));
        }
        let (variable, rest) = rest.split_once('}')?;
        let (name, is_lower) = match variable.rsplit_once(':') {
            Some((name, "lower")) => (name, true),
            Some(_) => return None,
            None => (variable, false),
        };
        found.push(if name.eq_ignore_ascii_case("rdn") {
            Part::Rdn { is_lower }
        } else {
            let attribute = schema.attribute_description(name.as_bytes()).ok()?;
            Part::Values { attribute, is_lower }
        });
        text = rest;
    }
    if !text.is_empty() {
        found.push(Part::Literal(text.to_owned()));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn made(text: &str) -> Option<Vec<String>> {
        let schema = Schema::system();
        let expression = Expression::parse(&schema, text)?;
        let dn = Dn::parse(&schema, b"cn=Ann Ray,cn=x").unwrap();
        let uid = schema.attribute_description(b"uid").unwrap();
        let values = expression.values(&dn, &schema, |attribute| {
            Ok::<_, Infallible>(if *attribute == uid {
                vec![b"Jo".to_vec(), b"jo2".to_vec()]
            } else {
                Vec::new()
            })
        });
        let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
        Some(values.unwrap().into_iter().map(text).collect())
    }

    #[test]
    fn a_value_is_made_for_each_value_of_the_first_attribute() {
        for (text, values) in [
            ("description ${uid}@ex.org", Some(&["Jo@ex.org", "jo2@ex.org"][..])),
            ("description = ${uid:lower}@ex.org", Some(&["jo@ex.org", "jo2@ex.org"])),
            ("description override = /home/${uid}", Some(&["/home/Jo", "/home/jo2"])),
            ("description ${uid} ${uid}", Some(&["Jo Jo", "jo2 Jo"])),
            ("description ${rdn:lower}.${uid}", Some(&["ann ray.Jo"])),
            ("description ${uid} ${cn}", Some(&[])),
            ("description nothing", None),
            ("description ${uid", None),
            ("description ${uid:upper}", None),
            ("description ${nosuch}", None),
            ("nosuch ${uid}", None),
            ("description", None),
            (&format!("description {}", "${uid}".repeat(MOST_PARTS + 1)), None),
        ] {
            let found = made(text);
            let found = found
                .as_ref()
                .map(|found| found.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), values, "{text}");
        }
    }
}
