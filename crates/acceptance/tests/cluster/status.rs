//! `ironbark cluster status`.

use ironbark_testkit::{Etcd, Server, wait};

use crate::cluster::{TOP, assert_equal, common::ironbark, copies::begun, joining::spoil, node, nodes};

/// The exit status, and what is shown.
fn status(server: &Server) -> (Option<i32>, String) {
    let config = server.config_path().display().to_string();
    let output = ironbark(&["cluster", "status", "-f", &config]);
    let shown = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(shown).unwrap())
}

#[test]
fn the_status_shows_log_members_and_servers() {
    let mut etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    let shown = wait::until(|| {
        let (code, text) = status(&all[0]);
        (code == Some(0) && text.matches("  has change 2, digest ").count() == 2).then_some(text)
    });
    let shown = shown.unwrap_or_else(|| status(&all[0]).1);
    assert!(
        shown.starts_with("dc=example,dc=com\n  log       ends with change 2, digest "),
        "{shown}"
    );
    assert!(shown.contains("; from change 1 on; generation "), "{shown}");
    let digests = shown.split("digest ").skip(1).map(|rest| &rest[..8]);
    let digests: std::collections::BTreeSet<_> = digests.collect();
    assert_eq!(digests.len(), 1, "{shown}");
    assert!(shown.contains(&format!("  etcd      {}  3.", etcd.urls())), "{shown}");
    assert!(shown.contains(", leads, 0 MiB in use\n"), "{shown}");
    etcd.kill(0).unwrap();
    let (code, text) = status(&all[0]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
}

#[test]
fn a_server_that_is_not_ready_is_shown_as_one() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 1);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    spoil(&etcd);
    let shown = wait::until(|| {
        let (code, text) = status(&all[0]);
        (code == Some(1) && text.contains("  is not ready; it has change 2; its log says why\n")).then_some(())
    });
    assert!(shown.is_some(), "{}", status(&all[0]).1);
}

/// The servers, a line each.
fn servers(shown: &str) -> Vec<&str> {
    let lines = shown.lines().map(str::trim);
    lines.filter_map(|line| line.strip_prefix("server    ")).collect()
}

#[test]
fn a_server_has_one_line_however_often_it_starts_or_gets_a_copy() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = vec![begun(&etcd), node(&etcd, "")];
    all[1].wait_for_log("is in place").unwrap();
    assert_equal(&all);
    let are_well = |all: &[Server]| {
        wait::until(|| {
            let (code, text) = status(&all[0]);
            (code == Some(0) && servers(&text).len() == 2 && text.matches("  has change ").count() == 2).then_some(())
        })
    };
    assert!(are_well(&all).is_some(), "{}", status(&all[0]).1);
    for _ in 0..2 {
        all[1].stop().unwrap();
        all[1].launch().unwrap();
    }
    all[1].kill().unwrap();
    all[1].launch().unwrap();
    assert!(are_well(&all).is_some(), "{}", status(&all[0]).1);
}

#[test]
fn a_server_that_was_stopped_says_so_and_without_any_all_is_not_well() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    // What a server has told of its place comes later than its entries.
    let both = wait::until(|| {
        let (code, text) = status(&all[0]);
        (code == Some(0) && text.matches("  has change 2, digest ").count() == 2).then_some(())
    });
    assert!(both.is_some(), "{}", status(&all[0]).1);
    all[1].stop().unwrap();
    let (code, text) = status(&all[0]);
    assert_eq!(code, Some(0), "{text}");
    let stopped = servers(&text)
        .iter()
        .filter(|line| line.contains("was stopped "))
        .count();
    assert_eq!((servers(&text).len(), stopped), (2, 1), "{text}");
    all[0].stop().unwrap();
    let (code, text) = status(&all[0]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("  server    none is running\n"), "{text}");
}

#[test]
fn a_database_without_a_cluster_has_no_status() {
    let etcd = Etcd::start(1).unwrap();
    let server = node(&etcd, "");
    let file = server.layout().join("alone.conf");
    let text = std::fs::read_to_string(server.config_path()).unwrap();
    let alone = text.replacen("\ncluster", "\n#", 1);
    std::fs::write(&file, alone).unwrap();
    let output = ironbark(&["cluster", "status", "-f", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("part of no cluster"), "{said}");
}
