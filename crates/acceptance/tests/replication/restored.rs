//! One of two writing servers is restored from a backup, and the other one has what it wrote since.

use std::process::Command;

use ironbark_testkit::{Flavor, Server, wait};

use crate::{PEOPLE, change, content};

fn restore(server: &Server, backup: &std::path::Path, options: &[&str]) {
    let output = Command::new(Flavor::Ironbark.program().unwrap())
        .args(["restore", "-f"])
        .arg(server.config_path())
        .args(options)
        .arg(backup)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Two servers that write and follow each other.
fn writers() -> [Server; 2] {
    let config = |id: u16| Server::people_config(&format!("serverID {id}"), "#consumer\noverlay syncprov\n");
    let mut servers = [1, 2].map(|id| Server::prepare(Flavor::Ironbark, &config(id)).unwrap());
    let urls = servers.each_ref().map(Server::url);
    for (server, other) in servers.iter_mut().zip(urls.iter().rev()) {
        let lines = format!(
            "syncrepl rid=001 provider={other} bindmethod=simple binddn=cn=Manager,dc=example,dc=com \
             credentials=secret searchbase=dc=example,dc=com retry=\"1 +\" type=refreshAndPersist\nmultiprovider on\n"
        );
        let config = std::fs::read_to_string(server.config_path()).unwrap();
        std::fs::write(server.config_path(), config.replace("#consumer", &lines)).unwrap();
        server.launch().unwrap();
    }
    servers
}

fn assert_equal(servers: &[Server; 2]) {
    let same = wait::until(|| (content(&servers[0]) == content(&servers[1])).then_some(()));
    let [one, other] = servers.each_ref().map(content);
    assert!(
        same.is_some(),
        "one:\n{one}\nother:\n{other}\nlog:\n{}",
        servers[0].log()
    );
}

#[test]
fn it_gets_its_own_lost_changes_back_before_it_takes_new_ones() {
    let mut servers = writers();
    servers[0].ldapadd(PEOPLE).unwrap().success().unwrap();
    assert_equal(&servers);
    let backup = servers[0].layout().make_dir("backup").unwrap();
    let made = Command::new(Flavor::Ironbark.program().unwrap())
        .args(["backup", "-f"])
        .arg(servers[0].config_path())
        .arg(&backup)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    change(&servers[0], 1);
    assert_equal(&servers);
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
    servers[1].launch().unwrap();
    let taken = wait::until(|| (servers[0].ldapmodify(one).unwrap().code() == Some(0)).then_some(()));
    assert!(taken.is_some(), "{}", servers[0].log());
    assert_equal(&servers);
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
