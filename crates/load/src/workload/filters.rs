//! Searches with given filters, or with filters made from a data set: substrings, ranges, AND and OR.

use crate::word::UnknownWord;
use std::{str::FromStr, sync::Arc};

use ironbark_ldap_proto::Filter;

use super::{
    Next, Population, RequestClass, Requests, Workload, WorkloadError,
    sample::{assertion, equality, place, search, substrings},
};
use crate::{
    generate::{self, GeneratedEntry, random::Random},
    wire::{Pool, RequestSlot},
};

/// Filters made from a data set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterMix {
    /// `(attribute=*abc*)`, four characters of a value.
    Substring,
    /// `(&(attribute>=a)(attribute<=b))`: a day, or a hundred numbers.
    Range,
    /// A selective equality and two items that nearly all entries match.
    And,
    /// This many equalities.
    Or(u32),
}

/// The workload.
#[derive(Debug)]
pub struct Filters {
    name: String,
    kinds: [RequestClass; 1],
    pool: Arc<Pool>,
    seed: u64,
}

impl Filters {
    /// A search below `base` for each line of `text`. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// A line is not a filter, or there is no line.
    pub fn from_lines(text: &str, base: &str, size_limit: u32, seed: u64) -> Result<Self, WorkloadError> {
        let mut pool = Pool::default();
        for (number, line) in (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        {
            let filter = Filter::parse(line.as_bytes(), DEPTH);
            let filter = filter.map_err(|error| WorkloadError(format!("line {number}: {error}")))?;
            pool.push(&search(base, filter, size_limit));
        }
        Self::new("filters".to_owned(), pool, 0, seed)
    }

    /// Searches for the entries of a population.
    ///
    /// # Errors
    /// The data set has no attribute for such filters.
    pub fn from_population(population: &Population, mix: FilterMix, size_limit: u32) -> Result<Self, WorkloadError> {
        let set = population.set();
        let mut pool = Pool::default();
        let mut random = population.random(0);
        if let FilterMix::Or(terms) = mix {
            // As many requests as the sample has terms for, at least 16.
            let count = (population.numbers().count() / usize::try_from(terms.max(1)).unwrap_or(1)).clamp(16, 1_000);
            for _ in 0..count {
                pool.push(&search(
                    set.suffix(),
                    one_of(population, terms, &mut random),
                    size_limit,
                ));
            }
        } else {
            for entry in population.sample() {
                let entry = entry?;
                let made = match mix {
                    FilterMix::Substring => substring(&entry, set.kind(), &mut random),
                    FilterMix::Range => range(&entry, set.kind()),
                    _ => selective(&entry, set.kind()),
                };
                if let Some(filter) = made {
                    pool.push(&search(set.suffix(), filter, size_limit));
                }
            }
        }
        Self::new(
            format!("{} {}", set.kind().name(), mix.name()),
            pool,
            1,
            population.seed(),
        )
    }

    fn new(name: String, pool: Pool, least_entries: u32, seed: u64) -> Result<Self, WorkloadError> {
        if pool.is_empty() {
            return Err(WorkloadError(format!("{name}: there is no filter to search by")));
        }
        Ok(Self {
            name,
            kinds: [RequestClass::new("search")
                .expecting(&[0, 4])
                .least_entries(least_entries)],
            pool: Arc::new(pool),
            seed,
        })
    }
}

fn substring(entry: &GeneratedEntry, kind: generate::DataSetKind, random: &mut Random) -> Option<Filter<'static>> {
    let attribute = match kind {
        generate::DataSetKind::Zimbra => "zimbraMailDeliveryAddress",
        generate::DataSetKind::Telco => "imsi",
        _ => "uid",
    };
    let value = entry.values(attribute).first()?;
    // Of an address only the part before the domain: the domain is nearly the same for all.
    let value = value.split(|octet| *octet == b'@').next()?;
    let start = place(random, value.len().checked_sub(SUBSTRING)? + 1);
    let part = value.get(start..start + SUBSTRING)?;
    Some(substrings(attribute, b"", part, b""))
}

fn range(entry: &GeneratedEntry, kind: generate::DataSetKind) -> Option<Filter<'static>> {
    let attribute = match kind {
        generate::DataSetKind::Zimbra => "zimbraCreateTimestamp",
        generate::DataSetKind::Telco => "lastLocationUpdate",
        generate::DataSetKind::University => "uidNumber",
        _ => return None,
    };
    let value = String::from_utf8_lossy(entry.values(attribute).first()?).into_owned();
    let (from, to) = if kind == generate::DataSetKind::University {
        let number: u64 = value.parse().ok()?;
        (value, (number + 99).to_string())
    } else {
        let day = value.get(..8)?;
        (format!("{day}000000Z"), format!("{day}235959Z"))
    };
    let filter = Filter::And(vec![
        Filter::GreaterOrEqual(assertion(attribute, from.as_bytes())),
        Filter::LessOrEqual(assertion(attribute, to.as_bytes())),
    ]);
    Some(filter)
}

fn selective(entry: &GeneratedEntry, kind: generate::DataSetKind) -> Option<Filter<'static>> {
    let login = login(kind);
    let class = entry.values("objectClass").last()?;
    let filter = Filter::And(vec![
        equality("objectClass", class),
        Filter::Present(login.as_bytes().into()),
        equality(login, entry.values(login).first()?),
    ]);
    Some(filter)
}

fn one_of(population: &Population, terms: u32, random: &mut Random) -> Filter<'static> {
    let login = login(population.set().kind());
    let term = |_| {
        let name = population.set().name(random.below(population.entries()));
        equality(login, name.login.as_bytes())
    };
    Filter::Or((0..terms).map(term).collect())
}

fn login(kind: generate::DataSetKind) -> &'static str {
    match kind {
        generate::DataSetKind::Telco => "imsi",
        generate::DataSetKind::Groups => "cn",
        _ => "uid",
    }
}

impl Workload for Filters {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Stream {
            pool: self.pool.clone(),
            random: Random::for_entry(self.seed, u64::from(number)),
        })
    }
}

struct Stream {
    pool: Arc<Pool>,
    random: Random,
}

impl Requests for Stream {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        self.pool.copy(place(&mut self.random, self.pool.len()), slot, out);
        Next::Sent(0)
    }
}

impl FilterMix {
    /// Its name in reports.
    pub fn name(self) -> String {
        match self {
            Self::Substring => "substring".to_owned(),
            Self::Range => "range".to_owned(),
            Self::And => "and".to_owned(),
            Self::Or(terms) => format!("or-{terms}"),
        }
    }
}

impl FromStr for FilterMix {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "substring" => Ok(Self::Substring),
            "range" => Ok(Self::Range),
            "and" => Ok(Self::And),
            _ => {
                let terms = text.strip_prefix("or-").and_then(|terms| terms.parse().ok());
                let terms = terms.filter(|terms| (1..=MOST_TERMS).contains(terms));
                terms.map(Self::Or).ok_or_else(|| {
                    let known = format!("substring, range, and, or-N with N up to {MOST_TERMS}");
                    UnknownWord::new("filters", text, known)
                })
            }
        }
    }
}

const SUBSTRING: usize = 4;
const DEPTH: usize = 100;
const MOST_TERMS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_line_by_line() {
        let filters = Filters::from_lines("# all\n(objectClass=*)\n\n(cn=a*)\n", "dc=x", 0, 1).unwrap();
        assert_eq!(filters.pool.len(), 2);
        let error = Filters::from_lines("(cn=a)\n(cn=b\n", "dc=x", 0, 1).unwrap_err();
        assert!(error.0.starts_with("line 2: "), "{error}");
        assert!(Filters::from_lines("# none\n", "dc=x", 0, 1).is_err());
    }

    #[test]
    fn mixes_have_names() {
        for (name, mix) in [("and", FilterMix::And), ("or-1000", FilterMix::Or(1_000))] {
            assert_eq!(name.parse(), Ok(mix));
            assert_eq!(mix.name(), name);
        }
        for name in ["or-0", "or-x", "or-10001", "not"] {
            assert!(name.parse::<FilterMix>().is_err(), "{name}");
        }
    }
}
