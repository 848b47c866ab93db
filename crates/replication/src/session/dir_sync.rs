//! A session with Active Directory (`type=dirSync`).
//!
//! Without a cookie the provider sends everything: this is the comparison of the content. With one it sends what has
//! changed since. What is sent says how entries are now, so after a crash it is sent again and changes nothing more.
//! The cookie is stored with the last change that it covers.

use std::sync::Arc;

use ironbark_client::{Client, SearchEntry, SearchItem, SearchStream};
use ironbark_directory::{CookiePlace, Incoming};
use ironbark_model::Dn;

use super::{Failure, Session};
use crate::{
    Again, ConsumerStop,
    dir_sync::{
        DirSync, Doubtful, Held, LeftOut, Matching, Page, Provider, Sent, has_guid, known_now, page_of, plain_name,
        read,
    },
};

/// A rename or a move is a change of this attribute.
const NAME: &str = "name";
/// How often the same is asked, if entries take names from each other.
const MOST_PASSES: u32 = 4;

/// What a comparison of the content has found so far.
#[derive(Default)]
struct Compared {
    has_base: bool,
    /// Entries that were deleted while an empty database is loaded, which takes no deletes.
    gone: Vec<[u8; 16]>,
    left_out: LeftOut,
    doubtful: Doubtful,
}

/// How entries are read whose values may name others.
#[derive(Default)]
struct Reading {
    left_out: LeftOut,
    /// Whether values may be left out until they come again.
    defers: bool,
    /// Whether values were left out.
    has_deferred: bool,
}

impl Session {
    pub(super) async fn follow_dir_sync(&mut self, client: &Client, dir_sync: &DirSync) -> Result<Again, Failure> {
        self.refreshed = false;
        self.consumer.begin_numbered();
        let line = Arc::clone(&self.line);
        let provider = Provider::of(client, &line);
        let mut content = dir_sync.content.clone().into_bytes();
        content.extend(provider.base_guid().await?);
        let held = self.consumer.cookie_place()?.filter(|_| !self.compares_anew);
        let rid = line.rid;
        let sent = held.as_ref().map_or_else(String::new, |place| hex(&place.cookie));
        tracing::info!(target: "sync", "syncrepl rid={rid:03} starting refresh (DirSync cookie={sent})");
        self.status.update(|status| status.cookie_sent = sent);
        let place = match held {
            Some(place) => {
                self.check(&place, &content)?;
                place
            }
            None => self.compare(&provider, content).await?,
        };
        if !self.refreshed {
            self.take_new(&provider, place).await?;
            self.refresh_ended();
        }
        Ok(Again::AfterInterval)
    }

    /// Whether the changes since a place are enough.
    fn check(&self, place: &CookiePlace, content: &[u8]) -> Result<(), Failure> {
        if place.content != content {
            let text = "the line or the provider's domain is not the same as before";
            return Err(Failure::Gap(text.to_owned()));
        }
        match known_now(&self.directory.configuration().schema, &place.left_out) {
            Some(name) => Err(Failure::Gap(format!(
                "the schema has the attribute {name} now, which was left out"
            ))),
            None => Ok(()),
        }
    }

    /// Compares the whole content.
    async fn compare(&mut self, provider: &Provider<'_>, content: Vec<u8>) -> Result<CookiePlace, Failure> {
        // An entry that ceases to match the filter meanwhile is not sent again: the changes begin before the
        // comparison.
        let before = if provider.has_filter() {
            Some(provider.cookie_of_now().await?)
        } else {
            None
        };
        let mut compared = Compared::default();
        self.consumer.begin_comparison()?;
        let mut cookie = self.read_all(provider, &mut compared).await?;
        let mut passes = 1;
        while self.consumer.has_displaced().await? {
            one_more(&mut passes)?;
            cookie = self.read_all(provider, &mut compared).await?;
        }
        if before.is_none() && !compared.has_base {
            // Whoever may not read anything gets success as well.
            let text = "the provider does not show the entry of the base";
            return Err(Failure::Provider(text.to_owned()));
        }
        self.tell_left_out(&mut compared.left_out);
        let is_all = before.is_none();
        let place = CookiePlace {
            cookie: before.unwrap_or(cookie),
            content,
            left_out: compared.left_out.names(),
        };
        self.consumer.end_comparison(compared.gone, place.clone()).await?;
        let is_outdated = self.with_names(|held| compared.doubtful.is_outdated(held))?;
        if is_outdated.map_err(ConsumerStop::from)? {
            self.read_again(provider).await?;
        }
        self.compares_anew = false;
        if is_all {
            self.refresh_ended();
        }
        Ok(place)
    }

    /// Reads everything. Returns the cookie of it.
    async fn read_all(&mut self, provider: &Provider<'_>, compared: &mut Compared) -> Result<Vec<u8>, Failure> {
        let mut cookie = Vec::new();
        loop {
            let mut stream = provider.matching(&cookie)?;
            while let Some(entry) = next_entry(&mut stream).await? {
                let schema = Arc::clone(&self.directory.configuration().schema);
                if !compared.has_base {
                    let dn = Dn::parse(&schema, plain_name(&entry.dn).as_bytes());
                    compared.has_base = dn.is_ok_and(|dn| dn == self.line.mapping.remote_base);
                }
                let sent = read(entry, &schema, &mut compared.left_out, &mut compared.doubtful)?;
                self.take_compared(sent, &mut compared.gone).await?;
                self.note_progress();
            }
            let page = page_of(stream.result(), &cookie)?;
            self.note_answer(&page);
            cookie = page.cookie;
            if !page.has_more {
                return Ok(cookie);
            }
        }
    }

    /// Reads everything again after a comparison: some names in values are outdated at the provider, and all entries
    /// that they mean are here now. What changes meanwhile comes after the place.
    async fn read_again(&mut self, provider: &Provider<'_>) -> Result<(), Failure> {
        let mut reading = Reading::default();
        let mut cookie = Vec::new();
        loop {
            let mut stream = provider.matching(&cookie)?;
            while let Some(entry) = next_entry(&mut stream).await? {
                if !has_guid(&entry) {
                    continue;
                }
                if let Sent::Whole(entry) = self.read_with_names(entry, &mut reading)? {
                    self.consumer.change(Incoming::Entry(entry), None).await?;
                }
            }
            let page = page_of(stream.result(), &cookie)?;
            cookie = page.cookie;
            if !page.has_more {
                return Ok(self.consumer.settle().await?);
            }
        }
    }

    async fn take_compared(&mut self, sent: Sent, gone: &mut Vec<[u8; 16]>) -> Result<(), Failure> {
        let incoming = match sent {
            Sent::Whole(entry) => return Ok(self.consumer.put(entry).await?),
            Sent::Gone(uuid) if self.consumer.is_loading() => {
                gone.push(uuid);
                return Ok(());
            }
            Sent::Gone(uuid) => Incoming::Delete { uuid },
            Sent::Changed(change) if self.consumer.is_loading() => {
                let text = format!("\"{}\" was changed meanwhile", change.dn);
                return Err(self.consumer.give_up_loading(text).into());
            }
            Sent::Changed(change) => Incoming::Logged(change),
        };
        Ok(self.consumer.change(incoming, None).await?)
    }

    /// Takes all changes since a place.
    async fn take_new(&mut self, provider: &Provider<'_>, mut place: CookiePlace) -> Result<(), Failure> {
        let line = Arc::clone(&self.line);
        let mut matching = provider.has_filter().then(|| Matching::of(&line));
        let mut reading = Reading {
            left_out: LeftOut::of(&place.left_out),
            ..Reading::default()
        };
        let (mut is_first, mut passes) = (true, 1);
        loop {
            (reading.defers, reading.has_deferred) = (passes == 1, false);
            let taken = self.take_page(provider, &place.cookie, &mut reading, &mut matching);
            let (page, last) = taken.await?;
            self.tell_left_out(&mut reading.left_out);
            if self.consumer.has_displaced().await? || reading.has_deferred {
                if !is_first {
                    // What belongs below may have come before the last cookie.
                    let text = "a name was used again while the changes came";
                    return Err(Failure::Gap(text.to_owned()));
                }
                self.consumer.change(last, None).await?;
                one_more(&mut passes)?;
                continue;
            }
            if !matches!(last, Incoming::Nothing) || page.cookie != place.cookie {
                place.cookie = page.cookie;
                place.left_out = reading.left_out.names();
                self.consumer.change(last, Some(place.clone())).await?;
                self.consumer.settle().await?;
                self.note_progress();
            }
            if !page.has_more {
                return Ok(());
            }
            (is_first, passes) = (false, 1);
        }
    }

    /// Takes an answer, except for the last change if that gives no entry another name: it is to come with the cookie.
    async fn take_page(
        &mut self,
        provider: &Provider<'_>,
        cookie: &[u8],
        reading: &mut Reading,
        matching: &mut Option<Matching<'_>>,
    ) -> Result<(Page, Incoming), Failure> {
        let mut stream = provider.changes(cookie)?;
        let mut last = Incoming::Nothing;
        let mut is_last_named = false;
        // Whether entries may get other names by what is not committed yet.
        let mut are_names_open = false;
        while let Some(entry) = next_entry(&mut stream).await? {
            if !matches!(last, Incoming::Nothing) {
                self.consumer
                    .change(std::mem::replace(&mut last, Incoming::Nothing), None)
                    .await?;
            }
            if are_names_open && has_guid(&entry) {
                self.consumer.settle().await?;
                are_names_open = false;
            }
            let has_name = !entry.values(NAME).is_empty();
            let sent = self.read_with_names(entry, reading)?;
            is_last_named = has_name && !matches!(sent, Sent::Gone(_));
            are_names_open |= has_name || matches!(sent, Sent::Gone(_));
            let uuid = sent.uuid();
            let matches = match matching {
                Some(matching) if !matches!(sent, Sent::Gone(_)) => matching.holds(uuid).await?,
                _ => true,
            };
            last = match sent {
                Sent::Whole(entry) if matches => Incoming::Entry(entry),
                Sent::Changed(change) if matches => Incoming::Logged(change),
                _ => Incoming::Delete { uuid },
            };
            self.note_progress();
        }
        let page = page_of(stream.result(), cookie)?;
        self.note_answer(&page);
        if is_last_named {
            self.consumer
                .change(std::mem::replace(&mut last, Incoming::Nothing), None)
                .await?;
        }
        Ok((page, last))
    }

    /// Reads an entry. Names in its values are those that the entries have here, if they are here.
    fn read_with_names(&self, entry: SearchEntry, reading: &mut Reading) -> Result<Sent, Failure> {
        let schema = Arc::clone(&self.directory.configuration().schema);
        let sent = self.with_names(|held| {
            held.defers = reading.defers;
            let sent = read(entry, &schema, &mut reading.left_out, held);
            reading.has_deferred |= held.has_deferred;
            sent
        })?;
        Ok(sent?)
    }

    /// Looks at the names that entries have here.
    fn with_names<T>(&self, look: impl FnOnce(&mut Held<'_>) -> T) -> Result<T, Failure> {
        let configuration = self.directory.configuration();
        let context = configuration.context_of(&self.line.mapping.local_base);
        let database = context
            .and_then(|context| context.database())
            .ok_or(ConsumerStop::NoDatabase)?;
        let snapshot = database.snapshot().map_err(ConsumerStop::from)?;
        Ok(look(&mut Held {
            view: snapshot.view(),
            mapping: &self.line.mapping,
            defers: false,
            has_deferred: false,
        }))
    }

    fn tell_left_out(&self, left_out: &mut LeftOut) {
        if let Some(names) = left_out.take_news() {
            let rid = self.line.rid;
            tracing::warn!(target: "any", "syncrepl rid={rid:03}: the schema lacks attributes, which are left out: {names}");
        }
    }

    fn note_answer(&self, page: &Page) {
        let now = self.directory.clock().coarse_now();
        let cookie = hex(&page.cookie);
        self.status.update(|status| {
            status.last_contact = Some(now);
            status.cookie_received = cookie;
        });
    }
}

/// The same is asked again.
fn one_more(passes: &mut u32) -> Result<(), Failure> {
    *passes += 1;
    if *passes > MOST_PASSES {
        let text = "the provider has several entries of one name";
        return Err(Failure::Provider(text.to_owned()));
    }
    Ok(())
}

/// The next entry of an answer. A reference names another domain, or another naming context of this one.
async fn next_entry(stream: &mut SearchStream) -> Result<Option<SearchEntry>, Failure> {
    while let Some(item) = stream.next().await? {
        if let SearchItem::Entry(entry) = item {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// A cookie as text.
fn hex(cookie: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(cookie.len() * 2);
    for octet in cookie {
        // Writing to a string succeeds.
        let _ = write!(text, "{octet:02x}");
    }
    text
}
