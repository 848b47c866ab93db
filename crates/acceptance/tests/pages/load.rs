//! docs/load.md: each command runs against a server with the schema and the indexes that the page names, with smaller
//! data sets and fewer requests.

use std::fs;

use ironbark_testkit::{Flavor, Server, repository_root};

use super::{
    page::{self, Block, Section},
    sandbox::Sandbox,
};

/// Entries in place of the page's numbers: more than a search returns by default.
const ENTRIES: &str = "1000";
/// Requests of each measurement, in place of ten seconds.
const BRIEFLY: &str = "-n 60";

/// The cells of the row of the page's table of data sets.
fn row(set: &str) -> Vec<String> {
    let page = page::text("docs/load.md");
    let (_, table) = page.split_once("## Data sets").unwrap();
    let start = format!("| `{set}` |");
    let row = table.lines().find(|line| line.starts_with(&start));
    let cells = row
        .unwrap_or_else(|| panic!("no row {set}"))
        .split('|')
        .map(|cell| cell.trim().to_owned());
    cells.skip(1).collect()
}

/// The texts between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// A configuration as the page says for a data set.
fn configuration(set: &str) -> String {
    let row = row(set);
    let [_, schema, indexes, ..] = &row[..] else {
        panic!("a row has three cells");
    };
    let schemas = ["core", "cosine", "inetorgperson"].into_iter().chain(code(schema));
    let mut lines: Vec<String> = schemas
        .map(|name| format!("include {{schema}}/{name}.schema"))
        .collect();
    // Global settings that the page names in its text.
    let settings = page::code_in_text("docs/load.md");
    lines.extend(settings.into_iter().filter(|code| code.starts_with("sizelimit ")));
    let database = "database mdb\nsuffix dc=example,dc=com\nrootdn cn=admin,dc=example,dc=com\nrootpw secret\n\
        directory {dir}/db\ndbnosync";
    lines.push(database.to_owned());
    for index in code(indexes) {
        // The row names a file, or the indexes themselves.
        match fs::read_to_string(repository_root().join(index)) {
            Ok(file) => lines.extend(
                file.lines()
                    .filter(|line| line.starts_with("index "))
                    .map(str::to_owned),
            ),
            Err(_) => lines.push(format!("index {index}")),
        }
    }
    lines.join("\n") + "\n"
}

/// A server with the entries of an LDIF file.
fn server(set: &str, file: &str) -> Server {
    let mut server = Server::prepare(Flavor::Ironbark, &configuration(set))
        .unwrap()
        .debug_level("none");
    server.slapadd(&fs::read_to_string(file).unwrap()).unwrap();
    server.launch().unwrap();
    server
}

/// The file of a data set, which is generated if it is not there.
fn data(sandbox: &Sandbox, set: &str) -> String {
    let file = sandbox.layout.join(&format!("{set}.data"));
    if !file.exists() {
        let done = sandbox.shell(&format!("ironbark generate {set} --count {ENTRIES} -o {set}.data"));
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    file.display().to_string()
}

/// A line of a block, with the sizes of a test.
fn small(block: &Block, line: &str) -> Block {
    let mut line = line.to_owned();
    for size in ["1000000", "100000", "50000", "28000"] {
        line = line.replace(size, ENTRIES);
    }
    Block {
        text: line,
        place: block.place.clone(),
    }
}

pub(crate) fn first_run(section: &Section) {
    let [commands] = section.blocks();
    let sandbox = Sandbox::new();
    let lines = commands.lines();
    let [generate, search, report] = &lines[..] else {
        panic!("three commands expected: {lines:?}");
    };
    sandbox.succeed(&small(&commands, generate));
    let server = server("zimbra", &sandbox.layout.join("data.ldif").display().to_string());
    let pid = server.pid().unwrap().to_string();
    let search = small(&commands, search).with(&[
        ("ldap://127.0.0.1:3389/", server.url()),
        ("\"$(pidof slapd)\"", pid),
        ("search", format!("search {BRIEFLY}")),
    ]);
    let shown = sandbox.succeed(&search);
    assert!(shown.stdout.contains("64"), "{shown:?}");
    // The page compares with another run.
    sandbox.succeed(&search.with(&[("a.json", "b.json"), ("ours", "theirs")]));
    sandbox.succeed(&small(&commands, report));
    let html = fs::read_to_string(sandbox.layout.join("report.html")).unwrap();
    assert!(html.contains("theirs") && html.contains("<svg"), "{html}");
}

/// The data set of each command of the page, in their order; `None` where no server is needed.
const SETS: [Option<&str>; 14] = [
    Some("zimbra"),
    Some("zimbra"),
    Some("zimbra"),
    None,
    Some("telco"),
    Some("directorymark"),
    Some("zimbra"),
    None,
    None,
    Some("zimbra"),
    Some("ycsb"),
    None,
    Some("groups"),
    Some("zimbra"),
];

pub(crate) fn workloads(section: &Section) {
    let [commands] = section.blocks();
    let lines = commands.lines();
    assert_eq!(lines.len(), SETS.len(), "{lines:?}");
    let sandbox = Sandbox::new();
    sandbox.write("password", "secret");
    sandbox.write("filters.txt", "(sn=a*)\n(objectClass=nosuch)\n");
    let mut servers: Vec<(&str, Server)> = Vec::new();
    for (line, set) in lines.iter().zip(SETS) {
        let mut command = small(&commands, line);
        let Some(set) = set else {
            sandbox.succeed(&command);
            continue;
        };
        if !servers.iter().any(|(known, _)| *known == set) {
            // Two of them the page generates.
            let own = sandbox.layout.join(&format!("{set}.ldif"));
            let file = if own.exists() {
                own.display().to_string()
            } else {
                data(&sandbox, set)
            };
            servers.push((set, server(set, &file)));
        }
        let (_, server) = servers.iter().find(|(known, _)| *known == set).unwrap();
        let limit = if line.contains(" replay ") { "" } else { BRIEFLY };
        let pid = server.pid().unwrap().to_string();
        command.text = format!("{} -H {} {limit}", command.text, server.url()).replace("\"$(pidof slapd)\"", &pid);
        sandbox.succeed(&command);
    }
    for name in ["changes.ldif", "each-once.ldif", "ycsb.html"] {
        assert!(sandbox.layout.join(name).is_file(), "{name}");
    }
}
