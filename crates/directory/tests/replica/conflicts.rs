//! Two entries of one name, and moves that are in each other's way.

use ironbark_directory::{ConflictKind, Incoming, KeptConflict, OutcomeKind, Replicated, ReplicatedEntry};

use ironbark_store::Effect;

use ironbark_harness::{
    Site,
    peer::{
        LINES, csn, delete, entry, made, mapping, message, names, parsed, person, refresh, rows, send, shared,
        tombstone,
    },
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

/// The conflicts that are kept: kind, names, UUIDs with CSNs.
fn kept(site: &Site) -> Vec<KeptConflict> {
    let mut all = site.directory.replica_conflicts();
    all.pop()
        .map(|(_, conflicts)| conflicts.last.into())
        .unwrap_or_default()
}

fn told(site: &Site) -> Vec<String> {
    let kept = kept(site);
    let text = |kept: &KeptConflict| {
        let conflict = &kept.conflict;
        let [winner, loser] = [conflict.winner, conflict.loser].map(|side| {
            let csn = side
                .csn
                .map_or("-".into(), |csn| csn.text()[15..33].replace("Z#000000#", "/"));
            format!("{}:{csn}", side.uuid[0])
        });
        let other = conflict.other_name.as_deref().map(|other| format!(" ({other})"));
        let name = &conflict.name;
        format!(
            "{} {name}{} {winner} {loser}",
            conflict.kind.word(),
            other.unwrap_or_default()
        )
    };
    kept.iter().map(text).collect()
}

/// With the place that a provider tells: below the suffix, and what that provider has.
fn placed(mut entry: ReplicatedEntry, superior: u8, knows: &str) -> ReplicatedEntry {
    let text = format!("1 {} {knows}", uuid::Uuid::from_bytes([superior; 16]));
    entry
        .attributes
        .push(("ironbarkPlace".into(), vec![text.trim_end().as_bytes().to_vec()]));
    entry
}

/// Sends an entry as the persist phase does.
fn persist(site: &Site, entry: ReplicatedEntry, csn: &str) -> OutcomeKind {
    let change = Replicated {
        csn: Some(parsed(csn)),
        cookie: vec![parsed(csn)],
        ..message(shared(site), Incoming::Entry(entry))
    };
    send(site, change).expect("applied").kind
}

#[test]
fn two_entries_of_one_name_are_kept_as_a_conflict_and_one_provider_makes_none() {
    let site = site();
    refresh(&site, shared(&site), &person("cn=n,dc=ex", 10, &csn(1, 10)));
    refresh(&site, shared(&site), &person("cn=n,dc=ex", 11, &csn(3, 11)));
    refresh(&site, shared(&site), &person("cn=n,dc=ex", 12, &csn(4, 5)));
    let expected = [
        "name cn=n,dc=ex 11:000011/003 10:000010/001",
        "name cn=n,dc=ex 11:000011/003 12:000005/004",
    ];
    assert_eq!(told(&site), expected);
    // The same conflict by another way.
    refresh(&site, shared(&site), &person("cn=n,dc=ex", 12, &csn(4, 5)));
    assert_eq!(told(&site), expected);
    assert!(kept(&site).iter().all(|kept| kept.via == 9));
    refresh(&site, mapping(&site), &person("cn=n,dc=ex", 13, &csn(1, 6)));
    assert_eq!(told(&site), expected, "the only provider is right");
}

#[test]
fn a_refused_message_leaves_no_conflict() {
    let site = site();
    refresh(&site, shared(&site), &person("cn=n,dc=ex", 10, &csn(1, 10)));
    let mut bad = person("cn=n,dc=ex", 11, &csn(3, 11));
    bad.attributes.push(("noSuchAttribute".into(), vec![b"x".to_vec()]));
    let sent = send(&site, message(shared(&site), Incoming::Entry(bad)));
    sent.expect_err("the schema does not know it");
    assert_eq!(told(&site), Vec::<String>::new());
}

#[test]
fn a_version_that_the_other_writer_had_not_seen_loses() {
    let site = site();
    let mine = csn(3, 30);
    assert_eq!(
        persist(&site, person("cn=a,dc=ex", 10, &mine), &mine),
        OutcomeKind::Added
    );
    // It comes late, and was made elsewhere; then once more as the version before it.
    let late = csn(1, 20);
    assert_eq!(
        persist(&site, person("cn=a,dc=ex", 10, &late), &late),
        OutcomeKind::Older
    );
    let expected = ["version cn=a,dc=ex 10:000030/003 10:000020/001"];
    assert_eq!(told(&site), expected);
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 10, &csn(1, 15)));
    assert_eq!(told(&site), expected, "that one is covered");
    // Of the same server, one comes after the other.
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 10, &csn(3, 29)));
    assert_eq!(told(&site), expected);
    // A provider that had it has made the newer one of it; the other has not.
    let newer = placed(
        person("cn=a,dc=ex", 10, &csn(1, 40)),
        1,
        &format!("{mine} {}", csn(1, 40)),
    );
    assert_eq!(persist(&site, newer, &csn(1, 40)), OutcomeKind::Modified);
    assert_eq!(told(&site), expected);
    let other = placed(person("cn=a,dc=ex", 10, &csn(4, 50)), 1, &csn(4, 50));
    assert_eq!(persist(&site, other, &csn(4, 50)), OutcomeKind::Modified);
    let last = "version cn=a,dc=ex 10:000050/004 10:000040/001";
    assert_eq!(told(&site), [expected[0], last]);
}

#[test]
fn deletes_cycles_and_names_that_are_given_away_are_kept() {
    let site = site();
    let late = csn(1, 20);
    for (name, uuid) in [("cn=a,dc=ex", 10), ("cn=b,dc=ex", 11), ("cn=c,dc=ex", 12)] {
        refresh(&site, shared(&site), &person(name, uuid, &csn(1, 10)));
    }
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 10, &csn(3, 30)));
    delete(&site, shared(&site), [10; 16], Some(parsed(&late)));
    persist(&site, person("cn=a,dc=ex", 10, &csn(4, 40)), &csn(4, 40));
    let mut expected = vec![
        "delete cn=a,dc=ex 10:000020/001 10:000030/003",
        "delete cn=a,dc=ex 10:000020/001 10:000040/004",
    ];
    assert_eq!(told(&site), expected);
    // b is below c here; elsewhere c has moved below b.
    persist(
        &site,
        placed(person("cn=b,cn=c,dc=ex", 11, &csn(1, 50)), 12, &csn(1, 50)),
        &csn(1, 50),
    );
    let moved = placed(person("cn=c,cn=b,dc=ex", 12, &csn(3, 51)), 11, &csn(3, 51));
    persist(&site, moved, &csn(3, 51));
    expected.push("cycle cn=c,dc=ex (cn=c,cn=b,cn=c,dc=ex) 11:000050/001 12:000051/003");
    assert_eq!(told(&site), expected, "{:?}", names(&site));
    // A provider that cannot tell what it has gives the name of c to another entry.
    refresh(
        &site,
        shared(&site),
        &placed(person("cn=c,dc=ex", 13, &csn(4, 60)), 1, "-"),
    );
    let conflict = kept(&site).pop().expect("kept").conflict;
    assert_eq!(conflict.kind, ConflictKind::Aside);
    assert_eq!((&*conflict.name, conflict.loser.uuid), ("cn=c,dc=ex", [12; 16]));
    assert!(conflict.other_name.expect("told").starts_with("entryUUID=0c0c0c0c-"));
}

/// An entry moves to a name where glue stands, and below both is an entry of the same name. Which of these is newer may
/// look different elsewhere.
fn joined(of_first: u16) -> Site {
    let site = site();
    refresh(&site, shared(&site), &person("cn=a,ou=x,dc=ex", 5, &csn(of_first, 9)));
    let unit = |name: &str, csn: &str| {
        let ou = name.split([',', '=']).nth(1).expect("a name");
        made(name, 6, csn, &[("objectClass", "organizationalUnit"), ("ou", ou)])
    };
    refresh(&site, shared(&site), &unit("ou=y,dc=ex", &csn(1, 3)));
    refresh(&site, shared(&site), &person("cn=a,ou=y,dc=ex", 7, &csn(1, 20)));
    let moved = placed(unit("ou=x,dc=ex", &csn(1, 10)), 1, &csn(1, 20));
    assert_eq!(refresh(&site, shared(&site), &moved), OutcomeKind::Renamed);
    assert_eq!(entry(&site, "cn=a,ou=x,dc=ex").uuid, [7; 16]);
    site
}

#[test]
fn the_end_of_an_entry_that_loses_its_name_by_a_move_is_told_to_all() {
    let site = joined(3);
    assert_eq!(names(&site), ["cn=a,ou=x,dc=ex", "dc=ex", "ou=x,dc=ex"]);
    let gone = tombstone(&site, [5; 16]).expect("its end is final");
    assert_eq!(gone.server_id(), 2, "and a change of this server");
    assert!(rows(&site).last().expect("a row").buried.contains(&[5; 16]));
}

/// Its server has left the name, or knows of both: a later version tells.
#[test]
fn an_entry_loses_nothing_to_one_that_the_same_server_has_written() {
    let mut site = joined(1);
    let aside = "entryUUID=05050505-0505-0505-0505-050505050505,ou=x,dc=ex";
    assert_eq!(names(&site), ["cn=a,ou=x,dc=ex", "dc=ex", aside, "ou=x,dc=ex"]);
    let told = rows(&site).into_iter().flat_map(|row| row.effects);
    let mut told = told.filter(|recorded| !recorded.marks.internal);
    assert!(!told.any(|recorded| matches!(&recorded.effect, Effect::Rename { new_dn, .. } if **new_dn == *aside)));
    assert_eq!(tombstone(&site, [5; 16]), None);
    assert_eq!(site.modify(aside, "replace: description\nd: meanwhile").code, 0);
    let late = placed(
        person("cn=b,dc=ex", 5, "20260102030406.000000Z#000000#001#000000"),
        1,
        &csn(1, 20),
    );
    assert_eq!(refresh(&site, shared(&site), &late), OutcomeKind::Renamed);
    assert_eq!(names(&site), ["cn=a,ou=x,dc=ex", "cn=b,dc=ex", "dc=ex", "ou=x,dc=ex"]);
}

/// The same with a name that the entry which comes late has given away.
#[test]
fn an_entry_that_comes_late_does_not_take_its_name_back() {
    let site = site();
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 7, &csn(1, 20)));
    let late = placed(person("cn=a,dc=ex", 5, &csn(1, 9)), 1, &csn(1, 9));
    assert_eq!(refresh(&site, shared(&site), &late), OutcomeKind::Added);
    let aside = "entryUUID=05050505-0505-0505-0505-050505050505,dc=ex";
    assert_eq!(names(&site), ["cn=a,dc=ex", "dc=ex", aside]);
    assert_eq!(entry(&site, "cn=a,dc=ex").uuid, [7; 16]);
}
