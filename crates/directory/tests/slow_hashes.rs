//! Comparisons and hashes that take long run neither on a writer's thread nor on a reactor.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};

use ironbark_directory::{
    OperationError, Started,
    overlay::{ContentHooks, Execution, Overlay},
    password::{self, Scheme},
};
use ironbark_harness::{Site, encoded, read_answer};
use ironbark_ldap_proto::{Authentication, BindRequest, Request};
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

/// Where a bind is answered: here, or elsewhere.
fn is_answered_at_once(site: &mut Site, password: &[u8]) -> bool {
    let request = Request::Bind(BindRequest {
        version: 3,
        name: b"dc=ex",
        authentication: Authentication::Simple(password),
    });
    let (pdu, mut out) = (encoded(&request, &[]), Vec::new());
    let (worker, session) = site.parts();
    match worker.start(session, &pdu, &mut out) {
        Started::Answered => true,
        Started::Submitted(submitted) => {
            let completion = submitted.receiver.blocking_recv().expect("completes");
            worker.finish(session, completion, &mut out);
            let expected = if password == b"right" { 0 } else { 49 };
            assert_eq!(read_answer(&out).code, expected);
            false
        }
        _ => unreachable!("a bind is answered, or is made elsewhere"),
    }
}

#[test]
fn many_cheap_comparisons_and_those_with_a_long_password_hold_up_no_reactor() {
    let mut site = Site::open("");
    let hashed = |number: usize| {
        let password = if number == 0 {
            "right".to_owned()
        } else {
            number.to_string()
        };
        let stored = password::hash(Scheme::DEFAULT, password.as_bytes(), &mut |salt| salt.fill(1));
        format!("\nuserPassword: {}", String::from_utf8(stored.unwrap()).unwrap())
    };
    let with = |count| -> String { (0..count).map(hashed).collect() };
    let text = "objectClass: dcObject\nobjectClass: organization\no: ex";
    site.must_add("dc=ex", &format!("{text}{}", with(20)));
    let long = vec![b'x'; 100_000];
    assert!(is_answered_at_once(&mut site, b"right"));
    assert!(is_answered_at_once(&mut site, &long[..1_000]));
    assert!(
        !is_answered_at_once(&mut site, &long),
        "20 comparisons of 100,000 octets"
    );
    site.become_("cn=root,dc=ex");
    assert_eq!(site.delete("dc=ex").code, 0);
    site.must_add("dc=ex", &format!("{text}{}", with(5_000)));
    assert!(!is_answered_at_once(&mut site, b"wrong"), "5,000 short comparisons");
    assert!(!is_answered_at_once(&mut site, b"right"));
}
