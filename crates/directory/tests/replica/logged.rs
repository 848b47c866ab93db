//! Changes from a provider's log: in order they are made as they were, late ones are merged value by value.

use ironbark_directory::{
    ConflictKind, Incoming, LoggedChange, LoggedOperation, OutcomeKind, ReplicaMapping, Replicated, ReplicatedEntry,
    replicate,
};
use ironbark_model::ResultCode;
use ironbark_store::{
    ChangeRecord, Csn, Effect,
    change::{RequestedChange, RequestedKind, RequestedModification},
};

use crate::replica::convergence::Random;
use ironbark_harness::{
    Site,
    peer::{
        LINES, content, csn, delete, entries_of, mapping, message, parsed, person, refresh, rows, send, tombstone,
        vector,
    },
};

/// Lines of a server that writes, and follows the logs of others.
fn lines() -> String {
    format!(
        "{LINES}\nmultiprovider on\n\
         syncrepl rid=1 provider=ldap://127.0.0.1:1 searchbase=dc=ex syncdata=accesslog logbase=cn=log"
    )
}

fn server(id: u16) -> Site {
    Site::open_server(id, &lines())
}

/// Where others write, too.
fn merged(site: &Site) -> ReplicaMapping {
    ReplicaMapping {
        multi_provider: true,
        merges_values: true,
        ..mapping(site)
    }
}

fn change_of(kind: RequestedKind, attribute: &str, values: &[&str]) -> RequestedModification {
    RequestedModification {
        kind,
        attribute: attribute.into(),
        values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
    }
}

/// A modification of the entry of this UUID, with the CSN that it gives.
fn modify(site: &Site, asked: ReplicaMapping, uuid: u8, csn: &str, changes: &[RequestedModification]) -> Outcome {
    let mut all = changes.to_vec();
    all.push(change_of(RequestedKind::Replace, "entryCSN", &[csn]));
    make(site, asked, Some([uuid; 16]), csn, LoggedOperation::Modify(all))
}

type Outcome = Result<OutcomeKind, ResultCode>;

fn make(site: &Site, asked: ReplicaMapping, uuid: Option<[u8; 16]>, csn: &str, operation: LoggedOperation) -> Outcome {
    let logged = LoggedChange {
        dn: "cn=a,dc=ex".into(),
        uuid,
        operation,
        base: None,
    };
    let change = Replicated {
        csn: Some(parsed(csn)),
        cookie: vec![parsed(csn)],
        ..message(asked, Incoming::Logged(logged))
    };
    send(site, change)
        .map(|outcome| outcome.kind)
        .map_err(|error| error.result_code)
}

/// A consumer that has the entry cn=a, of this CSN.
fn with_person(of: &str) -> Site {
    let mut site = server(2);
    site.must_add("dc=ex", "objectClass: domain");
    refresh(&site, merged(&site), &person("cn=a,dc=ex", 5, of));
    site
}

fn values(site: &mut Site, attribute: &str) -> String {
    site.read("cn=a,dc=ex", &[attribute]).expect("there")
}

#[test]
fn a_newer_change_is_made_as_it_was_and_values_that_are_there_or_gone_do_not_matter() {
    let mut site = with_person(&csn(1, 10));
    let changes = [
        change_of(RequestedKind::Add, "description", &["x", "y"]),
        change_of(RequestedKind::Delete, "telephoneNumber", &["1"]),
        change_of(RequestedKind::Delete, "seeAlso", &[]),
        change_of(RequestedKind::Add, "sn", &["s", "t"]),
    ];
    let asked = mapping(&site);
    assert_eq!(
        modify(&site, asked, 5, &csn(1, 20), &changes),
        Ok(OutcomeKind::Modified)
    );
    assert_eq!(values(&mut site, "description"), "description: x\ndescription: y\n");
    assert_eq!(values(&mut site, "sn"), "sn: s\nsn: t\n");
    assert_eq!(values(&mut site, "entryCSN"), format!("entryCSN: {}\n", csn(1, 20)));
    assert!(vector(&site).covers(parsed(&csn(1, 20))));
    let again = modify(&site, mapping(&site), 5, &csn(1, 20), &changes);
    assert_eq!(again, Ok(OutcomeKind::Covered));
    let asked = mapping(&site);
    let older = modify(
        &site,
        asked,
        5,
        &csn(3, 15),
        &[change_of(RequestedKind::Replace, "sn", &["u"])],
    );
    assert_eq!(older, Ok(OutcomeKind::Older), "the entry of a single provider has it");
}

#[test]
fn a_modify_that_says_nothing_of_the_csn_leaves_that_of_the_entry() {
    let mut site = with_person(&csn(1, 10));
    let change = LoggedOperation::Modify(vec![change_of(RequestedKind::Replace, "description", &["x"])]);
    let made = make(&site, mapping(&site), Some([5; 16]), &csn(1, 20), change);
    assert_eq!(made, Ok(OutcomeKind::Modified));
    assert_eq!(values(&mut site, "description"), "description: x\n");
    assert_eq!(values(&mut site, "entryCSN"), format!("entryCSN: {}\n", csn(1, 10)));
    assert!(vector(&site).covers(parsed(&csn(1, 20))));
}

#[test]
fn a_late_change_leaves_what_newer_ones_have_set() {
    let mut site = with_person(&csn(1, 10));
    let newer = [
        change_of(RequestedKind::Replace, "sn", &["new"]),
        change_of(RequestedKind::Add, "description", &["a"]),
    ];
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(1, 30), &newer),
        Ok(OutcomeKind::Modified)
    );
    let late = [
        change_of(RequestedKind::Replace, "sn", &["old"]),
        change_of(RequestedKind::Replace, "description", &["b"]),
        change_of(RequestedKind::Replace, "telephoneNumber", &["1"]),
    ];
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(3, 20), &late),
        Ok(OutcomeKind::Modified)
    );
    assert_eq!(values(&mut site, "sn"), "sn: new\n");
    assert_eq!(values(&mut site, "description"), "description: b\ndescription: a\n");
    assert_eq!(values(&mut site, "telephoneNumber"), "telephoneNumber: 1\n");
    assert_eq!(values(&mut site, "entryCSN"), format!("entryCSN: {}\n", csn(1, 30)));
    let again = modify(&site, merged(&site), 5, &csn(3, 20), &late);
    assert_eq!(again, Ok(OutcomeKind::Covered));
    // Later still comes an even older one. What the one between has replaced stays.
    let oldest = [change_of(RequestedKind::Add, "telephoneNumber", &["2"])];
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(4, 15), &oldest),
        Ok(OutcomeKind::Modified)
    );
    assert_eq!(values(&mut site, "telephoneNumber"), "telephoneNumber: 1\n");
}

#[test]
fn a_change_of_what_is_not_here_asks_for_a_refresh_unless_it_was_deleted() {
    let site = with_person(&csn(1, 10));
    let changes = [change_of(RequestedKind::Replace, "sn", &["x"])];
    let gap = modify(&site, merged(&site), 7, &csn(1, 20), &changes);
    assert_eq!(gap, Err(ResultCode::SYNC_REFRESH_REQUIRED));
    assert!(!vector(&site).covers(parsed(&csn(1, 20))), "it may come again");
    delete(&site, merged(&site), [5; 16], Some(parsed(&csn(3, 5))));
    let late = modify(&site, merged(&site), 5, &csn(1, 30), &changes);
    assert_eq!(late, Ok(OutcomeKind::Tombstoned));
    assert_eq!(tombstone(&site, [5; 16]), Some(parsed(&csn(3, 5))));
}

#[test]
fn without_a_uuid_the_name_says_which_entry_it_is_and_a_late_delete_spares_a_newer_one() {
    let mut site = with_person(&csn(1, 40));
    let late = make(&site, merged(&site), None, &csn(3, 20), LoggedOperation::Delete);
    assert_eq!(late, Ok(OutcomeKind::Older));
    let rename = LoggedOperation::ModifyDn {
        new_rdn: "cn=b".into(),
        delete_old_rdn: true,
        new_superior: None,
        modifications: Vec::new(),
        place: None,
    };
    assert_eq!(
        make(&site, merged(&site), None, &csn(1, 50), rename),
        Ok(OutcomeKind::Renamed)
    );
    assert_eq!(site.read("cn=b,dc=ex", &["cn"]).as_deref(), Some("cn: b\n"));
    assert_eq!(
        make(&site, merged(&site), None, &csn(1, 60), LoggedOperation::Delete),
        Ok(OutcomeKind::Same),
        "nothing has the name"
    );
}

/// What a row of the log tells to those who follow it.
fn told(record: &ChangeRecord) -> Vec<Incoming> {
    let own = || record.effects.iter().filter(|recorded| !recorded.marks.internal);
    let uuid = own().next().map(|recorded| recorded.before.entry_uuid);
    let change = |dn: &str, operation| {
        Incoming::Logged(LoggedChange {
            dn: dn.into(),
            uuid,
            operation,
            base: None,
        })
    };
    let requested = record.requested.iter().filter_map(|requested| match requested {
        RequestedChange::Modify { dn, modifications } => {
            Some(change(dn, LoggedOperation::Modify(modifications.clone())))
        }
        RequestedChange::ModifyDn {
            dn,
            new_rdn,
            delete_old_rdn,
            new_superior,
        } => {
            let stamps = own().find_map(|recorded| match &recorded.effect {
                Effect::Rename { changes, .. } => Some(changes.clone()),
                _ => None,
            });
            let stamps = stamps
                .unwrap_or_default()
                .into_iter()
                .filter(|change| change.attribute() == "entryCSN");
            let modifications = stamps.map(|change| RequestedModification {
                kind: RequestedKind::Replace,
                attribute: change.attribute().into(),
                values: change.values().to_vec(),
            });
            Some(change(
                dn,
                LoggedOperation::ModifyDn {
                    new_rdn: new_rdn.clone(),
                    delete_old_rdn: *delete_old_rdn,
                    new_superior: new_superior.clone(),
                    modifications: modifications.collect(),
                    place: None,
                },
            ))
        }
        _ => None,
    });
    let mut all: Vec<Incoming> = requested.collect();
    if all.is_empty() {
        all.extend(own().filter_map(|recorded| match &recorded.effect {
            Effect::Delete { dn } => Some(change(dn, LoggedOperation::Delete)),
            _ => None,
        }));
    }
    all
}

/// One change of one of the people by a client; it may be refused.
fn change_person(site: &mut Site, random: &mut Random, may_delete: bool) {
    let people: Vec<String> = entries_of(site).into_iter().map(|entry| entry.dn.into()).collect();
    let people: Vec<&String> = people.iter().filter(|dn| dn.starts_with("cn=")).collect();
    let Some(name) = people.get(random.below(people.len().max(1))) else {
        return;
    };
    let attribute = match random.below(4) {
        0 => "description",
        1 => "telephoneNumber",
        2 => "uidNumber",
        _ => "sn",
    };
    let value = random.below(4);
    let number = name.bytes().find(u8::is_ascii_digit).unwrap_or(b'0') - b'0';
    let _ = match random.below(if may_delete { 9 } else { 8 }) {
        0 | 1 => site.modify(name, &format!("add: {attribute}\nd: {value}")),
        2 => site.modify(name, &format!("delete: {attribute}\nd: {value}")),
        3 => site.modify(name, &format!("replace: {attribute}\nd: {value}")),
        4 => site.modify(
            name,
            &format!(
                "replace: {attribute}\nd: {value}\n-\nadd: description\nd: {}",
                value + 4
            ),
        ),
        5 => site.modify(name, &format!("delete: {attribute}")),
        6 => site.rename(name, &format!("cn=p{number}x{value}"), None),
        7 => site.rename_with(name, &format!("cn=p{number}x{value}"), false, Some("ou=b,dc=ex"), &[]),
        _ => site.delete(name),
    };
}

/// Takes some of what a server has logged to another one.
fn carry(from: &Site, to: &Site, position: &mut usize, most: usize) {
    for record in rows(from).iter().skip(*position).take(most) {
        *position += 1;
        for incoming in told(record) {
            let change = Replicated {
                csn: Some(record.csn),
                cookie: vec![record.csn],
                ..message(merged(to), incoming)
            };
            send(to, change).expect("applied");
        }
    }
}

/// All entries with their values, in any order.
fn held(site: &Site) -> Vec<String> {
    let line = |name: &str, value: &[u8]| format!("{name}: {}", String::from_utf8_lossy(value));
    let entry = |entry: ReplicatedEntry| {
        let values = entry.attributes.iter().flat_map(|(name, values)| {
            let lines = values.iter().map(move |value| line(name, value));
            lines.collect::<Vec<_>>()
        });
        let mut lines: Vec<String> = values.collect();
        lines.sort_unstable();
        format!("{}\n{}", entry.dn, lines.join("\n"))
    };
    let mut all: Vec<String> = entries_of(site).into_iter().map(entry).collect();
    all.sort_unstable();
    all
}

fn newest(site: &Site) -> Csn {
    vector(site).iter().max().expect("a change")
}

#[test]
fn servers_that_write_the_same_entries_at_once_end_with_the_same_values() {
    let most = std::env::var("IRONBARK_CASES").map_or(12, |cases| cases.parse().expect("a number"));
    for seed in 0..most {
        let mut random = Random(seed);
        let mut sites: Vec<Site> = (1..4).map(server).collect();
        sites[0].must_add("dc=ex", "objectClass: domain");
        sites[0].must_add("ou=b,dc=ex", "objectClass: organizationalUnit");
        for number in 0..3 {
            sites[0].must_add(
                &format!("cn=p{number},dc=ex"),
                "objectClass: person\nobjectClass: extensibleObject\nsn: s",
            );
        }
        let all = entries_of(&sites[0]);
        for site in &sites[1..] {
            for entry in &all {
                refresh(site, merged(site), entry);
            }
        }
        let known = newest(&sites[0]);
        for site in &sites[1..] {
            let change = Replicated {
                cookie: vec![known],
                ..message(merged(site), Incoming::Nothing)
            };
            send(site, change).expect("taken");
        }
        let mut positions: Vec<Vec<usize>> = sites.iter().map(|site| vec![rows(site).len(); 3]).collect();
        for _ in 0..60 {
            let (from, to) = (random.below(3), random.below(3));
            if random.below(3) == 0 && from != to {
                let most = random.below(6);
                carry(&sites[from], &sites[to], &mut positions[from][to], most);
            } else {
                sites[from].clock.advance(std::time::Duration::from_micros(300));
                change_person(&mut sites[from], &mut random, seed % 2 == 0);
            }
        }
        for _ in 0..3 {
            for from in 0..3 {
                for to in (0..3).filter(|to| *to != from) {
                    carry(&sites[from], &sites[to], &mut positions[from][to], usize::MAX);
                }
            }
        }
        for site in &sites[1..] {
            assert_eq!(held(site), held(&sites[0]), "seed {seed}");
            assert_eq!(content(site), content(&sites[0]), "seed {seed}");
            assert_eq!(vector(site), vector(&sites[0]), "seed {seed}");
        }
    }
}

#[test]
fn a_change_that_comes_again_before_its_cookie_is_made_once() {
    let mut site = with_person(&csn(1, 10));
    let classes = [
        change_of(RequestedKind::Add, "objectClass", &["extensibleObject"]),
        change_of(RequestedKind::Add, "uidNumber", &["1"]),
    ];
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(1, 15), &classes),
        Ok(OutcomeKind::Modified)
    );
    let queue = |number: u32| {
        let increment = change_of(RequestedKind::Increment, "uidNumber", &["1"]);
        let stamp = csn(1, number);
        let logged = LoggedChange {
            dn: "cn=a,dc=ex".into(),
            uuid: Some([5; 16]),
            operation: LoggedOperation::Modify(vec![
                increment,
                change_of(RequestedKind::Replace, "entryCSN", &[&stamp]),
            ]),
            base: None,
        };
        let change = Replicated {
            csn: Some(parsed(&stamp)),
            ..message(merged(&site), Incoming::Logged(logged))
        };
        replicate(
            &site.directory,
            &ironbark_harness::peer::context(&site),
            std::sync::Arc::new(change),
        )
        .expect("room")
    };
    // All at once: many of them are in one transaction.
    let queued: Vec<_> = (20..40).chain(20..40).map(queue).collect();
    for receiver in queued {
        receiver.blocking_recv().expect("an end").expect("applied");
    }
    assert_eq!(values(&mut site, "uidNumber"), "uidNumber: 21\n");
}

#[test]
fn a_late_change_that_a_newer_one_contradicts_is_kept_as_a_conflict() {
    let site = with_person(&csn(1, 10));
    let add = |value: &str| [change_of(RequestedKind::Add, "description", &[value])];
    let replace = [change_of(RequestedKind::Replace, "description", &["x"])];
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(1, 40), &replace),
        Ok(OutcomeKind::Modified)
    );
    // Another attribute: both count.
    let other = [change_of(RequestedKind::Add, "seeAlso", &["cn=x"])];
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(3, 20), &other),
        Ok(OutcomeKind::Modified)
    );
    let kept = || {
        site.directory
            .replica_conflicts()
            .pop()
            .expect("several writers")
            .1
            .last
    };
    assert!(kept().is_empty(), "{:?}", kept());
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(3, 30), &add("y")),
        Ok(OutcomeKind::Modified)
    );
    let conflict = kept().pop_back().expect("kept").conflict;
    assert_eq!((conflict.kind, &*conflict.name), (ConflictKind::Values, "cn=a,dc=ex"));
    let csns = [conflict.winner.csn, conflict.loser.csn];
    assert_eq!(csns, [Some(parsed(&csn(1, 40))), Some(parsed(&csn(3, 30)))]);
    // A change of an entry that is gone.
    delete(&site, merged(&site), [5; 16], Some(parsed(&csn(1, 50))));
    assert_eq!(
        modify(&site, merged(&site), 5, &csn(3, 60), &add("z")),
        Ok(OutcomeKind::Tombstoned)
    );
    let conflict = kept().pop_back().expect("kept").conflict;
    assert_eq!(
        (conflict.kind, conflict.loser.csn),
        (ConflictKind::Delete, Some(parsed(&csn(3, 60))))
    );
}

#[test]
fn a_revision_far_ahead_of_the_clock_is_refused_and_moves_nothing() {
    let mut site = with_person(&csn(1, 10));
    let settle = |revision: &str| LoggedOperation::Settle {
        revision: parsed(revision),
        place: b"1 -"[..].into(),
    };
    let ahead = csn(1, 20).replacen("2026", "2027", 1);
    let refused = make(&site, merged(&site), Some([5; 16]), &csn(3, 20), settle(&ahead));
    assert_eq!(refused, Err(ResultCode::UNWILLING_TO_PERFORM));
    let nonsense = LoggedOperation::Settle {
        revision: parsed(&csn(1, 20)),
        place: b"below"[..].into(),
    };
    let refused = make(&site, merged(&site), Some([5; 16]), &csn(3, 20), nonsense);
    assert_eq!(refused, Err(ResultCode::UNWILLING_TO_PERFORM));
    assert!(!vector(&site).covers(parsed(&csn(3, 20))));
    assert_eq!(values(&mut site, "entryCSN"), format!("entryCSN: {}\n", csn(1, 10)));
}

#[test]
fn a_change_that_would_give_two_entries_one_uuid_asks_for_a_refresh() {
    let mut site = with_person(&csn(1, 10));
    refresh(&site, mapping(&site), &person("cn=other,dc=ex", 9, &csn(1, 10)));
    let before = values(&mut site, "entryUUID");
    let taken = "09090909-0909-0909-0909-090909090909";
    let change = [change_of(RequestedKind::Replace, "entryUUID", &[taken])];
    for asked in [mapping(&site), merged(&site)] {
        let made = modify(&site, asked, 5, &csn(1, 20), &change);
        assert_eq!(made, Err(ResultCode::SYNC_REFRESH_REQUIRED));
    }
    assert_eq!(values(&mut site, "entryUUID"), before);
    // Its own one is no change.
    let own = [change_of(
        RequestedKind::Replace,
        "entryUUID",
        &["05050505-0505-0505-0505-050505050505"],
    )];
    assert_eq!(
        modify(&site, mapping(&site), 5, &csn(1, 21), &own),
        Ok(OutcomeKind::Modified)
    );
}
