//! A consumer of RFC 4533 that keeps what it is sent in memory.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_directory::{PLACE_ATTRIBUTE, RECENT_ATTRIBUTE};
use ironbark_ldap_proto::{
    DecodeLimits, DerefAliases, EncodeControl, Filter, MessageId, Request, Response, ResponseMessage, Scope,
    SearchRequest, SearchResultEntry, SyncInfo,
    controls::{
        Control, EntryState, ManageDsaIt, SortKey, SortKeys, Subentries, SyncDone, SyncRequest, SyncState, find, sync,
    },
    frame,
    message::encode_request,
};

use ironbark_harness::{TestClient, staying::Staying};

/// Attributes that say something of the entry's place, or of the server.
const COMPUTED: [&str; 4] = ["entryDN:", "hasSubordinates:", "subschemaSubentry:", "contextCSN:"];

/// What a consumer asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) identity: &'static str,
    pub(crate) base: &'static str,
    pub(crate) scope: Scope,
    pub(crate) filter: &'static str,
}

/// An entry: its name, and its attributes as lines.
pub(crate) type Held = (String, BTreeSet<String>);

/// What a message was, for tests that look at them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Entry(EntryState, String),
    /// Number of UUIDs.
    Gone(usize),
    Present(usize),
    Cookie,
    RefreshDelete,
    RefreshPresent,
    Done(u32, String),
}

/// What a consumer may ask for besides its content.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Besides {
    SortedIfPossible,
    /// Subentries, and nothing else.
    Subentries,
    /// The places of entries.
    Places,
    /// Places, and recent changes.
    Recent,
}

#[derive(Default)]
pub(crate) struct Consumer {
    pub(crate) entries: BTreeMap<[u8; 16], Held>,
    pub(crate) cookie: Option<Vec<u8>>,
    pub(crate) reload_hint: bool,
    /// What it asks for besides.
    pub(crate) besides: Option<Besides>,
    /// Whether an entry was named as gone while it had subordinates.
    pub(crate) left_below: bool,
    /// Server ID.
    pub(crate) sid: u16,
    /// Entries that the refresh has named so far.
    seen: BTreeSet<[u8; 16]>,
    is_refreshing: bool,
    /// CSNs of the deletes that the refresh has named, of each server the last one. slapd takes older changes for known
    /// after that.
    deletions: BTreeMap<String, String>,
    pub(crate) messages: Vec<Message>,
    /// The cookies of these messages.
    pub(crate) cookies: Vec<String>,
    /// The suffix, if all content is asked for: then each entry comes after its superior.
    suffix: Option<&'static str>,
    staying: Staying,
    /// The last message ID.
    pub(crate) number: i32,
}

impl Consumer {
    /// One that asks for the places of entries, as servers of ours do.
    pub(crate) fn asking_places() -> Self {
        Self {
            besides: Some(Besides::Places),
            ..Self::default()
        }
    }

    /// Sends the request, and takes what comes at once.
    pub(crate) fn begin(&mut self, client: &mut TestClient, content: Content, persists: bool) {
        self.seen.clear();
        self.deletions.clear();
        self.is_refreshing = true;
        self.messages.clear();
        self.cookies.clear();
        let is_whole = content.identity == "cn=root,dc=ex" && content.scope == Scope::WholeSubtree;
        self.suffix =
            Some(content.base).filter(|base| is_whole && *base == "dc=ex" && content.filter == "(objectClass=*)");
        self.number += 1;
        let told: &[&[u8]] = match self.besides {
            Some(Besides::Places) => &[PLACE_ATTRIBUTE.as_bytes()],
            Some(Besides::Recent) => &[PLACE_ATTRIBUTE.as_bytes(), RECENT_ATTRIBUTE.as_bytes()],
            _ => &[],
        };
        let names: Vec<&[u8]> = [&b"*"[..], b"+"].iter().chain(told).copied().collect();
        let request = SearchRequest {
            base: content.base.as_bytes(),
            scope: content.scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::parse(content.filter.as_bytes(), 10).unwrap(),
            attributes: names[..].into(),
        };
        let with_sid = self.sid != 0 || self.cookie.is_some();
        let sent = match &self.cookie {
            Some(cookie) if self.sid != 0 => {
                let text = String::from_utf8(cookie.clone()).unwrap();
                let csns = text.split_once(",csn=").map_or("", |(_, csns)| csns);
                format!("rid=001,sid={:03x},csn={csns}", self.sid).into_bytes()
            }
            Some(cookie) => cookie.clone(),
            None => format!("rid=001,sid={:03x}", self.sid).into_bytes(),
        };
        let sync = Control::critical(SyncRequest {
            persists,
            cookie: with_sid.then_some(&sent),
            reload_hint: self.reload_hint,
        });
        let manage = Control::critical(ManageDsaIt);
        client.become_(content.identity);
        let mut pdu = Vec::new();
        let mut controls: Vec<&dyn EncodeControl> = vec![&sync, &manage];
        let keys = [SortKey {
            attribute: b"sn",
            ordering_rule: Some(b"caseIgnoreOrderingMatch"),
            reverse: false,
        }];
        let sort = Control::optional(SortKeys(keys[..].into()));
        let subentries = Control::critical(Subentries { visible: true });
        match self.besides {
            Some(Besides::SortedIfPossible) => controls.push(&sort),
            Some(Besides::Subentries) => controls.push(&subentries),
            Some(Besides::Places | Besides::Recent) | None => {}
        }
        encode_request(
            &mut pdu,
            MessageId::new(self.number).unwrap(),
            &Request::Search(request),
            &controls,
        );
        let (staying, out) = Staying::begin(client, &pdu);
        self.take(&out);
        self.staying = staying;
    }

    /// Takes what has come since.
    pub(crate) fn go_on(&mut self, client: &mut TestClient) {
        let out = self.staying.go_on(client);
        self.take(&out);
    }

    /// Whether it waits for changes.
    pub(crate) fn persists(&self) -> bool {
        self.staying.is_here()
    }

    /// Breaks the connection.
    pub(crate) fn leave(&mut self) {
        self.staying = Staying::default();
    }

    /// The result code and text, once there is one.
    pub(crate) fn result(&self) -> Option<(u32, &str)> {
        match self.messages.last() {
            Some(Message::Done(code, text)) => Some((*code, text)),
            _ => None,
        }
    }

    /// What it holds, in the order of the names.
    pub(crate) fn content(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.entries.values().cloned().collect()
    }

    fn take(&mut self, mut out: &[u8]) {
        while let Some(length) = frame(out, 1 << 24).unwrap() {
            let (pdu, rest) = out.split_at(length);
            out = rest;
            let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).unwrap();
            match message.operation {
                Response::SearchEntry(entry) => {
                    let state = find(&message.controls, sync::STATE_OID).and_then(|control| control.value);
                    let state = SyncState::decode_value(state.expect("a state")).unwrap();
                    self.take_entry(&entry, &state);
                }
                Response::Intermediate(response) => {
                    let info = SyncInfo::of(&response).unwrap().expect("sync info");
                    self.take_info(info);
                }
                Response::Done(_, result) => {
                    let done = find(&message.controls, sync::DONE_OID).and_then(|control| control.value);
                    if let Some(done) = done {
                        let done = SyncDone::decode_value(done).unwrap();
                        self.end_refresh(!done.refresh_deletes);
                        self.keep(done.cookie);
                    }
                    let text = String::from_utf8_lossy(result.diagnostic_message).into_owned();
                    self.messages.push(Message::Done(result.code.0, text));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn take_entry(&mut self, entry: &SearchResultEntry<'_>, state: &SyncState<'_>) {
        let (name, lines) = held(entry);
        self.messages.push(Message::Entry(state.state, name.clone()));
        match state.state {
            EntryState::Delete => {
                assert!(lines.is_empty(), "a deleted entry has no attributes");
                self.entries.remove(&state.uuid);
            }
            EntryState::Present => _ = self.seen.insert(state.uuid),
            EntryState::Add | EntryState::Modify => {
                if self.is_refreshing {
                    self.seen.insert(state.uuid);
                    self.check_order(&name, &lines);
                }
                if self.suffix.is_some_and(|suffix| suffix != name) {
                    let (_, superior) = name.split_once(',').unwrap_or_default();
                    let is_here = self.entries.values().any(|(held, _)| held == superior);
                    assert!(is_here, "\"{name}\" comes before its superior");
                }
                // It may now be below another entry that has its former name.
                if let Some((former, _)) = self.entries.remove(&state.uuid) {
                    self.rename_below(&former, &name);
                }
                self.entries.insert(state.uuid, (name, lines));
            }
        }
        self.keep(state.cookie);
    }

    /// No delete that was named has a greater CSN than a change that comes after it.
    fn check_order(&self, name: &str, lines: &BTreeSet<String>) {
        let Some(csn) = lines.iter().find_map(|line| line.strip_prefix("entryCSN: ")) else {
            return;
        };
        let known = self.cookie.as_deref().unwrap_or_default();
        let is_known =
            of_servers(&String::from_utf8_lossy(known)).any(|known| server_of(known) == server_of(csn) && known >= csn);
        let deletion = self.deletions.get(server_of(csn));
        assert!(
            is_known || deletion.is_none_or(|deletion| csn > deletion.as_str()),
            "{name} of {csn} comes after {deletion:?}"
        );
    }

    /// Entries below a renamed one have another name, too.
    fn rename_below(&mut self, former: &str, name: &str) {
        let below = format!(",{former}");
        for (uuid, (other, _)) in &mut self.entries {
            // The provider has told where it is now.
            if self.seen.contains(uuid) {
                continue;
            }
            if let Some(own) = other.strip_suffix(&below) {
                *other = format!("{own},{name}");
            }
        }
    }

    fn take_info(&mut self, info: SyncInfo<'_>) {
        let (cookie, message) = match info {
            SyncInfo::NewCookie(cookie) => (Some(cookie), Message::Cookie),
            SyncInfo::RefreshDelete { cookie, done } => {
                assert!(done);
                self.end_refresh(false);
                (cookie, Message::RefreshDelete)
            }
            SyncInfo::RefreshPresent { cookie, done } => {
                assert!(done);
                self.end_refresh(true);
                (cookie, Message::RefreshPresent)
            }
            SyncInfo::IdSet { cookie, deletes, uuids } => {
                let count = uuids.iter().count();
                if deletes {
                    for uuid in uuids.iter() {
                        self.remove(&uuid);
                    }
                    (cookie, Message::Gone(count))
                } else {
                    self.seen.extend(uuids.iter());
                    (cookie, Message::Present(count))
                }
            }
        };
        self.messages.push(message);
        self.keep(cookie);
    }

    /// slapd deletes no entry that has subordinates.
    fn remove(&mut self, uuid: &[u8; 16]) {
        let Some((name, _)) = self.entries.remove(uuid) else {
            return;
        };
        let end = format!(",{name}");
        self.left_below |= self.entries.values().any(|(below, _)| below.ends_with(&end));
    }

    fn end_refresh(&mut self, removes_unseen: bool) {
        if removes_unseen {
            self.entries.retain(|uuid, _| self.seen.contains(uuid));
        }
        self.is_refreshing = false;
        self.seen.clear();
    }

    fn keep(&mut self, cookie: Option<&[u8]>) {
        if let Some(cookie) = cookie {
            let text = std::str::from_utf8(cookie).unwrap();
            self.cookies.push(text.to_owned());
            let text = match text.split_once(",delcsn=") {
                Some((before, deletion)) => {
                    self.deletions
                        .insert(server_of(deletion).to_owned(), deletion.to_owned());
                    before
                }
                None => text,
            };
            self.cookie = Some(merged(self.cookie.as_deref(), text).into_bytes());
        }
    }
}

/// The server ID in a CSN.
fn server_of(csn: &str) -> &str {
    csn.split('#').nth(2).unwrap_or_default()
}

/// The CSNs of a cookie.
fn of_servers(cookie: &str) -> impl Iterator<Item = &str> {
    cookie.split_once("csn=").map_or("", |(_, csns)| csns).split(';')
}

/// A cookie of a change has only the CSN of the change.
fn merged(known: Option<&[u8]>, new: &str) -> String {
    let mut csns: BTreeMap<String, String> = BTreeMap::new();
    let known = known
        .map(|known| String::from_utf8_lossy(known).into_owned())
        .unwrap_or_default();
    for text in [known.as_str(), new] {
        for csn in of_servers(text).filter(|csn| !csn.is_empty()) {
            let greatest = csns.entry(server_of(csn).to_owned()).or_default();
            if csn > greatest.as_str() {
                csn.clone_into(greatest);
            }
        }
    }
    let all: Vec<String> = csns.into_values().collect();
    format!("rid=001,csn={}", all.join(";"))
}

fn held(entry: &SearchResultEntry<'_>) -> Held {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut lines = BTreeSet::new();
    for attribute in &entry.attributes {
        for value in &attribute.values {
            lines.insert(format!("{}: {}", text(attribute.description), text(value)));
        }
    }
    lines.retain(|line| !COMPUTED.iter().any(|name| line.starts_with(name)));
    (text(entry.dn), lines)
}

/// What a search finds, to be compared with.
pub(crate) fn found(client: &mut TestClient, content: Content) -> BTreeMap<String, BTreeSet<String>> {
    client.become_(content.identity);
    let answer = client.search_as_self(content.base, content.scope, content.filter, &["*", "+"]);
    assert!(matches!(answer.code, 0 | 32), "{}", answer.code);
    let entries = answer.entries.iter().map(|entry| {
        let (name, rest) = entry.split_once('\n').unwrap();
        let lines = rest
            .lines()
            .filter(|line| !COMPUTED.iter().any(|name| line.starts_with(name)));
        let name = name.strip_prefix("dn: ").unwrap();
        (name.to_owned(), lines.map(str::to_owned).collect())
    });
    entries.collect()
}
