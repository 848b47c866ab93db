//! The capabilities of overlays, shown by the test's own overlays.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use ironbark_directory::{
    Modification, ModificationKind, NamingContext, OperationError, edit,
    overlay::{
        ArrangedEntry, Arrangement, BeginningSearch, Changes, Execution, ExtendedHooks, ExtendedWrite, Follower,
        Outcome, OutcomeChange, OutcomeHooks, Overlay, Question, Rights, SearchHooks, TimerHooks,
    },
    replay,
};
use ironbark_harness::{DecodedAnswer, Site};
use ironbark_ldap_proto::{
    ExtendedRequest, Request, Scope as WireScope,
    extended::refresh::{self, RefreshRequest},
};
use ironbark_model::{AttributeDescription, Budget, Dn, Filter, ResultCode, Schema};
use ironbark_store::{Applied, ChangeRecord, DitScope, Location};

/// Allows at most two values of description in an entry, and none that is a name of an existing entry that the client
/// may search.
struct Limited(AttributeDescription);

impl OutcomeHooks for Limited {
    fn before_outcome(&self, execution: &Execution<'_, '_>, outcome: &Outcome<'_>) -> Result<(), OperationError> {
        let refuse = |text: String| Err(OperationError::new(ResultCode::CONSTRAINT_VIOLATION, text));
        if outcome.count(&self.0) > 2 {
            let what = match outcome.change {
                OutcomeChange::Add(_) => "new",
                OutcomeChange::Modify { .. } => "changed",
            };
            return refuse(format!("{what} {}", outcome.name.pretty()));
        }
        let work = Budget::new(1_000);
        for value in outcome.values(&self.0)? {
            let text = format!("(cn={})", String::from_utf8_lossy(&value));
            let question = Question {
                base: None,
                scope: DitScope::Subtree,
                filter: &Filter::parse(text.as_bytes(), 8).expect("a filter"),
                except: None,
                rights: Rights::Client,
            };
            if execution.finds(&question, &work)? {
                return refuse(format!("{text} is there"));
            }
        }
        Ok(())
    }
}

fn description(schema: &Schema) -> AttributeDescription {
    schema.attribute_description(b"description").expect("a known name")
}

fn limited(lines: &str) -> Site {
    let mut site = Site::open_with(&format!("{lines}\noverlay tested"), |_, schema| {
        Ok(Overlay {
            outcomes: Some(Arc::new(Limited(description(schema)))),
            ..Overlay::new("limited")
        })
    });
    site.populate();
    site
}

#[test]
fn what_a_write_will_leave_can_be_refused_whatever_kind_of_write_it_is() {
    let mut site = limited("");
    let person = "objectClass: person\nsn: x\ndescription: 1\ndescription: 2";
    site.must_add("cn=new,dc=ex", person);
    let added = site.add("cn=more,dc=ex", &format!("{person}\ndescription: 3"));
    assert_eq!(added.brief(), (19, "new cn=more,dc=ex"));
    let modified = site.modify("cn=new,dc=ex", "add: description\ndescription: 3");
    assert_eq!(modified.brief(), (19, "changed cn=new,dc=ex"));
    let exchanged = "delete: description\ndescription: 2\n-\nadd: description\ndescription: 3";
    assert_eq!(site.modify("cn=new,dc=ex", exchanged).code, 0);
    let renamed = site.rename("cn=new,dc=ex", "cn=new+description=4", None);
    assert_eq!(renamed.brief(), (19, "changed cn=new+description=4,dc=ex"));
    assert_eq!(site.rename("cn=new,dc=ex", "cn=other", None).code, 0);
    let found = site.read("cn=other,dc=ex", &["description"]).expect("an entry");
    assert!(
        found.contains("description: 1") && found.contains("description: 3"),
        "{found}"
    );
}

#[test]
fn an_overlay_asks_with_the_rights_of_the_client() {
    let rules = "access to dn.exact=\"cn=a,ou=p,dc=ex\" attrs=cn by dn.exact=\"cn=b,ou=p,dc=ex\" none by * read\n\
                 access to * by users write by * read";
    let mut site = limited(rules);
    let names = "replace: description\ndescription: a";
    site.become_("cn=c,ou=p,dc=ex");
    assert_eq!(site.modify("cn=c,ou=p,dc=ex", names).brief(), (19, "(cn=a) is there"));
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(site.modify("cn=c,ou=p,dc=ex", names).code, 0);
}

/// Sends the values of description in alphabetical order and in capitals.
struct Capitals([AttributeDescription; 1]);

impl SearchHooks for Capitals {
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError> {
        if search.request.size_limit == 7 {
            return Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, "seven"));
        }
        Ok(Some(Box::new(Self(self.0.clone()))))
    }
}

impl Arrangement for Capitals {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.0
    }

    fn arrange(&self, entry: &ArrangedEntry<'_>, _: &AttributeDescription, mut values: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if entry.dn.pretty().starts_with("cn=plain") {
            return values;
        }
        values.sort();
        values.iter().map(|value| value.to_ascii_uppercase()).collect()
    }
}

#[test]
fn what_an_overlay_makes_of_values_is_sent_as_far_as_the_rules_grant_it() {
    let rules = "access to attrs=description val.exact=\"HIDDEN\" by * none\naccess to * by * read";
    let mut site = Site::open_with(&format!("{rules}\noverlay tested"), |_, schema| {
        Ok(Overlay {
            searches: Some(Arc::new(Capitals([description(schema)]))),
            ..Overlay::new("capitals")
        })
    });
    site.populate();
    let values = "objectClass: person\nsn: x\ndescription: b\ndescription: a\ndescription: hidden";
    site.must_add("cn=x,dc=ex", values);
    site.must_add("cn=plain,dc=ex", values);
    site.become_("cn=a,ou=p,dc=ex");
    let of = |site: &mut Site, filter| {
        let answer = site.search_as_self("dc=ex", WireScope::WholeSubtree, filter, &["description"]);
        answer.entries
    };
    assert_eq!(
        of(&mut site, "(cn=x)"),
        ["dn: cn=x,dc=ex\ndescription: A\ndescription: B\n"]
    );
    let plain = of(&mut site, "(cn=plain)");
    assert!(plain[0].contains("description: b\ndescription: a\n"), "{plain:?}");
    // The filter sees the stored values.
    assert_eq!(of(&mut site, "(&(cn=x)(description=b))").len(), 1);
}

/// Deletes one entry of ou=p in each step.
struct Reaper {
    parent: Dn,
    /// Is sent each name, and `None` when it rests.
    gone: Mutex<Sender<Option<String>>>,
}

impl TimerHooks for Reaper {
    fn period(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn step(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let Location::Entry(parent) = execution.view().locate(&self.parent)? else {
            return Ok(());
        };
        let first = execution.view().children(parent)?.next().transpose()?;
        let dn = first.map(|first| execution.view().dn(first)).transpose()?;
        if let Some(dn) = &dn {
            edit::delete_internally(execution, dn)?;
        }
        let gone = dn.map(|dn| dn.pretty().to_owned());
        self.gone.lock().unwrap().send(gone).expect("the test waits");
        Ok(())
    }
}

#[test]
fn an_overlay_works_of_its_own_accord_when_its_period_is_over() {
    let (gone, went) = channel();
    let mut site = Site::open_with("overlay tested", move |_, schema| {
        Ok(Overlay {
            timer: Some(Arc::new(Reaper {
                parent: Dn::parse(schema, b"ou=p,dc=ex").expect("a name"),
                gone: Mutex::new(gone.clone()),
            })),
            ..Overlay::new("reaper")
        })
    });
    site.populate();
    // More than fit into one commit.
    for number in 0..40 {
        site.must_add(&format!("cn=d{number},ou=p,dc=ex"), "objectClass: person\nsn: s");
    }
    assert!(went.try_recv().is_err(), "its first period is not over");
    site.clock.advance(Duration::from_mins(1));
    // The writer looks at the clock when it has work.
    site.must_add("cn=other,dc=ex", "objectClass: person\nsn: s");
    let names: Vec<String> = went.iter().map_while(|name| name).collect();
    assert_eq!(names.len(), 43);
    assert_eq!(
        names[..4],
        [
            "cn=a,ou=p,dc=ex",
            "cn=b,ou=p,dc=ex",
            "cn=c,ou=p,dc=ex",
            "cn=d0,ou=p,dc=ex"
        ]
    );
    // Every commit brings the steps along that are due, until none of them has changed anything.
    let rests = (0..100).any(|number| {
        let _ = went.try_iter().count();
        site.must_add(&format!("cn=other{number},dc=ex"), "objectClass: person\nsn: s");
        went.try_iter().next().is_none()
    });
    assert!(rests, "it rests at last");
    site.must_add("cn=a,ou=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(site.read("cn=b,ou=p,dc=ex", &["cn"]), None);
    assert!(site.read("cn=a,ou=p,dc=ex", &["cn"]).is_some(), "it rests again");
}

/// Keeps all changes that it gets, unless it fails.
#[derive(Default)]
struct Keeper {
    fails: AtomicBool,
    kept: Mutex<Vec<ChangeRecord>>,
}

impl Follower for Keeper {
    fn name(&self) -> String {
        "keeper".to_owned()
    }

    fn take(&self, changes: Changes<'_>) -> std::io::Result<Vec<u8>> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("it is made to fail"));
        }
        self.kept
            .lock()
            .expect("not poisoned")
            .extend_from_slice(changes.records);
        Ok(Vec::new())
    }
}

#[test]
fn a_follower_gets_each_change_once_whether_it_fails_meanwhile_or_not() {
    let keeper = Arc::<Keeper>::default();
    let given = Arc::clone(&keeper);
    let mut site = Site::open_with("overlay tested", move |_, _| {
        Ok(Overlay {
            follower: Some(Arc::clone(&given) as _),
            ..Overlay::new("keeper")
        })
    });
    site.populate();
    let kept = || keeper.kept.lock().expect("not poisoned").clone();
    let before = kept().len();
    assert!(before > 0);
    keeper.fails.store(true, Ordering::Relaxed);
    for name in ["x", "y"] {
        site.must_add(&format!("cn={name},ou=p,dc=ex"), "objectClass: person\nsn: s");
    }
    assert_eq!(site.delete("cn=missing,ou=p,dc=ex").code, 32);
    assert_eq!(kept().len(), before);
    keeper.fails.store(false, Ordering::Relaxed);
    assert_eq!(site.delete("cn=x,ou=p,dc=ex").code, 0);
    assert_eq!(site.modify("cn=y,ou=p,dc=ex", "replace: sn\nsn: t").code, 0);
    assert_eq!(kept().len(), before + 4);
    let configuration = site.directory.configuration();
    assert_eq!(
        kept(),
        rows(&configuration.contexts[0]),
        "the same as the rows of the log"
    );
}

/// Works apart, and hangs until it is told to go on.
struct Hanging {
    begun: Mutex<Sender<()>>,
    goes_on: Mutex<Receiver<()>>,
    kept: Arc<Keeper>,
}

impl Follower for Hanging {
    fn name(&self) -> String {
        "hanging".to_owned()
    }

    fn works_apart(&self) -> bool {
        true
    }

    fn take(&self, changes: Changes<'_>) -> std::io::Result<Vec<u8>> {
        assert_eq!(changes.records.len(), 1, "each change comes alone");
        let _ = self.begun.lock().expect("not poisoned").send(());
        // When the other end is gone, it goes on.
        let _ = self.goes_on.lock().expect("not poisoned").recv();
        self.kept.take(changes)
    }
}

#[test]
fn a_follower_that_works_apart_holds_up_no_write() {
    let (begun, has_begun) = channel();
    let (go_on, goes_on) = channel();
    let keeper = Arc::<Keeper>::default();
    let hanging = Arc::new(Hanging {
        begun: Mutex::new(begun),
        goes_on: Mutex::new(goes_on),
        kept: Arc::clone(&keeper),
    });
    let mut site = Site::open_with("overlay tested", move |_, _| {
        Ok(Overlay {
            follower: Some(Arc::clone(&hanging) as _),
            ..Overlay::new("hanging")
        })
    });
    site.populate();
    has_begun.recv().expect("the first change");
    // More than any queue has room for.
    for number in 0..50 {
        site.must_add(&format!("cn=n{number},ou=p,dc=ex"), "objectClass: person\nsn: s");
    }
    assert!(keeper.kept.lock().expect("not poisoned").is_empty());
    let all = rows(&site.directory.configuration().contexts[0]);
    assert!(all.len() > 50);
    drop(go_on);
    for _ in 1..all.len() {
        has_begun.recv().expect("the next change");
    }
    // The end waits for the change that it is at.
    drop(site);
    assert_eq!(*keeper.kept.lock().expect("not poisoned"), all);
}

/// All changes in the log of a database.
fn rows(context: &NamingContext) -> Vec<ChangeRecord> {
    let snapshot = context.database().expect("a store").snapshot().expect("a snapshot");
    snapshot.view().changes(1).expect("a log").map(Result::unwrap).collect()
}

#[test]
fn a_replayed_change_comes_to_a_follower_once() {
    let source = Site::populated("changelog-size 1000000");
    let context = |site: &Site| Arc::clone(&site.directory.configuration().contexts[0]);
    let rows = rows(&context(&source));
    let keeper = Arc::<Keeper>::default();
    let given = Arc::clone(&keeper);
    let target = Site::open_with("overlay tested", move |_, _| {
        Ok(Overlay {
            follower: Some(Arc::clone(&given) as _),
            ..Overlay::new("keeper")
        })
    });
    for record in &rows {
        for expected in [Applied::Now, Applied::Before] {
            let replayed = replay(&target.directory, &context(&target), record.clone());
            assert_eq!(replayed.unwrap().blocking_recv().unwrap().unwrap(), expected);
        }
    }
    assert_eq!(*keeper.kept.lock().expect("not poisoned"), rows);
}

/// Reports how often an entry was refreshed, to clients that may manage its description.
struct Refresh(AttributeDescription);

struct Refreshed {
    dn: Dn,
    description: AttributeDescription,
}

impl ExtendedHooks for Refresh {
    fn oid(&self) -> &'static str {
        refresh::OID
    }

    fn read(&self, schema: &Schema, value: Option<&[u8]>) -> Result<Box<dyn ExtendedWrite>, OperationError> {
        let request =
            RefreshRequest::decode(value).map_err(|fault| OperationError::new(fault.code, fault.diagnostic))?;
        Ok(Box::new(Refreshed {
            dn: Dn::parse(schema, request.entry).expect("a name"),
            description: self.0.clone(),
        }))
    }
}

impl ExtendedWrite for Refreshed {
    fn dn(&self) -> &Dn {
        &self.dn
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Option<Vec<u8>>, OperationError> {
        let id = execution.locate(&self.dn)?;
        let entry = execution.entry(id)?;
        if !execution.may_manage_attribute(&entry, &self.description) {
            return Err(OperationError::code(ResultCode::INSUFFICIENT_ACCESS_RIGHTS));
        }
        let kind = ModificationKind::Replace;
        let values = vec![b"refreshed".to_vec()];
        let change = Modification::internal(execution.schema(), kind, &self.description, values);
        assert!(edit::modify_internally(execution, &self.dn, &[change])?.is_none());
        Ok(Some(b"answer".to_vec()))
    }
}

fn ask_to_refresh(site: &mut Site, name: &str) -> DecodedAnswer {
    let mut value = Vec::new();
    let entry = name.as_bytes();
    RefreshRequest { entry, ttl_s: 60 }.encode(&mut value);
    let request = ExtendedRequest {
        name: refresh::OID.as_bytes(),
        value: Some(&value),
    };
    site.send(&Request::Extended(request), &[])
}

#[test]
fn an_extended_operation_is_there_if_its_overlay_is() {
    let mut site = Site::open_with("overlay tested", |_, schema| {
        Ok(Overlay {
            extended: Some(Arc::new(Refresh(description(schema)))),
            ..Overlay::new("refresh")
        })
    });
    site.populate();
    let answer = ask_to_refresh(&mut site, "cn=a,ou=p,dc=ex");
    assert_eq!((answer.code, answer.value.as_deref()), (0, Some(&b"answer"[..])));
    let entry = site.read("cn=a,ou=p,dc=ex", &["description"]).expect("an entry");
    assert!(entry.contains("description: refreshed"), "{entry}");
    assert_eq!(ask_to_refresh(&mut site, "cn=nobody,dc=ex").code, 32);
    assert_eq!(ask_to_refresh(&mut site, "o=elsewhere").code, 32);
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(ask_to_refresh(&mut site, "cn=a,ou=p,dc=ex").code, 50);
    let mut without = Site::populated("");
    assert_eq!(ask_to_refresh(&mut without, "cn=a,ou=p,dc=ex").code, 2, "unsupported");
}
