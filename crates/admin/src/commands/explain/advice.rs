//! What `ironbark explain` says beside the plan: attributes that do not exist, and indexes that would help.

use std::{collections::BTreeSet, fmt::Write as _};

use ironbark_advisor::index::{DatabaseStatistics, Index, IndexType, SearchStatistics, Term, lines, proposals, words};
use ironbark_config::{DatabaseConfig, database::IndexKinds};
use ironbark_directory::filter_without_values;
use ironbark_model::{CompiledFilter, Filter, Schema, attribute_description::DescriptionError, filter::FilterStep};
use ironbark_store::{Plan, View};

/// The attributes that the schema does not have, a line each, with the most similar name.
pub(super) fn unknown(schema: &Schema, filter: &Filter<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for step in filter.steps() {
        let FilterStep::Enter(item) = step else { continue };
        let Some(asked) = attribute(item) else { continue };
        if schema.attribute_description(asked) == Err(DescriptionError::UndefinedType) {
            let name = asked.split(|octet| *octet == b';').next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                names.push(name);
            }
        }
    }
    let mut text = String::new();
    for name in names {
        let like = nearest(schema, &name).map(|like| format!("; did you mean {like}?"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name}: the schema has no such attribute, so nothing matches it{}",
            like.unwrap_or_default()
        );
    }
    text
}

/// The attribute that an item names.
fn attribute<'f>(item: &'f Filter<'_>) -> Option<&'f [u8]> {
    match item {
        Filter::Equality(item) | Filter::GreaterOrEqual(item) | Filter::LessOrEqual(item) | Filter::Approx(item) => {
            Some(&item.attribute)
        }
        Filter::Substrings { attribute, .. } | Filter::Present(attribute) => Some(attribute),
        Filter::Extensible { attribute, .. } => attribute.as_deref(),
        Filter::And(_) | Filter::Or(_) | Filter::Not(_) => None,
    }
}

/// The name of the schema that is most like another one, if any is like it at all.
fn nearest<'s>(schema: &'s Schema, name: &str) -> Option<&'s str> {
    let name = name.to_ascii_lowercase();
    let names = schema.attribute_types().iter().filter(|found| !found.hidden);
    let (distance, found) = names
        .flat_map(|found| &found.names)
        .map(|found| (strsim::osa_distance(&found.to_ascii_lowercase(), &name), &**found))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= (found.len() / 3).max(1)).then_some(found)
}

/// The index lines with which fewer entries would have been read; nothing if there are none.
pub(super) fn indexes(
    view: &View<'_>,
    settings: &DatabaseConfig,
    plan: &Plan,
    filter: &CompiledFilter,
    examined: u64,
    matched: u64,
) -> String {
    let schema = view.schema();
    let can_have = |term: &Term| {
        let found = schema.find_attribute_type(term.attribute.as_bytes());
        found.is_some_and(|found| match term.kind {
            IndexType::Equality | IndexType::Approximate => found.equality.is_some(),
            IndexType::Substring => found.substrings.is_some(),
            IndexType::Presence => true,
        })
    };
    let terms = plan.terms().filter_map(|term| {
        let attribute = schema.attribute_type(term.attribute).name().to_owned();
        let kind = IndexType::of_match(term.kind.word())?;
        Some((Term { attribute, kind }, term.indexed))
    });
    let terms: Vec<(Term, bool)> = terms.filter(|(term, indexed)| *indexed || can_have(term)).collect();
    let database = DatabaseStatistics {
        suffix: String::new(),
        number: String::new(),
        entries: 0,
        indexes: existing(settings),
        searches: vec![SearchStatistics {
            filter: filter_without_values(schema, filter),
            terms,
            searches: 1,
            // Without any index, the next search may find less.
            candidates: plan.indexed.then_some(examined),
            entries: matched,
        }],
    };
    let mut text = String::new();
    for line in lines(&database, &proposals(&database, 1)) {
        let before = match line.before.len() {
            0 => String::new(),
            _ => format!(", in place of index {} {}", line.attribute, words(&line.before)),
        };
        let _ = writeln!(text, "would help: index {}{before}", line.text());
    }
    text
}

/// The indexes of a database that whole attributes have.
fn existing(settings: &DatabaseConfig) -> Vec<Index> {
    let kinds = [
        (IndexKinds::EQUALITY, IndexType::Equality),
        (IndexKinds::SUBSTRINGS, IndexType::Substring),
        (IndexKinds::APPROXIMATE, IndexType::Approximate),
        (IndexKinds::PRESENCE, IndexType::Presence),
    ];
    let mut found = BTreeSet::new();
    for setting in &settings.mdb.indexes {
        for (bits, kind) in kinds {
            if setting.built().contains(bits) {
                found.insert(Term {
                    attribute: setting.attribute.clone(),
                    kind,
                });
            }
        }
    }
    found.into_iter().map(|term| Index { term, uses: 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_that_is_not_there_is_named_with_the_one_that_is_like_it() {
        let schema = crate::commands::init::schema().unwrap();
        let said = |filter: &str| unknown(&schema, &Filter::parse(filter.as_bytes(), 9).unwrap());
        assert_eq!(
            said("(mial=x*)"),
            "mial: the schema has no such attribute, so nothing matches it; did you mean mail?\n"
        );
        let two = said("(&(mail=*)(|(MIAL;lang-en=x)(mial>=y)(!(qwertzuiop:caseIgnoreMatch:=z))))");
        assert_eq!(two.lines().count(), 2, "{two}");
        assert!(
            two.contains("qwertzuiop: the schema has no such attribute, so nothing matches it\n"),
            "{two}"
        );
        assert_eq!(said("(&(cn=a)(2.5.4.4=b)(commonName;lang-de=c))"), "");
    }
}
