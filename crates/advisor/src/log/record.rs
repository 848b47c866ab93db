//! Collects the searches of a log that found no index, and adds them up by filter.
//!
//! A "not indexed" line does not name its search. It belongs to the latest search that asks for the attribute. The cost
//! of a search is known when all its lines have been read: that is, when newer searches have pushed it out.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ironbark_config::{LoadedConfiguration, overlay};
use ironbark_directory::filter_without_values;
use ironbark_model::{CompiledFilter, Dn, Filter};

use super::{
    kinds_of,
    line::{self, Event, Key},
};
use crate::index::{self, IndexType, SearchStatistics, Term};

/// Searches that may still have further lines.
const MOST_OPEN: usize = 4096;
/// A "not indexed" line may belong to one of this many latest searches.
const MOST_RECENT: usize = 64;
/// The number of different filters that are remembered.
const MOST_SHAPES: usize = 4096;
/// Greatest nesting of filters.
const MOST_DEPTH: usize = 64;
/// A search that takes this long, overall and per returned entry, has read many entries in vain.
const SLOW_MICROS: u64 = 100_000;
const SLOW_MICROS_EACH: u64 = 1_000;

/// A search, as far as its lines were read.
#[derive(Default)]
struct Open {
    base: Option<String>,
    filter: String,
    is_unindexed: bool,
    micros: u64,
    entries: u64,
    examined: Option<u64>,
}

/// The key of a group of searches: the position of the database, the filter, and whether the number of examined entries
/// is known.
type Shape = (Option<usize>, String, bool);

/// The collected searches.
pub(super) struct Record<'a> {
    configuration: &'a LoadedConfiguration,
    open: HashMap<Key, Open>,
    /// Keys of `open`, the oldest first.
    order: VecDeque<Key>,
    shapes: BTreeMap<Shape, SearchStatistics>,
}

impl<'a> Record<'a> {
    pub(super) fn new(configuration: &'a LoadedConfiguration) -> Self {
        Self {
            configuration,
            open: HashMap::new(),
            order: VecDeque::new(),
            shapes: BTreeMap::new(),
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        match line::parse(text) {
            None => {}
            Some(Event::Search { key, base, filter }) => {
                self.begin(
                    key,
                    Open {
                        base: Some(base),
                        filter,
                        ..Open::default()
                    },
                );
            }
            Some(Event::Result { key, micros, entries }) => {
                if let Some(open) = self.open.get_mut(&key) {
                    (open.micros, open.entries) = (micros, entries);
                }
            }
            Some(Event::Slow {
                key,
                entries,
                examined,
                filter,
            }) => match self.open.get_mut(&key) {
                Some(open) => (open.entries, open.examined) = (entries, Some(examined)),
                None => self.begin(
                    key,
                    Open {
                        filter,
                        entries,
                        examined: Some(examined),
                        ..Open::default()
                    },
                ),
            },
            Some(Event::NotIndexed { attribute, kind }) => self.not_indexed(&attribute, kind),
        }
    }

    /// The open searches have no further lines.
    pub(super) fn end_of_log(&mut self) {
        self.order.clear();
        for (_, open) in std::mem::take(&mut self.open) {
            self.count(&open);
        }
    }

    /// The searches of each database. `None`: the database is unknown.
    pub(super) fn into_searches(self) -> BTreeMap<Option<usize>, Vec<SearchStatistics>> {
        let mut found: BTreeMap<Option<usize>, Vec<SearchStatistics>> = BTreeMap::new();
        for ((database, _, _), asked) in self.shapes {
            found.entry(database).or_default().push(asked);
        }
        found
    }

    fn begin(&mut self, key: Key, open: Open) {
        match self.open.insert(key, open) {
            // The server was restarted.
            Some(earlier) => self.count(&earlier),
            None => self.order.push_back(key),
        }
        while self.order.len() > MOST_OPEN {
            if let Some(oldest) = self.order.pop_front().and_then(|key| self.open.remove(&key)) {
                self.count(&oldest);
            }
        }
    }

    fn not_indexed(&mut self, attribute: &str, kind: IndexType) {
        let recent = self.order.iter().rev().take(MOST_RECENT);
        let asks = |open: &Open| asks_for(&open.filter, attribute);
        let found = recent.copied().find(|key| self.open.get(key).is_some_and(asks));
        if let Some(open) = found.and_then(|key| self.open.get_mut(&key)) {
            open.is_unindexed = true;
            return;
        }
        let filter = match kind {
            IndexType::Equality => format!("({attribute}=?)"),
            IndexType::Substring => format!("({attribute}=*?*)"),
            IndexType::Approximate => format!("({attribute}~=?)"),
            IndexType::Presence => format!("({attribute}=*)"),
        };
        self.count(&Open {
            filter,
            is_unindexed: true,
            ..Open::default()
        });
    }

    /// Adds a costly search to those with the same filter.
    fn count(&mut self, open: &Open) {
        let each = open.micros / open.entries.saturating_add(1);
        let is_slow = open.micros >= SLOW_MICROS && each >= SLOW_MICROS_EACH;
        if !open.is_unindexed && !is_slow && open.examined.is_none() {
            return;
        }
        let schema = &*self.configuration.schema;
        let Ok(filter) = Filter::parse(open.filter.as_bytes(), MOST_DEPTH) else {
            return;
        };
        let mut compiled = CompiledFilter::default();
        compiled.compile(schema, &filter);
        let filter = filter_without_values(schema, &compiled);
        let Ok(database) = self.database(open.base.as_deref()) else {
            return;
        };
        let shape = (database, filter, open.examined.is_some());
        if self.shapes.len() >= MOST_SHAPES && !self.shapes.contains_key(&shape) {
            return;
        }
        let (configuration, filter) = (self.configuration, shape.1.clone());
        let asked = self.shapes.entry(shape).or_insert_with(|| SearchStatistics {
            terms: terms(configuration, database, &filter),
            filter,
            searches: 0,
            candidates: open.examined.map(|_| 0),
            entries: 0,
        });
        asked.searches = asked.searches.saturating_add(1);
        asked.entries = asked.entries.saturating_add(open.entries);
        if let (Some(candidates), Some(examined)) = (&mut asked.candidates, open.examined) {
            *candidates = candidates.saturating_add(examined);
        }
    }

    /// The stored database of a search: by its base, or the only one. `Ok(None)`: unknown.
    fn database(&self, base: Option<&str>) -> Result<Option<usize>, Elsewhere> {
        let databases = &self.configuration.databases;
        let is_stored = |at: &usize| databases.get(*at).is_some_and(|one| one.kind.has_indexes());
        let Some(base) = base else {
            let mut stored = (0..databases.len()).filter(is_stored);
            return Ok(stored.next().filter(|_| stored.next().is_none()));
        };
        let dn = Dn::parse(&self.configuration.schema, base.as_bytes()).map_err(|_| Elsewhere)?;
        let found = self.configuration.database_holding(&dn).filter(is_stored);
        found.map(Some).ok_or(Elsewhere)
    }
}

/// The search is not about a stored database of this configuration.
struct Elsewhere;

/// Whether an item of a filter, as text, is about an attribute.
fn asks_for(filter: &str, attribute: &str) -> bool {
    filter.match_indices('(').any(|(at, _)| {
        let rest = filter.get(at + 1..).unwrap_or_default();
        let name = rest.get(..attribute.len());
        let behind = rest.get(attribute.len()..).unwrap_or_default();
        name.is_some_and(|name| name.eq_ignore_ascii_case(attribute))
            && behind.starts_with(['=', '>', '<', '~', ':', ';'])
    })
}

/// The items of a filter that an index could serve, and whether the configuration has that index.
fn terms(configuration: &LoadedConfiguration, database: Option<usize>, filter: &str) -> Vec<(Term, bool)> {
    let Ok(filter) = Filter::parse(filter.as_bytes(), MOST_DEPTH) else {
        return Vec::new();
    };
    let settings = database.and_then(|at| configuration.databases.get(at));
    let schema = &*configuration.schema;
    let terms = index::terms(&filter).into_iter();
    let possible = terms.filter(|term| may_be_indexed(configuration, term));
    possible
        .map(|term| {
            let is_there = settings
                .is_some_and(|settings| overlay::is_indexed(settings, schema, &term.attribute, kinds_of(term.kind)));
            (term, is_there)
        })
        .collect()
}

/// Whether the server accepts such an index, and would ever use it.
fn may_be_indexed(configuration: &LoadedConfiguration, term: &Term) -> bool {
    let schema = &*configuration.schema;
    let Ok(description) = schema.attribute_description(term.attribute.as_bytes()) else {
        return false;
    };
    let attribute_type = schema.attribute_type(description.attribute_type);
    // These attributes are computed and never stored.
    let is_computed = ["entryDN", "hasSubordinates", "numSubordinates", "subschemaSubentry"]
        .iter()
        .any(|name| attribute_type.name().eq_ignore_ascii_case(name));
    let is_class = attribute_type.name().eq_ignore_ascii_case("objectClass");
    !is_computed
        && match term.kind {
            IndexType::Equality => attribute_type.equality.is_some(),
            IndexType::Substring => attribute_type.substrings.is_some(),
            IndexType::Approximate => attribute_type.equality.is_some(),
            // Every entry has a class.
            IndexType::Presence => !is_class,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_for_the_attributes_of_its_items() {
        assert!(asks_for("(&(objectClass=person)(UID=x))", "uid") && asks_for("(cn;lang-en=x)", "cn"));
        assert!(!asks_for("(uidNumber=1)", "uid") && !asks_for("(cn=uid)", "uid") && !asks_for("(", "uid"));
    }
}
