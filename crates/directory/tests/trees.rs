//! Writes to trees in memory: the directory's checks before the tree makes the change, and what the tree is told.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::sync::{Arc, Mutex};

use ironbark_config::{Operations, kinds::CONFIG};
use ironbark_directory::{
    ChangeAuthor, Configuration, InMemoryTree, ModificationKind, OperationError, TreeChange, complete_entries,
};
use ironbark_harness::Site;
use ironbark_ldap_proto::{AttributeSelection, DerefAliases, Request, Scope, SearchRequest, controls};
use ironbark_model::{Attribute, Dn, Entry, Filter};

/// A name, attributes and values.
type Named = (String, Vec<(String, String)>);

/// A tree of persons and units below cn=config, as text; it records what it was told.
struct Notes {
    entries: Mutex<Vec<Named>>,
    told: Mutex<Vec<String>>,
    /// Set by the test: a configuration to put into force with the next change.
    next: Mutex<Option<ironbark_config::LoadedConfiguration>>,
}

impl Notes {
    fn new() -> Arc<Self> {
        let entry = |dn: &str, attributes: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            (dn.to_owned(), attributes.iter().map(own).collect())
        };
        Arc::new(Self {
            entries: Mutex::new(vec![
                entry("cn=config", &[("objectClass", "device"), ("cn", "config")]),
                entry(
                    "cn=a,cn=config",
                    &[
                        ("objectClass", "person"),
                        ("cn", "a"),
                        ("sn", "s"),
                        ("description", "secret"),
                    ],
                ),
                entry(
                    "cn=b,cn=a,cn=config",
                    &[("objectClass", "person"), ("cn", "b"), ("sn", "s")],
                ),
            ]),
            told: Mutex::default(),
            next: Mutex::default(),
        })
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().expect("not poisoned"))
    }
}

/// The tree that the directory is given.
struct Handle(Arc<Notes>);

impl InMemoryTree for Handle {
    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]> {
        let schema = &configuration.schema;
        let made = self.0.entries.lock().expect("not poisoned");
        let made = made.iter().map(|(dn, values)| {
            let mut entry = Entry::new(Dn::parse(schema, dn.as_bytes()).expect("a DN"));
            for (name, value) in values {
                let description = schema.attribute_description(name.as_bytes()).expect("known");
                match entry.attribute_mut(&description) {
                    Some(attribute) => attribute.values.push(value.clone().into_bytes()),
                    None => entry.attributes.push(Attribute {
                        description,
                        values: vec![value.clone().into_bytes()],
                    }),
                }
            }
            entry
        });
        complete_entries(configuration, made.collect())
    }

    fn writes(&self) -> Operations {
        Operations::ADD
            .with(Operations::MODIFY)
            .with(Operations::DELETE)
            .with(Operations::RENAME)
    }

    fn change(&self, change: &TreeChange, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let notes = &self.0;
        if let Some(next) = notes.next.lock().expect("not poisoned").take() {
            by.governor
                .prepare(next)
                .map_err(|error| OperationError::new(ironbark_model::ResultCode::OTHER, error.to_string()))?
                .commit();
        }
        let mut entries = notes.entries.lock().expect("not poisoned");
        let line = match change {
            TreeChange::Add(entry) => {
                if entries.iter().any(|(dn, _)| dn == entry.dn.pretty()) {
                    let code = ironbark_model::ResultCode::ENTRY_ALREADY_EXISTS;
                    return Err(OperationError::new(code, String::new()));
                }
                let names: Vec<_> = entry
                    .attributes
                    .iter()
                    .map(|attribute| by.configuration.schema.description_text(&attribute.description))
                    .collect();
                assert_eq!(by.entry_uuid()?.len(), 36);
                entries.push((entry.dn.pretty().to_owned(), Vec::new()));
                format!("add {} {}", entry.dn.pretty(), names.join(","))
            }
            TreeChange::Modify { dn, modifications } => {
                let (_, values) = entries.iter_mut().find(|(name, _)| name == dn.pretty()).expect("there");
                for modification in modifications {
                    if modification.kind == ModificationKind::Replace {
                        values.retain(|(name, _)| !name.eq_ignore_ascii_case(&modification.name));
                    }
                    for value in &modification.values {
                        values.push((modification.name.clone(), String::from_utf8_lossy(value).into_owned()));
                    }
                }
                format!("modify {} {}", dn.pretty(), modifications.len())
            }
            TreeChange::Delete { dn } => format!("delete {}", dn.pretty()),
            TreeChange::ModifyDn { dn, new_rdn, .. } => format!("rename {} {}", dn.pretty(), new_rdn.pretty()),
        };
        assert!(by.stamp.csn.starts_with(by.stamp.time.trim_end_matches('Z')));
        notes
            .told
            .lock()
            .expect("not poisoned")
            .push(format!("{line} by {}", by.dn));
        Ok(())
    }
}

const ADMIN: &str = "cn=admin,cn=config";

/// A site with the tree as cn=config, and access rules on it.
fn site(access: &str) -> (Site, Arc<Notes>) {
    let notes = Notes::new();
    let tree = Arc::clone(&notes);
    let settings = format!("database config\nrootdn {ADMIN}\nrootpw x\n{access}");
    let mut site = Site::open_with_trees(&settings, "", move |settings| {
        (settings.kind == &CONFIG).then(|| Arc::new(Handle(Arc::clone(&tree))) as Arc<dyn InMemoryTree>)
    });
    site.populate();
    site.become_(ADMIN);
    (site, notes)
}

#[test]
fn the_root_dse_names_it_and_searches_see_it() {
    let (mut site, _) = site("");
    assert_eq!(site.directory.configuration().contexts[0].number, 0);
    assert_eq!(
        site.read("", &["configContext"]).as_deref(),
        Some("configContext: cn=config\n")
    );
    let answer = site.search_as_self("cn=config", Scope::WholeSubtree, "(hasSubordinates=TRUE)", &["entryDN"]);
    assert_eq!(
        answer.entries,
        [
            "dn: cn=config\nentryDN: cn=config\n",
            "dn: cn=a,cn=config\nentryDN: cn=a,cn=config\n"
        ]
    );
}

#[test]
fn the_tree_carries_out_what_was_checked() {
    let (mut site, notes) = site("");
    assert_eq!(
        site.add("cn=n,cn=a,cn=config", "objectClass: person\nsn: s").brief(),
        (0, "")
    );
    assert_eq!(site.modify("cn=A,cn=config", "replace: sn\nsn: t").brief(), (0, ""));
    assert_eq!(site.rename("cn=b,cn=a,cn=config", "cn=c", None).brief(), (0, ""));
    assert_eq!(site.delete("cn=b,cn=a,cn=config").brief(), (0, ""));
    assert_eq!(
        notes.told(),
        [
            format!("add cn=n,cn=a,cn=config objectClass,sn,cn by {ADMIN}"),
            format!("modify cn=a,cn=config 1 by {ADMIN}"),
            format!("rename cn=b,cn=a,cn=config cn=c by {ADMIN}"),
            format!("delete cn=b,cn=a,cn=config by {ADMIN}"),
        ]
    );
    let answer = site.add("cn=a,cn=config", "objectClass: person\nsn: s");
    assert_eq!(answer.code, 68);
    let answer = site.add("cn=x,cn=y,cn=a,cn=config", "objectClass: person\nsn: s");
    assert_eq!((answer.code, answer.matched_dn.as_str()), (32, "cn=a,cn=config"));
    let answer = site.delete("cn=y,cn=config");
    assert_eq!((answer.code, answer.matched_dn.as_str()), (32, "cn=config"));
    assert_eq!(
        site.modify("cn=a,cn=config", "replace: entryUUID\nentryUUID: x").code,
        21
    );
    assert_eq!(site.modify("cn=a,cn=config", "replace: entryCSN").code, 19);
    assert_eq!(
        site.rename("cn=a,cn=config", "cn=a", Some("cn=b,cn=a,cn=config")).code,
        53
    );
    assert_eq!(site.rename("cn=config", "cn=other", None).code, 71);
    assert!(notes.told().is_empty());
}

#[test]
fn access_is_needed_for_each_value_of_a_change() {
    let rules = "access to attrs=seeAlso by users selfwrite
access to dn.base=cn=a,cn=config attrs=children by users write
access to dn.base=cn=config by users none
access to attrs=description by users none
access to * by users read by anonymous none";
    let (mut site, notes) = site(rules);
    site.become_("cn=a,ou=p,dc=ex");
    assert_eq!(site.modify("cn=a,cn=config", "replace: cn\ncn: z").code, 50);
    let own = "add: seeAlso\nseeAlso: cn=a,ou=p,dc=ex";
    assert_eq!(
        site.modify("cn=a,cn=config", &format!("{own}\nseeAlso: cn=b,ou=p,dc=ex"))
            .code,
        50
    );
    assert_eq!(site.modify("cn=a,cn=config", own).brief(), (0, ""));
    assert_eq!(notes.told().len(), 1);
    assert_eq!(site.delete("cn=a,cn=config").brief(), (50, "no write access to parent"));
    assert_eq!(
        site.delete("cn=b,cn=a,cn=config").brief(),
        (50, "no write access to entry")
    );
    let answer = site.add("cn=x,cn=config", "objectClass: person\nsn: s");
    assert_eq!(answer.brief(), (50, "no write access to parent"));
    let answer = site.add("cn=a,cn=config", "objectClass: person\nsn: s");
    assert_eq!(
        answer.brief(),
        (50, "no write access to parent"),
        "whether there is one or not"
    );
    // The client learns nothing of entries that it may not know about.
    let answer = site.delete("cn=y,cn=config");
    assert_eq!((answer.code, answer.matched_dn.as_str()), (32, ""));
    assert!(notes.told().is_empty());
    let searched = |site: &mut Site, base: &str, filter: &str| {
        let answer = site.search_as_self(base, Scope::WholeSubtree, filter, &["1.1"]);
        (answer.code, answer.entries.len())
    };
    assert_eq!(searched(&mut site, "cn=config", "(cn=*)"), (32, 0));
    assert_eq!(searched(&mut site, "cn=a,cn=config", "(cn=*)"), (0, 2));
    // A filter reveals nothing about values that may not be searched.
    assert_eq!(searched(&mut site, "cn=a,cn=config", "(description=secret)"), (0, 0));
    assert_eq!(searched(&mut site, "cn=a,cn=config", "(!(description=secret))"), (0, 0));
    site.become_("");
    assert_eq!(site.delete("cn=a,cn=config").code, 8);
    site.become_(ADMIN);
    assert_eq!(searched(&mut site, "cn=config", "(description=secret)"), (0, 1));
}

#[test]
fn without_a_rule_of_its_own_cn_config_is_for_its_rootdn_alone() {
    let (mut site, _) = site("");
    site.become_("cn=root,dc=ex");
    let answer = site.search_as_self("cn=config", Scope::WholeSubtree, "(objectClass=*)", &[]);
    assert_eq!((answer.code, answer.entries.len()), (32, 0));
    assert_eq!(site.modify("cn=a,cn=config", "replace: sn\nsn: t").code, 50);
}

#[test]
fn controls_are_obeyed_or_refused() {
    let (mut site, notes) = site("");
    let filter = |text: &'static str| Filter::parse(text.as_bytes(), 10).expect("a filter");
    let change = "replace: sn\nsn: t";
    let assertion = controls::Control::critical(controls::AssertionControl(filter("(sn=other)")));
    assert_eq!(site.modify_with("cn=a,cn=config", change, &[&assertion]).code, 122);
    let no_op = controls::Control::critical(controls::NoOp);
    assert_eq!(site.modify_with("cn=a,cn=config", change, &[&no_op]).code, 16654);
    let permissive = controls::Control::critical(controls::PermissiveModify);
    assert_eq!(site.modify_with("cn=a,cn=config", change, &[&permissive]).code, 12);
    let tree = controls::Control::critical(controls::TreeDelete);
    assert_eq!(site.delete_with("cn=a,cn=config", &[&tree]).code, 12);
    assert!(notes.told().is_empty());
    let names: [&[u8]; 1] = [b"sn"];
    let pre = controls::Control::critical(controls::PreRead(AttributeSelection::from(names.as_slice())));
    let answer = site.modify_with("cn=a,cn=config", change, &[&pre]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=a,cn=config\nsn: s\n"));
    let post = controls::Control::critical(controls::PostRead(AttributeSelection::from(names.as_slice())));
    let answer = site.modify_with("cn=a,cn=config", "replace: sn\nsn: u", &[&post]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=a,cn=config\nsn: u\n"));
    let answer = site.rename_with("cn=a,cn=config", "cn=z", true, None, &[&post]);
    assert_eq!(answer.code, 12);
}

#[test]
fn a_change_may_put_another_configuration_into_force() {
    let (mut site, notes) = site("");
    let settings = format!("database config\nrootdn {ADMIN}\nrootpw x\n");
    let next = site.configuration(&settings, "readonly on");
    *notes.next.lock().expect("not poisoned") = Some(next);
    assert_eq!(site.modify("cn=a,cn=config", "replace: sn\nsn: t").brief(), (0, ""));
    site.become_("cn=root,dc=ex");
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").brief(), (53, "operation restricted"));
    // cn=config itself may become read-only or disappear; earlier requests get a result with a text.
    site.become_(ADMIN);
    let next = site.configuration(&format!("{settings}readonly on"), "");
    *notes.next.lock().expect("not poisoned") = Some(next);
    assert_eq!(site.modify("cn=a,cn=config", "replace: sn\nsn: u").brief(), (0, ""));
    assert_eq!(
        site.modify("cn=a,cn=config", "replace: sn\nsn: v").brief(),
        (53, "operation restricted")
    );
}

#[test]
fn a_tree_that_takes_no_writes_says_so_before_anything_is_looked_up() {
    struct Still(Handle);
    impl InMemoryTree for Still {
        fn entries(&self, configuration: &Configuration) -> Arc<[Entry]> {
            self.0.entries(configuration)
        }
    }
    let mut site = Site::open_with_trees("database config\nrootpw x", "", |settings| {
        let is_config = settings.kind == &CONFIG;
        is_config.then(|| Arc::new(Still(Handle(Notes::new()))) as Arc<dyn InMemoryTree>)
    });
    site.become_("cn=config");
    let refused = (53, "operation not supported within namingContext");
    assert_eq!(site.delete("cn=nobody,cn=config").brief(), refused);
    assert_eq!(site.modify("cn=a,cn=config", "replace: sn\nsn: t").brief(), refused);
}

#[test]
fn a_paged_search_gets_its_pages() {
    let (mut site, _) = site("");
    let mut found = Vec::new();
    let mut cookie = Vec::new();
    loop {
        let control = controls::Control::critical(controls::PagedResults {
            size: 2,
            cookie: &cookie,
        });
        let names: [&[u8]; 1] = [b"1.1"];
        let request = SearchRequest {
            base: b"cn=config",
            scope: Scope::WholeSubtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::parse(b"(objectClass=*)", 10).expect("a filter"),
            attributes: names.as_slice().into(),
        };
        let answer = site.send(&Request::Search(request), &[&control]);
        assert_eq!(answer.brief(), (0, ""));
        found.push(answer.entries.len());
        cookie = answer.cookie.expect("a page");
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(found, [2, 1]);
}
