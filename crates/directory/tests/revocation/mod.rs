//! What was taken away is gone with the answer that says so: rights through groups and sets, and through the
//! configuration. Schedules are forced: a reader's batch keeps its snapshot while a change is committed.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod aliases;
mod by_configuration;
mod by_data;
mod limits;
mod pages;
mod storm;

use ironbark_directory::{Progress, SearchRun, Started};
use ironbark_harness::{DecodedAnswer, Site, TestClient, encoded, read_answer, search_request};
use ironbark_ldap_proto::{EncodeControl, Request, Scope};

/// A search request as a client sends it.
fn search(base: &str, scope: Scope, filter: &str, controls: &[&dyn EncodeControl]) -> Vec<u8> {
    let request = search_request(base, scope, filter, &[b"*"]);
    encoded(&Request::Search(request), controls)
}

/// The answer to a search that ends in its first slice.
fn answer(started: &Started, out: &mut Vec<u8>) -> DecodedAnswer {
    assert!(matches!(started, Started::Answered), "a quick search");
    read_answer(&std::mem::take(out))
}

/// A search that has sent its first slice.
fn begin(client: &mut TestClient, pdu: &[u8], out: &mut Vec<u8>) -> Box<SearchRun> {
    let (worker, session) = client.parts();
    match worker.start(session, pdu, out) {
        Started::Search(run) => run,
        _ => panic!("it has more than one slice"),
    }
}

/// All the rest of a search.
fn rest(client: &mut TestClient, mut run: Box<SearchRun>) -> DecodedAnswer {
    let (worker, session) = client.parts();
    let mut out = Vec::new();
    while worker.step(session, &mut run, &mut out) == Progress::More {}
    read_answer(&out)
}

fn reconfigure(site: &Site, settings: &str, lines: &str) {
    let configuration = site.configuration(settings, lines);
    site.directory.reconfigure(configuration).expect("a good configuration");
}
