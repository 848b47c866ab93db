//! `restrictop`: reading, printing, refusals.

use std::cell::RefCell;

use ironbark_model::schema::Source;

use super::OperationRule;
use crate::{
    Statement,
    reader::{MemoryFiles, read},
    test_overlay, test_schema,
};

fn parse(text: &str) -> Result<String, String> {
    let schema = test_schema::schema();
    let lines = read("f", &MemoryFiles::file("f", format!("restrictop {text}"))).map_err(|error| error.to_string())?;
    let location = Source {
        file: "f".into(),
        line: 1,
    };
    let notices = RefCell::default();
    let arguments = lines.first().map(|line| line.arguments.clone()).unwrap_or_default();
    let statement = Statement {
        keyword: "restrictop",
        arguments: &arguments,
        escapes: &[],
        grammar: "",
        schema: &schema,
        parts: test_overlay::registry().parts(),
        location: &location,
        value: crate::statement::ValueAge::New,
        notices: &notices,
    };
    OperationRule::parse(&statement)
        .map(|rule| rule.text(&schema))
        .map_err(|error| error.to_string())
}

const FORMS: &[(&str, &str)] = &[
    ("all by * allow", "all by * allow"),
    ("ALL BY Users Reject STOP", "all by users reject"),
    ("modrdn by * reject", "rename by * reject"),
    ("compare search by * reject", "read by * reject"),
    (
        "search extended=1.2.3 control=1.2 control=1.3 by * reject",
        "search extended=1.2.3 control=1.2 control=1.3 by * reject",
    ),
    ("extended=1.2.3 by * break", "extended=1.2.3 by * break"),
    (
        "read by anonymous ssf=56 drop control=1.2 break by dn.sub=dc=c allow continue by * reject",
        "read by anonymous ssf=56 drop control=1.2 break by dn.subtree=\"dc=c\" allow continue by * reject",
    ),
    (
        "bind by realdn.regex=\"^cn=[ab]$$\" allow",
        "bind by realdn.regex=\"^cn=[ab]$$\" allow",
    ),
];

#[test]
fn rules_are_read_and_printed_and_read_again() {
    for (text, printed) in FORMS {
        let found = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, *printed, "{text}");
        assert_eq!(parse(&found).as_ref(), Ok(&found), "{text}");
    }
}

const REFUSED: &[(&str, &str)] = &[
    ("", "missing"),
    ("by * allow", "rule missing operation"),
    ("control=1.2 by * allow", "rule missing operation"),
    ("seek by * allow", "unknown operation \"seek\""),
    ("search read by * allow", "duplicate or overlapping"),
    ("extended extended=1.2 by * allow", "duplicate or overlapping"),
    ("extended=no by * allow", "bad extop OID \"no\""),
    ("all control=no by * allow", "bad control OID \"no\""),
    ("all", "no \"by\" clause"),
    ("all by", "expecting <who>"),
    ("all by allow", "expecting <who>"),
    ("all by *", "expecting allow"),
    ("all by * read", "expecting allow"),
    ("all by * drop", "expecting control=<oid>"),
    ("all by * drop 1.2", "expecting control=<oid>"),
    ("all by * drop by * allow", "expecting control=<oid>"),
    ("all by * allow on", "expecting <control>"),
    ("all by * allow stop stop", "expecting \"by\""),
    ("all by * break stop", "expecting"),
    ("all by self allow", "self patterns"),
    ("all by realself allow", "self patterns"),
    ("all by dnattr=member allow", "dnattr clauses"),
    ("all by set=\"user\" allow", "set clauses"),
    ("all by dn.exact,expand=\"$1\" allow", "expand patterns"),
    ("all by dn.regex=\"^cn=$1$$\" allow", "expand patterns"),
    ("all by group.expand=\"cn=$1\" allow", "expand patterns"),
    ("all by sockurl.expand=\"$1\" allow", "expand patterns"),
];

#[test]
fn what_is_malformed_or_about_an_entry_is_refused() {
    for (text, reason) in REFUSED {
        let error = parse(text).expect_err(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
}
