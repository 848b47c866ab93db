//! What all partners have, LMDB gets; what LMDB does not get, no partner keeps.

use std::sync::{Mutex, PoisonError};

use ironbark_config::{MemoryFiles, Registry};
use ironbark_model::{Dn, Schema};
use ironbark_store::{Effect, Location};

use super::*;
use crate::{backend::open, refusal::ClusterRefusal};

/// The steps of all partners.
type Steps = Arc<Mutex<Vec<String>>>;

/// A partner that notes what it is asked, and whether readers see the change then.
#[derive(Clone)]
struct Noting {
    name: &'static str,
    steps: Steps,
    store: Arc<Store>,
    refuses: bool,
    /// Whether others have what it has kept.
    cannot_take_back: bool,
}

impl Noting {
    fn note(&self, step: &str) {
        let seen = if self.store.has_change() { "seen" } else { "unseen" };
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push(format!("{} {step}, {seen}", self.name));
    }
}

impl CommitPartner for Noting {
    fn needs(&self) -> Needs {
        Needs {
            group_limit: self.name.len(),
            batch: self.refuses,
            is_shared: self.cannot_take_back,
        }
    }

    fn keep(&mut self, _: &mut WriteTransaction<'_>, _: &[Outcome]) -> Result<(), NotKept> {
        self.note("keeps");
        if self.refuses {
            return Err(NotKept::Refused(ClusterRefusal::Late.into()));
        }
        Ok(())
    }

    fn take_back(&mut self, database: &Database, _: &[Outcome]) -> Option<OperationError> {
        // The transaction is gone: this would wait for it.
        drop(database.write().unwrap());
        self.note("takes back");
        self.cannot_take_back.then(|| ClusterRefusal::NotHere.into())
    }

    fn committed(&mut self, last: u64) {
        self.note(&format!("hears of {last}"));
    }
}

/// A small database.
struct Store {
    database: Database,
    schema: Arc<Schema>,
    _place: tempfile::TempDir,
}

impl Store {
    fn new() -> Arc<Self> {
        let place = tempfile::tempdir().unwrap();
        let text = format!(
            "database mdb\nsuffix cn=x\ndirectory {}\nmaxsize 1048576\n",
            place.path().display()
        );
        let files = MemoryFiles::file("slapd.conf", text);
        let read = ironbark_config::load("slapd.conf", &files, &Registry::default()).unwrap();
        let opened = open::database(&read.databases[0], &read.schema).unwrap();
        Arc::new(Self {
            database: opened.database,
            schema: read.schema,
            _place: place,
        })
    }

    fn has_change(&self) -> bool {
        let snapshot = self.database.snapshot().unwrap();
        let dn = Dn::parse(&self.schema, b"cn=x").unwrap();
        matches!(snapshot.view().locate(&dn).unwrap(), Location::Entry(_))
    }

    /// Partners with the given names; those named `refusing` refuse, those named `public` cannot take back.
    fn partners(self: &Arc<Self>, names: &[&'static str]) -> (Partners, Steps) {
        let steps = Steps::default();
        let partner = |name: &&'static str| -> Box<dyn CommitPartner> {
            Box::new(Noting {
                name,
                steps: Arc::clone(&steps),
                store: Arc::clone(self),
                refuses: *name == "refusing",
                cannot_take_back: *name == "public",
            })
        };
        let partners = Partners::new(names.iter().map(partner).collect());
        (partners, steps)
    }
}

/// An entry of this many octets.
fn add(octets: usize) -> Effect {
    Effect::Add {
        dn: "cn=x".into(),
        attributes: vec![
            ("objectClass".into(), vec![b"extensibleObject".to_vec()]),
            ("cn".into(), vec![b"x".to_vec()]),
            ("description".into(), vec![vec![b'x'; octets]]),
        ],
    }
}

fn noted(steps: &Steps) -> Vec<String> {
    steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[test]
fn all_keep_a_change_before_readers_see_it() {
    let store = Store::new();
    let (mut partners, steps) = store.partners(&["one", "public"]);
    let mut transaction = store.database.write().unwrap();
    transaction.apply_effect(&add(10)).unwrap();
    partners.commit(transaction, &store.database, &[]).unwrap();
    partners.committed(1);
    let expected = [
        "one keeps, unseen",
        "public keeps, unseen",
        "one hears of 1, seen",
        "public hears of 1, seen",
    ];
    assert_eq!(noted(&steps), expected);
}

#[test]
fn what_a_partner_refuses_is_not_committed_and_those_before_it_take_it_back() {
    let store = Store::new();
    let (mut partners, steps) = store.partners(&["one", "two", "refusing", "last"]);
    let mut transaction = store.database.write().unwrap();
    transaction.apply_effect(&add(10)).unwrap();
    let refused = partners.commit(transaction, &store.database, &[]);
    assert!(matches!(refused, Err(NotKept::Refused(error)) if error == ClusterRefusal::Late.into()));
    let expected = [
        "one keeps, unseen",
        "two keeps, unseen",
        "refusing keeps, unseen",
        "two takes back, unseen",
        "one takes back, unseen",
    ];
    assert_eq!(noted(&steps), expected);
    assert!(!store.has_change());
}

/// A transaction that is too large to be committed.
fn too_large(store: &Store) -> WriteTransaction<'_> {
    let mut transaction = store.database.write().unwrap();
    assert!(transaction.apply_effect(&add(4 << 20)).is_err());
    transaction
}

#[test]
fn what_cannot_be_committed_is_taken_back_by_all_the_last_one_first() {
    let store = Store::new();
    let (mut partners, steps) = store.partners(&["one", "two"]);
    let refused = partners.commit(too_large(&store), &store.database, &[]);
    assert!(matches!(refused, Err(NotKept::Refused(_))));
    let expected = [
        "one keeps, unseen",
        "two keeps, unseen",
        "two takes back, unseen",
        "one takes back, unseen",
    ];
    assert_eq!(noted(&steps), expected);
}

#[test]
fn clients_are_told_when_others_have_what_could_not_be_committed() {
    let store = Store::new();
    let (mut partners, _) = store.partners(&["one", "public"]);
    let refused = partners.commit(too_large(&store), &store.database, &[]);
    assert!(matches!(refused, Err(NotKept::Refused(error)) if error == ClusterRefusal::NotHere.into()));
}

#[test]
fn the_needs_of_all_partners_count() {
    let store = Store::new();
    let of = |names: &[&'static str]| store.partners(names).0.needs();
    assert_eq!(of(&[]), Needs::default());
    let needs = of(&["one", "refusing", "public"]);
    let (batch, is_shared) = (true, true);
    let group_limit = 3;
    assert_eq!(
        needs,
        Needs {
            group_limit,
            batch,
            is_shared
        }
    );
}
