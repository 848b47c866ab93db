//! The log of changes through the programs: `ironbark changes`, `contextCSN` in dumps and loads, backup and restore.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::common::{PEOPLE, ironbark, succeed};
use ironbark_ldif::{Attributes, LdifChange, LdifReader, ModifyKind, NoFiles, RecordKind};
use ironbark_testkit::{Flavor, NormalizedLdif, Server, Tool};

/// Changes of each kind; the last one has binary values.
const CHANGES: &str = "\
dn: cn=Ann Lee,ou=people,dc=example,dc=com
changetype: modify
replace: sn
sn: Ray
-
delete: mail

dn: cn=Ann Lee,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=Ann\\, Ray
deleteoldrdn: 1
newsuperior: dc=example,dc=com

dn: cn=staff,dc=example,dc=com
changetype: delete

dn: cn=Ann\\2C Ray,dc=example,dc=com
changetype: modify
replace: jpegPhoto
jpegPhoto:: /9j/4A==
";

fn logged() -> Server {
    let config = format!("{}changelog-size 10000000\n", Server::PEOPLE_CONFIG);
    Server::prepare(Flavor::Ironbark, &config).unwrap()
}

fn changes(server: &Server, arguments: &[&str]) -> String {
    let config = server.config_path();
    succeed(&[&["changes", "-f", config.to_str().unwrap()][..], arguments].concat())
}

fn refused(server: &Server, arguments: &[&str]) -> String {
    let config = server.config_path();
    let output = ironbark(&[&["changes", "-f", config.to_str().unwrap()][..], arguments].concat());
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// Everything that slapcat prints.
fn whole(server: &Server) -> String {
    let arguments = ["-o", "ldif-wrap=no"];
    let text = server
        .tool(Tool::Cat, &arguments, "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    NormalizedLdif::new(&text).to_string()
}

fn context_csns(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("contextCSN: "));
    lines.map(str::to_owned).collect()
}

/// The CSNs of `# change` lines.
fn csns(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# change "));
    lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn what_is_shown_makes_a_copy_of_the_database() {
    let mut server = logged();
    server.launch().unwrap();
    let people = PEOPLE.replace("createTimestamp: 20200101000000Z\n", "");
    let people = people.replace("entryCSN: 20200101000000.000000Z#000000#003#000000\n", "");
    // Superiors first.
    let (first, rest) = people.split_once("# a comment\n").unwrap();
    let (ann, rest) = rest.split_once("\n\n").unwrap();
    server
        .ldapadd(&format!("{first}\n{rest}\n\n{ann}\n"))
        .unwrap()
        .success()
        .unwrap();
    server.ldapmodify(CHANGES).unwrap().success().unwrap();
    let text = changes(&server, &[]);
    assert_eq!(csns(&text).len(), 8);
    let source = whole(&server);
    assert_eq!(
        context_csns(&source),
        csns(&text).last().cloned().into_iter().collect::<Vec<_>>()
    );
    let mut copy = Entries::new();
    apply(&mut copy, &text);
    let mut expected = Entries::new();
    let vector = |line: &&str| !line.starts_with("contextCSN: ");
    apply(
        &mut expected,
        &source.lines().filter(vector).collect::<Vec<_>>().join("\n"),
    );
    assert!(
        expected.len() == 3 && expected.contains_key("cn=Ann\\2C Ray,dc=example,dc=com"),
        "{source}"
    );
    assert_eq!(copy, expected);
}

/// Attributes and values of entries.
type Entries = BTreeMap<String, BTreeSet<(String, Vec<u8>)>>;

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Makes the changes of a text, in the simplest way.
fn apply(entries: &mut Entries, text: &str) {
    let mut reader = LdifReader::new(text.as_bytes(), NoFiles);
    let pairs = |attributes: Attributes| {
        attributes
            .into_iter()
            .map(|(name, value)| (text_of(&name), value))
            .collect()
    };
    while let Some(record) = reader.read().unwrap() {
        let dn = text_of(&record.dn);
        let change = match record.kind {
            RecordKind::Content(attributes) => LdifChange::Add(attributes),
            RecordKind::Change { change, .. } => change,
        };
        match change {
            LdifChange::Add(attributes) => assert!(entries.insert(dn, pairs(attributes)).is_none()),
            LdifChange::Delete => assert!(entries.remove(&dn).is_some()),
            LdifChange::Modify(modifications) => {
                let entry = entries.get_mut(&dn).unwrap();
                for modification in modifications {
                    let name = text_of(&modification.attribute);
                    if modification.kind == ModifyKind::Replace {
                        entry.retain(|(held, _)| *held != name);
                    }
                    for value in modification.values {
                        let pair = (name.clone(), value);
                        let is_wrong = match modification.kind {
                            ModifyKind::Delete => !entry.remove(&pair),
                            _ => !entry.insert(pair),
                        };
                        assert!(!is_wrong, "{dn}: {name}");
                    }
                }
            }
            LdifChange::ModifyDn {
                new_rdn, new_superior, ..
            } => {
                let entry = entries.remove(&dn).unwrap();
                entries.insert(
                    format!("{},{}", text_of(&new_rdn), text_of(&new_superior.unwrap())),
                    entry,
                );
            }
        }
    }
}

#[test]
fn the_log_is_shown_from_a_csn_on_as_json_and_while_it_grows() {
    let mut server = logged();
    server.launch().unwrap();
    let suffix = PEOPLE.split_once("\n\n").unwrap().0;
    server.ldapadd(suffix).unwrap().success().unwrap();
    let modify = |value: &str| {
        let change = format!("dn: dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {value}\n");
        server.ldapmodify(&change).unwrap().success().unwrap();
    };
    modify("one");
    modify("two");
    let all = csns(&changes(&server, &[]));
    assert_eq!(all.len(), 3);
    assert_eq!(csns(&changes(&server, &["--since", &all[0]])), all[1..]);
    assert_eq!(changes(&server, &["--since", &all[2]]), "");
    let unknown = refused(&server, &["--since", "20200101000000.000000Z#000000#000#000000"]);
    assert!(unknown.contains("no longer has all changes after it"), "{unknown}");
    assert!(refused(&server, &["--since", "yesterday"]).contains("a CSN such as"));
    let config = server.config_path();
    let mut follower = Command::new(Flavor::Ironbark.program().unwrap())
        .args([
            "changes",
            "-f",
            config.to_str().unwrap(),
            "--json",
            "--follow",
            "--since",
            &all[1],
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let second = lines.next().unwrap();
    for part in [
        "\"number\":3",
        "\"kind\":\"modify\"",
        "\"author\":\"cn=Manager,dc=example,dc=com\"",
        "\"attribute\":\"description\",\"gone\":[\"one\"],\"type\":\"replace\",\"values\":[\"two\"]",
        &format!("\"csn\":\"{}\"", all[2]),
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
    modify("three");
    assert!(lines.next().unwrap().contains("\"gone\":[\"two\"]"));
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_database_without_a_log_says_so() {
    let server = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.slapadd(PEOPLE).unwrap();
    assert!(refused(&server, &[]).contains("changelog-size"));
}

#[test]
fn the_vector_goes_through_loads_dumps_and_backups() {
    let held = "20200101000000.000000Z#000000#00a#000000";
    let mut server = logged();
    let ldif = PEOPLE.replacen("o: Example\n", &format!("o: Example\ncontextCSN: {held}\n"), 1);
    server.slapadd(&ldif).unwrap();
    assert_eq!(context_csns(&whole(&server)), [held]);
    server.launch().unwrap();
    let change = "dn: dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: one\n";
    server.ldapmodify(change).unwrap().success().unwrap();
    let vector = context_csns(&whole(&server));
    assert_eq!(vector.len(), 2);
    assert_eq!(
        (&vector[0], vector[1].as_str()),
        (&csns(&changes(&server, &[]))[0], held)
    );
    let found = server.search(&["-b", "dc=example,dc=com", "-s", "base", "contextCSN"]);
    assert_eq!(context_csns(&found.unwrap().success().unwrap().stdout), vector);
    let config = server.config_path().to_str().unwrap().to_owned();
    let copy = server.layout().join("copy.mdb");
    succeed(&["backup", "-f", &config, copy.to_str().unwrap()]);
    server.stop().unwrap();
    // Another server's changes, loaded: its CSN comes into the vector, and the log begins anew.
    let more = "dn: cn=more,dc=example,dc=com\nobjectClass: device\ncn: more\n";
    server
        .tool(Tool::Add, &["-w", "-S", "11"], more)
        .unwrap()
        .success()
        .unwrap();
    let loaded = context_csns(&whole(&server));
    assert_eq!((loaded.len(), &loaded[0]), (3, &vector[0]));
    assert!(loaded[2].contains("#00b#"), "{loaded:?}");
    assert_eq!(changes(&server, &[]), "");
    let behind = refused(&server, &["--since", &vector[0]]);
    assert!(behind.contains("no longer has all changes after it"), "{behind}");
    fs::remove_file(server.layout().join("db/data.mdb")).unwrap();
    succeed(&["restore", "-f", &config, copy.to_str().unwrap()]);
    assert_eq!(context_csns(&whole(&server)), vector);
    assert_eq!(changes(&server, &[]), "");
    // Made of a dump, it is the same again.
    let text = server.tool(Tool::Cat, &[], "").unwrap().success().unwrap().stdout;
    let twin = logged();
    twin.slapadd(&text).unwrap();
    assert_eq!(whole(&twin), whole(&server));
}
