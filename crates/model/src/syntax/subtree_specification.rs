//! Subtree Specification (RFC 3672 §2.1).

use super::{InvalidValue, Syntax, gser::Gser, names::object_identifier, text};
use crate::{Dn, Schema, schema::ClassNumber};

pub(super) static ROWS: &[Syntax] = &[Syntax::text(
    "1.3.6.1.4.1.1466.115.121.1.45",
    "SubtreeSpecification",
    subtree_specification,
)];

fn subtree_specification(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    SubtreeSpecification::parse(schema, value, &Dn::root()).map(|_| ())
}

/// The entries that a subentry is about: a subtree below its superior, the administrative point, without parts of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubtreeSpecification {
    base: Dn,
    /// Names of entries that are left out, with all below them.
    before: Vec<Dn>,
    /// Names of entries below which all is left out.
    after: Vec<Dn>,
    minimum: usize,
    maximum: usize,
    refinement: Option<Refinement>,
}

/// Which classes an entry must have.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Refinement {
    /// `None`: a class that the schema lacks.
    Item(Option<ClassNumber>),
    And(Vec<Refinement>),
    Or(Vec<Refinement>),
    Not(Box<Refinement>),
}

impl SubtreeSpecification {
    /// Reads a value of a subentry below an administrative point. The value has at most 64 KiB.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(schema: &Schema, value: &[u8], point: &Dn) -> Result<Self, InvalidValue> {
        let found = Gser::parse(text(value)?)?;
        let mut specification = Self {
            base: point.clone(),
            before: Vec::new(),
            after: Vec::new(),
            minimum: 0,
            maximum: usize::MAX,
            refinement: None,
        };
        if let Some(base) = found.field("base")? {
            specification.base = local_name(schema, base, point)?;
        }
        let base = specification.base.clone();
        for (name, value) in found.fields()? {
            match *name {
                "base" => {}
                "specificExclusions" => {
                    for (_, exclusion) in value.fields()? {
                        if let Ok(name) = exclusion.choice("chopBefore") {
                            specification.before.push(local_name(schema, name, &base)?);
                        } else {
                            let name = exclusion.choice("chopAfter")?;
                            specification.after.push(local_name(schema, name, &base)?);
                        }
                    }
                }
                "minimum" => specification.minimum = distance(value)?,
                "maximum" => specification.maximum = distance(value)?,
                "specificationFilter" => specification.refinement = Some(refinement(schema, value)?),
                _ => return Err(InvalidValue),
            }
        }
        Ok(specification)
    }

    /// The top of the subtree.
    pub fn base(&self) -> &Dn {
        &self.base
    }

    /// Whether an entry with this name may be meant.
    pub fn names(&self, dn: &Dn) -> bool {
        if !dn.is_within(&self.base) {
            return false;
        }
        let below = dn.depth() - self.base.depth();
        (self.minimum..=self.maximum).contains(&below)
            && !self.before.iter().any(|before| dn.is_within(before))
            && !self.after.iter().any(|after| dn.is_within(after) && dn != after)
    }

    /// Whether an entry with this object class, its superclasses included, may be meant. `has` tells of a class.
    pub fn admits(&self, has: &dyn Fn(ClassNumber) -> bool) -> bool {
        self.refinement.as_ref().is_none_or(|refinement| refinement.admits(has))
    }

    /// Whether the object classes matter.
    pub fn is_refined(&self) -> bool {
        self.refinement.is_some()
    }
}

impl Refinement {
    fn admits(&self, has: &dyn Fn(ClassNumber) -> bool) -> bool {
        match self {
            Self::Item(class) => class.is_some_and(has),
            Self::And(all) => all.iter().all(|one| one.admits(has)),
            Self::Or(all) => all.iter().any(|one| one.admits(has)),
            Self::Not(one) => !one.admits(has),
        }
    }
}

fn distance(value: &Gser<'_>) -> Result<usize, InvalidValue> {
    let number: u32 = value.word()?.parse().map_err(|_| InvalidValue)?;
    usize::try_from(number).map_err(|_| InvalidValue)
}

/// A name that is relative to another one.
fn local_name(schema: &Schema, value: &Gser<'_>, above: &Dn) -> Result<Dn, InvalidValue> {
    let mut name = Dn::parse(schema, value.text()?.as_bytes()).map_err(|_| InvalidValue)?;
    name.put_below(above);
    Ok(name)
}

/// `item:class`, `and:{...}`, `or:{...}`, `not:...`; the reader has limited the depth.
fn refinement(schema: &Schema, value: &Gser<'_>) -> Result<Refinement, InvalidValue> {
    let all = |list: &Gser<'_>| {
        let refinements = list.fields()?.iter().map(|(_, inner)| refinement(schema, inner));
        refinements.collect::<Result<Vec<_>, _>>()
    };
    match value {
        Gser::Choice("item", class) => {
            let name = class.word()?.as_bytes();
            object_identifier(schema, name)?;
            Ok(Refinement::Item(
                schema.find_object_class(name).map(|class| class.number),
            ))
        }
        Gser::Choice("and", list) => all(list).map(Refinement::And),
        Gser::Choice("or", list) => all(list).map(Refinement::Or),
        Gser::Choice("not", inner) => Ok(Refinement::Not(Box::new(refinement(schema, inner)?))),
        _ => Err(InvalidValue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtree_is_cut_as_the_specification_says() {
        let schema = Schema::system();
        let dn = |text: &str| Dn::parse(&schema, text.as_bytes()).unwrap();
        let class = |name: &str| schema.find_object_class(name.as_bytes()).unwrap().number;
        let entries = [
            "cn=ex",
            "cn=a,cn=ex",
            "cn=1,cn=a,cn=ex",
            "cn=2,cn=1,cn=a,cn=ex",
            "cn=b,cn=ex",
            "cn=other",
        ];
        for (text, expected) in [
            ("{}", &[0, 1, 2, 3, 4][..]),
            ("{ base \"cn=a\" }", &[1, 2, 3]),
            ("{ base \"CN=A\", minimum 1 }", &[2, 3]),
            ("{ maximum 1 }", &[0, 1, 4]),
            ("{ minimum 1, maximum 2 }", &[1, 2, 4]),
            ("{ specificExclusions { chopBefore:\"cn=a\" } }", &[0, 4]),
            (
                "{ specificExclusions { chopAfter:\"cn=a\", chopBefore:\"cn=b\" } }",
                &[0, 1],
            ),
            ("{ base \"cn=a\", specificExclusions { chopBefore:\"cn=1\" } }", &[1]),
        ] {
            let specification = SubtreeSpecification::parse(&schema, text.as_bytes(), &dn("cn=ex")).unwrap();
            let named = (0..entries.len()).filter(|&number| specification.names(&dn(entries[number])));
            assert_eq!(named.collect::<Vec<_>>(), expected, "{text}");
            assert!(specification.admits(&|_| false));
        }
        for (text, of_alias, of_referral) in [
            ("{ specificationFilter item:alias }", true, false),
            ("{ specificationFilter not:item:alias }", false, true),
            ("{ specificationFilter or:{ item:alias, item:referral } }", true, true),
            (
                "{ specificationFilter and:{ item:alias, item:referral } }",
                false,
                false,
            ),
            ("{ specificationFilter item:1.2.3.4 }", false, false),
        ] {
            let specification = SubtreeSpecification::parse(&schema, text.as_bytes(), &dn("cn=ex")).unwrap();
            assert_eq!(specification.admits(&|one| one == class("alias")), of_alias, "{text}");
            assert_eq!(
                specification.admits(&|one| one == class("referral")),
                of_referral,
                "{text}"
            );
        }
    }
}
