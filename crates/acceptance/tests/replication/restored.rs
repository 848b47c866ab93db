//! One of two writing servers is restored from a backup, and the other one has what it wrote since.

use std::process::Command;

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{
    PEOPLE,
    accesslog::logging,
    change, content,
    mesh::{all_others, assert_equal, first_content, servers},
};

fn restore(server: &Server, backup: &std::path::Path, options: &[&str]) {
    run("restore", server, backup, options);
}

fn run(command: &str, server: &Server, backup: &std::path::Path, options: &[&str]) {
    let output = Command::new(Flavor::Ironbark.program().unwrap())
        .args([command, "-f"])
        .arg(server.config_path())
        .args(options)
        .arg(backup)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn it_gets_its_own_lost_changes_back_before_it_takes_new_ones() {
    let mut servers = servers(&[Flavor::Ironbark; 2], all_others(2), "multiprovider on\nlastbind on\n");
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    let user = "dn: cn=user,ou=others,dc=example,dc=com\nobjectClass: person\nsn: s\nuserPassword: secret\n";
    servers[0].ldapadd(user).unwrap().success().unwrap();
    assert_equal(&servers, "equal");
    let backup = servers[0].layout().make_dir("backup").unwrap();
    run("backup", &servers[0], &backup, &[]);
    change(&servers[0], 1);
    assert_equal(&servers, "equal");
    let before = content(&servers[1]);
    for server in &mut servers {
        server.stop().unwrap();
    }
    let directory = servers[0].layout().join("db");
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::create_dir(&directory).unwrap();
    restore(&servers[0], &backup, &[]);
    servers[0].launch().unwrap();
    let one = "dn: cn=one,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n";
    let refused = servers[0].ldapmodify(one).unwrap();
    assert_eq!(refused.code(), Some(51), "{refused:?}");
    assert!(refused.stderr.contains("restored from a copy"), "{refused:?}");
    // Users log in meanwhile, and what that records is not taken for a change.
    let log_in = |server: &Server| {
        let user = Credentials::Simple {
            dn: "cn=user,ou=others,dc=example,dc=com",
            password: "secret",
        };
        server.client("ldapwhoami", &user, &[], "").unwrap().success().unwrap();
    };
    log_in(&servers[0]);
    servers[1].launch().unwrap();
    let taken = wait::until(|| (servers[0].ldapmodify(one).unwrap().code() == Some(0)).then_some(()));
    assert!(taken.is_some(), "{}", servers[0].log());
    // From now on the other server hears of it.
    log_in(&servers[0]);
    assert_equal(&servers, "equal");
    let names = |text: &str| text.lines().filter(|line| line.starts_with("dn: ")).count();
    assert_eq!(names(&content(&servers[0])), names(&before) + 1, "nothing is lost");
    // A site whose servers are all gone.
    servers[0].stop().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::create_dir(&directory).unwrap();
    servers[1].stop().unwrap();
    restore(&servers[0], &backup, &["--alone"]);
    servers[0].launch().unwrap();
    servers[0].ldapmodify(one).unwrap().success().unwrap();
}

/// The place of overlay accesslog in the backup is that of another log.
#[test]
fn a_log_of_changes_that_lacks_some_of_a_restored_database_begins_anew() {
    let mut server = logging(Flavor::Ironbark, "");
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    server.stop().unwrap();
    let (log, older) = (server.layout().join("data.mdb"), server.layout().join("older"));
    std::fs::copy(&log, &older).unwrap();
    server.launch().unwrap();
    change(&server, 1);
    let backup = server.layout().make_dir("backup").unwrap();
    let main = ["-b", "dc=example,dc=com"];
    run("backup", &server, &backup, &main);
    server.stop().unwrap();
    std::fs::copy(&older, &log).unwrap();
    std::fs::remove_file(server.layout().join("db/data.mdb")).unwrap();
    restore(&server, &backup, &main);
    server.launch().unwrap();
    server.wait_for_log("begins anew").unwrap();
}
