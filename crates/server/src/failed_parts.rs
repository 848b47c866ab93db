//! Parts of the server that a panic has ended while the rest goes on.
//!
//! A reactor and the pools catch panics of their tasks and go on: those end one connection or one request. Each of the
//! threads listed here is one part of the server, or has one session after another, and what panics in it is missing
//! until the next start. So the log says so, and `/readyz` is no longer 200.

use std::sync::{Arc, Mutex, PoisonError};

/// The parts that have ended, by the names of their threads.
#[derive(Clone, Default, Debug)]
pub(crate) struct FailedParts(Arc<Mutex<Vec<&'static str>>>);

impl FailedParts {
    /// A thread has panicked. Returns what is missing from now on, if it is a part that nothing starts again.
    pub(crate) fn note(&self, thread: Option<&str>) -> Option<&'static str> {
        let (name, what) = PARTS.iter().find(|(name, _)| Some(*name) == thread)?;
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !failed.contains(name) {
            failed.push(name);
        }
        Some(what)
    }

    /// A line for each part that is missing.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |name: &&str| format!("not ok: the thread {name} has failed; the log says why\n");
        failed.iter().map(line).collect()
    }
}

/// Names of threads, and what is missing without them. Writers and reactors are not among them: `/livez` asks whether
/// they run.
const PARTS: &[(&str, &str)] = &[
    ("accesslog", "old entries of access logs are no longer removed"),
    ("checkpoints", "a database of a cluster is no longer flushed"),
    (
        "cluster",
        "a naming context no longer follows its cluster, and refuses writes",
    ),
    ("followers", "an overlay no longer learns of changes"),
    ("sock", "database sock or overlay sock no longer answers"),
    ("syncrepl", "a consumer no longer follows its provider"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_nothing_starts_again_is_named_once_and_a_pool_is_not() {
        let failed = FailedParts::default();
        for name in ["reactor 0", "hash-1", "tls-0", "long-2", "lookup"] {
            assert_eq!(failed.note(Some(name)), None);
        }
        assert_eq!(failed.note(None), None);
        assert!(failed.reasons().is_empty());
        for _ in 0..2 {
            assert!(failed.note(Some("syncrepl")).unwrap().contains("consumer"));
        }
        assert_eq!(
            failed.reasons(),
            ["not ok: the thread syncrepl has failed; the log says why\n"]
        );
    }

    #[test]
    fn a_panic_of_a_part_is_found_by_the_name_of_its_thread() {
        let failed = FailedParts::default();
        let noted = failed.clone();
        let thread = ironbark_runtime::spawn_named("cluster", move || noted.note(std::thread::current().name()));
        assert!(thread.unwrap().join().unwrap().unwrap().contains("its cluster"));
    }
}
