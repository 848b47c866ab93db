//! docs/packages.md: scripts/packages runs these commands in clean systems, as root. Here programs, options and names
//! are checked.

use super::{
    elsewhere::elsewhere,
    page::{self, Section},
};

const REASON: &str = "it needs root and changes the machine: scripts/packages/scenarios.sh does it";

pub(crate) fn new_directory(section: &Section) {
    let [install, answers, searches] = section.blocks();
    elsewhere(&install, REASON, &["apt-get"]);
    let templates = page::text("packaging/debian/ironbark-slapd.templates");
    let questions = answers
        .text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1).filter(|word| word.contains('/')));
    let questions: Vec<&str> = questions.collect();
    assert_eq!(questions.len(), 4, "{answers:?}");
    for question in questions {
        assert!(
            templates.contains(&format!("Template: {question}\n")),
            "no question {question}"
        );
    }
    elsewhere(&searches, REASON, &["ldapsearch"]);
}

pub(crate) fn takeover(section: &Section) {
    let [check, install, export, purge] = section.blocks();
    elsewhere(&check, REASON, &["apt-get"]);
    elsewhere(&install, REASON, &["apt-get"]);
    elsewhere(&export, REASON, &["systemctl", "apt-get"]);
    elsewhere(&purge, REASON, &["echo"]);
}

pub(crate) fn way_back(section: &Section) {
    let [commands] = section.blocks();
    elsewhere(&commands, REASON, &["apt-get", "/var/backups/back/load"]);
    assert!(
        page::text("packaging/debian/slapd-takeover").contains("/load"),
        "{REASON}"
    );
}

pub(crate) fn service(section: &Section) {
    let [commands] = section.blocks();
    elsewhere(&commands, "scripts/packages/under-systemd.sh does it", &["systemctl"]);
}

pub(crate) fn tarball(section: &Section) {
    let [commands] = section.blocks();
    elsewhere(
        &commands,
        "the tarball is built without the network of a test",
        &["tar"],
    );
}
