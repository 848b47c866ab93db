//! Links that are cut without a word, and clocks that are wrong by days.

use ironbark_testkit::{Credentials, Etcd, Server};

use crate::{
    TOP, assert_equal, person,
    trial::{MEMBERS, NODES, clients::say, clock::WallClock, lab::Lab, members, node},
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
