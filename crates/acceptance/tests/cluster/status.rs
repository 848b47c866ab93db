//! `ironbark cluster status`.

use ironbark_testkit::{Etcd, Server, wait};

use crate::{TOP, assert_equal, common::ironbark, joining::spoil, node, nodes};

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
