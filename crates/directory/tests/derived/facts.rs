//! The facts of a derivation are those of the snapshot.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use ironbark_directory::overlay::{Derivation, Derive, Entries, Overlay, Reads};
use ironbark_ldap_proto::{
    Filter,
    controls::{AssertionControl, Control, PostRead},
};
use ironbark_model::AttributeDescription;
use ironbark_store::StoreError;

use crate::derived::{
    ask::{self, A, B, all, define, found, values},
    rule::{self, ADDS, Streets},
};
use ironbark_harness::{Site, TestClient};

#[test]
fn facts_are_those_of_the_snapshot_whatever_has_changed() {
    let (mut site, _) = rule::site("", ADDS);
    ask::populate(&mut site);
    let red = ["p", "a", "b", "c"];
    assert_eq!(found(&mut site, "(description=red)"), red);
    // Another definition, with another effect.
    define(&mut site, "ou=e,dc=ex", "green");
    assert_eq!(found(&mut site, "(description=green)"), ["ex", "p", "a", "b", "c"]);
    assert_eq!(values(&mut site, A, "description"), ["own", "red", "green"]);
    // It changes.
    assert_eq!(site.modify("ou=e,dc=ex", "replace: street\ns: blue").code, 0);
    assert_eq!(found(&mut site, "(description=green)"), [""; 0]);
    assert_eq!(values(&mut site, B, "description"), ["red", "blue"]);
    // It is a definition no more, and then again.
    assert_eq!(site.modify("ou=e,dc=ex", "delete: street").code, 0);
    assert_eq!(found(&mut site, "(description=blue)"), [""; 0]);
    assert_eq!(values(&mut site, "ou=e,dc=ex", "description"), [""; 0]);
    assert_eq!(site.modify("ou=e,dc=ex", "add: street\ns: blue").code, 0);
    assert_eq!(values(&mut site, B, "description"), ["red", "blue"]);
    // It goes.
    assert_eq!(site.delete("ou=e,dc=ex").code, 0);
    assert_eq!(values(&mut site, B, "description"), ["red"]);
    // A definition moves, and comes back in the same place with another name.
    assert_eq!(site.rename("ou=d,ou=p,dc=ex", "ou=d", Some("dc=ex")).code, 0);
    assert_eq!(found(&mut site, "(description=red)"), ["ex", "p", "a", "b", "c"]);
    assert_eq!(site.rename("ou=d,dc=ex", "ou=f", Some("ou=p,dc=ex")).code, 0);
    assert_eq!(found(&mut site, "(description=red)"), red);
    // The superior of a definition moves, with all that is below.
    assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).code, 0);
    assert_eq!(found(&mut site, "(description=red)"), ["q", "a", "b", "c"]);
    assert_eq!(values(&mut site, "cn=b,ou=q,dc=ex", "description"), ["red"]);
}

#[test]
fn facts_are_not_read_again_before_a_definition_changes() {
    let (mut site, reads) = rule::site("", ADDS);
    ask::populate(&mut site);
    let counted = |reads: &AtomicUsize| reads.load(Ordering::Relaxed);
    assert_eq!(found(&mut site, "(description=red)").len(), 4);
    let before = counted(&reads);
    site.must_add("cn=x,ou=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(site.modify(B, "replace: sn\ns: t").code, 0);
    assert_eq!(site.modify(A, "replace: description\nd: other").code, 0);
    assert_eq!(site.delete("cn=c,ou=p,dc=ex").code, 0);
    assert_eq!(found(&mut site, "(description=red)"), ["p", "a", "b", "x"]);
    assert_eq!(ask::compare(&mut site, A, "description", "red"), 6);
    // All reactors share them.
    let mut other = site.connect();
    assert_eq!(found(&mut other, "(description=red)").len(), 4);
    assert_eq!(counted(&reads), before, "no definition has changed");
    assert_eq!(site.modify("ou=d,ou=p,dc=ex", "add: street\ns: scarlet").code, 0);
    assert_eq!(found(&mut other, "(description=scarlet)").len(), 4);
    assert_eq!(found(&mut site, "(description=scarlet)").len(), 4);
    assert_eq!(counted(&reads), before + 1);
    // Who sees no derived attribute needs no facts.
    assert_eq!(site.modify("ou=d,ou=p,dc=ex", "delete: street\ns: scarlet").code, 0);
    assert_eq!(all(&mut site, "(sn=t)", &["sn"]).len(), 1);
    assert_eq!(found(&mut site, "(description=scarlet)"), [""; 0]);
}

#[test]
fn writes_do_not_read_facts_again_before_a_definition_changes() {
    let (mut site, reads) = rule::site("", ADDS);
    ask::populate(&mut site);
    let asserted = |text: &'static str| Control::critical(AssertionControl(Filter::parse(text.as_bytes(), 5).unwrap()));
    let (red, green) = (asserted("(description=red)"), asserted("(description=green)"));
    let names = [b"description".as_slice()];
    let shown = Control::critical(PostRead(names.as_slice().into()));
    let change = "replace: sn\ns: t";
    assert_eq!(site.modify_with(B, change, &[&red, &shown]).code, 0);
    let before = reads.load(Ordering::Relaxed);
    for _ in 0..5 {
        assert_eq!(site.modify_with(B, change, &[&red, &shown]).code, 0);
        assert_eq!(site.modify_with(B, change, &[&green]).code, 122, "refused");
    }
    assert_eq!(reads.load(Ordering::Relaxed), before);
    define(&mut site, "ou=e,dc=ex", "green");
    let answer = site.modify_with(B, change, &[&green, &shown]);
    assert_eq!(answer.code, 0);
    assert!(answer.read_entry.unwrap().contains("description: green"));
    assert_eq!(reads.load(Ordering::Relaxed), before + 1);
}

#[test]
fn facts_are_those_of_the_configuration_in_force() {
    let (mut site, _) = rule::site("", ADDS);
    ask::populate(&mut site);
    assert_eq!(values(&mut site, B, "description"), ["red"]);
    for value in ["green", "blue"] {
        let without = site.configuration("", "");
        site.directory.reconfigure(without).expect("without the overlay");
        assert_eq!(values(&mut site, B, "description"), [""; 0]);
        let replaced = site.modify("ou=d,ou=p,dc=ex", &format!("replace: street\ns: {value}"));
        assert_eq!(replaced.code, 0);
        let with = site.configuration("", "overlay tested");
        site.directory.reconfigure(with).expect("with the overlay");
        assert_eq!(values(&mut site, B, "description"), [value]);
        assert_eq!(site.modify("ou=d,ou=p,dc=ex", "add: street\ns: more").code, 0);
        assert_eq!(values(&mut site, B, "description"), [value, "more"]);
        // The overlay stays as it is when something else changes.
        let other = site.configuration("", "sizelimit 100\noverlay tested");
        site.directory.reconfigure(other).expect("with another limit");
        assert_eq!(site.modify("ou=d,ou=p,dc=ex", "delete: street\ns: more").code, 0);
        assert_eq!(values(&mut site, B, "description"), [value]);
    }
}

/// A rule whose facts, once, are read only as long as somebody waits: it says that it begins, and waits to be let go.
struct Slow {
    streets: Streets,
    once: Arc<Mutex<Option<Gate>>>,
}

struct Gate {
    begins: Sender<()>,
    goes_on: Receiver<()>,
}

impl Derivation for Slow {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn depends_on(&self) -> &[AttributeDescription] {
        self.streets.depends_on()
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        let gate = self.once.lock().unwrap().take();
        if let Some(gate) = gate {
            gate.begins.send(()).unwrap();
            gate.goes_on
                .recv_timeout(Duration::from_secs(20))
                .expect("the other reactor waits for this one");
        }
        self.streets.facts(entries)
    }
}

#[test]
fn while_one_reactor_reads_facts_no_other_waits() {
    let once = Arc::<Mutex<Option<Gate>>>::default();
    let given = Arc::clone(&once);
    let mut site = Site::open_with("overlay tested", move |_, schema| {
        let streets = Streets::new(schema, ADDS, &Arc::default());
        let once = Arc::clone(&given);
        Ok(Overlay {
            derivation: Some(Arc::new(Slow { streets, once })),
            ..Overlay::new("slow")
        })
    });
    ask::populate(&mut site);
    define(&mut site, "ou=e,dc=ex", "green");
    let ((begins, begun), (go_on, goes_on)) = (channel(), channel());
    *once.lock().unwrap() = Some(Gate { begins, goes_on });
    let directory = Arc::clone(&site.directory);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| found(&mut TestClient::new(&directory), "(description=green)"));
        begun.recv().unwrap();
        let all = found(&mut site, "(description=green)");
        go_on.send(()).unwrap();
        assert_eq!(slow.join().unwrap(), all);
        assert_eq!(all.len(), 5);
    });
}
