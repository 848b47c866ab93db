//! Two entries of one name, and moves that are in each other's way.

use ironbark_directory::OutcomeKind;

use crate::{
    harness::Site,
    peer::{LINES, csn, delete, made, mapping, names, parsed, person, refresh, shared, tombstone},
};

fn site() -> Site {
    let site = Site::open_server(2, LINES);
    let top = made("dc=ex", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    refresh(&site, mapping(&site), &top);
    site
}

fn sn_of(site: &mut Site, name: &str) -> Option<String> {
    site.read(name, &["sn"])
}

#[test]
fn the_greater_csn_takes_the_name_and_what_is_below_stays_under_it() {
    for is_newer_first in [false, true] {
        let mut site = site();
        let older = person("cn=n,dc=ex", 10, &csn(1, 10));
        let mut newer = person("cn=n,dc=ex", 11, &csn(3, 11));
        newer.attributes[2].1 = vec![b"newer".to_vec()];
        let below = person("cn=child,cn=n,dc=ex", 12, &csn(1, 12));
        let sequence = if is_newer_first {
            [&newer, &below, &older]
        } else {
            [&older, &below, &newer]
        };
        let outcomes = sequence.map(|sent| refresh(&site, shared(&site), sent));
        let last = if is_newer_first {
            OutcomeKind::Lost
        } else {
            OutcomeKind::Added
        };
        assert_eq!(outcomes, [OutcomeKind::Added, OutcomeKind::Added, last]);
        assert_eq!(names(&site), ["cn=child,cn=n,dc=ex", "cn=n,dc=ex", "dc=ex"]);
        assert_eq!(sn_of(&mut site, "cn=n,dc=ex").as_deref(), Some("sn: newer\n"));
        assert_eq!(tombstone(&site, [10; 16]), None, "a later change of it may come");
        let moved = person("cn=m,dc=ex", 10, &csn(1, 20));
        assert_eq!(refresh(&site, shared(&site), &moved), OutcomeKind::Added);
    }
}

#[test]
fn a_renamed_entry_takes_a_name_or_loses_its_own() {
    let site = site();
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 10, &csn(1, 10)));
    refresh(&site, shared(&site), &person("cn=below,cn=a,dc=ex", 13, &csn(1, 10)));
    refresh(&site, shared(&site), &person("cn=b,dc=ex", 11, &csn(3, 20)));
    refresh(&site, shared(&site), &person("cn=other,cn=b,dc=ex", 12, &csn(3, 20)));
    let older = person("cn=b,dc=ex", 10, &csn(1, 15));
    assert_eq!(refresh(&site, shared(&site), &older), OutcomeKind::Lost);
    assert_eq!(
        names(&site),
        [
            "cn=a,dc=ex*",
            "cn=b,dc=ex",
            "cn=below,cn=a,dc=ex",
            "cn=other,cn=b,dc=ex",
            "dc=ex"
        ]
    );
    let newer = person("cn=b,dc=ex", 13, &csn(1, 30));
    assert_eq!(refresh(&site, shared(&site), &newer), OutcomeKind::Renamed);
    assert_eq!(names(&site), ["cn=b,dc=ex", "cn=other,cn=b,dc=ex", "dc=ex"]);
}

#[test]
fn the_provider_says_whose_a_name_is_and_nobody_is_lost() {
    let site = site();
    let unchanged = person("cn=child,cn=a,dc=ex", 12, &csn(1, 5));
    for sent in [
        &person("cn=a,dc=ex", 10, &csn(1, 10)),
        &person("cn=b,dc=ex", 11, &csn(1, 11)),
        &unchanged,
    ] {
        refresh(&site, mapping(&site), sent);
    }
    // They have exchanged their names, and what is below has gone along.
    let second = person("cn=a,dc=ex", 11, &csn(1, 30));
    assert_eq!(refresh(&site, mapping(&site), &second), OutcomeKind::Renamed);
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=b,dc=ex", 10, &csn(1, 40))),
        OutcomeKind::Renamed
    );
    assert_eq!(
        names(&site),
        ["cn=a,dc=ex", "cn=b,dc=ex", "cn=child,cn=b,dc=ex", "dc=ex"]
    );
    // One that is gone has left the name before the provider says so.
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=b,dc=ex", 14, &csn(1, 35))),
        OutcomeKind::Added
    );
    delete(&site, mapping(&site), [12; 16], Some(parsed(&csn(1, 41))));
    delete(&site, mapping(&site), [10; 16], Some(parsed(&csn(1, 42))));
    assert_eq!(names(&site), ["cn=a,dc=ex", "cn=b,dc=ex", "dc=ex"]);
    // The suffix cannot step aside.
    let other = made("dc=ex", 20, &csn(1, 2), &[("objectClass", "domain"), ("dc", "ex")]);
    assert_eq!(refresh(&site, mapping(&site), &other), OutcomeKind::Added);
    assert_eq!(names(&site), ["cn=a,dc=ex", "cn=b,dc=ex", "dc=ex"]);
}

#[test]
fn what_moves_to_the_place_of_glue_joins_what_is_below_it() {
    let site = site();
    for sent in [
        person("cn=a,dc=ex", 10, &csn(1, 10)),
        person("cn=x,cn=a,dc=ex", 11, &csn(1, 10)),
        person("cn=y,cn=z,cn=b,dc=ex", 12, &csn(1, 10)),
        person("cn=w,cn=z,cn=a,dc=ex", 13, &csn(1, 10)),
    ] {
        refresh(&site, mapping(&site), &sent);
    }
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=b,dc=ex", 10, &csn(1, 20))),
        OutcomeKind::Renamed
    );
    let expected = [
        "cn=b,dc=ex",
        "cn=w,cn=z,cn=b,dc=ex",
        "cn=x,cn=b,dc=ex",
        "cn=y,cn=z,cn=b,dc=ex",
        "cn=z,cn=b,dc=ex*",
        "dc=ex",
    ];
    assert_eq!(names(&site), expected);
}

#[test]
fn an_entry_moves_below_what_was_below_it_and_above_what_was_above_it() {
    let site = site();
    for sent in [
        person("cn=a,dc=ex", 10, &csn(1, 10)),
        person("cn=b,cn=a,dc=ex", 11, &csn(1, 10)),
        person("cn=c,cn=a,dc=ex", 12, &csn(1, 10)),
    ] {
        refresh(&site, mapping(&site), &sent);
    }
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=x,cn=b,cn=a,dc=ex", 10, &csn(1, 20))),
        OutcomeKind::Renamed
    );
    let tree = [
        "cn=a,dc=ex*",
        "cn=b,cn=a,dc=ex",
        "cn=c,cn=x,cn=b,cn=a,dc=ex",
        "cn=x,cn=b,cn=a,dc=ex",
        "dc=ex",
    ];
    assert_eq!(names(&site), tree);
    assert_eq!(tombstone(&site, [10; 16]), None);
    // The other way round: it takes the place of the glue above it.
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=a,dc=ex", 11, &csn(1, 30))),
        OutcomeKind::Renamed
    );
    assert_eq!(
        names(&site),
        ["cn=a,dc=ex", "cn=c,cn=x,cn=a,dc=ex", "cn=x,cn=a,dc=ex", "dc=ex"]
    );
}
