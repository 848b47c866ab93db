//! Readers that never pause while rights, passwords and the configuration change: no answer that begins after an
//! acknowledged revocation shows what was revoked, and none that begins after a grant lacks it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread::Thread,
    time::Duration,
};

use ironbark_directory::Service;
use ironbark_ldap_proto::{Authentication, BindRequest, Request, Scope};

use crate::revocation::{
    answer,
    by_data::{CASES, Case, change, site},
    reconfigure, search,
};
use ironbark_harness::{Site, TestClient, encoded, read_answer};

/// Revocations of each case. `IRONBARK_REVOCATIONS` says another number.
fn rounds() -> u64 {
    let asked = std::env::var("IRONBARK_REVOCATIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// What is under way: the number of the step, of which there are four in a round.
#[derive(Default)]
struct Progress {
    step: AtomicU64,
    /// The last steps in which each reader has made a check.
    checked: [AtomicU64; 2],
}

const GRANTED: u64 = 0;
const REVOKED: u64 = 2;

/// Asks again and again. `ask` says for each answer whether it shows what may be taken away.
fn read(
    directory: &Arc<Service>,
    progress: &Progress,
    number: usize,
    ask: &(dyn Fn(&mut TestClient, usize) -> Vec<bool> + Sync),
    writer: &Thread,
) {
    let mut client = TestClient::new(directory);
    client.become_("cn=b,ou=p,dc=ex");
    loop {
        let before = progress.step.load(SeqCst);
        if before == u64::MAX {
            return;
        }
        // The change that others wait for goes first. A lower priority would leave nothing beside a busy machine.
        if before % 2 == 1 {
            std::thread::yield_now();
        }
        let shown = ask(&mut client, number);
        if progress.step.load(SeqCst) != before || before % 2 == 1 {
            continue;
        }
        let expected = match before % 4 {
            GRANTED => true,
            REVOKED => false,
            _ => continue,
        };
        assert!(shown.iter().all(|shown| *shown == expected), "step {before}: {shown:?}");
        if progress.checked[number].swap(before, SeqCst) != before {
            writer.unpark();
        }
    }
}

fn storm(
    site: &mut Site,
    ask: &(dyn Fn(&mut TestClient, usize) -> Vec<bool> + Sync),
    set: &mut dyn FnMut(&mut Site, bool),
) {
    let progress = Progress::default();
    let directory = Arc::clone(&site.directory);
    let writer = std::thread::current();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|number| {
                let (directory, progress, writer) = (&directory, &progress, &writer);
                scope.spawn(move || read(directory, progress, number, ask, writer))
            })
            .collect();
        let is_alive = || readers.iter().all(|reader| !reader.is_finished());
        let mut step = 0;
        while step < rounds() * 4 && is_alive() {
            for is_granted in [false, true] {
                progress.step.store(step + 1, SeqCst);
                set(site, is_granted);
                step += 2;
                progress.step.store(step, SeqCst);
                let is_checked = || progress.checked.iter().all(|checked| checked.load(SeqCst) == step);
                while !is_checked() && is_alive() {
                    // Woken by the last reader. A reader that has failed wakes nobody.
                    std::thread::park_timeout(Duration::from_millis(100));
                }
            }
        }
        progress.step.store(u64::MAX, SeqCst);
    });
}

/// One question alone, or several in one batch.
fn ask(client: &mut TestClient, number: usize) -> Vec<bool> {
    let question = search("cn=a,ou=p,dc=ex", Scope::BaseObject, "(objectClass=*)", &[]);
    let (worker, session) = client.parts();
    let mut out = Vec::new();
    let mut batch = worker.batch(None);
    let mut shown = Vec::new();
    for _ in 0..=2 * number {
        let started = batch.start(session, &question, &mut out);
        shown.push(!answer(&started, &mut out).entries.is_empty());
    }
    if number == 0 {
        worker.rest();
    }
    shown
}

#[test]
fn rights_by_groups_and_sets() {
    for case in &CASES {
        let mut site = site(case, 0);
        let Case {
            entry, revoke, grant, ..
        } = case;
        storm(&mut site, &ask, &mut |site, is_granted| {
            change(site, entry, if is_granted { grant } else { revoke });
        });
    }
}

#[test]
fn rights_by_the_configuration() {
    let mut site = Site::populated("envflags nosync\naccess to * by * read");
    storm(&mut site, &ask, &mut |site, is_granted| {
        let lines = if is_granted {
            "access to * by * read"
        } else {
            "access to dn.base=\"cn=a,ou=p,dc=ex\" by * none\naccess to * by * read"
        };
        reconfigure(site, "", &format!("envflags nosync\n{lines}"));
    });
}

#[test]
fn passwords_and_restrictions_of_binds() {
    let bind = |client: &mut TestClient, _: usize| {
        let request = BindRequest {
            version: 3,
            name: b"cn=c,ou=p,dc=ex",
            authentication: Authentication::Simple(b"first"),
        };
        let pdu = encoded(&Request::Bind(request), &[]);
        let (worker, session) = client.parts();
        let mut out = Vec::new();
        if let ironbark_directory::Started::Submitted(submitted) = worker.start(session, &pdu, &mut out) {
            let completion = submitted.receiver.blocking_recv().expect("completes");
            worker.finish(session, completion, &mut out);
        }
        vec![read_answer(&out).code == 0]
    };
    let lines = "envflags nosync\naccess to * by * read by * auth";
    let mut site = Site::populated(lines);
    change(
        &mut site,
        "cn=c,ou=p,dc=ex",
        "replace: userPassword\nuserPassword: first\n-",
    );
    storm(&mut site, &bind, &mut |site, is_granted| {
        let text = if is_granted { "first" } else { "second" };
        let text = format!("replace: userPassword\nuserPassword: {text}\n-");
        change(site, "cn=c,ou=p,dc=ex", &text);
    });
    let mut rounds = 0;
    storm(&mut site, &bind, &mut |site, is_granted| {
        // A password that may not be used for authentication.
        let rule = if is_granted {
            ""
        } else {
            "access to attrs=userPassword by * none\n"
        };
        reconfigure(
            site,
            "",
            &format!("envflags nosync\n{rule}access to * by * read by * auth"),
        );
        rounds += 1;
    });
    assert!(rounds > 0);
}
