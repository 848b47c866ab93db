//! docs/accounts.md: numbers and groups of new accounts.

use ironbark_testkit::Server;

use super::{
    page::Section,
    whole::{ADMIN, TOP, add, find, person, serving, whole},
};

fn account(uid: &str, lines: &str) -> String {
    person(
        uid,
        &format!("objectClass: posixAccount\nhomeDirectory: /home/{uid}\ngidNumber: 1\n{lines}"),
    )
}

/// The first value of an attribute.
fn value(server: &Server, filter: &str, attribute: &str) -> String {
    let found = find(server, filter, &[attribute]);
    let start = format!("{attribute}: ");
    let value = found.lines().find_map(|line| line.strip_prefix(&start));
    value.unwrap_or_else(|| panic!("no {attribute}: {found}")).to_owned()
}

pub(crate) fn numbers(section: &Section) {
    let [ranges] = section.blocks();
    let server = serving(&whole(&ranges), TOP);
    add(&server, &account("ann", ""));
    add(&server, &account("ben", "uidNumber: -1"));
    assert_eq!(value(&server, "(uid=ann)", "uidNumber"), "10000");
    assert_eq!(value(&server, "(uid=ben)", "uidNumber"), "10001");
    add(
        &server,
        "dn: cn=staff,dc=example,dc=com\nobjectClass: posixGroup\ncn: staff\n",
    );
    assert_eq!(value(&server, "(cn=staff)", "gidNumber"), "20000");
    // The scope of the first range is ou=people.
    let outside = account("out", "").replace(",ou=people", "");
    let refused = server.client("ldapadd", &ADMIN, &[], &outside).unwrap();
    assert_eq!(refused.code(), Some(65), "{refused:?}");
}

pub(crate) fn groups(section: &Section) {
    let [definition] = section.blocks();
    let groups = ["staff", "all"].map(|name| {
        format!("dn: cn={name},ou=groups,dc=example,dc=com\nobjectClass: groupOfNames\ncn: {name}\nmember: cn=none\n")
    });
    let unit = "dn: ou=groups,dc=example,dc=com\nobjectClass: organizationalUnit\nou: groups\n";
    let server = serving(&whole(&definition), &format!("{TOP}\n{unit}\n{}", groups.join("\n")));
    for (uid, lines) in [
        ("ann", "title: staff"),
        ("ben", "title: guest"),
        ("test1", "title: head"),
    ] {
        add(&server, &person(uid, lines));
    }
    let members = |name: &str| find(&server, &format!("(cn={name})"), &["member"]);
    let (staff, all) = (members("staff"), members("all"));
    assert!(
        staff.contains("uid=ann,") && !staff.contains("uid=ben,") && !staff.contains("uid=test1,"),
        "{staff}"
    );
    assert!(
        all.contains("uid=ben,") && all.contains("uid=test1,") && !all.contains("uid=ann,"),
        "{all}"
    );
}
