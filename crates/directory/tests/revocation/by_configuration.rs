//! Searches that are under way when the configuration takes rights away.

use ironbark_ldap_proto::Scope;

use crate::revocation::{begin, reconfigure, rest, search};
use ironbark_harness::{Site, TestClient};

/// Lines of the database, and the answer that the rest of a search has under them: code, entries, whether these show
/// `sn`.
const CASES: [(&str, &str, u32, usize, bool); 6] = [
    ("", "access to attrs=sn by * none\naccess to * by * read", 0, 1, false),
    (
        "",
        "access to dn.regex=\"^cn=m\" by * none\naccess to * by * read",
        0,
        0,
        false,
    ),
    ("", "access to * by * none", 32, 0, false),
    ("", "restrict search\naccess to * by * read", 53, 0, false),
    ("", "require SASL\naccess to * by * read", 8, 0, false),
    ("security ssf=1", "access to * by * read", 13, 0, false),
];

fn site(count: usize) -> Site {
    let mut site = Site::populated("envflags nosync\naccess to * by * read");
    for n in 0..count {
        site.must_add(&format!("cn=m{n},dc=ex"), "objectClass: person\nsn: s");
    }
    site
}

fn reader(site: &Site) -> TestClient {
    let mut reader = site.connect();
    reader.become_("cn=b,ou=p,dc=ex");
    reader
}

#[test]
fn the_next_slice_is_answered_under_the_configuration_in_force() {
    const COUNT: usize = 400;
    let question = search("dc=ex", Scope::WholeSubtree, "(cn=m*)", &[]);
    for (settings, lines, code, share, shows) in CASES {
        let site = site(COUNT);
        let mut reader = reader(&site);
        let mut out = Vec::new();
        let run = begin(&mut reader, &question, &mut out);
        let sent = String::from_utf8_lossy(&out).matches("person").count();
        reconfigure(&site, settings, &format!("envflags nosync\n{lines}"));
        let left = rest(&mut reader, run);
        assert_eq!(
            (left.code, left.entries.len()),
            (code, (COUNT - sent) * share),
            "{settings}{lines}"
        );
        assert!(
            left.entries.iter().all(|entry| entry.contains("sn: s") == shows),
            "{lines}"
        );
    }
}

#[test]
fn a_search_goes_on_under_another_schema_and_in_another_order_of_databases() {
    const COUNT: usize = 400;
    let mut site = site(COUNT);
    std::fs::create_dir(site.folder.path().join("two")).expect("a folder");
    let question = search("dc=ex", Scope::WholeSubtree, "(|(cn=m*)(fresh=x))", &[]);
    let mut reader = reader(&site);
    let mut out = Vec::new();
    let run = begin(&mut reader, &question, &mut out);
    let sent = String::from_utf8_lossy(&out).matches("person").count();
    let settings = "attributetype ( 1.2.3.4.5 NAME 'fresh' SUP name )\n\ndatabase mdb\nsuffix o=two\ndirectory DIR/two";
    reconfigure(&site, settings, "envflags nosync\naccess to * by * read");
    site.must_add(
        "ou=new,dc=ex",
        "objectClass: organizationalUnit\nobjectClass: extensibleObject\nfresh: x",
    );
    let left = rest(&mut reader, run);
    assert_eq!((left.code, left.entries.len()), (0, COUNT - sent + 1));
    assert!(left.entries.last().expect("entries").contains("fresh: x"));
}

#[test]
fn a_search_ends_when_its_database_is_gone() {
    let database = |folder: &str| {
        format!(
            "envflags nosync\naccess to * by * read\n\n\
             database mdb\nsuffix o=two\nrootdn cn=root,dc=ex\ndirectory DIR/{folder}"
        )
    };
    for (after, code) in [("three", 52), ("", 32)] {
        let mut site = Site::populated("");
        for folder in ["two", "three"] {
            std::fs::create_dir(site.folder.path().join(folder)).expect("a folder");
        }
        reconfigure(&site, "", &database("two"));
        site.must_add("o=two", "objectClass: organization");
        for n in 0..500 {
            site.must_add(&format!("cn=m{n},o=two"), "objectClass: person\nsn: s");
        }
        let mut reader = reader(&site);
        let mut out = Vec::new();
        let run = begin(
            &mut reader,
            &search("o=two", Scope::WholeSubtree, "(cn=m*)", &[]),
            &mut out,
        );
        let lines = if after.is_empty() {
            String::new()
        } else {
            database(after)
        };
        reconfigure(&site, "", &lines);
        if !after.is_empty() {
            site.must_add("o=two", "objectClass: organization");
        }
        let left = rest(&mut reader, run);
        assert_eq!((left.code, left.entries.len()), (code, 0), "{after} {left:?}");
    }
}
