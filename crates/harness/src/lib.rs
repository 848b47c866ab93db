//! A directory in a temporary folder, driven with encoded requests as a connection would drive it.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

pub mod changes;
pub mod peer;
pub mod staying;

use std::{
    fmt::Write as _,
    ops::{Deref, DerefMut},
    path::Path,
    sync::Arc,
};

use ironbark_config::{
    Configuration, DatabaseConfig, Disk, Form, Level, OverlayConfig, Registry, Setting, SettingError, load,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_field,
};
use ironbark_directory::{
    Factories, HeldUntil, Identity, InMemoryTree, OpenOptions, OverlayFactory, Peer, Progress, Service, Session,
    Started, Worker,
    overlay::{Overlay, SortLimits},
};
use ironbark_ldap_proto::{
    AddRequest, Attribute, DecodeLimits, DerefAliases, EncodeControl, MessageId, Modification, ModifyDnRequest,
    ModifyOperation, ModifyRequest, Request, Response, ResponseMessage, Scope, SearchRequest, controls, frame,
    message::encode_request,
};
use ironbark_model::{Dn, Filter, Schema};
use ironbark_runtime::{ManualClock, Randomness, WallTime};
use ironbark_store::LogLimits;

/// 2026-01-02T03:04:05Z.
const NOW_MICROS: i64 = 1_767_323_045_000_000;

/// Folders of databases.
const FOLDERS: [&str; 2] = ["db", "log"];

/// A running directory and one session, which begins as the rootdn.
pub struct Site {
    /// The time of the server, which only tests move.
    pub clock: ManualClock,
    /// Configuration and databases.
    pub folder: tempfile::TempDir,
    registry: Registry,
    client: Client,
}

/// A connection, on a reactor of its own.
pub struct Client {
    /// The server.
    pub directory: Arc<Service>,
    worker: Option<Worker>,
    /// Who is bound, and what the connection keeps.
    pub session: Session,
    next_id: i32,
}

impl Deref for Site {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Site {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

/// The answer to one request.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// Result code.
    pub code: u32,
    /// Matched DN.
    pub matched_dn: String,
    /// Diagnostic message.
    pub text: String,
    /// URLs of a referral.
    pub referrals: Vec<String>,
    /// Entries, each as `dn: ...` and a line for each value, in order.
    pub entries: Vec<String>,
    /// The entry of a pre-read or post-read response control.
    pub read_entry: Option<String>,
    /// Value of an extended response, or a SASL mechanism's data for the client.
    pub value: Option<Vec<u8>>,
    /// Of the paged results response control.
    pub cookie: Option<Vec<u8>>,
    /// Code, entries and references of the no-op search response control.
    pub counted: Option<(u32, u32, u32)>,
    /// Continuation references that were sent.
    pub references: usize,
    /// Code of the sort response control.
    pub sorted: Option<u32>,
    /// Position, count and code of the virtual list view response control.
    pub viewed: Option<(u32, u32, u32)>,
    /// The password policy response control.
    pub policy: Option<controls::PasswordPolicyResponse>,
    /// The account usability control of the last entry.
    pub usability: Option<controls::AccountUsability>,
    /// Netscape's controls, `oid value`.
    pub expiry: Option<String>,
}

impl Answer {
    /// Notes what a control of a result says.
    fn note(&mut self, oid: &[u8], value: &[u8]) {
        let is = |name: &str| oid == name.as_bytes();
        if is(controls::paged_results::DESCRIPTOR.oid) {
            let page = controls::PagedResults::decode_value(value).expect("a page");
            self.cookie = Some(page.cookie.to_vec());
        } else if is(controls::server_side_sort::RESPONSE_OID) {
            let sorted = controls::SortResponse::decode_value(value).expect("a sort result");
            self.sorted = Some(sorted.code.0);
        } else if is(controls::no_op_search::DESCRIPTOR.oid) {
            let counted = controls::NoOpSearchResponse::decode_value(value).expect("numbers");
            self.counted = Some((counted.code.0, counted.entries, counted.references));
        } else if is(controls::virtual_list_view::RESPONSE_OID) {
            let view = controls::VirtualListViewResponse::decode_value(value).expect("what became of a view");
            assert_eq!(view.context_id, None);
            self.viewed = Some((view.target_position, view.content_count, view.code.0));
        } else if is(controls::password_policy::DESCRIPTOR.oid) {
            self.policy = Some(controls::PasswordPolicyResponse::decode(value).expect("decodes"));
        } else if oid.starts_with(b"2.16.840.1.113730.3.4.") {
            self.expiry = Some(format!("{} {}", text(oid), text(value)));
        } else {
            let entry = controls::PostReadResponse(value).entry().expect("an entry");
            self.read_entry = Some(entry_text(&entry));
        }
    }

    /// Result code and diagnostic message.
    pub fn brief(&self) -> (u32, &str) {
        (self.code, &self.text)
    }
}

impl Site {
    /// Opens one database `dc=ex` with the given lines in its part of the configuration.
    pub fn open(lines: &str) -> Self {
        Self::open_globally("", lines)
    }

    /// As [`Site::open`], with settings before the database.
    pub fn open_globally(settings: &str, lines: &str) -> Self {
        Self::open_all(
            &registry(),
            settings,
            lines,
            Arc::new(|_, _| Err("no overlays here".into())),
        )
    }

    /// As [`Site::open`], with overlay `tested` as `overlays` makes it. `DIR` in the lines stands for the temporary
    /// folder.
    pub fn open_with(
        lines: &str,
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync + 'static,
    ) -> Self {
        Self::open_of(&registry(), lines, overlays)
    }

    /// As [`Site::open_globally`], with an overlay that brings the virtual list view and limits nothing.
    pub fn open_with_views(settings: &str, lines: &str) -> Self {
        let overlay = || Overlay {
            sort_limits: Some(Arc::new(SortLimits {
                max_keys: SortLimits::DEFAULT_KEYS,
                max: u32::MAX,
                max_per_connection: u32::MAX,
                under_way: Arc::default(),
            })),
            controls: controls::ControlSet::NONE.with(controls::ControlKind::VirtualListView),
            ..Overlay::new("tested")
        };
        let lines = format!("{lines}\noverlay tested");
        Self::open_all(&registry(), settings, &lines, Arc::new(move |_, _| Ok(overlay())))
    }

    /// As [`Site::open_with`], with the overlays of a registry.
    pub fn open_of(
        registry: &Registry,
        lines: &str,
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync + 'static,
    ) -> Self {
        Self::open_all(registry, "", lines, Arc::new(overlays))
    }

    /// As [`Site::open_globally`], with trees in memory.
    pub fn open_with_trees(
        settings: &str,
        lines: &str,
        trees: impl Fn(&DatabaseConfig) -> Option<Arc<dyn InMemoryTree>> + Send + Sync + 'static,
    ) -> Self {
        let factories = Factories {
            trees: Arc::new(trees),
            ..Factories::default()
        };
        Self::open_made(&registry(), settings, lines, factories)
    }

    /// As [`Site::open`], with this `serverID` and UUIDs of its own.
    pub fn open_server(id: u16, lines: &str) -> Self {
        let factories = Factories {
            server_id: Arc::new(move |_, _| Ok(id)),
            ..Factories::default()
        };
        Self::open_seeded(&registry(), "", lines, (factories, u64::from(id)))
    }

    /// What [`Site::open_parsed`] takes: a database with these lines, and others that begin in them, in no folder yet.
    pub fn parsed(registry: &Registry, lines: &str) -> Configuration {
        let folder = tempfile::tempdir().expect("a temporary folder");
        configuration(registry, folder.path(), "", lines)
    }

    /// Opens the databases of a configuration in this folder, with this `serverID`. UUIDs come from the seed.
    pub fn open_parsed(
        mut configuration: Configuration,
        (folder, clock): (tempfile::TempDir, ManualClock),
        (id, seed): (u16, u64),
        overlays: impl Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync + 'static,
    ) -> Self {
        for (database, name) in configuration.databases.iter_mut().zip(FOLDERS) {
            database.directory = folder.path().join(name);
        }
        let factories = Factories {
            overlays: Arc::new(overlays),
            server_id: Arc::new(move |_, _| Ok(id)),
            ..Factories::default()
        };
        Self::open_in((folder, clock), configuration, (factories, seed))
    }

    /// A folder for the databases, and the time at which all sites begin.
    pub fn folder_and_clock() -> (tempfile::TempDir, ManualClock) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in FOLDERS {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        (folder, ManualClock::new(WallTime::from_unix_micros(NOW_MICROS)))
    }

    /// A copy of the databases in a folder, as [`Site::open_parsed`] takes it. Later ones are copied first: they may
    /// follow the first one, and find out what they lack.
    pub fn copy(&self) -> tempfile::TempDir {
        let folder = Self::folder_and_clock().0;
        let configuration = self.directory.configuration();
        let databases = configuration.contexts.iter().filter_map(|context| context.database());
        let placed: Vec<_> = databases.zip(FOLDERS).collect();
        for (database, name) in placed.into_iter().rev() {
            database.copy_to(&folder.path().join(name), false).expect("copied");
        }
        folder
    }

    /// Deletes all rows of the first database's log of changes.
    pub fn forget_log(&self) {
        self.forget_log_of(0);
    }

    /// Deletes all rows of the log of changes of a database, by its number.
    pub fn forget_log_of(&self, number: usize) {
        let configuration = self.directory.configuration();
        let context = configuration.contexts.get(number).expect("a naming context");
        let database = context.database().expect("a store");
        let everything = LogLimits {
            bytes: 0,
            changes_since: i64::MIN,
            tombstones_since: None,
            keep_from: u64::MAX,
        };
        while !database.trim_log(&everything, 1_000).expect("trimmed").is_complete {}
    }

    /// As [`Site::open_globally`], with the overlays of a registry.
    pub fn open_all(registry: &Registry, settings: &str, lines: &str, overlays: Arc<OverlayFactory>) -> Self {
        let factories = Factories {
            overlays,
            ..Factories::default()
        };
        Self::open_made(registry, settings, lines, factories)
    }

    /// The configuration that [`Site::open_globally`] would open, in this site's folder.
    pub fn configuration(&self, settings: &str, lines: &str) -> Configuration {
        configuration(&self.registry, self.folder.path(), settings, lines)
    }

    fn open_made(registry: &Registry, settings: &str, lines: &str, factories: Factories) -> Self {
        Self::open_seeded(registry, settings, lines, (factories, 1))
    }

    fn open_seeded(registry: &Registry, settings: &str, lines: &str, made: (Factories, u64)) -> Self {
        let (folder, clock) = Self::folder_and_clock();
        let configuration = configuration(registry, folder.path(), settings, lines);
        Self::open_in((folder, clock), configuration, made)
    }

    fn open_in(
        (folder, clock): (tempfile::TempDir, ManualClock),
        configuration: Configuration,
        (factories, seed): (Factories, u64),
    ) -> Self {
        let registry = configuration.registry.clone();
        let directory = Service::open(OpenOptions {
            bare: false,
            configuration,
            clock: clock.clock(),
            randomness: Randomness::seeded(seed),
            factories,
        })
        .expect("opens");
        Self {
            client: Client::new(&directory),
            clock,
            folder,
            registry,
        }
    }

    /// One more connection.
    pub fn connect(&self) -> Client {
        Client::new(&self.directory)
    }

    /// With `dc=ex`, `ou=p,dc=ex` and people `a`, `b`, `c` in it.
    pub fn populated(lines: &str) -> Self {
        let mut site = Self::open(lines);
        site.populate();
        site
    }
}

impl Client {
    /// A connection that is bound as the rootdn.
    pub fn new(directory: &Arc<Service>) -> Self {
        Self::from(directory, 7, None)
    }

    /// A connection with a number, of a user of this machine if one is given.
    pub fn from(directory: &Arc<Service>, number: u64, user: Option<u32>) -> Self {
        let peer = Peer {
            name: "IP=192.0.2.1:4711".into(),
            socket_name: "IP=192.0.2.2:389".into(),
            listener_url: "ldap://".into(),
            domain: None,
            address: None,
            credentials: user.map(|user| (user, user)),
        };
        let mut client = Self {
            directory: Arc::clone(directory),
            worker: Some(directory.worker()),
            session: Session::new(number, Arc::new(peer)),
            next_id: 0,
        };
        client.become_("cn=root,dc=ex");
        client
    }

    /// Adds the suffix, `ou=p` and a few people.
    pub fn populate(&mut self) {
        self.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        self.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
        for name in ["a", "b", "c"] {
            self.must_add(&format!("cn={name},ou=p,dc=ex"), "objectClass: person\nsn: s");
        }
    }

    /// Binds as somebody; the empty name is anonymous.
    pub fn become_(&mut self, dn: &str) {
        let schema = &self.directory.configuration().schema;
        let dn = Dn::parse(schema, dn.as_bytes()).expect("a DN");
        self.session.identity = Arc::new(Identity {
            dn,
            ..Identity::default()
        });
    }

    /// The worker and the session, for requests that are already encoded.
    pub fn parts(&mut self) -> (&mut Worker, &mut Session) {
        (self.worker.as_mut().expect("open"), &mut self.session)
    }

    /// Acts like a reactor that is about to wait.
    pub fn rest(&mut self) {
        self.worker.as_mut().expect("open").rest();
    }

    /// Message ID of the last request.
    pub fn last_message_id(&self) -> i32 {
        self.next_id
    }

    /// Sends a request with controls, and reads the answer.
    pub fn send(&mut self, request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Answer {
        read_answer(&self.send_for_octets(request, controls))
    }

    /// All octets of the answer, as they would go to the client.
    pub fn send_for_octets(&mut self, request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Vec<u8> {
        self.next_id += 1;
        let mut pdu = Vec::new();
        encode_request(
            &mut pdu,
            MessageId::new(self.next_id).expect("in range"),
            request,
            controls,
        );
        let mut out = Vec::new();
        let worker = self.worker.as_mut().expect("open");
        let mut started = worker.start(&mut self.session, &pdu, &mut out);
        // Time stands still here.
        while let Started::Held(request) = started {
            let (held, until) = *request;
            let decision = match until {
                HeldUntil::Time(_, decision) => Some(decision),
                HeldUntil::Decided(receiver) => receiver.blocking_recv().ok(),
            };
            started = worker.resume(&mut self.session, held, decision, &mut out);
        }
        match started {
            Started::Answered => {}
            Started::Search(mut run) => while worker.step(&mut self.session, &mut run, &mut out) == Progress::More {},
            Started::Submitted(submitted) => {
                let completion = submitted.receiver.blocking_recv().expect("completes");
                worker.finish(&mut self.session, completion, &mut out);
            }
            Started::Disconnect(reason) => panic!("disconnected: {reason}"),
            Started::StartTls => panic!("there is no connection to secure"),
            Started::Held(..) => panic!("it has gone on"),
        }
        out
    }

    /// `text` has a line `name: value` for each value.
    pub fn add(&mut self, dn: &str, text: &str) -> Answer {
        self.add_with(dn, text, &[])
    }

    /// Adds an entry; `text` has a line `name: value` for each value.
    pub fn add_with(&mut self, dn: &str, text: &str, controls: &[&dyn EncodeControl]) -> Answer {
        let mut grouped: Vec<(&str, Vec<&[u8]>)> = Vec::new();
        for (name, value) in text.lines().map(split_line) {
            match grouped.last_mut() {
                Some((last, values)) if *last == name => values.push(value.as_bytes()),
                _ => grouped.push((name, vec![value.as_bytes()])),
            }
        }
        let attributes: Vec<Attribute<'_>> = grouped
            .iter()
            .map(|(name, values)| Attribute {
                description: name.as_bytes(),
                values: values.as_slice().into(),
            })
            .collect();
        let request = AddRequest {
            entry: dn.as_bytes(),
            attributes: attributes.as_slice().into(),
        };
        self.send(&Request::Add(request), controls)
    }

    /// Adds an entry, and panics if that fails.
    pub fn must_add(&mut self, dn: &str, text: &str) {
        let answer = self.add(dn, text);
        assert_eq!(answer.brief(), (0, ""), "adding {dn}");
    }

    /// `text` has changes as LDIF has them: `add: name`, lines of values, `-`.
    pub fn modify(&mut self, dn: &str, text: &str) -> Answer {
        self.modify_with(dn, text, &[])
    }

    /// Modifies an entry; `text` is in the form of LDIF changes.
    pub fn modify_with(&mut self, dn: &str, text: &str, controls: &[&dyn EncodeControl]) -> Answer {
        let mut parts: Vec<(ModifyOperation, &str, Vec<&[u8]>)> = Vec::new();
        let mut open = false;
        for line in text.lines() {
            if line == "-" {
                open = false;
                continue;
            }
            let (name, value) = split_line(line);
            if open {
                parts.last_mut().expect("open").2.push(value.as_bytes());
                continue;
            }
            let operation = match name {
                "add" => ModifyOperation::Add,
                "delete" => ModifyOperation::Delete,
                "replace" => ModifyOperation::Replace,
                "increment" => ModifyOperation::Increment,
                other => panic!("no change: {other}"),
            };
            parts.push((operation, value, Vec::new()));
            open = true;
        }
        let changes: Vec<Modification<'_>> = parts
            .iter()
            .map(|(operation, name, values)| Modification {
                operation: *operation,
                attribute: name.as_bytes(),
                values: values.as_slice().into(),
            })
            .collect();
        let request = ModifyRequest {
            object: dn.as_bytes(),
            changes: changes.as_slice().into(),
        };
        self.send(&Request::Modify(request), controls)
    }

    /// Deletes an entry.
    pub fn delete(&mut self, dn: &str) -> Answer {
        self.delete_with(dn, &[])
    }

    /// Deletes an entry, with controls.
    pub fn delete_with(&mut self, dn: &str, controls: &[&dyn EncodeControl]) -> Answer {
        self.send(&Request::Delete(dn.as_bytes()), controls)
    }

    /// Renames, deleting the old RDN.
    pub fn rename(&mut self, dn: &str, new_rdn: &str, new_superior: Option<&str>) -> Answer {
        self.rename_with(dn, new_rdn, true, new_superior, &[])
    }

    /// Renames an entry, with controls.
    pub fn rename_with(
        &mut self,
        dn: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
        controls: &[&dyn EncodeControl],
    ) -> Answer {
        let request = ModifyDnRequest {
            entry: dn.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn,
            new_superior: new_superior.map(str::as_bytes),
        };
        self.send(&Request::ModifyDn(request), controls)
    }

    /// The values of some attributes of an entry, a line each, as the rootdn sees them; `None` if there is no such
    /// entry.
    pub fn read(&mut self, dn: &str, names: &[&str]) -> Option<String> {
        let mut found = self.search(dn, Scope::BaseObject, "(objectClass=*)", names);
        found.pop().map(|entry| {
            entry
                .split_once('\n')
                .map(|(_, rest)| rest.to_owned())
                .unwrap_or_default()
        })
    }

    /// All stored attributes, without those that differ from run to run.
    pub fn stored(&mut self, dn: &str) -> Option<String> {
        let all = self.read(dn, &["*", "+"])?;
        let volatile = ["entryUUID", "entryDN", "subschemaSubentry", "hasSubordinates"];
        Some(
            all.lines()
                .filter(|line| !volatile.contains(&split_line(line).0))
                .fold(String::new(), |text, line| text + line + "\n"),
        )
    }

    /// The entries that a search finds.
    pub fn search(&mut self, base: &str, scope: Scope, filter: &str, names: &[&str]) -> Vec<String> {
        let identity = Arc::clone(&self.session.identity);
        self.become_("cn=root,dc=ex");
        let answer = self.search_as_self(base, scope, filter, names);
        self.session.identity = identity;
        answer.entries
    }

    /// With the identity of the session.
    pub fn search_as_self(&mut self, base: &str, scope: Scope, filter: &str, names: &[&str]) -> Answer {
        let manage = controls::Control::critical(controls::ManageDsaIt);
        self.search_with(base, scope, filter, names, &[&manage])
    }

    /// Searches with controls.
    pub fn search_with(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        names: &[&str],
        controls: &[&dyn EncodeControl],
    ) -> Answer {
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let request = search_request(base, scope, filter, &names);
        self.send(&Request::Search(request), controls)
    }
}

/// A search without limits.
pub fn search_request<'a>(base: &'a str, scope: Scope, filter: &'a str, names: &'a [&'a [u8]]) -> SearchRequest<'a> {
    SearchRequest {
        base: base.as_bytes(),
        scope,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(filter.as_bytes(), 10).expect("a filter"),
        attributes: names.into(),
    }
}

/// A request as a client sends it.
pub fn encoded(request: &Request<'_>, controls: &[&dyn EncodeControl]) -> Vec<u8> {
    let mut pdu = Vec::new();
    encode_request(&mut pdu, MessageId::new(1).expect("in range"), request, controls);
    pdu
}

impl Drop for Site {
    fn drop(&mut self) {
        self.client.worker = None;
        self.client.directory.close();
    }
}

/// Settings of overlay `tested`.
#[derive(Clone, PartialEq, Debug, Default)]
struct Tested {
    switch: bool,
}

impl OverlaySettings for Tested {}

static TESTED: OverlayDescriptor = OverlayDescriptor {
    name: "tested",
    modules: &[],
    occurrence: Occurrence::Once,
    class: Some(OverlayClass {
        names: &["olcTestedConfig"],
        oid: "3.900.1",
    }),
    settings: &[
        Setting::new(Level::Overlay("tested"), &["tested-switch"], &["olcTestedSwitch"])
            .olc("3.900.1", Form::Boolean)
            .takes("on|off", "FALSE")
            .obeyed(overlay_field!(Tested.switch)),
    ],
    fresh: AnySettings::of::<Tested>,
    schema: "",
    introduction: "",
};

/// With overlay `tested`, whose only setting is `tested-switch`.
fn registry() -> Registry {
    Registry::new(vec![&TESTED], Vec::new()).expect("a good overlay")
}

/// `dc=ex` in `folder`, with the standard schema files.
/// What makes a server of this ID with these overlays.
fn configuration(registry: &Registry, folder: &Path, settings: &str, lines: &str) -> Configuration {
    let path = folder.display().to_string();
    // The files of this repository, for any package that includes this module.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut schemas = above
        .map(|folder| folder.join("schema"))
        .filter(|folder| folder.join("core.schema").is_file());
    let schema = schemas.next().expect("schema files").display().to_string();
    let mut text = String::new();
    for name in ["core", "cosine", "inetorgperson", "nis", "dyngroup", "collective"] {
        writeln!(text, "include {schema}/{name}.schema").expect("writes");
    }
    writeln!(text, "{SCHEMA}").expect("writes");
    writeln!(
        text,
        "{}\ndatabase mdb\nsuffix dc=ex\nrootdn cn=root,dc=ex\nrootpw secret\ndirectory {path}/db\n{}",
        settings.replace("DIR", &path),
        lines.replace("DIR", &path)
    )
    .expect("writes");
    let file = folder.join("slapd.conf");
    std::fs::write(&file, text).expect("written");
    load(file.to_str().expect("a name"), &Disk, registry).expect("a good configuration")
}

fn split_line(line: &str) -> (&str, &str) {
    let (name, value) = line.split_once(':').expect("a line `name: value`");
    (name, value.trim_start())
}

/// Parses the octets that answer one request.
pub fn read_answer(mut out: &[u8]) -> Answer {
    let mut answer = Answer {
        code: u32::MAX,
        matched_dn: String::new(),
        text: String::new(),
        referrals: Vec::new(),
        entries: Vec::new(),
        read_entry: None,
        value: None,
        cookie: None,
        counted: None,
        references: 0,
        sorted: None,
        viewed: None,
        policy: None,
        usability: None,
        expiry: None,
    };
    while let Some(length) = frame(out, 1 << 24).expect("frames") {
        let (pdu, rest) = out.split_at(length);
        out = rest;
        let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).expect("decodes");
        let result = match message.operation {
            Response::SearchEntry(entry) => {
                answer.entries.push(entry_text(&entry));
                for control in &message.controls {
                    if control.oid == controls::account_usability::DESCRIPTOR.oid.as_bytes() {
                        let value = control.value.unwrap_or_default();
                        answer.usability = Some(controls::AccountUsability::decode(value).expect("decodes"));
                    }
                }
                continue;
            }
            Response::SearchReference(_) => {
                answer.references += 1;
                continue;
            }
            Response::Done(_, result) => result,
            Response::Bind(response) => {
                answer.value = response.server_sasl_credentials.map(<[u8]>::to_vec);
                response.result
            }
            Response::Extended(response) => {
                answer.value = response.value.map(<[u8]>::to_vec);
                response.result
            }
            Response::Intermediate(_) => continue,
        };
        answer.code = result.code.0;
        answer.matched_dn = text(result.matched_dn);
        answer.text = text(result.diagnostic_message);
        answer.referrals = result.referrals.iter().map(text).collect();
        for control in &message.controls {
            answer.note(control.oid, control.value.unwrap_or_default());
        }
    }
    answer
}

fn entry_text(entry: &ironbark_ldap_proto::SearchResultEntry<'_>) -> String {
    let mut lines = format!("dn: {}\n", text(entry.dn));
    for attribute in &entry.attributes {
        for value in &attribute.values {
            writeln!(lines, "{}: {}", text(attribute.description), text(value)).expect("writes");
        }
    }
    lines
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Definitions that the standard schema files lack: obsolete elements, numbers.
const SCHEMA: &str = "
attributetype ( 1.3.6.1.4.1.4203.666.999.1 NAME 'oldThing' OBSOLETE EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 )
attributetype ( 1.3.6.1.4.1.4203.666.999.2 NAME 'count' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
attributetype ( 1.3.6.1.4.1.4203.666.999.3 NAME 'blob' SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
attributetype ( 1.3.6.1.4.1.4203.666.999.4 NAME 'only' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.4203.666.999.11 NAME 'oldPerson' OBSOLETE AUXILIARY MAY oldThing )
objectclass ( 1.3.6.1.4.1.4203.666.999.12 NAME 'counter' AUXILIARY MAY ( count $ blob $ only ) )
objectclass ( 1.3.6.1.4.1.4203.666.999.13 NAME 'otherPerson' SUP person STRUCTURAL )
";
