//! Data sets are repeatable, of the stated size, and hold what they promise.

use super::*;
use std::collections::HashSet;

fn data(kind: Kind, count: u64, seed: u64) -> String {
    let mut out = Vec::new();
    write(kind, count, seed, "dc=example,dc=com", &mut out, &mut |_| {}).unwrap();
    String::from_utf8(out).unwrap()
}

/// The records that are no containers.
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
    for kind in Kind::ALL {
        assert_eq!(data(kind, 200, 1), data(kind, 200, 1), "{kind:?}");
        assert_ne!(data(kind, 200, 1), data(kind, 200, 2), "{kind:?}");
    }
}

#[test]
fn entries_do_not_depend_on_their_number() {
    for kind in Kind::ALL {
        let (few, many) = (data(kind, 40, 3), data(kind, 400, 3));
        assert_eq!(leaves(&few), leaves(&many)[..40], "{kind:?}");
    }
}

#[test]
fn entry_names_are_those_of_the_data_set() {
    for kind in Kind::ALL {
        let text = data(kind, 50, 11);
        for (number, record) in (0..).zip(leaves(&text)) {
            let name = entry_name(kind, number, 11, "dc=example,dc=com").unwrap();
            let attribute = if kind == Kind::Telco { "imsi" } else { "uid" };
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
        (Kind::Zimbra, 2000),
        (Kind::Telco, 600),
        (Kind::University, 1200),
        (Kind::DirectoryMark, 900),
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
    for kind in Kind::ALL {
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
    for kind in [Kind::Zimbra, Kind::University, Kind::DirectoryMark] {
        let text = data(kind, 200, 1);
        assert!(text.is_ascii());
        assert!(text.contains("\nsn:: "), "{kind:?}");
    }
}

#[test]
fn progress_ends_with_the_number_of_entries() {
    let mut last = 0;
    let mut out = Vec::new();
    write(Kind::Telco, 2000, 1, "o=telco", &mut out, &mut |entries| last = entries).unwrap();
    assert_eq!(last, 2000 + 7);
}

#[test]
fn kinds_are_found_by_name() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    assert!("x".parse::<Kind>().is_err());
}
