//! What overlays log of one operation.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::{
    fmt::Debug,
    sync::{Mutex, MutexGuard},
};

use ironbark_harness::Site;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Lines of all threads of this process, and one test at a time.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ALONE: Mutex<()> = Mutex::new(());

struct Keep;

impl Subscriber for Keep {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "any"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Message);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        LINES.lock().expect("not poisoned").push(format!("{value:?}"));
    }
}

fn alone() -> MutexGuard<'static, ()> {
    let guard = ALONE.lock().expect("not poisoned");
    // The first test has set it.
    let _ = tracing::subscriber::set_global_default(Keep);
    guard
}

/// What has been logged since.
fn lines() -> Vec<String> {
    std::mem::take(&mut *LINES.lock().expect("not poisoned"))
}

fn members(count: usize) -> String {
    (0..count)
        .map(|number| format!("member: cn=none{number}\n"))
        .collect::<Vec<_>>()
        .concat()
}

#[test]
fn members_that_are_not_there_are_named_ten_times_and_then_counted() {
    let _alone = alone();
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        "overlay memberof",
        ironbark_overlays::make,
    );
    site.populate();
    lines();
    site.must_add("cn=few,dc=ex", &format!("objectClass: groupOfNames\n{}", members(10)));
    assert_eq!(lines().len(), 10);
    site.must_add("cn=g,dc=ex", &format!("objectClass: groupOfNames\n{}", members(300)));
    let written = lines();
    assert_eq!(written.len(), 11, "{written:#?}");
    assert!(
        written
            .iter()
            .take(10)
            .all(|line| line.contains("memberof_value_modify DN=\"cn=none"))
    );
    assert!(
        written[10].ends_with(": 290 more warnings of this operation are left out"),
        "{written:#?}"
    );
    assert_eq!(site.delete("cn=g,dc=ex").code, 0);
    assert_eq!(lines().len(), 11, "each operation counts anew");
}

#[test]
fn so_are_those_that_are_stripped() {
    let _alone = alone();
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        "overlay memberof\nmemberof-dangling drop",
        ironbark_overlays::make,
    );
    site.populate();
    lines();
    let text = format!("objectClass: groupOfNames\nmember: cn=a,ou=p,dc=ex\n{}", members(300));
    site.must_add("cn=g,dc=ex", &text);
    let written = lines();
    assert_eq!(written.len(), 11, "{written:#?}");
    assert!(written[0].ends_with("member=\"cn=none0\" does not exist (stripping...)"));
}

#[test]
fn so_are_references_that_stay() {
    let _alone = alone();
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        "overlay refint\nrefint_attributes member",
        ironbark_overlays::make,
    );
    site.populate();
    for number in 0..15 {
        let name = format!("cn=g{number},dc=ex");
        site.must_add(&name, "objectClass: groupOfNames\nmember: cn=a,ou=p,dc=ex");
    }
    lines();
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").code, 0);
    let written = lines();
    assert_eq!(written.len(), 11, "{written:#?}");
    assert!(
        written[10].ends_with(": 5 more warnings of this operation are left out"),
        "{written:#?}"
    );
}
