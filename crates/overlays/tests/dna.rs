//! The overlay dna.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::{DecodedAnswer, Site};

const RANGE: &str = "overlay dna\ndna-type uidNumber\ndna-filter (objectClass=posixAccount)\ndna-next-value 1000\n\
    dna-max-value 1009";

fn site(lines: &str) -> Site {
    let lines = format!("index uidNumber,gidNumber eq\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

fn user(number: &str) -> String {
    let number = if number.is_empty() {
        String::new()
    } else {
        format!("\nuidNumber: {number}")
    };
    format!("objectClass: account\nobjectClass: posixAccount\ncn: u\ngidNumber: 5\nhomeDirectory: /{number}")
}

fn number_of(site: &mut Site, uid: &str) -> Option<String> {
    let text = site.read(&format!("uid={uid},dc=ex"), &["uidNumber"])?;
    let values: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("uidNumber: "))
        .collect();
    Some(values.join(" "))
}

fn add(site: &mut Site, uid: &str, number: &str) -> DecodedAnswer {
    site.add(&format!("uid={uid},dc=ex"), &user(number))
}

fn given(site: &mut Site, uid: &str, number: &str) -> String {
    let answer = add(site, uid, number);
    assert_eq!(answer.brief(), (0, ""));
    number_of(site, uid).expect("there")
}

#[test]
fn who_lacks_a_number_or_asks_for_one_gets_the_next_that_is_free() {
    let mut site = site(RANGE);
    assert_eq!(given(&mut site, "a", ""), "1000");
    assert_eq!(given(&mut site, "b", "-1"), "1001");
    assert_eq!(given(&mut site, "c", "1003"), "1003");
    assert_eq!(given(&mut site, "d", "7"), "7");
    assert_eq!(given(&mut site, "e", ""), "1002");
    assert_eq!(given(&mut site, "f", ""), "1004");
    assert_eq!(site.delete("uid=f,dc=ex").code, 0);
    assert_eq!(given(&mut site, "g", ""), "1005", "files may belong to the former one");
    // Others get none.
    site.must_add("cn=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(site.read("cn=p,dc=ex", &["uidNumber"]).as_deref(), Some(""));
}

#[test]
fn a_write_that_is_refused_takes_no_number() {
    let mut site = site(&format!("{RANGE}\noverlay unique\nunique_uri ldap:///?gecos?sub"));
    assert_eq!(given(&mut site, "a", ""), "1000");
    for _ in 0..20 {
        assert_eq!(add(&mut site, "a", "").code, 68);
        assert_eq!(add(&mut site, "x,ou=none", "").code, 32);
        let wrong = user("").replace("homeDirectory: /", "sn: s");
        assert_eq!(site.add("uid=x,dc=ex", &wrong).code, 65);
    }
    assert_eq!(given(&mut site, "b", ""), "1001");
}

#[test]
fn a_range_that_is_used_up_says_so() {
    let mut site = site(RANGE);
    for number in 1000..1010 {
        assert_eq!(given(&mut site, &format!("u{number}"), ""), number.to_string());
    }
    let refused = (1, "dna: all numbers from 1000 to 1009 are used");
    assert_eq!(add(&mut site, "more", "").brief(), refused);
    assert_eq!(add(&mut site, "more", "-1").brief(), refused);
    let magic = site.modify("uid=u1000,dc=ex", "replace: uidNumber\nuidNumber: -1");
    assert_eq!(magic.brief(), refused);
    assert_eq!(number_of(&mut site, "u1000").as_deref(), Some("1000"));
    assert_eq!(given(&mut site, "more", "2000"), "2000");
}

#[test]
fn modifies_that_need_a_number_get_one() {
    let mut site = site(RANGE);
    site.must_add("uid=a,dc=ex", "objectClass: account");
    let posix = "add: objectClass\nobjectClass: posixAccount\n-\nadd: cn\ncn: a\n-\nadd: gidNumber\ngidNumber: 5\n-\n\
        add: homeDirectory\nhomeDirectory: /";
    assert_eq!(site.modify("uid=a,dc=ex", posix).code, 0);
    assert_eq!(number_of(&mut site, "a").as_deref(), Some("1000"));
    for (change, number) in [
        ("replace: uidNumber\nuidNumber: -1", "1001"),
        ("delete: uidNumber", "1002"),
        ("delete: uidNumber\nuidNumber: 1002", "1003"),
        ("replace: uidNumber\nuidNumber: 50", "50"),
        (
            "delete: uidNumber\nuidNumber: 50\n-\nadd: uidNumber\nuidNumber: -1",
            "1004",
        ),
        ("delete: uidNumber\n-\nadd: uidNumber\nuidNumber: 60", "60"),
        ("replace: description\ndescription: x", "60"),
    ] {
        assert_eq!(site.modify("uid=a,dc=ex", change).code, 0, "{change}");
        assert_eq!(number_of(&mut site, "a").as_deref(), Some(number), "{change}");
    }
    assert_eq!(site.modify("uid=a,dc=ex", "replace: gidNumber\ngidNumber: -1").code, 0);
    assert_eq!(
        site.read("uid=a,dc=ex", &["gidNumber"]).as_deref(),
        Some("gidNumber: -1\n")
    );
}

#[test]
fn each_range_has_its_scope_its_filter_and_its_numbers() {
    let mut site = site(
        "overlay dna\ndna-type uidNumber\ndna-filter (objectClass=posixAccount)\ndna-next-value 100\n\
         dna-scope ou=s,dc=ex\ndna-exclude-scope ou=q,ou=s,dc=ex\ndna-interval 10\ndna-magic-regen 99\n\
         overlay dna\ndna-type gidNumber\ndna-filter \"(&(objectClass=posixGroup)(cn=*))\"\ndna-next-value 5",
    );
    for unit in ["ou=s", "ou=q,ou=s"] {
        site.must_add(&format!("{unit},dc=ex"), "objectClass: organizationalUnit");
    }
    for (name, number, given) in [
        ("uid=a,ou=s,dc=ex", "", 0),
        ("uid=b,ou=s,dc=ex", "99", 0),
        ("uid=c,ou=s,dc=ex", "-1", 0),
        ("uid=d,ou=q,ou=s,dc=ex", "99", 0),
        ("uid=e,ou=q,ou=s,dc=ex", "", 65),
        ("uid=f,dc=ex", "", 65),
    ] {
        assert_eq!(site.add(name, &user(number)).code, given, "{name}");
    }
    let mut of = |name: &str, attribute: &str| site.read(name, &[attribute]).expect("there");
    assert_eq!(of("uid=a,ou=s,dc=ex", "uidNumber"), "uidNumber: 100\n");
    assert_eq!(of("uid=b,ou=s,dc=ex", "uidNumber"), "uidNumber: 110\n");
    assert_eq!(of("uid=c,ou=s,dc=ex", "uidNumber"), "uidNumber: -1\n");
    assert_eq!(of("uid=d,ou=q,ou=s,dc=ex", "uidNumber"), "uidNumber: 99\n");
    // Users have 5 as their group: that does not count, as they do not match.
    site.must_add("cn=g,dc=ex", "objectClass: posixGroup");
    assert_eq!(
        site.read("cn=g,dc=ex", &["gidNumber"]).as_deref(),
        Some("gidNumber: 5\n")
    );
}

#[test]
fn several_attributes_get_the_same_number_where_they_ask_for_it() {
    let mut site = site(&RANGE.replace("uidNumber", "uidNumber gidNumber"));
    site.must_add("uid=a,dc=ex", &user("-1").replace("gidNumber: 5", "gidNumber: -1"));
    let both = |number: u32| format!("gidNumber: {number}\nuidNumber: {number}\n");
    let sorted = |text: Option<String>| {
        let text = text.expect("there");
        let mut lines: Vec<_> = text.lines().map(|line| format!("{line}\n")).collect();
        lines.sort_unstable();
        lines.concat()
    };
    assert_eq!(
        sorted(site.read("uid=a,dc=ex", &["uidNumber", "gidNumber"])),
        both(1000)
    );
    site.must_add("uid=b,dc=ex", &user("3").replace("gidNumber: 5", "gidNumber: 1001"));
    site.must_add("uid=c,dc=ex", &user("-1"));
    assert_eq!(
        number_of(&mut site, "c").as_deref(),
        Some("1002"),
        "a number of either is used"
    );
    assert_eq!(add(&mut site, "d", "").code, 65, "missing ones are not added");
}

#[test]
fn without_an_index_it_is_slow_but_right() {
    let mut site = Site::open_of(&ironbark_overlays::registry(), RANGE, ironbark_overlays::make);
    site.populate();
    assert_eq!(given(&mut site, "c", "1001"), "1001");
    assert_eq!(given(&mut site, "a", ""), "1000");
    assert_eq!(given(&mut site, "b", ""), "1002");
}

#[test]
fn only_what_is_asked_for_needs_rights() {
    let mut site = site(&format!(
        "{RANGE}\nadd_content_acl on\naccess to attrs=uidNumber by * read\naccess to * by * write"
    ));
    site.become_("cn=someone,dc=ex");
    assert_eq!(add(&mut site, "a", "-1").code, 50);
    assert_eq!(add(&mut site, "a", "5").code, 50);
    assert_eq!(add(&mut site, "a", "").code, 0);
    assert_eq!(site.modify("uid=a,dc=ex", "replace: uidNumber\nuidNumber: -1").code, 50);
    assert_eq!(number_of(&mut site, "a").as_deref(), Some("1000"));
}

#[test]
fn a_name_has_no_number_that_is_to_be_given() {
    let mut site = site(RANGE);
    let answer = site.add("uidNumber=-1,dc=ex", &user("").replace("cn: u", "cn: u\nuid: u"));
    assert_eq!(
        answer.brief(),
        (64, "dna: a number that is to be given cannot be part of the name")
    );
}
