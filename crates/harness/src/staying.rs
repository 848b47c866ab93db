//! A search that stays, driven as a connection drives it.

use std::task::{Context, Waker};

use ironbark_directory::{Progress, SearchRun, Started};

use crate::TestClient;

/// A search that may go on when something changes.
#[derive(Default)]
pub struct Staying(Option<Box<SearchRun>>);

impl Staying {
    /// Sends a request. Gives what comes at once, too.
    pub fn begin(client: &mut TestClient, pdu: &[u8]) -> (Self, Vec<u8>) {
        let mut out = Vec::new();
        let (worker, session) = client.parts();
        match worker.start(session, pdu, &mut out) {
            Started::Answered => (Self(None), out),
            Started::Search(run) => {
                let mut staying = Self(Some(run));
                out.extend(staying.go_on(client));
                (staying, out)
            }
            _ => panic!("a search is answered or goes on"),
        }
    }

    /// What has come since.
    pub fn go_on(&mut self, client: &mut TestClient) -> Vec<u8> {
        let mut out = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        while let Some(run) = &mut self.0 {
            if run.is_waiting() && run.poll_ready(&mut cx).is_pending() {
                break;
            }
            let (worker, session) = client.parts();
            if worker.step(session, run, &mut out) == Progress::Done {
                self.0 = None;
            }
        }
        out
    }

    /// Whether it waits for changes.
    pub fn is_here(&self) -> bool {
        self.0.is_some()
    }
}
