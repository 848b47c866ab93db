//! A log that begins anew: etcd has lost its data, or a backup was restored.

use std::fs;

use ironbark_testkit::{Etcd, Server, wait};

use crate::cluster::{
    TOP, assert_equal,
    common::{ironbark, succeed},
    content, count,
    joining::filled,
    node, nodes, person,
};

const BASE: &str = "/ironbark/dc=example,dc=com";

fn config(server: &Server) -> String {
    server.config_path().display().to_string()
}

/// `ironbark cluster begin`: the exit status, and what it says.
fn begin(server: &Server, options: &[&str]) -> (Option<i32>, String) {
    let config = config(server);
    let output = ironbark(&[&["cluster", "begin", "-f", &config], options].concat());
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn forget(etcd: &Etcd, prefix: &str) {
    etcd.etcdctl(&["del", "--prefix", prefix]).unwrap().success().unwrap();
}

#[test]
fn an_etcd_that_has_lost_its_data_is_not_taken_for_a_new_one() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    let before = content(&all[0]);
    forget(&etcd, BASE);
    // They also find out while they run.
    for server in &all {
        let outcome = server.ldapadd(&person("ann")).unwrap();
        assert!(matches!(outcome.code(), Some(51 | 52)), "{}", outcome.stderr);
    }
    for server in &mut all {
        server.stop().unwrap();
        server.launch().unwrap();
        server.wait_for_log("etcd has no log, though").unwrap();
        let outcome = server.ldapadd(&person("ann")).unwrap();
        assert_eq!(outcome.code(), Some(52), "{}", outcome.stderr);
        assert_eq!(content(server), before);
    }
    let (code, said) = begin(&all[0], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.ends_with("the log begins with this database, at change 2\n"),
        "{said}"
    );
    // The servers that have the same go on as they are.
    for (server, uid) in all.iter().zip(["bob", "cid"]) {
        let goes_on = wait::until(|| (server.ldapadd(&person(uid)).ok()?.code() == Some(0)).then_some(()));
        assert!(goes_on.is_some(), "{}", server.log());
    }
    assert_equal(&all);
}

/// It may have fewer than others have had meanwhile.
#[test]
fn a_copy_without_changes_of_its_own_begins_no_log_either() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    first.launch().unwrap();
    let mut other = node(&etcd, "");
    other.wait_for_log("is in place").unwrap();
    let joined = wait::until(|| other.log().contains("the log is read up to").then_some(()));
    assert!(joined.is_some(), "{}", other.log());
    assert_eq!(count(&other, "ann"), 1);
    other.stop().unwrap();
    first.stop().unwrap();
    forget(&etcd, BASE);
    for server in [&mut other, &mut first] {
        server.launch().unwrap();
        server.wait_for_log("etcd has no log, though").unwrap();
    }
}

#[test]
fn a_cluster_goes_back_to_a_backup_on_all_servers() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    assert_equal(&all);
    let before = content(&all[1]);
    let backup = all[1].layout().join("backup.mdb").display().to_string();
    // One server's backup is that of the cluster, at one place of its log.
    succeed(&["backup", "-f", &config(&all[1]), &backup]);
    all[0].ldapadd(&person("bob")).unwrap().success().unwrap();
    assert_equal(&all);
    for server in &mut all {
        server.stop().unwrap();
    }
    fs::remove_file(all[0].layout().join("db/data.mdb")).unwrap();
    succeed(&["restore", "-f", &config(&all[0]), &backup]);
    let (code, said) = begin(&all[0], &[]);
    assert!(code == Some(1) && said.contains("--replace-log deletes it"), "{said}");
    let (code, said) = begin(&all[0], &["--replace-log"]);
    assert!(code == Some(1) && said.contains("stop all servers"), "{said}");
    // Half a minute later.
    forget(&etcd, &format!("{BASE}/node/"));
    let (code, said) = begin(&all[0], &["--replace-log"]);
    assert_eq!(code, Some(0), "{said}");
    all[0].launch().unwrap();
    all[0].ldapadd(&person("cid")).unwrap().success().unwrap();
    all[0].ldapadd(&person("dan")).unwrap().success().unwrap();
    // What came after the backup does not come back with another server.
    all[1].launch().unwrap();
    let refused = wait::until(|| all[1].log().contains("different changes").then_some(()));
    assert!(refused.is_some(), "{}", all[1].log());
    assert_eq!(count(&all[0], "bob"), 0);
    all[1].stop().unwrap();
    fs::remove_file(all[1].layout().join("db/data.mdb")).unwrap();
    all[1].launch().unwrap();
    assert_equal(&all);
    assert_eq!(count(&all[1], "bob"), 0);
    let (after, is_same) = (content(&all[1]), |line: &&str| !line.starts_with("contextCSN"));
    assert!(
        before.lines().filter(is_same).all(|line| after.contains(line)),
        "{before}\n====\n{after}"
    );
}

#[test]
fn an_empty_database_begins_no_log_by_hand() {
    let etcd = Etcd::start(1).unwrap();
    let server = nodes(&etcd, 1).remove(0);
    let (code, said) = begin(&server, &["--replace-log"]);
    assert!(code == Some(1) && said.contains("is empty"), "{said}");
}

/// It would serve nothing as the content of the cluster, while the one with the content refuses to write.
#[test]
fn an_empty_server_begins_no_log_where_another_has_changes_of_one() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 1);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].stop().unwrap();
    forget(&etcd, BASE);
    all[0].launch().unwrap();
    all[0].wait_for_log("etcd has no log, though").unwrap();
    all.push(node(&etcd, ""));
    all[1].wait_for_log("it has lost its data").unwrap();
    let outcome = all[1].ldapadd(TOP).unwrap();
    assert!(matches!(outcome.code(), Some(51 | 52)), "{}", outcome.stderr);
    let (code, said) = begin(&all[0], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_equal(&all);
}
