//! Questions that several tests ask.

use ironbark_ldap_proto::{
    CompareRequest, DerefAliases, EncodeControl, List, Request, Scope, SearchRequest,
    controls::{Control, SortKey, SortKeys},
};
use ironbark_model::Filter;

use ironbark_harness::{DecodedAnswer, Site, TestClient};

pub(crate) const A: &str = "cn=a,ou=p,dc=ex";
pub(crate) const B: &str = "cn=b,ou=p,dc=ex";

/// The people `a`, `b`, `c` of `ou=p,dc=ex`, of whom `a` has a description `own`, and a definition `red` for all of
/// `ou=p`.
pub(crate) fn populate(site: &mut TestClient) {
    site.populate();
    assert_eq!(site.modify(A, "add: description\nd: own").code, 0);
    define(site, "ou=d,ou=p,dc=ex", "red");
}

/// Adds a definition.
pub(crate) fn define(site: &mut TestClient, dn: &str, value: &str) {
    site.must_add(dn, &format!("objectClass: organizationalUnit\nstreet: {value}"));
}

/// Becomes the rootdn for one search in all of the tree.
pub(crate) fn all(site: &mut Site, filter: &str, names: &[&str]) -> Vec<String> {
    site.become_("cn=root,dc=ex");
    whole(site, filter, names).entries
}

/// Searches all of the tree.
pub(crate) fn whole(site: &mut TestClient, filter: &str, names: &[&str]) -> DecodedAnswer {
    site.search_with("dc=ex", Scope::WholeSubtree, filter, names, &[])
}

/// The values of the first RDN of each entry that the client finds.
pub(crate) fn found(site: &mut TestClient, filter: &str) -> Vec<String> {
    leaves(&whole(site, filter, &["1.1"]))
}

/// The values of the first RDN of each entry of an answer.
pub(crate) fn leaves(answer: &DecodedAnswer) -> Vec<String> {
    assert_eq!(answer.code, 0, "{}", answer.text);
    let leaf = |entry: &String| {
        let name = entry.lines().next().unwrap_or_default();
        let rdn = name.split(',').next().unwrap_or_default();
        rdn.rsplit('=').next().unwrap_or_default().to_owned()
    };
    answer.entries.iter().map(leaf).collect()
}

/// The values of an attribute of one entry, as the client sees them.
pub(crate) fn values(site: &mut TestClient, dn: &str, name: &str) -> Vec<String> {
    let answer = site.search_with(dn, Scope::BaseObject, "(objectClass=*)", &[name], &[]);
    values_in(&answer.entries.concat(), name)
}

/// The values of an attribute in the text of an entry.
pub(crate) fn values_in(entry: &str, name: &str) -> Vec<String> {
    let prefix = format!("{name}: ");
    let values = entry.lines().filter_map(|line| line.strip_prefix(&prefix));
    values.map(str::to_owned).collect()
}

/// The code of a comparison.
pub(crate) fn compare(site: &mut TestClient, dn: &str, attribute: &str, value: &str) -> u32 {
    compare_with(site, dn, (attribute, value), &[]).code
}

/// The answer to a comparison.
pub(crate) fn compare_with(
    site: &mut TestClient,
    dn: &str,
    (attribute, value): (&str, &str),
    controls: &[&dyn EncodeControl],
) -> DecodedAnswer {
    let request = CompareRequest {
        entry: dn.as_bytes(),
        attribute: attribute.as_bytes(),
        value: value.as_bytes(),
    };
    site.send(&Request::Compare(request), controls)
}

/// The leaves of `ou=p`, sorted by an attribute.
pub(crate) fn sorted(site: &mut TestClient, attribute: &str, reverse: bool) -> Vec<String> {
    let keys = [SortKey {
        attribute: attribute.as_bytes(),
        ordering_rule: Some(b"caseIgnoreOrderingMatch"),
        reverse,
    }];
    let sort = Control::critical(SortKeys(List::new(&keys)));
    let answer = site.search_with("ou=p,dc=ex", Scope::SingleLevel, "(sn=*)", &["1.1"], &[&sort]);
    assert_eq!(answer.sorted, Some(0));
    leaves(&answer)
}

/// The octets that answer a search for one entry.
pub(crate) fn octets(
    site: &mut TestClient,
    dn: &str,
    (types_only, names): (bool, &[&[u8]]),
    controls: &[&dyn EncodeControl],
) -> Vec<u8> {
    let request = SearchRequest {
        base: dn.as_bytes(),
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only,
        filter: Filter::parse(b"(objectClass=*)", 10).expect("a filter"),
        attributes: names.into(),
    };
    site.send_for_octets(&Request::Search(request), controls)
}
