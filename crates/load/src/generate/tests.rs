//! Data sets are repeatable, have the stated size, and have the documented content.

use super::*;
use std::collections::HashSet;

const PEOPLE: [DataSetKind; 5] = [
    DataSetKind::Zimbra,
    DataSetKind::Telco,
    DataSetKind::University,
    DataSetKind::DirectoryMark,
    DataSetKind::Ycsb,
];

fn set(kind: DataSetKind, seed: u64) -> DataSet {
    DataSet::new(kind, seed, "dc=example,dc=com", PasswordStorage::Usual).unwrap()
}

fn data(kind: DataSetKind, count: u64, seed: u64) -> String {
    let mut out = Vec::new();
    set(kind, seed).write(count, &mut out, &mut |_| {}).unwrap();
    String::from_utf8(out).unwrap()
}

/// The records that are not containers.
fn leaves(text: &str) -> Vec<&str> {
    let leaf = |record: &&str| {
        ["inetOrgPerson", "telcoSubscriber"]
            .iter()
            .any(|class| record.contains(&format!("objectClass: {class}\n")))
    };
    text.split("\n\n").filter(leaf).collect()
}

#[test]
fn same_seed_same_bytes_and_another_seed_others() {
    for kind in PEOPLE {
        assert_eq!(data(kind, 200, 1), data(kind, 200, 1), "{kind:?}");
        assert_ne!(data(kind, 200, 1), data(kind, 200, 2), "{kind:?}");
    }
}

#[test]
fn entries_do_not_depend_on_their_number() {
    for kind in PEOPLE {
        let (few, many) = (data(kind, 40, 3), data(kind, 400, 3));
        assert_eq!(leaves(&few), leaves(&many)[..40], "{kind:?}");
    }
}

#[test]
fn entry_names_are_those_of_the_data_set() {
    for kind in PEOPLE {
        let text = data(kind, 50, 11);
        for (number, record) in (0..).zip(leaves(&text)) {
            let name = set(kind, 11).name(number);
            let attribute = if kind == DataSetKind::Telco { "imsi" } else { "uid" };
            assert!(record.contains(&format!("\n{attribute}: {}\n", name.login)), "{record}");
            if name.dn.is_ascii() {
                assert!(record.starts_with(&format!("dn: {}\n", name.dn)), "{record}");
            }
        }
    }
}

#[test]
fn sizes_are_as_described() {
    for (kind, bytes) in [
        (DataSetKind::Zimbra, 2000),
        (DataSetKind::Telco, 600),
        (DataSetKind::University, 1200),
        (DataSetKind::DirectoryMark, 900),
        (DataSetKind::Ycsb, 4300),
    ] {
        let text = data(kind, 1000, 5);
        let records = leaves(&text);
        assert_eq!(records.len(), 1000, "{kind:?}");
        let average = records.iter().map(|record| record.len()).sum::<usize>() / records.len();
        assert!(
            (bytes * 8 / 10..=bytes * 12 / 10).contains(&average),
            "{kind:?}: {average}"
        );
    }
}

#[test]
fn dns_are_unique_and_parents_come_first() {
    for kind in PEOPLE {
        let text = data(kind, 3000, 9);
        let mut seen = HashSet::new();
        for record in text.split_terminator("\n\n") {
            let first = record.lines().next().unwrap();
            assert!(first.starts_with("dn: ") || first.starts_with("dn:: "), "{first}");
            assert!(seen.insert(first.to_owned()), "{first}");
            if let Some((_, parent)) = first.trim_start_matches("dn: ").split_once(',')
                && parent != "dc=com"
                && first.starts_with("dn: ")
            {
                assert!(seen.contains(&format!("dn: {parent}")), "{first}");
            }
        }
    }
}

#[test]
fn some_values_are_in_base64_and_no_line_is_unsafe() {
    for kind in [DataSetKind::Zimbra, DataSetKind::University, DataSetKind::DirectoryMark] {
        let text = data(kind, 200, 1);
        assert!(text.is_ascii());
        assert!(text.contains("\nsn:: "), "{kind:?}");
    }
}

#[test]
fn progress_ends_with_the_number_of_entries() {
    let mut last = 0;
    let mut out = Vec::new();
    let set = DataSet::new(DataSetKind::Telco, 1, "o=telco", PasswordStorage::Usual).unwrap();
    set.write(2000, &mut out, &mut |entries| last = entries).unwrap();
    assert_eq!(last, 2000 + 7);
}

#[test]
fn kinds_are_found_by_name() {
    for kind in DataSetKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    assert!("x".parse::<DataSetKind>().is_err());
}

#[test]
fn an_entry_alone_is_the_entry_of_the_data_set() {
    for kind in PEOPLE {
        let text = data(kind, 20, 11);
        for (number, record) in (0..).zip(leaves(&text)) {
            let entry = set(kind, 11).entry(number).unwrap();
            assert_eq!(entry, GeneratedEntry::read(record.as_bytes()).unwrap(), "{record}");
            assert_eq!(entry.dn, set(kind, 11).name(number).dn.into_bytes());
        }
    }
}

#[test]
fn passwords_have_the_form_that_is_asked_for() {
    for kind in [
        DataSetKind::Telco,
        DataSetKind::Zimbra,
        DataSetKind::University,
        DataSetKind::DirectoryMark,
    ] {
        let with = |passwords| {
            let set = DataSet::new(kind, 1, "dc=example,dc=com", passwords).unwrap();
            set.entry(3).unwrap()
        };
        let login = set(kind, 1).name(3).login.into_bytes();
        assert_eq!(with(PasswordStorage::Plain).values("userPassword"), [login], "{kind:?}");
        assert!(
            with(PasswordStorage::Ssha).values("userPassword")[0].starts_with(b"{SSHA}"),
            "{kind:?}"
        );
        let usual = with(PasswordStorage::Usual);
        assert_eq!(
            usual.values("userPassword").len(),
            usize::from(kind != DataSetKind::Telco)
        );
    }
    assert!("crypt".parse::<PasswordStorage>().is_err());
}

#[test]
fn groups_grow_tenfold_up_to_the_largest() {
    let text = data(DataSetKind::Groups, 20_000, 1);
    let sizes: Vec<usize> = text
        .split("\n\n")
        .map(|record| record.matches("\nmember: ").count())
        .filter(|members| *members > 0)
        .collect();
    assert_eq!(sizes, [1_000, 10_000, 20_000]);
    assert_eq!(
        set(DataSetKind::Groups, 1).name(1).dn,
        "cn=group-10000,ou=groups,dc=example,dc=com"
    );
}
