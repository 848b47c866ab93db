//! Subtree Specification (RFC 3672 §2.1).

use super::{InvalidValue, Syntax, gser::Gser, names::object_identifier, require, text};
use crate::{Dn, Schema};

pub(super) static ROWS: &[Syntax] = &[Syntax::text(
    "1.3.6.1.4.1.1466.115.121.1.45",
    "SubtreeSpecification",
    subtree_specification,
)];

fn subtree_specification(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let found = Gser::parse(text(value)?)?;
    for (name, value) in found.fields()? {
        match *name {
            "base" => local_name(schema, value)?,
            "specificExclusions" => {
                for (_, exclusion) in value.fields()? {
                    let name = exclusion
                        .choice("chopBefore")
                        .or_else(|_| exclusion.choice("chopAfter"))?;
                    local_name(schema, name)?;
                }
            }
            "minimum" | "maximum" => {
                let word = value.word()?;
                require(word.parse::<u32>().is_ok())?;
            }
            "specificationFilter" => refinement(schema, value)?,
            _ => return Err(InvalidValue),
        }
    }
    Ok(())
}

fn local_name(schema: &Schema, value: &Gser<'_>) -> Result<(), InvalidValue> {
    Dn::parse(schema, value.text()?.as_bytes())
        .map(|_| ())
        .map_err(|_| InvalidValue)
}

/// `item:class`, `and:{...}`, `or:{...}`, `not:...`; the reader has limited the depth.
fn refinement(schema: &Schema, value: &Gser<'_>) -> Result<(), InvalidValue> {
    match value {
        Gser::Choice("item", class) => object_identifier(schema, class.word()?.as_bytes()),
        Gser::Choice("and" | "or", list) => list
            .fields()?
            .iter()
            .try_for_each(|(_, inner)| refinement(schema, inner)),
        Gser::Choice("not", inner) => refinement(schema, inner),
        _ => Err(InvalidValue),
    }
}
