//! The searches at a provider with such a log.

use ironbark_client::{Client, ClientError, Search, SearchOutcome, SearchStream};
use ironbark_directory::ChangeLogPlace;
use ironbark_ldap_proto::{
    EncodeControl, Filter, Scope,
    controls::{Control, ManageDsaIt},
};
use ironbark_model::ResultCode;

use super::{Attributes, ChangeEntry, Changelog, Kept, entry, text, values};
use crate::{
    SyncSearch, SyncreplLine, Violation,
    session::{Failure, ended_with, proxied},
};

/// Changes that are read at a time.
const WINDOW: u64 = 200;
/// How often changes are asked for in a row, if the log shows none of them.
const MOST_EMPTY: u32 = 1_000;
/// Depth of a filter.
const FILTER_DEPTH: usize = 250;
/// Where the schema is, if the root DSE does not say so.
const SCHEMA: &str = "cn=schema";

/// A provider, over one connection.
pub(crate) struct Provider<'a> {
    client: &'a Client,
    line: &'a SyncreplLine,
    log: &'a Changelog,
    kept: Kept,
}

/// The numbers of the changes that the log has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Numbers {
    /// Why changes behind this place are missing, if they are.
    pub(crate) fn gap_behind(self, place: &ChangeLogPlace) -> Option<String> {
        let (Self { first, last }, number) = (self, place.number);
        if last < number {
            Some(format!(
                "the provider's log ends with change {last}, and change {number} was made here"
            ))
        } else if first.saturating_sub(1) > number {
            Some(format!(
                "the provider's log begins with change {first}, and the last one here is {number}"
            ))
        } else {
            None
        }
    }
}

impl<'a> Provider<'a> {
    /// Asks the provider which attributes are operational.
    ///
    /// # Errors
    /// It does not say so.
    pub(crate) async fn of(client: &'a Client, line: &'a SyncreplLine, log: &'a Changelog) -> Result<Self, Failure> {
        let mut provider = Self {
            client,
            line,
            log,
            kept: Kept::default(),
        };
        let root = provider.entry_of("", &["subschemaSubentry"]).await?;
        let base = text(&root, "subschemaSubentry").unwrap_or(SCHEMA);
        let schema = provider.entry_of(base, &["attributeTypes"]).await?;
        let definitions = values(&schema, "attributeTypes").iter();
        let mut definitions = definitions
            .filter_map(|value| std::str::from_utf8(value).ok())
            .peekable();
        if definitions.peek().is_none() {
            return Err(Failure::Provider(format!(
                "the provider shows no attributeTypes in \"{base}\""
            )));
        }
        provider.kept = Kept::of(definitions, &log.chosen);
        Ok(provider)
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// The numbers of the log's changes.
    ///
    /// # Errors
    /// There is no log.
    pub(crate) async fn numbers(&self) -> Result<Numbers, Failure> {
        let root = self.entry_of("", &["firstChangeNumber", "lastChangeNumber"]).await?;
        let number = |name| text(&root, name).and_then(|number| number.parse().ok());
        match (number("firstChangeNumber"), number("lastChangeNumber")) {
            (Some(first), Some(last)) => Ok(Numbers { first, last }),
            _ => Err(Failure::Provider(
                "the provider's root DSE has no firstChangeNumber and lastChangeNumber: it keeps no change log"
                    .to_owned(),
            )),
        }
    }

    /// The next changes after this number, in their order. None: those that the numbers promise cannot be seen yet, or
    /// were taken back.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) async fn changes_after(&self, number: u64, last: u64) -> Result<Vec<ChangeEntry>, Failure> {
        let mut known = number;
        let mut window = WINDOW;
        let mut empty = 0;
        while known < last {
            let to = last.min(known.saturating_add(window));
            let found = match self.changes(known + 1, to).await {
                // Few changes may be long.
                Err(Failure::Client(ClientError::TooLong(_))) if to - known > 1 => {
                    window = (to - known) / 2;
                    continue;
                }
                found => found?,
            };
            if !found.is_empty() {
                return Ok(found);
            }
            known = to;
            empty += 1;
            if empty == MOST_EMPTY {
                return Err(Failure::Provider(format!(
                    "the provider's log ends with change {last}, and does not show those from {} to {known}",
                    number.saturating_add(1)
                )));
            }
        }
        Ok(Vec::new())
    }

    /// The last change up to this number. `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) async fn last_change(&self, number: u64) -> Result<Option<ChangeEntry>, Failure> {
        let mut window = WINDOW;
        loop {
            let from = number.saturating_sub(window - 1).max(1);
            match self.changes(from, number).await {
                // Few changes may be long.
                Err(Failure::Client(ClientError::TooLong(_))) if from < number => window = (number - from).div_ceil(2),
                found => return Ok(found?.pop()),
            }
        }
    }

    /// The change of this number, if the log has it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) async fn change(&self, number: u64) -> Result<Option<ChangeEntry>, Failure> {
        Ok(self.changes(number, number).await?.pop())
    }

    async fn changes(&self, from: u64, to: u64) -> Result<Vec<ChangeEntry>, Failure> {
        let filter = format!("(&(changeNumber>={from})(changeNumber<={to}))");
        let names: Vec<String> = entry::ATTRIBUTES.iter().map(ToString::to_string).collect();
        let request = SyncSearch {
            base: self.log.base.clone(),
            scope: Scope::SingleLevel,
            filter,
            attributes: names,
            size_limit: 0,
            time_limit: self.line.request.time_limit,
        };
        let found = checked(self.search(&request)?.collect().await?)?;
        let read = found
            .entries
            .into_iter()
            .map(|entry| ChangeEntry::of(boxed(entry.attributes)));
        let mut all = read.collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|change| change.number);
        in_range(&all, from, to)?;
        Ok(all)
    }

    /// Asks for all entries of the base.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn content(&self) -> Result<SearchStream, Failure> {
        self.search(&self.line.request)
    }

    fn search(&self, request: &SyncSearch) -> Result<SearchStream, Failure> {
        let filter = Filter::parse(request.filter.as_bytes(), FILTER_DEPTH)
            .map_err(|_| Failure::Filter(request.filter.clone()))?;
        let attributes: Vec<&str> = request.attributes.iter().map(String::as_str).collect();
        let search = Search {
            size_limit: request.size_limit,
            time_limit: request.time_limit,
            ..Search::new(&request.base, request.scope, filter).with_attributes(&attributes)
        };
        let manage = Control::critical(ManageDsaIt);
        let mut controls: Vec<&dyn EncodeControl> = vec![&manage];
        let proxied = proxied(self.line);
        controls.extend(proxied.iter().map(|control| control as &dyn EncodeControl));
        Ok(self.client.search(&search, &controls)?.with_timeout(self.line.patience))
    }

    async fn entry_of(&self, base: &str, names: &[&str]) -> Result<Box<Attributes>, Failure> {
        let request = SyncSearch {
            base: base.to_owned(),
            scope: Scope::BaseObject,
            filter: "(objectClass=*)".to_owned(),
            attributes: names.iter().map(ToString::to_string).collect(),
            size_limit: 0,
            time_limit: 0,
        };
        let found = checked(self.search(&request)?.collect().await?)?;
        let entry = found.entries.into_iter().next();
        Ok(entry.map(|entry| boxed(entry.attributes)).unwrap_or_default().into())
    }
}

/// What was not asked for would lead back, or far ahead.
fn in_range(changes: &[ChangeEntry], from: u64, to: u64) -> Result<(), Violation> {
    let is_outside = |change: &&ChangeEntry| !(from..=to).contains(&change.number);
    if let Some(change) = changes.iter().find(is_outside) {
        let number = change.number;
        let text = format!("the provider shows change {number} of its log, asked for those from {from} to {to}");
        return Err(Violation::Malformed(text));
    }
    let twice = changes.windows(2).find_map(|pair| match pair {
        [one, other] if one.number == other.number => Some(one.number),
        _ => None,
    });
    match twice {
        Some(number) => Err(Violation::Malformed(format!(
            "the provider shows change {number} of its log twice"
        ))),
        None => Ok(()),
    }
}

fn checked(outcome: SearchOutcome) -> Result<SearchOutcome, Failure> {
    if outcome.result.code == ResultCode::SUCCESS {
        return Ok(outcome);
    }
    Err(Failure::Provider(ended_with(
        outcome.result.code,
        &outcome.result.diagnostic,
    )))
}

fn boxed(attributes: Vec<(String, Vec<Vec<u8>>)>) -> Vec<(Box<str>, Vec<Vec<u8>>)> {
    attributes
        .into_iter()
        .map(|(name, values)| (name.into(), values))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_does_not_go_on_from_here_has_a_gap() {
        let place = ChangeLogPlace {
            number: 7,
            refreshed: 0,
            mark: Vec::new(),
        };
        for (first, last, is_gap) in [
            (1, 7, false),
            (7, 7, false),
            (8, 9, false),
            (9, 9, true),
            (1, 6, true),
            (0, 0, true),
        ] {
            let gap = Numbers { first, last }.gap_behind(&place);
            assert_eq!(gap.is_some(), is_gap, "{first} {last}");
        }
    }
}
