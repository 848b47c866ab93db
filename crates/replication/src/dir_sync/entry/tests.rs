//! What entries of Active Directory mean. The entries are as Samba and Windows send them.

use super::*;
use crate::dir_sync::Doubtful;

fn entry(dn: &str, attributes: &[(&str, &[&[u8]])]) -> SearchEntry {
    let held =
        |(name, values): &(&str, &[&[u8]])| ((*name).to_owned(), values.iter().map(|value| value.to_vec()).collect());
    SearchEntry {
        dn: dn.to_owned(),
        attributes: attributes.iter().map(held).collect(),
        controls: Vec::new(),
    }
}

const GUID_OCTETS: &[u8] = b"0123456789abcdef";

fn of(dn: &str, attributes: &[(&str, &[&[u8]])]) -> Result<Sent, Violation> {
    let guid: [(&str, &[&[u8]]); 1] = [("objectGUID", &[GUID_OCTETS])];
    let all = [&guid, attributes].concat();
    read(
        entry(dn, &all),
        &Schema::system(),
        &mut LeftOut::default(),
        &mut Doubtful::default(),
    )
}

/// Each change, in a line.
fn changes(attributes: &[(&str, &[&[u8]])]) -> Vec<String> {
    let Ok(Sent::Changed(change)) = of("<GUID=00>;CN=a,CN=ex", attributes) else {
        panic!("no change")
    };
    assert_eq!((&*change.dn, change.uuid), ("CN=a,CN=ex", Some(*b"0123456789abcdef")));
    let LoggedOperation::Revise(changes) = change.operation else {
        panic!("no revision")
    };
    let line = |change: RequestedModification| {
        let values: Vec<_> = change
            .values
            .iter()
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect();
        format!("{:?} {}: {}", change.kind, change.attribute, values.join(" | "))
    };
    changes.into_iter().map(line).collect()
}

#[test]
fn an_entry_with_the_time_of_its_creation_is_whole() {
    let Ok(Sent::Whole(whole)) = of(
        "CN=a+UID=b,CN=ex",
        &[
            ("whenCreated", &[b"20261125230455.0Z"]),
            ("member;range=1-1", &[b"cn=x,cn=ex"]),
            ("seeAlso;range=0-0", &[b"cn=z,cn=ex"]),
            ("description", &[]),
            ("unicodePwd", &[]),
            ("objectClass", &[b"top", b"user"]),
        ],
    ) else {
        panic!("not whole")
    };
    assert_eq!((&*whole.dn, whole.uuid), ("CN=a+UID=b,CN=ex", *b"0123456789abcdef"));
    let names: Vec<&str> = whole.attributes.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["objectClass", "cn", "uid", "createTimestamp"]);
    assert_eq!(whole.attributes[3].1, [b"20261125230455Z"]);
}

#[test]
fn a_change_has_all_values_none_or_those_that_came_and_went() {
    assert_eq!(
        changes(&[
            ("uid", &[b"b", b"c"]),
            ("description", &[]),
            ("seeAlso;range=0-0", &[b"cn=x, cn=ex"]),
            (
                "seeAlso;Range=1-1",
                &[b"<GUID=096bdca23160594b9c933b740f16cfb3>;<SID=01>;cn=y,cn=ex"]
            ),
            ("seeAlso", &[]),
            ("instanceType", &[b"4"]),
        ]),
        [
            "Replace uid: b | c",
            "Replace description: ",
            "Delete seeAlso: cn=x,cn=ex",
            "Add seeAlso: cn=y,cn=ex",
            "Replace cn: a",
        ]
    );
    let all: [&[u8]; 1] = [b"cn=y,cn=ex"];
    let slice = of("CN=a,CN=ex", &[("seeAlso;range=0-1499", &all)]);
    assert!(matches!(slice, Err(Violation::Malformed(text)) if text.contains("neither all of the values nor")));
}

#[test]
fn a_deleted_entry_is_gone_whatever_its_name_is() {
    let name = "cn=a\\0ADEL:e703ea55,CN=Deleted Objects,DC=ex";
    let uuid = *b"0123456789abcdef";
    assert_eq!(of(name, &[("isDeleted", &[b"TRUE"])]), Ok(Sent::Gone(uuid)));
    assert_eq!(
        of("", &[("isDeleted", &[b"TRUE"]), ("whenCreated", &[b"2026"])]),
        Ok(Sent::Gone(uuid))
    );
    assert!(
        matches!(of("CN=a", &[("isDeleted", &[])]), Ok(Sent::Changed(_))),
        "it was restored"
    );
}

#[test]
fn an_entry_without_a_guid_is_refused_by_name() {
    for guid in [&[][..], &[&b"short"[..]]] {
        let read = read(
            entry("CN=a", &[("objectGUID", guid)]),
            &Schema::system(),
            &mut LeftOut::default(),
            &mut Doubtful::default(),
        );
        let Err(Violation::Malformed(text)) = read else {
            panic!("{read:?}")
        };
        assert_eq!(text, "the provider shows no objectGUID of \"CN=a\"");
    }
}
