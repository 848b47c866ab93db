//! Fragments of slapd.conf on a page, as whole configurations.

use ironbark_testkit::{Credentials, Flavor, ProgramOutput, Server, Tool};

use super::page::Block;
pub(crate) use crate::common::TOP;

/// The administrator of the pages.
pub(crate) const ADMIN: Credentials<'static> = Credentials::Simple {
    dn: "cn=admin,dc=example,dc=com",
    password: "secret",
};

/// What stands before all fragments.
const GLOBAL: &str = "\
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
include {schema}/nis.schema
pidfile {dir}/slapd.pid
";

/// What a fragment need not say of its database.
const DATABASE: [&str; 5] = [
    "database mdb",
    "suffix dc=example,dc=com",
    "rootdn cn=admin,dc=example,dc=com",
    "rootpw secret",
    "directory {dir}/db",
];

/// A whole slapd.conf with this fragment. Of the database it gets what the fragment lacks, in the place of the line
/// `...`, or behind its suffix. Another such line, before the database, stands for the rest of the file.
pub(crate) fn whole(fragment: &Block) -> String {
    let text = &fragment.text;
    let says = |setting: &&str| {
        let keyword = setting.split(' ').next().unwrap_or_default();
        text.lines().any(|line| line.split_whitespace().next() == Some(keyword))
    };
    let missing: Vec<&str> = DATABASE.iter().copied().filter(|setting| !says(setting)).collect();
    let missing = missing.join("\n");
    let lines: Vec<&str> = text.lines().collect();
    let database = lines.iter().position(|line| line.starts_with("database"));
    let dots = |from: usize| (from..lines.len()).find(|&at| lines[at] == "...");
    let suffix = lines.iter().rposition(|line| line.starts_with("suffix"));
    let place = dots(database.unwrap_or(0)).or(suffix.max(database).map(|at| at + 1));
    let mut whole = GLOBAL.to_owned();
    if place.is_none() {
        whole = format!("{whole}{missing}\n");
    }
    for (at, line) in lines.iter().enumerate() {
        if Some(at) == place {
            whole = format!("{whole}{missing}\n");
        }
        if *line != "..." {
            whole = format!("{whole}{line}\n");
        }
    }
    if place == Some(lines.len()) {
        whole = format!("{whole}{missing}\n");
    }
    whole
}

/// A whole slapd.conf with these lines before its database, and in it.
pub(crate) fn with_database(before: &str, of_database: &str) -> String {
    whole(&Block {
        text: format!("{before}database mdb\n...\n{of_database}"),
        place: String::new(),
    })
}

/// The configuration of a server whose folder is known: `{schema}` and `{dir}` are filled in.
pub(crate) fn configure(server: &Server, configuration: &str) {
    let schema = Flavor::Ironbark.schema_dir().display().to_string();
    let folder = server.layout().path().display().to_string();
    let text = configuration.replace("{schema}", &schema).replace("{dir}", &folder);
    server.layout().write("slapd.conf", text).unwrap();
}

/// Fails unless `slaptest -u` takes the configuration.
#[track_caller]
pub(crate) fn assert_taken(configuration: &str) {
    let server = Server::prepare(Flavor::Ironbark, configuration).unwrap();
    let outcome = server.tool(Tool::Test, &["-u"], "").unwrap();
    assert_eq!(outcome.code(), Some(0), "{configuration}\n{outcome:?}");
}

/// A server with this configuration, which `slaptest -u` takes, and with these entries.
#[track_caller]
pub(crate) fn serving(configuration: &str, entries: &str) -> Server {
    assert_taken(configuration);
    let mut server = Server::prepare(Flavor::Ironbark, configuration).unwrap();
    if !entries.is_empty() {
        server.slapadd(entries).unwrap();
    }
    server.launch().unwrap();
    server
}

/// A client as the administrator, which must succeed.
#[track_caller]
pub(crate) fn admin(server: &Server, program: &str, arguments: &[&str], input: &str) -> ProgramOutput {
    let outcome = server.client(program, &ADMIN, arguments, input).unwrap();
    assert_eq!(outcome.code(), Some(0), "{input}\n{outcome:?}\n{}", server.log());
    outcome
}

/// Adds entries as the administrator.
#[track_caller]
pub(crate) fn add(server: &Server, entries: &str) {
    admin(server, "ldapadd", &[], entries);
}

/// The entries below the suffix that match, as LDIF.
#[track_caller]
pub(crate) fn find(server: &Server, filter: &str, attributes: &[&str]) -> String {
    let arguments = [&["-b", "dc=example,dc=com", filter][..], attributes].concat();
    admin(server, "ldapsearch", &arguments, "").stdout
}

/// A person below ou=people with further lines.
pub(crate) fn person(uid: &str, lines: &str) -> String {
    let classes = "objectClass: inetOrgPerson";
    format!("dn: uid={uid},ou=people,dc=example,dc=com\n{classes}\nuid: {uid}\ncn: {uid}\nsn: {uid}\n{lines}\n")
}
