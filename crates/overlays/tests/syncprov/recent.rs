//! Who is told the recent changes of entries: they have values that are gone by now.

use crate::syncprov::{
    ALL,
    consumer::{Besides, Consumer, Content},
    site,
};
use ironbark_harness::Site;

const REPLICATOR: Content = Content {
    identity: "cn=replicator,dc=ex",
    ..ALL
};
/// A database whose values are merged.
const MERGING: &str = "multiprovider on\nsyncrepl rid=1 provider=ldap://127.0.0.1:1 searchbase=dc=ex \
                       syncdata=accesslog logbase=cn=log\n";
const BY_RULE: &str = "access to * by dn.exact=cn=replicator,dc=ex read by * break\naccess to * by self write\n";

fn changed(lines: &str) -> Site {
    let mut site = site(lines);
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: secret\n");
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: open\n");
    site
}

/// The entries that are told with their recent changes, and all of them.
fn told(lines: &str) -> (usize, usize) {
    let mut other = changed(lines).connect();
    let mut consumer = Consumer::default();
    consumer.besides = Some(Besides::Recent);
    consumer.begin(&mut other, REPLICATOR, false);
    let held: Vec<_> = consumer.content().into_values().collect();
    let told = held
        .iter()
        .filter(|lines| lines.iter().any(|line| line.starts_with("ironbarkRecentChanges")));
    (told.count(), held.len())
}

#[test]
fn who_gets_every_entry_with_all_values_is_told_recent_changes() {
    let (told, all) = told(&format!("{MERGING}{BY_RULE}"));
    assert_eq!(told, all);
    assert!(told > 0);
}

#[test]
fn who_may_lack_a_value_or_an_entry_is_told_no_recent_changes() {
    for rules in [
        "access to attrs=userPassword by self write by anonymous auth by * none\naccess to * by users read\n",
        "access to attrs=description val.regex=^s by * none\naccess to * by users read\n",
        "access to filter=(sn=hidden) by * none\naccess to * by users read\n",
        "access to * by self write by * none\n",
    ] {
        assert_eq!(told(&format!("{MERGING}{rules}")).0, 0, "{rules}");
    }
}

#[test]
fn where_values_are_not_merged_no_recent_changes_are_told() {
    assert_eq!(told(BY_RULE).0, 0);
}

#[test]
fn a_search_for_the_attribute_finds_no_recent_changes() {
    let mut site = changed(&format!("{MERGING}{BY_RULE}"));
    for identity in ["cn=root,dc=ex", "cn=replicator,dc=ex"] {
        site.become_(identity);
        let names = ["*", "+", "ironbarkPlace", "ironbarkRecentChanges"];
        let answer = site.search_with("dc=ex", ALL.scope, ALL.filter, &names, &[]);
        let text = answer.entries.join("\n");
        assert!(
            text.contains("description: open") && !text.contains("ironbarkRecent"),
            "{text}"
        );
    }
}
