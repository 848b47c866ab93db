//! What overlays can do, shown by overlays of the test's own.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use std::sync::Arc;

use harness::Site;
use ironbark_directory::{
    OperationError,
    overlay::{
        Arrangement, BeginningSearch, Execution, Outcome, OutcomeChange, OutcomeHooks, Overlay, Question, Rights,
        SearchHooks,
    },
};
use ironbark_ldap_proto::Scope as WireScope;
use ironbark_model::{AttributeDescription, Budget, Dn, Filter, ResultCode, Schema};
use ironbark_store::Scope;

/// Lets an entry have two values of description at most, and none that is a name in the database which the client may
/// search.
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
                scope: Scope::Subtree,
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
    let mut site = Site::open_with(&format!("{lines}\noverlay memberof"), |_, schema| {
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

    fn arrange(&self, dn: &Dn, _: &AttributeDescription, mut values: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if dn.pretty().starts_with("cn=plain") {
            return values;
        }
        values.sort();
        values.iter().map(|value| value.to_ascii_uppercase()).collect()
    }
}

#[test]
fn what_an_overlay_makes_of_values_is_sent_as_far_as_the_rules_grant_it() {
    let rules = "access to attrs=description val.exact=\"HIDDEN\" by * none\naccess to * by * read";
    let mut site = Site::open_with(&format!("{rules}\noverlay memberof"), |_, schema| {
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
    // The filter is answered by what is stored.
    assert_eq!(of(&mut site, "(&(cn=x)(description=b))").len(), 1);
}
