//! Consumers of an access log whose old entries are purged.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    task::{Context, Waker},
    time::Duration,
};

use ironbark_directory::{
    Progress, SearchRun, Started,
    overlay::{Changes, Follower as FollowsChanges},
};
use ironbark_harness::{DecodedAnswer, Site, TestClient, read_answer};
use ironbark_ldap_proto::{
    DerefAliases, MessageId, Request, Scope, SearchRequest,
    controls::{Control, SyncRequest},
    message::encode_request,
};
use ironbark_model::Filter;

/// `e-syncRefreshRequired`.
const REFRESH_REQUIRED: u32 = 4096;

/// A database and its log, which is purged of what is older than a minute.
const LINES: &str = "overlay accesslog\nlogdb cn=accesslog\nlogops writes reads\nlogpurge 00:01 00:00:01\n\n\
                     database mdb\nsuffix cn=accesslog\ndirectory DIR\nrootdn cn=root,dc=ex\n\
                     overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE";

fn site() -> Site {
    let mut site = Site::open_of(&ironbark_overlays::registry(), LINES, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site
}

fn add(site: &mut Site, numbers: std::ops::Range<u32>) {
    for number in numbers {
        site.must_add(&format!("cn={number},dc=ex"), "objectClass: person\nsn: s");
    }
}

/// Lets all that is in the log become old, and waits until it is gone.
fn purge(site: &mut Site) {
    site.clock.advance(Duration::from_secs(61));
    while !site
        .search("cn=accesslog", Scope::SingleLevel, "(reqType=add)", &["1.1"])
        .is_empty()
    {
        std::thread::yield_now();
    }
}

/// A consumer that stays.
struct Follower {
    client: TestClient,
    run: Option<Box<SearchRun>>,
    out: Vec<u8>,
}

impl Follower {
    /// Begins with what the log has now, or with everything behind these CSNs.
    fn begin(site: &Site, csns: &str) -> Self {
        let mut client = site.connect();
        let names = [&b"reqDN"[..]];
        let request = SearchRequest {
            base: b"cn=accesslog",
            scope: Scope::WholeSubtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::parse(b"(objectClass=auditWriteObject)", 10).expect("right"),
            attributes: names[..].into(),
        };
        let cookie = format!("rid=001,csn={csns}");
        let sync = Control::critical(SyncRequest {
            persists: true,
            cookie: Some(cookie.as_bytes()),
            reload_hint: false,
        });
        let mut pdu = Vec::new();
        let id = MessageId::new(1).expect("in range");
        encode_request(&mut pdu, id, &Request::Search(request), &[&sync]);
        let mut out = Vec::new();
        let (worker, session) = client.parts();
        let run = match worker.start(session, &pdu, &mut out) {
            Started::Search(run) => Some(run),
            _ => None,
        };
        Self { client, run, out }
    }

    /// One slice. `false`: there is nothing to be done.
    fn step(&mut self) -> bool {
        let Some(mut run) = self.run.take() else { return false };
        let mut cx = Context::from_waker(Waker::noop());
        let waits = run.is_waiting() && run.poll_ready(&mut cx).is_pending();
        let (worker, session) = self.client.parts();
        if waits || worker.step(session, &mut run, &mut self.out) != Progress::Done {
            self.run = Some(run);
        }
        !waits
    }

    fn go_on(&mut self) -> &mut Self {
        while self.step() {}
        self
    }

    /// What was answered so far.
    fn answer(&self) -> DecodedAnswer {
        read_answer(&self.out)
    }
}

/// The CSNs that a consumer has which has everything.
fn now(site: &mut Site) -> String {
    let vector = site.read("cn=accesslog", &["contextCSN"]).expect("there");
    vector
        .lines()
        .filter_map(|line| line.strip_prefix("contextCSN: "))
        .collect::<Vec<_>>()
        .join(";")
}

#[test]
fn who_was_sent_everything_goes_on_when_it_is_purged() {
    let mut site = site();
    let cookie = now(&mut site);
    let mut follower = Follower::begin(&site, &cookie);
    follower.go_on();
    add(&mut site, 0..3);
    follower.go_on();
    purge(&mut site);
    follower.go_on();
    add(&mut site, 3..4);
    let answer = follower.go_on().answer();
    assert!(follower.run.is_some(), "{} {}", answer.code, answer.text);
    assert_eq!(answer.entries.len(), 4, "{:?}", answer.entries);
}

#[test]
fn who_is_behind_a_purge_must_refresh() {
    let mut site = site();
    let cookie = now(&mut site);
    let mut follower = Follower::begin(&site, &cookie);
    follower.go_on();
    add(&mut site, 0..3);
    purge(&mut site);
    add(&mut site, 3..4);
    let answer = follower.go_on().answer();
    assert_eq!(
        (answer.code, answer.entries.len()),
        (REFRESH_REQUIRED, 0),
        "{:?}",
        answer.entries
    );
}

#[test]
fn a_purge_during_a_refresh_ends_it() {
    const MANY: u32 = 400;
    let mut site = site();
    let cookie = now(&mut site);
    add(&mut site, 0..MANY);
    let mut follower = Follower::begin(&site, &cookie);
    assert!(follower.step(), "it has begun");
    let sent = follower.answer().entries.len();
    purge(&mut site);
    add(&mut site, MANY..MANY + 1);
    let answer = follower.go_on().answer();
    assert_eq!(answer.code, REFRESH_REQUIRED);
    assert!(sent < MANY as usize, "it was under way");
    assert_eq!(answer.entries.len(), sent);
}

/// A follower that begins when it is told to, and the ones behind it later.
struct Gate(Mutex<Receiver<()>>);

impl FollowsChanges for Gate {
    fn name(&self) -> String {
        "gate".into()
    }

    fn resume(&self, _: &[u8], changes: Changes<'_>) -> io::Result<usize> {
        // The sender is dropped then.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(changes.records.len())
    }

    fn take(&self, _: Changes<'_>) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

#[test]
fn a_new_log_has_what_came_before_its_thread_began() {
    let (opens, gate) = channel();
    let gate = Mutex::new(Some(Gate(Mutex::new(gate))));
    // The followers of later overlays come first.
    let lines = LINES.replacen("\n\n", "\noverlay syncprov\noverlay nops\n\n", 1);
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, move |config, schema| {
        let mut overlay = ironbark_overlays::make(config, schema)?;
        if config.name() == "nops" {
            let gate = gate.lock().unwrap_or_else(PoisonError::into_inner).take();
            overlay.follower = gate.map(|gate| std::sync::Arc::new(gate) as _);
        }
        Ok(overlay)
    });
    let directory = site.directory.clone();
    let add = move || {
        TestClient::new(&directory).must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    };
    std::thread::scope(|scope| {
        scope.spawn(add);
        while site
            .search("dc=ex", Scope::BaseObject, "(objectClass=*)", &["1.1"])
            .is_empty()
        {
            std::thread::yield_now();
        }
        drop(opens);
    });
    let mut follower = Follower::begin(&site, "");
    let answer = follower.go_on().answer();
    assert!(follower.run.is_some(), "{} {}", answer.code, answer.text);
    assert_eq!(answer.entries.len(), 1, "{:?}", answer.entries);
}
