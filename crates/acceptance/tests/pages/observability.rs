//! docs/observability.md: what the server tells of itself.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
};

use ironbark_testkit::{free_port, wait};

use super::{
    page::{self, Block, Section, shape},
    readme,
    sandbox::Sandbox,
    whole::{ADMIN, TOP, admin, find, person, serving, with_database},
};

/// The settings of the page's first section, behind a database.
fn monitored(settings: &Block) -> String {
    format!("{}{}", with_database("", ""), settings.text)
}

pub(crate) fn monitor(section: &Section) {
    let [settings, search, changes] = section.blocks();
    let server = serving(&monitored(&settings), TOP);
    let sandbox = Sandbox::new();
    let search = search.with(&[("ldap://127.0.0.1/", server.url()), (" -W ", " -w secret ".to_owned())]);
    let shown = sandbox.succeed(&search).stdout;
    for name in [
        "Connections",
        "Operations",
        "Statistics",
        "Databases",
        "Threads",
        "Ironbark",
    ] {
        assert!(
            shown.contains(&format!("dn: cn={name},cn=Monitor\n")),
            "no {name}: {shown}"
        );
    }
    let anonymous = server.search(&["-b", "cn=Monitor"]).unwrap();
    assert_eq!(anonymous.stdout, "", "others see nothing");

    admin(&server, "ldapmodify", &[], &changes.text);
    let log = admin(&server, "ldapsearch", &["-b", "cn=Log,cn=Monitor", "*", "+"], "").stdout;
    assert!(
        log.contains("managedInfo: Stats\n") && log.contains("managedInfo: Sync\n"),
        "{log}"
    );
    let write = server.client("ldapadd", &ADMIN, &[], &person("ann", "")).unwrap();
    assert_eq!(write.code(), Some(53), "readOnly: {write:?}");
    let compare = ["dc=example,dc=com", "dc:example"];
    let compare = server.client("ldapcompare", &ADMIN, &compare, "").unwrap();
    assert_eq!(compare.code(), Some(53), "restrictedOperation: {compare:?}");
}

/// Entries of people.
fn people(count: usize) -> String {
    let people = (0..count).map(|number| person(&format!("p{number}"), "mail: somebody@example.com\nroomNumber: 1"));
    people.collect::<Vec<_>>().join("\n")
}

/// The directory is one of `ironbark init`, as the page says.
pub(crate) fn advise(section: &Section) {
    let [commands] = section.blocks();
    let sandbox = Sandbox::new();
    let said = sandbox
        .shell("ironbark init directory --suffix dc=example,dc=com")
        .stdout;
    let password = readme::password_in(&said);
    let url = format!("ldap://127.0.0.1:{}/", free_port().unwrap());
    let socket = format!("ldapi://{}%2Fldapi/", sandbox.folder().replace('/', "%2F"));
    let _server = sandbox.start(&format!("ironbark serve -f directory/slapd.conf -H {url} -H {socket}"));
    let health = format!("ironbark health -H {url}");
    let answered = wait::until(|| (sandbox.shell(&health).code == Some(0)).then_some(()));
    assert!(answered.is_some(), "{:?}", sandbox.shell(&health));

    sandbox.write("people.ldif", &people(300));
    let client = |program: &str, rest: &str| {
        let who = format!("-ZZ -H {url} -D cn=admin,dc=example,dc=com -w '{password}'");
        let done = sandbox.shell(&format!(
            "LDAPTLS_CACERT=directory/tls/ca.crt {program} -x {who} {rest}"
        ));
        assert_eq!(done.code, Some(0), "{program} {rest}: {done:?}");
    };
    client("ldapadd", "-f people.ldif");
    for _ in 0..3 {
        client("ldapsearch", "-b dc=example,dc=com '(roomNumber=7)' 1.1");
    }
    let changes = [
        ("advise -ZZ", format!("advise -H {url} -ZZ")),
        (" -W", format!(" -w '{password}'")),
        ("ldapi:///", socket),
    ];
    let advice = sandbox.succeed(&commands.with(&changes)).stdout;
    assert_eq!(advice.matches("  index roomNumber eq\n").count(), 2, "{advice}");
    assert!(advice.contains("olcDbIndex: roomNumber eq\n"), "{advice}");
}

/// The body of the answer to a GET request.
fn get(port: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    answer
}

/// The words of a text that may be names of metrics.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !(character.is_ascii_lowercase() || character == '_'));
    let names = words.filter(|word| word.starts_with("ironbark_"));
    names.map(|name| name.trim_end_matches("_bucket").to_owned()).collect()
}

pub(crate) fn metrics(section: &Section) {
    let [setting, rules, cluster] = section.blocks();
    let port = free_port().unwrap().to_string();
    let setting = setting.with(&[("9330", &port)]);
    let configuration = with_database(&setting.text, "overlay syncprov\n");
    let server = serving(&configuration, TOP);
    find(&server, "(sn=x)", &["1.1"]);
    get(&port, "/livez");
    get(&port, "/readyz");
    let shown = get(&port, "/metrics");
    // Those of consumers and clusters are there when there are some: the program has their names.
    let program = page::texts_below("crates/server/src");
    let known = metrics_in(&shown);
    for name in metrics_in(&rules.text).iter().chain(&metrics_in(&cluster.text)) {
        assert!(
            known.contains(name) || program.contains(&format!("{name}\"")),
            "no metric {name}"
        );
    }
    for expected in [
        "ironbark_unindexed_searches_total",
        "ironbark_operation_duration_seconds",
    ] {
        assert!(known.contains(expected), "{expected}: {shown}");
    }
    let sandbox = Sandbox::new();
    sandbox.write("rules.yaml", &cluster.text);
    let read = "import yaml\n\
        for group in yaml.safe_load(open('rules.yaml'))['groups']:\n  for rule in group['rules']:\n    \
        print(rule['alert'], rule['expr'])\n";
    sandbox.write("read.py", read);
    let read = sandbox.shell("/usr/bin/python3 read.py");
    assert_eq!((read.code, read.stdout.lines().count()), (Some(0), 4), "{read:?}");
}

pub(crate) fn logs(section: &Section) {
    let [line] = section.blocks();
    let people = people(20_000);
    let configuration = with_database("slowlog 1\n", "index objectClass eq\n");
    let server = serving(&configuration, &format!("{TOP}\n{people}"));
    find(&server, "(&(objectClass=person)(mail=*nobody*))", &["1.1"]);
    server.wait_for_log(" SLOW SRCH ").unwrap();
    let log = server.log();
    let slow = log.lines().find(|line| line.contains(" SLOW SRCH ")).unwrap();
    let slow = slow
        .split_once("conn=")
        .map(|(_, rest)| format!("conn={rest}"))
        .unwrap();
    assert_eq!(
        shape(&slow),
        shape(&line.text.trim().replace('\n', " ")),
        "{}",
        line.place
    );
    assert!(page::text("docs/observability.md").contains("`slowlog 250`"));
}
