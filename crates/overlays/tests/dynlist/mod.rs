//! slapo-dynlist(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod groups;
mod lists;
mod model;

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};

const TRUE: u32 = 6;
const FALSE: u32 = 5;
const ROOT: &str = "cn=root,dc=ex";

/// People a to d below `ou=p`; a and b have the title red.
fn site(lines: &str) -> Site {
    site_with("objectClass,member,title", lines)
}

/// The same with these equality indexes.
fn site_with(indexed: &str, lines: &str) -> Site {
    let lines = format!("index {indexed} eq\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: domain");
    site.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
    site.must_add("ou=g,dc=ex", "objectClass: organizationalUnit");
    for (name, title) in [("a", "red"), ("b", "red"), ("c", "green"), ("d", "blue")] {
        let text = format!(
            "objectClass: inetOrgPerson\nobjectClass: labeledURIObject\nsn: {name}{name}\ntitle: {title}\n\
             mail: {name}@ex\nmail: {name}{name}@ex"
        );
        site.must_add(&format!("cn={name},ou=p,dc=ex"), &text);
    }
    site
}

/// An entry with URLs below `ou=g`.
fn list(site: &mut Site, name: &str, urls: &[&str], more: &str) {
    let urls = urls.join("\nmemberURL: ");
    site.must_add(
        &format!("cn={name},ou=g,dc=ex"),
        &format!("objectClass: groupOfURLs{more}\nmemberURL: {urls}"),
    );
}

/// A group with stored members below `ou=g`.
fn stored_group(site: &mut Site, name: &str, members: &[&str]) {
    let members: Vec<_> = members.iter().map(|member| format!("member: {member},dc=ex")).collect();
    site.must_add(
        &format!("cn={name},ou=g,dc=ex"),
        &format!("objectClass: groupOfNames\n{}", members.join("\n")),
    );
}

/// The first RDN values of what a filter finds, in the order of the entries.
fn found(site: &mut Site, filter: &str) -> String {
    let entries = site
        .search_with("dc=ex", Scope::WholeSubtree, filter, &["1.1"], &[])
        .entries;
    let names: Vec<_> = entries
        .iter()
        .map(|entry| leaf(entry.lines().next().unwrap_or_default()))
        .collect();
    names.join(" ")
}

fn leaf(name: &str) -> &str {
    let rdn = name.split(',').next().unwrap_or_default();
    rdn.rsplit('=').next().unwrap_or_default()
}

/// The values of an attribute, of names the first RDN value.
fn values(site: &mut Site, dn: &str, name: &str) -> String {
    let entries = site
        .search_with(dn, Scope::BaseObject, "(objectClass=*)", &[name], &[])
        .entries;
    let text = entries.concat();
    let prefix = format!("{name}: ");
    let values: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .map(leaf)
        .collect();
    values.join(" ")
}

fn compare(site: &mut Site, dn: &str, attribute: &str, value: &str) -> u32 {
    let request = CompareRequest {
        entry: dn.as_bytes(),
        attribute: attribute.as_bytes(),
        value: value.as_bytes(),
    };
    site.send(&Request::Compare(request), &[]).code
}
