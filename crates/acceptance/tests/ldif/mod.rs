//! `database ldif`: files that Debian's slapd and our server serve in turn, and the possible operations on them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use crate::common;
mod configuration;
mod crash;
mod files;
mod operations;
mod tools;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ironbark_testkit::{NormalizedLdif, Server, Tool};

/// The usual server on files, with these settings of the database.
fn config(settings: &str) -> String {
    let people = Server::PEOPLE_CONFIG.replace("database mdb", "database ldif");
    people.replace("index objectClass,cn,uid eq\n", &format!("{settings}\n"))
}

/// Where the files are.
fn folder(server: &Server) -> PathBuf {
    server.layout().join("db")
}

/// The files of entries, by their path below the directory.
fn files(server: &Server) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(&folder(server), &folder(server), &mut found);
    found
}

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(top, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "ldif") {
            let name = path.strip_prefix(top).unwrap().display().to_string();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// Names and contents, without parts that differ from server to server.
fn comparable(files: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, content) in files {
        let mut lines = content.lines();
        assert_eq!(
            lines.next(),
            Some("# AUTO-GENERATED FILE - DO NOT EDIT!! Use ldapmodify."),
            "{name}"
        );
        let content = NormalizedLdif::new(content).without(&NormalizedLdif::VOLATILE).sorted();
        text.push_str(&["== ", name, "\n", &content.to_string()].concat());
    }
    text
}

/// Gives `to` the files of `from`. Neither server runs.
fn hand_over(from: &Server, to: &Server) {
    fs::remove_dir_all(folder(to)).unwrap();
    fs::create_dir(folder(to)).unwrap();
    for (name, content) in files(from) {
        let path = folder(to).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The output of slapcat, record by record.
fn dump(server: &Server) -> String {
    let outcome = server.tool(Tool::Cat, &["-o", "ldif-wrap=no"], "").unwrap();
    outcome.success().unwrap().stdout
}

/// A small tree.
const TREE: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
    dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n\
    dn: ou=staff,ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: staff\n\n\
    dn: uid=ann,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: ann\ncn: Ann\nsn: Lee\nuserPassword: secret\n\n\
    dn: uid=bob,ou=staff,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: bob\ncn: Bob\nsn: Ray\n";
