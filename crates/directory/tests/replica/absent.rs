//! Entries that a present phase did not name.

use std::sync::Arc;

use ironbark_directory::{Absent, AbsentSlice, ReplicaMapping, replicate_absent};
use ironbark_store::{ContextVector, DitScope, Location};
use roaring::RoaringTreemap;

use ironbark_harness::{
    Site,
    peer::{LINES, context, csn, dn, made, mapping, names, parsed, person, refresh, rows, shared, tombstone, view},
};

fn site() -> Site {
    let site = Site::open_server(2, LINES);
    let top = made("dc=ex", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    refresh(&site, mapping(&site), &top);
    site
}

fn present(site: &Site, names: &[&str]) -> RoaringTreemap {
    let id = |name: &&str| match view(site, |view| view.locate(&dn(site, name))).expect("readable") {
        Location::Entry(id) => id,
        Location::Missing { .. } => panic!("{name} is missing"),
    };
    names.iter().map(id).collect()
}

/// Runs all slices. Returns how many entries each has deleted.
fn run(site: &Site, mapping: ReplicaMapping, present: RoaringTreemap, covered: &[String]) -> Vec<usize> {
    let mut absent = Absent {
        mapping: Arc::new(mapping),
        via: 9,
        present: Arc::new(present),
        covered: covered.iter().map(|csn| parsed(csn)).collect::<ContextVector>(),
        after: 0,
    };
    let mut counts = Vec::new();
    loop {
        let receiver = replicate_absent(&site.directory, &context(site), absent.clone()).expect("room");
        let AbsentSlice { deleted, next } = receiver.blocking_recv().expect("an end").expect("applied");
        counts.push(deleted);
        match next {
            Some(next) => absent.after = next,
            None => return counts,
        }
    }
}

#[test]
fn what_the_provider_knows_and_did_not_name_goes_and_all_else_stays() {
    let site = site();
    for sent in [
        person("cn=kept,dc=ex", 10, &csn(1, 10)),
        person("cn=top,dc=ex", 11, &csn(1, 11)),
        person("cn=below,cn=top,dc=ex", 12, &csn(1, 12)),
        person("cn=elsewhere,dc=ex", 13, &csn(3, 10)),
        person("cn=later,dc=ex", 14, &csn(1, 30)),
        person("cn=in,cn=glue,dc=ex", 15, &csn(1, 30)),
    ] {
        refresh(&site, mapping(&site), &sent);
    }
    let count = rows(&site).len();
    let named = present(&site, &["dc=ex", "cn=kept,dc=ex"]);
    assert_eq!(run(&site, mapping(&site), named, &[csn(1, 20)]), [2]);
    let left = [
        "cn=elsewhere,dc=ex",
        "cn=glue,dc=ex*",
        "cn=in,cn=glue,dc=ex",
        "cn=kept,dc=ex",
        "cn=later,dc=ex",
        "dc=ex",
    ];
    assert_eq!(names(&site), left);
    let new = rows(&site).split_off(count);
    assert_eq!(new.len(), 2, "a record for each, the deeper one first");
    assert!(
        new.iter()
            .all(|row| row.csn == parsed(&csn(1, 20)) && row.via == 9 && row.effects.len() == 1)
    );
    assert_eq!(tombstone(&site, [12; 16]), Some(parsed(&csn(1, 20))));
}

#[test]
fn where_others_write_the_deletes_are_own_changes() {
    let site = site();
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 10, &csn(1, 10)));
    assert_eq!(
        run(&site, shared(&site), present(&site, &["dc=ex"]), &[csn(1, 20)]),
        [1]
    );
    let last = rows(&site).pop().expect("a row");
    assert_eq!((last.via, last.csn.server_id()), (0, 2));
}

#[test]
fn it_keeps_to_base_scope_and_filter() {
    let site = site();
    for (number, name) in (10..).zip([
        "cn=a,dc=ex",
        "cn=b,cn=a,dc=ex",
        "cn=c,cn=b,cn=a,dc=ex",
        "cn=d,cn=a,dc=ex",
    ]) {
        refresh(&site, mapping(&site), &person(name, number, &csn(1, 10)));
    }
    let narrow = ReplicaMapping {
        remote_base: dn(&site, "cn=a,dc=ex"),
        local_base: dn(&site, "cn=a,dc=ex"),
        scope: DitScope::OneLevel,
        filter: "(cn=d)".into(),
        ..mapping(&site)
    };
    assert_eq!(run(&site, narrow.clone(), RoaringTreemap::new(), &[csn(1, 20)]), [1]);
    assert_eq!(
        names(&site),
        ["cn=a,dc=ex", "cn=b,cn=a,dc=ex", "cn=c,cn=b,cn=a,dc=ex", "dc=ex"]
    );
    let bad = Absent {
        mapping: Arc::new(ReplicaMapping {
            filter: "(cn=".into(),
            ..narrow
        }),
        via: 9,
        present: Arc::default(),
        covered: ContextVector::default(),
        after: 0,
    };
    let receiver = replicate_absent(&site.directory, &context(&site), bad).expect("room");
    assert!(receiver.blocking_recv().expect("an end").is_err());
}

#[test]
fn many_go_in_slices() {
    let site = site();
    for number in 0..1_200_u32 {
        let mut sent = person(&format!("cn=p{number},cn=all,dc=ex"), 0, &csn(1, number + 2));
        sent.uuid = u128::from(number + 1000).to_be_bytes();
        refresh(&site, mapping(&site), &sent);
    }
    assert_eq!(
        run(&site, mapping(&site), present(&site, &["dc=ex"]), &[csn(1, 9_999)]),
        [1_000, 200]
    );
    assert_eq!(names(&site), ["dc=ex"]);
}
