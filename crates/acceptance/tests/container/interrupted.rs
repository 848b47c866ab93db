//! A first start that is killed at any moment leaves what the next start makes whole.

use std::fs;

use ironbark_testkit::wait::until;
use nix::sys::signal::Signal;

use super::running::Container;

/// A container with a folder of LDIF that takes a while.
fn container() -> Container {
    let mut container = Container::bitnami(&[]);
    let folder = container.layout.make_dir("ldifs").unwrap();
    container.set("LDAP_CUSTOM_LDIF_DIR", folder.to_str().unwrap());
    let root = "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: x\n\n\
        dn: olcDatabase={2}mdb,cn=config\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: serialNumber eq\n";
    container.layout.write("ldifs/00.ldif", root).unwrap();
    let entries: Vec<String> = (0..600)
        .map(|number| format!("dn: cn={number},dc=example,dc=org\nobjectClass: device\ncn: {number}\n\n"))
        .collect();
    container.layout.write("ldifs/01.ldif", entries.concat()).unwrap();
    container
}

fn assert_whole(container: &mut Container) {
    container.start();
    let names = container.search(&["-b", "dc=example,dc=org", "1.1"]);
    assert_eq!(names.matches("dn: ").count(), 601);
    let database = fs::read_to_string(container.data("slapd.d/cn=config/olcDatabase={2}mdb.ldif")).unwrap();
    assert_eq!(database.matches("serialNumber").count(), 1, "{database}");
    assert!(!container.data(".ironbark-first-start").exists());
}

#[test]
fn kill_9_at_any_moment_of_the_first_start_is_made_good() {
    // Each file appears at another step.
    for step in [
        ".ironbark-first-start",
        "slapd.d/cn=config.ldif",
        "database/data.mdb",
        ".ironbark-container.json",
    ] {
        let mut container = container();
        container.spawn();
        until(|| container.data(step).exists().then_some(())).unwrap_or_else(|| panic!("{step}: {}", container.log()));
        container.signal(Signal::SIGKILL);
        container.wait();
        assert_whole(&mut container);
    }
}

#[test]
fn sigterm_stops_a_first_start() {
    let mut container = container();
    container.spawn();
    until(|| container.data("database/data.mdb").exists().then_some(())).unwrap();
    container.signal(Signal::SIGTERM);
    container.wait();
    assert_whole(&mut container);
}
