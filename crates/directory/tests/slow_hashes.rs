//! Hashes that take long do not run on a writer's thread.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use std::sync::{Arc, Mutex};

use harness::Site;
use ironbark_directory::{
    OperationError,
    overlay::{ContentHooks, Execution, Overlay},
    password::{self, Scheme},
};
use ironbark_model::Entry;

const STORED: &[u8] = b"{PBKDF2}1000$AAAAAAAAAAAAAAAAAAAAAA$mqsdTM1wPBAoq3R40N0o7rZvVSA";

/// The result of one execution: whether the password matched, the stored value, whether the execution was in vain.
type Seen = (bool, Option<Vec<u8>>, bool);

/// Needs a verification and a hash for each new entry.
#[derive(Default)]
struct Needy {
    seen: Mutex<Vec<Seen>>,
}

impl ContentHooks for Needy {
    fn before_add(&self, execution: &mut Execution<'_, '_>, _: &mut Entry) -> Result<(), OperationError> {
        let matches = execution.verify_password(STORED, b"wrong");
        let hashed = execution.hash_password(Some(Scheme::Argon2), b"clear");
        let is_in_vain = execution.is_in_vain();
        let seen = (matches, hashed.as_ref().ok().cloned(), is_in_vain);
        self.seen.lock().unwrap().push(seen);
        // Even if the overlay continues as if it had everything that it needs.
        Ok(())
    }
}

#[test]
fn a_writer_sends_an_operation_back_for_slow_hashes_and_executes_it_once() {
    let needy = Arc::new(Needy::default());
    let content: Arc<dyn ContentHooks> = Arc::clone(&needy) as _;
    let mut site = Site::open_with("overlay tested", move |_, _| {
        Ok(Overlay {
            content: Some(Arc::clone(&content)),
            ..Overlay::new("needy")
        })
    });
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    let seen = std::mem::take(&mut *needy.seen.lock().unwrap());
    let [first, second, last] = &seen[..] else {
        unreachable!("{seen:?}")
    };
    // One thing at a time.
    assert_eq!((first, second), (&(false, None, true), &(false, None, true)));
    let (false, Some(hashed), false) = last else {
        unreachable!("{last:?}")
    };
    assert!(password::verify(hashed, b"clear"));
    assert_eq!(
        site.add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex")
            .code,
        68
    );
}
