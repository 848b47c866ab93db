//! Links that are cut without a word, and clocks that are wrong by days.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use ironbark_testkit::{Credentials, Etcd, Server, wait};

use crate::cluster::{
    TOP, assert_equal, count, person,
    reads::newest,
    trial::{
        MEMBERS, NODES,
        clients::say,
        clock::WallClock,
        lab::{Lab, Way},
        members, node,
    },
};

/// Three nodes and three members; `None`, which is said: this machine cannot have them.
fn lab(test: &str) -> Option<(Lab, Etcd, Vec<Server>)> {
    let lab = match Lab::begin(NODES + MEMBERS) {
        Ok(lab) => lab,
        Err(why) => {
            say(&format!("NOT RUN: {test}: {why}"));
            return None;
        }
    };
    let etcd = members(&lab);
    let nodes: Vec<_> = (0..NODES).map(|number| node(&lab, &etcd, number)).collect();
    nodes[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&nodes);
    Some((lab, etcd, nodes))
}

#[test]
fn a_node_whose_links_to_members_are_cut_one_by_one_still_follows() {
    let Some((mut lab, _etcd, nodes)) = lab("links that are cut one by one") else {
        return;
    };
    for member in 0..MEMBERS {
        let ways: [Way; 2] = [(1, NODES + member), (NODES + member, 1)];
        lab.cut(&ways);
        let uid = format!("l{member}");
        nodes[0].ldapadd(&person(&uid)).unwrap().success().unwrap();
        let seen = wait::until(|| (count(&nodes[1], &uid) == 1).then_some(()));
        assert!(seen.is_some(), "without member {member}: {}", nodes[1].log());
        lab.join(&ways);
    }
}

/// Refusals of etcd tell of changes as well: they must not hide that the watch has ended.
#[test]
fn a_node_that_asks_etcd_all_the_time_notices_that_its_watch_is_cut() {
    let Some((mut lab, _etcd, nodes)) = lab("a watch that is cut under load") else {
        return;
    };
    let ends = AtomicBool::new(false);
    let (nodes, ends) = (&nodes, &ends);
    thread::scope(|scope| {
        let writers: Vec<_> = ["w", "x", "y", "z"]
            .map(|name| scope.spawn(move || write_until(&nodes[0], name, ends)))
            .into();
        let reader = scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                newest(&nodes[1], "(uid=w)").success().unwrap();
            }
        });
        // The first member that is named has the watch.
        lab.cut(&[(1, NODES), (NODES, 1)]);
        let told = wait::until(|| {
            nodes[1]
                .log()
                .contains("the watch does not tell of change")
                .then_some(())
        });
        ends.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        assert!(writers.into_iter().all(|writer| writer.join().unwrap() > 0));
        assert!(told.is_some(), "{}", nodes[1].log());
    });
    assert_equal(nodes);
}

#[test]
fn a_change_of_a_node_whose_clock_is_days_ahead_is_taken_by_all() {
    let Some((_lab, _etcd, mut nodes)) = lab("a clock that is days ahead") else {
        return;
    };
    let clock = match WallClock::of(nodes[1].pid().unwrap()) {
        Ok(clock) => clock,
        Err(why) => return say(&format!("NOT RUN: a clock that is days ahead: {why}")),
    };
    nodes[0].ldapadd(&person("x")).unwrap().success().unwrap();
    clock.set(3 * 86_400);
    nodes[1].ldapadd(&person("ahead")).unwrap().success().unwrap();
    assert_equal(&nodes);
    clock.set(0);
    nodes[0].ldapadd(&person("later")).unwrap().success().unwrap();
    nodes[1].kill().unwrap();
    nodes[1].launch().unwrap();
    nodes[1].ldapadd(&person("last")).unwrap().success().unwrap();
    assert_equal(&nodes);
    let stamp = |uid: &str| {
        let filter = format!("(uid={uid})");
        let arguments = ["-b", "dc=example,dc=com", &filter, "entryCSN"];
        let found = nodes[2]
            .client("ldapsearch", &Credentials::ROOT, &arguments, "")
            .unwrap();
        found
            .stdout
            .lines()
            .find(|line| line.starts_with("entryCSN: "))
            .unwrap()
            .to_owned()
    };
    let stamps = ["x", "ahead", "later", "last"].map(stamp);
    assert!(stamps.is_sorted(), "{stamps:?}");
    let day = |number: usize| stamps[number].split_at("entryCSN: 20260101".len()).0;
    assert_ne!(day(0), day(1), "the clock was ahead: {stamps:?}");
}

/// Otherwise the trial would try nothing.
#[test]
fn the_clock_of_a_member_of_etcd_can_be_set() {
    let Some((lab, etcd, _nodes)) = lab("the clock of a member of etcd") else {
        return;
    };
    let clock = match WallClock::of(etcd.pid(0).unwrap()) {
        Ok(clock) => clock,
        Err(why) => return say(&format!("NOT RUN: the clock of a member of etcd: {why}")),
    };
    let hours_ahead = || {
        let program = "import email.utils, sys, time, urllib.request
said = urllib.request.urlopen(sys.argv[1]).headers[\"Date\"]
print(round((email.utils.parsedate_to_datetime(said).timestamp() - time.time()) / 3600))";
        let url = format!("{}/health", etcd.url(0));
        lab.run(&format!("/usr/bin/python3 -c '{program}' {url}")).unwrap()
    };
    for hours in [0, 5, -11, 0] {
        clock.set(hours * 3_600);
        assert_eq!(hours_ahead(), format!("{hours}\n"));
    }
}

/// Changes an entry without a pause until it is told to end. Returns how many changes there were.
fn write_until(server: &Server, name: &str, ends: &AtomicBool) -> usize {
    server.ldapadd(&person(name)).unwrap().success().unwrap();
    let mut count = 0;
    while !ends.load(Ordering::Relaxed) {
        let change = |number| {
            format!("dn: uid={name},ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: {number}\n\n")
        };
        let changes: String = (0..200).map(change).collect();
        server.ldapmodify(&changes).unwrap().success().unwrap();
        count += 200;
    }
    count
}
