//! `restrictop`: Debian's slapd does not know it. The expected results come from the manual of OpenLDAP 2.7 and its
//! test006.

use ironbark_client::{
    Change, Client, ReceivedResult, Search, SearchOutcome,
    proto::{
        EncodeControl, Filter, List, ModifyDnRequest, ModifyOperation, ResultCode, Scope,
        controls::{AssertionControl, Control, PagedResults, PreRead},
        extended::{password_modify, password_modify::PasswordModifyRequest, who_am_i},
    },
};
use ironbark_testkit::{Flavor, Server, Tool};

use super::site::{ANN, BASE, BOB, DATABASE, GROUP, Site};

const FRONTEND: &str = "olcDatabase={-1}frontend,cn=config";
const ASSERTION: &str = "1.3.6.1.1.12";
const PRE_READ: &str = "1.3.6.1.1.13.1";
const PAGED: &str = "1.2.840.113556.1.4.319";

/// Sends one of each operation as Ann. Returns those that `restrictop` refuses.
async fn refused(site: &Site) -> Vec<&'static str> {
    let client = site.client(ANN);
    let rename = ModifyDnRequest {
        entry: BOB.as_bytes(),
        new_rdn: b"uid=bob",
        delete_old_rdn: false,
        new_superior: None,
    };
    let added: &[(&str, &[&[u8]])] = &[("objectClass", &[b"organizationalUnit"]), ("ou", &[b"new"])];
    let mut password = Vec::new();
    PasswordModifyRequest {
        new_password: Some(b"ann"),
        ..PasswordModifyRequest::default()
    }
    .encode(&mut password);
    let new = "ou=new,dc=example,dc=com";
    let results = [
        ("bind", site.bind(ANN, "ann").await),
        ("search", search(client, &[]).await.result),
        ("compare", client.compare(BASE, "dc", b"example", &[]).await.unwrap()),
        ("add", client.add(new, added, &[]).await.unwrap()),
        ("modify", modify(client, &[]).await),
        ("rename", client.modify_dn(&rename, &[]).await.unwrap()),
        ("delete", client.delete(new, &[]).await.unwrap()),
        (
            "whoami",
            client.extended(who_am_i::OID, None, &[]).await.unwrap().result,
        ),
        (
            "passwd",
            client
                .extended(password_modify::OID, Some(&password), &[])
                .await
                .unwrap()
                .result,
        ),
    ];
    let mut refused = Vec::new();
    for (name, result) in results {
        if result.code == ResultCode::UNWILLING_TO_PERFORM {
            assert_eq!(result.diagnostic, "", "{name}");
            refused.push(name);
        } else if result.code == ResultCode::NO_SUCH_OBJECT {
            assert!(name == "delete" && refused.contains(&"add"), "{name}: {result}");
        } else {
            assert!(result.is_success(), "{name}: {result}");
        }
    }
    refused
}

async fn search(client: &Client, controls: &[&dyn EncodeControl]) -> SearchOutcome {
    let people = Search::new(BASE, Scope::WholeSubtree, Filter::parse(b"(uid=*)", 9).unwrap());
    client.search(&people, controls).unwrap().collect().await.unwrap()
}

async fn modify(client: &Client, controls: &[&dyn EncodeControl]) -> ReceivedResult {
    let change = Change {
        operation: ModifyOperation::Replace,
        attribute: "description",
        values: &[b"changed"],
    };
    client.modify(BOB, &[change], controls).await.unwrap()
}

/// A site where Ann may write everything, under these rules of the frontend and of the database.
async fn set(site: &Site, global: &[&str], own: &[&str]) {
    for (dn, rules) in [(FRONTEND, global), (DATABASE, own)] {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let result = site.configure(dn, "olcRestrictOp", &rules).await;
        assert!(result.is_success(), "{rules:?}: {result}");
        let numbered = rules.iter().enumerate();
        let expected: Vec<String> = numbered.map(|(number, rule)| format!("{{{number}}}{rule}")).collect();
        assert_eq!(site.configured(dn, "olcRestrictOp").await, expected);
    }
}

async fn started() -> Site {
    let site = Site::start(Flavor::Ironbark).await;
    let result = site.set_rules(&["to * by * write".to_owned()]).await;
    assert!(result.is_success(), "{result}");
    site
}

const EVERYTHING: &str = "bind search compare add modify rename delete whoami passwd";

#[tokio::test]
async fn the_first_rule_about_an_operation_decides_by_its_first_clause_that_holds() {
    let site = started().await;
    let editors = format!("write by group/groupOfNames/member=\"{GROUP}\" reject");
    let strangers = format!(
        "write by group/groupOfNames/member=\"cn=nested,{}\" reject",
        &GROUP[11..]
    );
    let rest = "all by * allow";
    for (rules, expected) in [
        (&[][..], ""),
        (&["search by users reject", rest], "search"),
        (
            &["read by dn.base=\"uid=ann,ou=people,dc=example,dc=com\" reject", rest],
            "search compare",
        ),
        (&[&editors, rest], "add modify rename delete"),
        // Ann is no member, and the evaluation ends where no clause matches.
        (&[&strangers, rest], "add modify rename delete"),
        (&["add delete rename by * reject", rest], "add rename delete"),
        (&["extended by * reject", rest], "whoami passwd"),
        (&["extended=1.3.6.1.4.1.4203.1.11.1 by * reject", rest], "passwd"),
        (&["bind by * reject", rest], "bind"),
        // During a bind, the requester is still anonymous.
        (&["bind by users allow", rest], "bind"),
        (
            &["search by * allow"],
            "bind compare add modify rename delete whoami passwd",
        ),
        (&["all by * break"], EVERYTHING),
        (&["all by anonymous allow"], &EVERYTHING[5..]),
        (&["search by users break by * reject", rest], ""),
        (&["search by anonymous break by * reject", rest], "search"),
        (
            &["modify by ssf=1 allow by peername.ip=127.0.0.1 reject", rest],
            "modify",
        ),
        // A control that was not sent cannot be dropped: the clause has no effect.
        (&["search by * drop control=1.3.6.1.1.12", rest], "search"),
        (
            &["search by * drop control=1.3.6.1.1.12 continue by users allow", rest],
            "",
        ),
        (&["search by * drop control=1.3.6.1.1.12 break", rest], ""),
    ] {
        set(&site, &[], rules).await;
        assert_eq!(refused(&site).await.join(" "), expected, "{rules:?}");
    }
}

#[tokio::test]
async fn a_database_has_its_own_rules_or_the_global_ones() {
    let site = started().await;
    set(&site, &["search by * reject", "all by * allow"], &[]).await;
    assert_eq!(refused(&site).await, ["search"]);
    set(&site, &["all by * reject"], &["compare by * reject", "all by * allow"]).await;
    assert_eq!(refused(&site).await, ["compare"]);
    set(&site, &["compare by * reject", "all by * allow"], &[]).await;
    let root_dse = site.client(ANN).compare("", "objectClass", b"top", &[]).await.unwrap();
    assert_eq!(root_dse.code, ResultCode::UNWILLING_TO_PERFORM);
    // The rootdn is exempt, but its bind is checked like any other.
    let root = site.connect("cn=Manager,dc=example,dc=com", "secret").await;
    set(&site, &[], &["all by * reject"]).await;
    assert!(search(&root, &[]).await.result.is_success());
    assert!(modify(&root, &[]).await.is_success());
    let again = site.bind("cn=Manager,dc=example,dc=com", "secret").await;
    assert_eq!(again.code, ResultCode::UNWILLING_TO_PERFORM);
}

#[tokio::test]
async fn dropped_controls_have_no_effect_and_critical_ones_are_refused() {
    let site = started().await;
    let client = site.client(ANN);
    let untrue = || AssertionControl(Filter::parse(b"(uid=nobody)", 9).unwrap());
    let (optional, critical) = (Control::optional(untrue()), Control::critical(untrue()));
    let outcomes = async |controls: &[&dyn EncodeControl]| {
        [
            search(client, controls).await.result.code,
            modify(client, controls).await.code,
            client.compare(BASE, "dc", b"example", controls).await.unwrap().code,
        ]
    };
    let rest = "all by * allow";
    set(&site, &[], &[rest]).await;
    assert_eq!(outcomes(&[&optional]).await, [ResultCode::ASSERTION_FAILED; 3]);
    let done = [ResultCode::SUCCESS, ResultCode::SUCCESS, ResultCode::COMPARE_TRUE];
    for rules in [
        &["all control=1.3.6.1.1.12 by * drop control=1.3.6.1.1.12"][..],
        &["all by users drop control=1.3.6.1.1.12 break by * reject", rest],
        // For later rules, a dropped control does not exist.
        &[
            "all by * drop control=1.3.6.1.1.12 break",
            "all control=1.3.6.1.1.12 by * reject",
            rest,
        ],
    ] {
        set(&site, &[], rules).await;
        assert_eq!(outcomes(&[&optional]).await, done, "{rules:?}");
        assert_eq!(
            outcomes(&[&critical]).await,
            [ResultCode::UNWILLING_TO_PERFORM; 3],
            "{rules:?}"
        );
    }

    // The request must have all controls of a rule.
    let before = Control::optional(PreRead(List::new(&[])));
    set(
        &site,
        &[],
        &[
            &format!("modify control={ASSERTION} control={PRE_READ} by * reject"),
            rest,
        ],
    )
    .await;
    assert_eq!(modify(client, &[&optional]).await.code, ResultCode::ASSERTION_FAILED);
    assert!(modify(client, &[&before]).await.control(PRE_READ).is_some());
    assert_eq!(
        modify(client, &[&before, &optional]).await.code,
        ResultCode::UNWILLING_TO_PERFORM
    );
    let rules = [
        &*format!("modify control={PRE_READ} by * drop control={PRE_READ} break"),
        rest,
    ];
    set(&site, &[], &rules).await;
    let result = modify(client, &[&before]).await;
    assert!(result.is_success() && result.control(PRE_READ).is_none(), "{result}");

    let page = Control::optional(PagedResults { size: 1, cookie: b"" });
    let paged = search(client, &[&page]).await;
    assert_eq!((paged.entries.len(), paged.result.control(PAGED).is_some()), (1, true));
    set(&site, &[], &[&format!("search by * drop control={PAGED}")]).await;
    let paged = search(client, &[&page]).await;
    assert_eq!((paged.entries.len(), paged.result.control(PAGED).is_some()), (3, false));
}

#[tokio::test]
async fn access_rules_do_not_see_a_dropped_control() {
    let site = started().await;
    let rule = format!("to * control={ASSERTION} by * none");
    assert!(site.set_rules(&[rule, "to * by * write".to_owned()]).await.is_success());
    let client = site.client(ANN);
    let holds = Control::optional(AssertionControl(Filter::parse(b"(objectClass=*)", 9).unwrap()));
    assert_eq!(search(client, &[&holds]).await.entries.len(), 0);
    set(&site, &[], &[&format!("search by * drop control={ASSERTION}")]).await;
    assert_eq!(search(client, &[&holds]).await.entries.len(), 3);
}

#[tokio::test]
async fn what_cannot_be_obeyed_is_refused_with_its_place() {
    let site = started().await;
    for rule in [
        "all control=1.2.3 by * allow",
        "all by * drop control=1.2.3",
        "all by self allow",
    ] {
        let result = site.configure(DATABASE, "olcRestrictOp", &[rule.to_owned()]).await;
        assert!(
            !result.is_success() && !result.diagnostic.is_empty(),
            "{rule}: {result}"
        );
    }
    assert_eq!(refused(&site).await, [""; 0]);
    let config =
        Server::PEOPLE_CONFIG.to_owned() + "restrictop all by * allow\nrestrictop all control=1.2.3 by * allow\n";
    let server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    let outcome = server.tool(Tool::Test, &["-u"], "").unwrap();
    let line = config.lines().count();
    assert!(
        outcome
            .stderr
            .contains(&format!("line {line}: <restrictop> unknown control \"1.2.3\"")),
        "{outcome:?}"
    );
}
