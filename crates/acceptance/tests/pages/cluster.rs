//! docs/cluster.md: clusters over an etcd of the test.

use ironbark_testkit::{Etcd, Flavor, Server, Tool, wait};

use super::{
    elsewhere::elsewhere,
    page::{Block, Section},
    sandbox::Sandbox,
    whole::{ADMIN, TOP, add, assert_taken, find, person, whole},
};

/// The members of etcd that the page names.
const MEMBERS: &str = "http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379";

/// The configuration of a database of a cluster, with the etcd of the test.
fn database(settings: &Block, etcd: &Etcd) -> String {
    whole(&settings.with(&[(MEMBERS, &etcd.urls()[..]), ("/var/lib/ldap", "{dir}/db")]))
}

pub(crate) fn a_database(section: &Section) {
    let [settings] = section.blocks();
    assert_taken(&whole(&settings.with(&[("/var/lib/ldap", "{dir}/db")])));
    let etcd = Etcd::start(1).unwrap();
    let configuration = database(&settings, &etcd);
    let [one, other] = [(); 2].map(|()| Server::start(Flavor::Ironbark, &configuration).unwrap());
    add(&one, TOP);
    add(&one, &person("ann", ""));
    let arguments = ["-b", "dc=example,dc=com", "(uid=ann)", "1.1"];
    let found = || other.client("ldapsearch", &ADMIN, &arguments, "").unwrap().stdout;
    let came = wait::until(|| found().contains("uid=ann").then_some(()));
    assert!(came.is_some(), "{}\n{}", one.log(), other.log());
}

pub(crate) fn copies_by_hand(section: &Section) {
    let [commands] = section.blocks();
    let lines = commands.lines();
    let [backup, restore] = &lines[..] else {
        panic!("two commands expected: {lines:?}");
    };
    let [settings] = Section::read("docs/cluster.md", "Clusters").blocks();
    let etcd = Etcd::start(1).unwrap();
    let configuration = database(&settings, &etcd);
    let running = Server::start(Flavor::Ironbark, &configuration).unwrap();
    add(&running, TOP);
    let mut new = Server::prepare(Flavor::Ironbark, &configuration).unwrap();
    let sandbox = Sandbox::new();
    sandbox.layout.make_dir("srv").unwrap();
    let command = |line: &str, server: &Server| {
        let line = line.replace("/srv/copy", "srv/copy");
        let done = sandbox.shell(&line.replace("slapd.conf", &server.config_path().display().to_string()));
        assert_eq!(done.code, Some(0), "{line}: {done:?}");
    };
    command(backup, &running);
    command(restore, &new);
    new.launch().unwrap();
    assert!(find(&new, "(dc=example)", &["1.1"]).contains("dn: dc=example,dc=com"));
}

pub(crate) fn one_configuration(section: &Section) {
    let [settings] = section.blocks();
    let etcd = Etcd::start(1).unwrap();
    let settings = settings.with(&[(MEMBERS, &etcd.urls()[..]), ("rootpw ...", "rootpw config")]);
    let start = || {
        let server = Server::prepare(Flavor::Ironbark, &settings.text).unwrap();
        let folder = server.layout().make_dir("slapd.d").unwrap();
        server
            .tool(Tool::Test, &["-F", &folder.display().to_string()], "")
            .unwrap()
            .success()
            .unwrap();
        let mut server = server.from_directory(folder);
        server.launch().unwrap();
        server
    };
    let (one, other) = (start(), start());
    let config = ironbark_testkit::Credentials::Simple {
        dn: "cn=config",
        password: "config",
    };
    let change = "dn: cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: 77\n";
    let changed =
        wait::until(|| (one.client("ldapmodify", &config, &[], change).unwrap().code() == Some(0)).then_some(()));
    assert!(changed.is_some(), "{}", one.log());
    let arguments = ["-b", "cn=config", "-s", "base", "olcSizeLimit"];
    let found = || other.client("ldapsearch", &config, &arguments, "").unwrap().stdout;
    let came = wait::until(|| found().contains("olcSizeLimit: 77\n").then_some(()));
    assert!(came.is_some(), "{}\n{}", found(), other.log());
}

pub(crate) fn status(section: &Section) {
    let [command] = section.blocks();
    let [settings] = Section::read("docs/cluster.md", "Clusters").blocks();
    let etcd = Etcd::start(1).unwrap();
    let server = Server::start(Flavor::Ironbark, &database(&settings, &etcd)).unwrap();
    add(&server, TOP);
    let command = command.with(&[("slapd.conf", server.config_path().display().to_string())]);
    let sandbox = Sandbox::new();
    let shown = wait::until(|| Some(sandbox.run(&command)).filter(|done| done.code == Some(0)));
    let shown = shown.unwrap_or_else(|| panic!("{:?}", sandbox.run(&command)));
    assert!(
        shown.stdout.contains("digest") && shown.stdout.contains(&etcd.urls()),
        "{shown:?}"
    );
}

pub(crate) fn faults(section: &Section) {
    let [command] = section.blocks();
    elsewhere(
        &command,
        "it takes an hour; crates/acceptance/tests/cluster has each fault once",
        &[],
    );
}
