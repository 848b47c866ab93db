//! A session with a provider whose log has numbers (`syncdata=changelog`).
//!
//! The content comes by an ordinary search. The changes that were made meanwhile are in the log behind the number that
//! it had before the search; they are made in their order, so that an entry which was read late becomes what it is
//! again. The log is read again and again: there is no search in all of these servers that reliably stays.

use std::{sync::Arc, time::Duration};

use ironbark_client::{Client, SearchEntry, SearchItem};
use ironbark_directory::{ChangeLogPlace, ReplicatedEntry};
use ironbark_model::{Dn, ResultCode};
use tokio::time::sleep;

use super::{Failure, Session, ended_with};
use crate::{
    Again,
    changelog::{ChangeEntry, Changelog, Meaning, Provider, UNIQUE_ID, Within, uuid_of},
    status::Phase,
};

/// How often the log is read with `type=refreshAndPersist`.
const PERIOD: Duration = Duration::from_secs(1);

impl Session {
    pub(super) async fn follow_changelog(&mut self, client: &Client, log: &Changelog) -> Result<Again, Failure> {
        self.refreshed = false;
        self.consumer.begin_numbered();
        let line = Arc::clone(&self.line);
        let provider = Provider::of(client, &line, log).await?;
        let held = self.consumer.place()?.filter(|_| !self.compares_anew);
        let rid = line.rid;
        let sent = held.as_ref().map_or_else(String::new, |place| place.number.to_string());
        tracing::info!(target: "sync", "syncrepl rid={rid:03} starting refresh (last changeNumber={sent})");
        self.status.update(|status| status.cookie_sent = sent);
        let mut place = match held {
            Some(place) => resumed(&provider, log, place).await?,
            None => self.refresh(&provider, log).await?,
        };
        loop {
            place = self.take_changes(&provider, log, place).await?;
            self.caught_up(&place);
            if !line.persists {
                return Ok(Again::AfterInterval);
            }
            sleep(PERIOD).await;
        }
    }

    /// Compares the whole content.
    async fn refresh(&mut self, provider: &Provider<'_>, log: &Changelog) -> Result<ChangeLogPlace, Failure> {
        let last = provider.numbers().await?.last;
        let (number, mark) = match provider.last_change(last).await? {
            Some(change) => (change.number, change.mark(&log.content)),
            None if last == 0 => (0, log.content.clone().into_bytes()),
            None => {
                return Err(Failure::Provider(format!(
                    "the provider does not show change {last} of its log"
                )));
            }
        };
        self.consumer.begin_refresh().await?;
        let mut stream = provider.content()?;
        let mut has_base = false;
        while let Some(item) = stream.next().await? {
            if let SearchItem::Entry(entry) = item {
                has_base |= self.is_base(&entry.dn);
                self.consumer.put(replicated(entry, provider)?).await?;
                self.note_contact(None);
                self.note_progress();
            }
        }
        match stream.result() {
            Some(result) if result.code == ResultCode::SUCCESS => {}
            Some(result) => return Err(Failure::Provider(ended_with(result.code, &result.diagnostic))),
            None => return Err(Failure::Provider("the search has no result".to_owned())),
        }
        if !has_base {
            // Whoever may not read anything gets success as well.
            return Err(Failure::Provider(
                "the provider does not show the entry of the base".to_owned(),
            ));
        }
        let refreshed = provider.numbers().await?.last;
        let place = ChangeLogPlace {
            number,
            refreshed,
            mark,
        };
        self.consumer.end_refresh(place.clone()).await?;
        self.compares_anew = false;
        Ok(place)
    }

    fn is_base(&self, dn: &str) -> bool {
        let configuration = self.directory.configuration();
        let dn = Dn::parse(&configuration.schema, dn.as_bytes());
        dn.is_ok_and(|dn| dn == self.line.mapping.remote_base)
    }

    /// Makes all changes that the log has behind a place.
    async fn take_changes(
        &mut self,
        provider: &Provider<'_>,
        log: &Changelog,
        mut place: ChangeLogPlace,
    ) -> Result<ChangeLogPlace, Failure> {
        loop {
            let numbers = provider.numbers().await?;
            gap(numbers.gap_behind(&place))?;
            self.note_contact(Some(&place));
            let changes = provider.changes_after(place.number, numbers.last).await?;
            let Some(first) = changes.first() else {
                return Ok(place);
            };
            if first.number.checked_sub(1) != Some(place.number) {
                // Those before it may have been trimmed: then the last one here was as well. Or they were taken back.
                place = resumed(provider, log, place).await?;
            }
            place = self.make(provider, log, changes, place).await?;
            self.note_contact(Some(&place));
            self.note_progress();
        }
    }

    async fn make(
        &mut self,
        provider: &Provider<'_>,
        log: &Changelog,
        changes: Vec<ChangeEntry>,
        mut place: ChangeLogPlace,
    ) -> Result<ChangeLogPlace, Failure> {
        let configuration = self.directory.configuration();
        let line = Arc::clone(&self.line);
        let within = Within {
            schema: &configuration.schema,
            base: &line.mapping.remote_base,
            kept: provider.kept(),
        };
        let mut is_passed = false;
        for change in changes {
            place = ChangeLogPlace {
                number: change.number,
                mark: change.mark(&log.content),
                ..place
            };
            tracing::debug!(target: "sync", "syncrepl rid={:03} change {}", line.rid, change.number);
            match change.meaning(&within)? {
                Meaning::Make(made) => self.consumer.make(*made, place.clone()).await?,
                Meaning::Elsewhere => {
                    is_passed = true;
                    continue;
                }
                Meaning::Unclear(reason) => return Err(Failure::Gap(reason)),
            }
            is_passed = false;
        }
        if is_passed {
            self.consumer.pass(place.clone()).await?;
        }
        self.consumer.settle().await?;
        Ok(place)
    }

    /// Everything that the log has is here.
    fn caught_up(&mut self, place: &ChangeLogPlace) {
        if self.refreshed {
            return;
        }
        self.refresh_ended();
        tracing::info!(target: "sync", "syncrepl rid={:03} has changeNumber={}", self.line.rid, place.number);
        if self.line.persists {
            self.status.update(|status| status.phase = Phase::Persist);
        }
    }

    fn note_contact(&self, place: Option<&ChangeLogPlace>) {
        let now = self.directory.clock().coarse_now();
        self.status.update(|status| {
            status.last_contact = Some(now);
            if let Some(place) = place {
                status.cookie_received = place.number.to_string();
            }
        });
    }
}

/// The place, if the provider's log goes on from there.
async fn resumed(provider: &Provider<'_>, log: &Changelog, place: ChangeLogPlace) -> Result<ChangeLogPlace, Failure> {
    let numbers = provider.numbers().await?;
    gap(numbers.gap_behind(&place))?;
    let number = place.number;
    let is_same = match provider.change(number.max(1)).await? {
        Some(_) if number == 0 => place.mark == log.content.as_bytes(),
        Some(change) => place.mark == change.mark(&log.content),
        None => number == 0 && numbers.last == 0 && place.mark == log.content.as_bytes(),
    };
    if is_same {
        return Ok(place);
    }
    let reason = format!("the provider's log has not the same change {number} any more");
    Err(Failure::Gap(reason))
}

fn gap(reason: Option<String>) -> Result<(), Failure> {
    reason.map_or(Ok(()), |reason| Err(Failure::Gap(reason)))
}

/// An entry of the refresh, with the UUID that its unique ID makes.
fn replicated(entry: SearchEntry, provider: &Provider<'_>) -> Result<ReplicatedEntry, Failure> {
    let held = entry.attributes.iter();
    let mut ids = held.filter(|(name, _)| name.eq_ignore_ascii_case(UNIQUE_ID));
    let id = ids.next().and_then(|(_, values)| values.first());
    let Some(id) = id else {
        return Err(Failure::Provider(format!(
            "the provider shows no nsUniqueId of \"{}\"",
            entry.dn
        )));
    };
    let uuid = uuid_of(id)?;
    let attributes = entry.attributes.into_iter();
    Ok(ReplicatedEntry {
        uuid,
        dn: entry.dn.into(),
        attributes: attributes
            .filter(|(name, _)| provider.kept().takes(name))
            .map(|(name, values)| (name.into(), values))
            .collect(),
    })
}
