//! A log that gives one answer to everything.

use super::*;
use crate::{backend::commit_log::Received, write::partner::all::Partners};

/// A log that gives one answer to everything: what comes between two requests cannot be arranged with a real one.
#[derive(Debug)]
struct Answers(Append);

/// The end of such a group.
struct Answering(Group);

impl CommitPartner for Answering {
    fn confirm(&mut self) -> Result<(), NotKept> {
        self.0.confirm()
    }
}

/// The partners of a database of a cluster whose log gives this answer.
pub(in crate::write) fn answering(says: Append) -> Partners {
    let group = Group {
        log: Arc::new(Box::new(Answers(says))),
        deadline: Deadline {
            begun: 0,
            patience: Duration::ZERO,
        },
        patience: Duration::ZERO,
        place: ClusterLogPlace::default(),
        has_more: false,
        wait: None,
        is_appended: false,
    };
    Partners::new(vec![Box::new(Answering(group))])
}

impl CommitLog for Answers {
    fn generation(&self) -> Option<u64> {
        Some(1)
    }
    fn reached(&self, _: ClusterLogPlace) {}
    fn kept(&self, _: u64) {}
    fn next(&self, _: ClusterLogPlace) -> Option<Arc<Received>> {
        None
    }
    fn turn(&self, _: ClusterLogPlace, _: Duration) -> Turn {
        Turn::Mine
    }
    fn append(&self, _: ClusterLogPlace, _: &[u8], _: u64, _: bool, _: Duration) -> Append {
        self.0
    }
    fn confirm(&self, _: ClusterLogPlace, _: Duration) -> Append {
        self.0
    }
    fn end(&self, _: Duration) -> Option<ClusterLogPlace> {
        None
    }
    fn may_be_older_than(&self, _: Duration) -> bool {
        false
    }
    fn mark(&self) -> [u8; 16] {
        [0; 16]
    }
    fn patience(&self) -> Duration {
        Duration::ZERO
    }
    fn failed(&self, _: ClusterLogPlace, _: &str) {}
}
