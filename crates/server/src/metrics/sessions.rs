//! Consumers that follow databases of this server: how far they are.

use std::collections::BTreeMap;

use ironbark_directory::SyncSession;

use super::text::{Page, seconds};

/// Sessions that are shown one by one: those that are furthest behind.
const MOST_SESSIONS: usize = 1_000;

/// Takes one number out of a session.
type Figure = fn(&SyncSession) -> u64;

/// Adds the families, if there are sessions.
pub(super) fn add(page: &mut Page, mut sessions: Vec<SyncSession>) {
    if sessions.is_empty() {
        return;
    }
    let mut numbers = BTreeMap::<(&str, bool), u64>::new();
    for session in &sessions {
        let suffix = &*session.consumer.suffix;
        numbers.entry((suffix, !session.persists)).or_default();
        *numbers.entry((suffix, session.persists)).or_default() += 1;
    }
    let mut family = page.gauge(
        "ironbark_provider_sessions",
        "Consumers that follow a database, by their phase.",
    );
    for ((suffix, persists), number) in numbers {
        family.sample(&[("suffix", suffix), ("phase", phase(persists))], number);
    }
    sessions.sort_by_key(|session| std::cmp::Reverse((session.oldest_micros, session.behind())));
    sessions.truncate(MOST_SESSIONS);
    each(page, &sessions);
}

fn each(page: &mut Page, sessions: &[SyncSession]) {
    let with_places = || sessions.iter().filter(|session| !session.places.is_empty());
    if with_places().next().is_some() {
        let mut family = page.gauge(
            "ironbark_provider_session_position",
            "Number of the last change of a database that a consumer was sent, or does not need.",
        );
        for session in with_places() {
            for place in &session.places {
                labelled(session, &place.suffix, |labels| family.sample(labels, place.position));
            }
        }
        let mut family = page.gauge(
            "ironbark_provider_session_behind_changes",
            "Changes that a consumer was not sent yet.",
        );
        for session in with_places() {
            of_session(session, |labels| family.sample(labels, session.behind()));
        }
        let mut family = page.gauge(
            "ironbark_provider_session_lag_seconds",
            "Age of the oldest change that a consumer was not sent yet; 0: it was sent all.",
        );
        for session in with_places() {
            let micros = session.oldest_micros.unwrap_or_default();
            of_session(session, |labels| family.sample(labels, seconds(micros)));
        }
    }
    let counters: [(&'static str, &str, Figure); 2] = [
        (
            "ironbark_provider_session_entries_total",
            "Entries that a consumer was sent.",
            |session| session.entries,
        ),
        (
            "ironbark_provider_session_shared_entries_total",
            "Entries that a consumer was sent and that were encoded for another one.",
            |session| session.shared,
        ),
    ];
    for (name, help, figure) in counters {
        let mut family = page.counter(name, help);
        for session in sessions {
            of_session(session, |labels| family.sample(labels, figure(session)));
        }
    }
    let mut family = page.gauge(
        "ironbark_provider_session_active_seconds",
        "When a consumer last took something, or there was nothing for it, in seconds since 1970.",
    );
    for session in sessions {
        let micros = u64::try_from(session.active.unix_micros()).unwrap_or_default();
        of_session(session, |labels| family.sample(labels, seconds(micros)));
    }
}

fn of_session(session: &SyncSession, tell: impl FnOnce(&[(&str, &str)])) {
    labelled(session, &session.consumer.suffix, tell);
}

/// Connection and operation make the labels of a session unique.
fn labelled(session: &SyncSession, suffix: &str, tell: impl FnOnce(&[(&str, &str)])) {
    let consumer = &session.consumer;
    let [rid, sid] = [consumer.rid, consumer.sid].map(|number| number.to_string());
    let number = format!("{}-{}", consumer.connection, consumer.operation);
    tell(&[
        ("suffix", suffix),
        ("rid", &rid),
        ("sid", &sid),
        ("peer", &consumer.peer),
        ("session", &number),
    ]);
}

fn phase(persists: bool) -> &'static str {
    if persists { "persist" } else { "refresh" }
}
