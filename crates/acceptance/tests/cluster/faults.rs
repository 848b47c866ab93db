//! Nodes and members of etcd that end, hang, and come back.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use ironbark_testkit::{Credentials, Etcd, Flavor, Server, outage::crash_of_machine, wait};
use nix::sys::signal::Signal;

use crate::cluster::{
    TOP, assert_equal,
    common::succeed,
    configuration,
    copies::{element, sent},
    count, node, nodes, person, random_letters,
};

/// Adds people until it is told to end. Returns the names of those whose addition was acknowledged.
fn add_until(server: &Server, name: &str, ends: &AtomicBool) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        let uid = format!("{name}{number:04}");
        let outcome = server.ldapadd(&person(&uid)).unwrap();
        if outcome.code() == Some(0) {
            acknowledged.push(uid);
        }
    }
    acknowledged
}

/// Commits are not flushed: what a crash takes is in the log.
#[test]
fn when_all_machines_crash_at_once_nothing_acknowledged_is_lost() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    for round in 0..2 {
        for (number, server) in all.iter().enumerate() {
            let people: String = (0..15).map(|one| person(&format!("r{round}n{number}p{one}"))).collect();
            server.ldapadd(&people).unwrap().success().unwrap();
        }
        for server in &mut all {
            server.kill().unwrap();
            assert!(crash_of_machine(&server.layout().join("db")).unwrap());
        }
        for server in &mut all {
            server.launch().unwrap();
        }
        assert_equal(&all);
        assert_eq!(count(&all[0], "r"), 30 * (round + 1));
    }
    assert!(all[0].log().contains("as at its last checkpoint"), "{}", all[0].log());
}

/// `cp` keeps the inode of the file, and the time when it was made.
#[test]
fn a_backup_that_is_copied_over_the_database_of_a_crashed_machine_is_served() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].ldapadd(&person("before")).unwrap().success().unwrap();
    assert_equal(&all);
    let backup = all[1].layout().join("copy.mdb");
    let [config, copy] = [all[1].config_path(), backup.clone()].map(|path| path.display().to_string());
    succeed(&["backup", "-f", &config, &copy]);
    let people: String = (0..15).map(|one| person(&format!("p{one}"))).collect();
    all[1].ldapadd(&people).unwrap().success().unwrap();
    all[1].kill().unwrap();
    let folder = all[1].layout().join("db");
    assert!(crash_of_machine(&folder).unwrap());
    fs::copy(&backup, folder.join("data.mdb")).unwrap();
    all[1].launch().unwrap();
    assert_equal(&all);
    assert_eq!((count(&all[1], "p"), count(&all[1], "before")), (15, 1));
    let log = all[1].log();
    assert!(log.contains("belongs to another data.mdb"), "{log}");
    assert!(!log.contains("as at its last checkpoint"), "{log}");
    assert!(folder.join("checkpoint-aside.mdb").exists());
}

fn has(server: &Server, uid: &str) -> bool {
    count(server, uid) == 1
}

#[test]
fn nothing_acknowledged_is_lost_when_a_node_is_killed_among_writes() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 3);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let ends = AtomicBool::new(false);
    let mut third = all.pop().unwrap();
    let acknowledged = thread::scope(|scope| {
        let writers: Vec<_> = all
            .iter()
            .zip(["a", "b"])
            .map(|(server, name)| scope.spawn(|| add_until(server, name, &ends)))
            .collect();
        for round in 0..3 {
            let people: String = (0..10).map(|number| person(&format!("c{round}-{number}"))).collect();
            third.ldapadd(&people).unwrap().success().unwrap();
            third.kill().unwrap();
            third.launch().unwrap();
        }
        ends.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect::<Vec<_>>()
    });
    all.push(third);
    assert_equal(&all);
    assert_eq!(count(&all[0], "c"), 30);
    assert!(!acknowledged.is_empty());
    for uid in acknowledged {
        assert!(has(&all[2], &uid), "{uid}");
    }
}

#[test]
fn a_node_that_was_away_takes_what_it_has_missed() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    all[1].stop().unwrap();
    for number in 0..5 {
        let people: String = (0..40).map(|one| person(&format!("p{number}-{one}"))).collect();
        all[0].ldapadd(&people).unwrap().success().unwrap();
    }
    all[1].launch().unwrap();
    assert_equal(&all);
}

/// Checkpoints of the database of a server that runs.
fn checkpoints(server: &Server) -> u64 {
    let records = fs::read(server.layout().join("db/checkpoint.mdb")).unwrap();
    let number = |place: usize| u64::from_ne_bytes(*records[place + 8..].first_chunk().unwrap());
    number(0).max(number(4_096))
}

/// Until a checkpoint, pages that commits replace are not used again, and the file grows by all that is written.
#[test]
fn a_node_that_catches_up_makes_checkpoints_meanwhile() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    all[1].stop().unwrap();
    let photo = all[0].layout().join("photo");
    fs::write(&photo, vec![0; 1 << 20]).unwrap();
    let photo = format!("jpegPhoto:< file://{}\n\n", photo.display());
    let people: String = (0..25)
        .map(|one| person(&format!("p{one}")).replace("\n\n", &format!("\n{photo}")))
        .collect();
    all[0].ldapadd(&people).unwrap().success().unwrap();
    all[1].launch().unwrap();
    assert!(wait::until(|| (count(&all[1], "p") == 25).then_some(())).is_some());
    // 25 MB have come, and one is made for every four.
    assert!(checkpoints(&all[1]) >= 5, "{}", checkpoints(&all[1]));
}

#[test]
fn without_etcd_nodes_answer_searches_and_refuse_writes_until_it_is_back() {
    let mut etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    etcd.signal(0, Signal::SIGSTOP).unwrap();
    let hung = all[0].ldapadd(&person("hung")).unwrap();
    assert_eq!(hung.code(), Some(52), "{}", hung.stderr);
    assert!(hung.stderr.contains("outcome unknown"), "{}", hung.stderr);
    assert_eq!(count(&all[0], "p"), 0);
    etcd.signal(0, Signal::SIGCONT).unwrap();
    etcd.kill(0).unwrap();
    let gone = all[1].ldapadd(&person("gone")).unwrap();
    assert_eq!(gone.code(), Some(51), "{}", gone.stderr);
    let root = all[1].client("ldapwhoami", &Credentials::ROOT, &[], "").unwrap();
    root.success().unwrap();
    etcd.launch(0).unwrap();
    etcd.wait_for_answer().unwrap();
    let back = wait::until(|| (all[1].ldapadd(&person("back")).ok()?.code() == Some(0)).then_some(()));
    assert!(back.is_some());
    assert_equal(&all);
    assert_eq!(count(&all[0], "gone"), 0, "it was refused for certain");
}

/// Octets that a member of etcd has received and not read.
fn unread(etcd: &Etcd) -> usize {
    let url = etcd.url(0);
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let received = sockets.lines().filter_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let (local, queues) = (columns.next()?, columns.nth(2)?);
        let (_, received) = queues.split_once(':')?;
        let is_of_member = u16::from_str_radix(local.rsplit(':').next()?, 16) == Ok(port);
        is_of_member.then(|| usize::from_str_radix(received, 16).unwrap())
    });
    received.sum()
}

#[test]
fn a_write_that_waits_for_etcd_is_dropped_with_its_connection() {
    let etcd = Etcd::start(1).unwrap();
    let server = node(&etcd, "");
    server.ldapadd(TOP).unwrap().success().unwrap();
    server.ldapadd(&person("stays")).unwrap().success().unwrap();
    etcd.signal(0, Signal::SIGSTOP).unwrap();
    let server = &server;
    thread::scope(|scope| {
        let letters = String::from_utf8(random_letters(20_000)).unwrap();
        let long = person("hung").trim_end().to_owned() + "\ndescription: " + &letters + "\n";
        let hangs = scope.spawn(move || server.ldapadd(&long).unwrap());
        // Its batch is under way; what comes now is not in it.
        assert!(wait::until(|| (unread(&etcd) > 10_000).then_some(())).is_some());
        let delete = element(0x4a, &[b"uid=stays,ou=people,dc=example,dc=com"]);
        let leaves = sent(server, &[delete]);
        server.wait_for_log("DEL dn=\"uid=stays").unwrap();
        let lost = || server.log().matches("closed (connection lost)").count();
        let before = lost();
        drop(leaves);
        assert!(wait::until(|| (lost() > before).then_some(())).is_some());
        etcd.signal(0, Signal::SIGCONT).unwrap();
        let hung = hangs.join().unwrap();
        assert!(matches!(hung.code(), Some(0 | 52)), "{}", hung.stderr);
    });
    // It comes behind everything that waited.
    server.ldapadd(&person("later")).unwrap().success().unwrap();
    assert_eq!(count(server, "stays"), 1, "{}", server.log());
}

#[test]
fn writes_go_on_when_the_leader_of_etcd_is_killed() {
    let mut etcd = Etcd::start(3).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    for member in 0..3 {
        etcd.kill(member).unwrap();
        let name = format!("m{member}");
        let outcome = all[member % 2].ldapadd(&person(&name)).unwrap();
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        etcd.launch(member).unwrap();
        etcd.wait_for_answer().unwrap();
    }
    assert_equal(&all);
    assert_eq!(count(&all[1], "m"), 3);
}

#[test]
fn a_node_that_hangs_does_not_hold_up_the_others() {
    let etcd = Etcd::start(1).unwrap();
    let all = [node(&etcd, ""), node(&etcd, "")];
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let hangs = scope.spawn(|| add_until(&all[1], "b", &ends));
        assert!(wait::until(|| (count(&all[0], "b") > 3).then_some(())).is_some());
        all[1].signal(Signal::SIGSTOP).unwrap();
        let people: String = (0..20).map(|number| person(&format!("a{number}"))).collect();
        all[0].ldapadd(&people).unwrap().success().unwrap();
        all[1].signal(Signal::SIGCONT).unwrap();
        ends.store(true, Ordering::Relaxed);
        for uid in hangs.join().unwrap() {
            assert!(wait::until(|| has(&all[0], &uid).then_some(())).is_some(), "{uid}");
        }
    });
    assert_equal(&all);
}

#[test]
fn the_log_in_etcd_stays_in_its_room_and_who_was_away_too_long_is_told() {
    let etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, "").replace("timeout=3", "timeout=3 room=1");
    let mut all: Vec<_> = (0..3)
        .map(|_| Server::start(Flavor::Ironbark, &config).unwrap())
        .collect();
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    all[2].stop().unwrap();
    let mut digits = random_letters(300_000);
    for number in 0..12 {
        digits.rotate_left(1);
        let text = String::from_utf8(digits.clone()).unwrap();
        let long = format!("{}\ndescription: {text}\n", person(&format!("p{number}")).trim_end());
        all[number % 2].ldapadd(&long).unwrap().success().unwrap();
    }
    let begun = wait::until(|| {
        all[..2]
            .iter()
            .any(|one| one.log().contains("begins behind change"))
            .then_some(())
    });
    assert!(begun.is_some());
    all[0].ldapadd(&person("later")).unwrap().success().unwrap();
    assert_equal(&all[..2]);
    all[2].launch().unwrap();
    all[2].wait_for_log("needs a copy").unwrap();
    let refused = all[2].ldapadd(&person("refused")).unwrap();
    assert_eq!(refused.code(), Some(52), "{}", refused.stderr);
}

/// Each of the servers looks at the room that etcd takes. What one has deleted takes room until etcd has forgotten it.
#[test]
fn of_a_log_that_is_too_long_the_older_half_goes_once() {
    let etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, "").replace("timeout=3", "timeout=3 room=1");
    let all: Vec<_> = (0..3)
        .map(|_| Server::start(Flavor::Ironbark, &config).unwrap())
        .collect();
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let cuts = || -> usize {
        let logs = all.iter().map(|one| one.log().matches("begins behind change").count());
        logs.sum()
    };
    let letters = String::from_utf8(random_letters(30_000)).unwrap();
    let mut number = 0;
    while cuts() == 0 {
        let long = format!("{}\ndescription: {letters}\n", person(&format!("p{number}")).trim_end());
        all[0].ldapadd(&long).unwrap().success().unwrap();
        number += 1;
        assert!(number < 1000);
    }
    let in_use = || -> Option<u64> {
        let status = etcd
            .etcdctl(&["endpoint", "status", "--write-out=json"])
            .unwrap()
            .stdout;
        let (_, rest) = status.split_once("\"dbSizeInUse\":")?;
        let digits = rest.split(|one: char| !one.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    // etcd shows with later writes what it has forgotten.
    let mut later = 0;
    let has_room = || {
        later += 1;
        all[0]
            .ldapadd(&person(&format!("later{later}")))
            .unwrap()
            .success()
            .unwrap();
        in_use().filter(|octets| *octets < 1 << 20)
    };
    assert!(wait::until(has_room).is_some(), "{:?}", in_use());
    let log = etcd.etcdctl(&["get", "--prefix", "--keys-only", "/ironbark/dc=example,dc=com/log/"]);
    let left = log.unwrap().stdout.matches("/log/").count();
    // One that comes first may cut once more before etcd shows that it need not.
    assert!(left * 5 > number, "{left} of {number}, {} cuts", cuts());
}

#[test]
fn writes_are_slow_while_etcd_takes_much_more_than_its_room() {
    let etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, "").replace("timeout=3", "timeout=3 room=1");
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    server.ldapadd(TOP).unwrap().success().unwrap();
    // What others have there is not deleted.
    let letters = String::from_utf8(random_letters(100_000)).unwrap();
    for number in 0..20 {
        let put = etcd.etcdctl(&["put", &format!("/other/{number}"), &letters]).unwrap();
        put.success().unwrap();
    }
    server.wait_for_log("writes are slowed down").unwrap();
    server.ldapadd(&person("ann")).unwrap().success().unwrap();
    let deleted = etcd.etcdctl(&["del", "--prefix", "/other/"]).unwrap();
    deleted.success().unwrap();
    let ends = || {
        // etcd shows with later writes what it has forgotten.
        let touched = etcd.etcdctl(&["put", "/other/later", "x"]).unwrap();
        touched.success().unwrap();
        server.log().contains("no longer slowed down").then_some(())
    };
    assert!(wait::until(ends).is_some(), "{}", server.log());
}

#[test]
fn a_node_without_room_is_left_behind_and_follows_again_when_it_has_some() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = vec![node(&etcd, ""), node(&etcd, "maxsize 1048576")];
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    let letters = String::from_utf8(random_letters(300_000)).unwrap();
    for number in 0..5 {
        let long = format!("{}\ndescription: {letters}\n", person(&format!("p{number}")).trim_end());
        all[0].ldapadd(&long).unwrap().success().unwrap();
    }
    all[1].wait_for_log("cannot be applied").unwrap();
    let refused = all[1].ldapadd(&person("refused")).unwrap();
    assert_eq!(refused.code(), Some(52), "{} {}", refused.stderr, all[1].log());
    assert!(refused.stderr.contains("cannot apply"), "{}", refused.stderr);
    all[0].ldapadd(&person("later")).unwrap().success().unwrap();
    all[1].stop().unwrap();
    let config = fs::read_to_string(all[1].config_path()).unwrap();
    fs::write(all[1].config_path(), config.replace("maxsize 1048576", "")).unwrap();
    all[1].launch().unwrap();
    assert_equal(&all);
    assert_eq!(count(&all[1], "p"), 5);
}
