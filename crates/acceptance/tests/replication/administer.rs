//! `ironbark replica`: status and forget-sid, on ours and slapd.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    thread,
};

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{PEOPLE, assert_follows, change, line, providing};

const ROOT: [&str; 4] = ["-D", "cn=Manager,dc=example,dc=com", "-w", "secret"];
pub(super) const MONITOR: &str = "database monitor\naccess to * by * read\n";

pub(super) fn replica(arguments: &[&str]) -> (Option<i32>, String) {
    let program = Flavor::Ironbark.program().unwrap();
    let output = Command::new(program)
        .arg("replica")
        .args(arguments)
        .args(ROOT)
        .output()
        .unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn the_status_names_consumers_their_phase_and_what_is_behind() {
    let mut provider = providing(Flavor::OpenLdap, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let lines = line(&provider, "type=refreshAndPersist") + MONITOR;
    let consumer = Server::start(Flavor::Ironbark, &Server::people_config("", &lines)).unwrap();
    assert_follows(&consumer, &provider);
    let urls = [provider.url(), consumer.url()];
    let status = || replica(&["status", &urls[0], &urls[1]]);
    let told = wait::until(|| status().1.contains("Persist").then(status));
    let (code, text) = told.unwrap();
    assert_eq!(code, Some(0), "{text}");
    let row = |text: &str, url: &str, part: &str| {
        let mut rows = text.lines();
        rows.find(|row| row.starts_with(url) && row.contains(part))
            .map(str::to_owned)
    };
    let consumers = row(&text, &urls[1], " rid=").unwrap();
    assert!(
        consumers.contains(&urls[0]) && consumers.contains("rid=001") && consumers.contains("#001#"),
        "{text}"
    );
    for url in &urls {
        assert!(row(&text, url, "(contextCSN)").unwrap().contains(" none"), "{text}");
    }
    assert!(row(&text, &urls[0], "cn=Monitor cannot be read").is_some(), "{text}");
    // A provider that is gone is told, and what the consumer says of it.
    provider.stop().unwrap();
    let told = wait::until(|| {
        let (code, text) = status();
        let row = row(&text, &urls[1], " rid=")?;
        (code == Some(1) && row.contains("not connected") && row.contains("connect")).then_some(text)
    });
    let text = told.unwrap();
    assert!(row(&text, &urls[0], "unreachable").is_some(), "{text}");
}

#[test]
fn the_status_fails_while_a_consumer_is_refused() {
    let provider = providing(Flavor::Ironbark, MONITOR);
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let lines = line(&provider, "type=refreshAndPersist") + MONITOR;
    let refused = lines.replace("credentials=secret", "credentials=wrong");
    assert_ne!(lines, refused);
    let consumer = Server::start(Flavor::Ironbark, &Server::people_config("", &refused)).unwrap();
    let urls = [provider.url(), consumer.url()];
    let told = wait::until(|| {
        let (code, text) = replica(&["status", &urls[0], &urls[1]]);
        (code == Some(1)).then_some(text)
    });
    assert!(told.unwrap().contains("not connected"));
    let followed = Server::start(Flavor::Ironbark, &Server::people_config("", &lines)).unwrap();
    assert_follows(&followed, &provider);
    let urls = [provider.url(), followed.url()];
    let well = wait::until(|| {
        let (code, text) = replica(&["status", &urls[0], &urls[1], "--max-lag", "0"]);
        (code == Some(0)).then_some(text)
    });
    well.unwrap();
    // A server without the entries is behind.
    let empty = Server::start(Flavor::Ironbark, &Server::people_config("", "overlay syncprov\n")).unwrap();
    empty.ldapadd(PEOPLE).unwrap().success().unwrap();
    let urls = [provider.url(), empty.url()];
    assert_eq!(replica(&["status", &urls[0], &urls[1]]).0, Some(0));
    assert_eq!(replica(&["status", &urls[0], &urls[1], "--max-lag", "0"]).0, Some(1));
}

#[test]
fn all_servers_are_asked_at_once() {
    let server = providing(Flavor::Ironbark, "");
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    let silent = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second] = silent
        .each_ref()
        .map(|listener| format!("ldap://{}", listener.local_addr().unwrap()));
    let (code, text) = thread::scope(|scope| {
        // Neither answers, and each keeps its connection until the other one was asked as well.
        scope.spawn(|| drop(silent.each_ref().map(|listener| listener.accept().unwrap())));
        replica(&["status", &first, &server.url(), &second])
    });
    assert_eq!(code, Some(1), "{text}");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    let urls = [&first, &server.url(), &second];
    let is_in_order = rows
        .iter()
        .map(|row| urls.iter().position(|url| row.starts_with(*url)))
        .is_sorted();
    assert!(is_in_order, "{text}");
    for url in [&first, &second] {
        let row = rows.iter().find(|row| row.starts_with(url)).unwrap();
        assert!(
            row.contains("unreachable") && !row.contains("no answer within"),
            "{text}"
        );
    }
    assert!(text.contains("#001#"), "{text}");
}

#[test]
fn the_status_is_shown_again_until_it_is_ended() {
    let server = providing(Flavor::Ironbark, MONITOR);
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut command = Command::new(Flavor::Ironbark.program().unwrap());
    command
        .args(["replica", "status", &server.url(), "--watch", "1"])
        .args(ROOT);
    let mut watching = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut tables = Vec::new();
    for _ in 0..2 {
        let table: Vec<String> = lines
            .by_ref()
            .map(Result::unwrap)
            .take_while(|line| !line.is_empty())
            .collect();
        tables.push(table);
    }
    drop(lines);
    // Nobody reads what comes next.
    let ended = wait::until(|| watching.try_wait().unwrap());
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
    for table in tables {
        assert!(table[0].starts_with("SERVER "), "{table:?}");
        assert!(
            table[1].starts_with(&server.url()) && table[1].contains("#001#"),
            "{table:?}"
        );
        assert!(!table.concat().contains('\x1b'), "{table:?}");
    }
}

#[test]
fn a_server_that_is_no_more_is_forgotten() {
    const OBSOLETE: &str = "20200101000000.000000Z#000000#00a#000000";
    for flavor in Flavor::ALL {
        let mut server = Server::prepare(
            flavor,
            &Server::people_config(
                "serverID 1\nmoduleload syncprov",
                "overlay syncprov\naccess to dn.base=\"dc=example,dc=com\" attrs=contextCSN by self manage by * read\n\
             access to attrs=userPassword by anonymous auth\naccess to * by self write by * read\n",
            ),
        )
        .unwrap();
        let ldif = PEOPLE.replacen("o: Example", &format!("o: Example\ncontextCSN: {OBSOLETE}"), 1);
        server.slapadd(&ldif).unwrap();
        server.launch().unwrap();
        change(&server, 1);
        let shown = |server: &Server| {
            let arguments = ["-LLL", "-s", "base", "-b", "dc=example,dc=com", "contextCSN"];
            let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
            found.stdout.matches("contextCSN: ").count()
        };
        let count = shown(&server);
        assert!(count >= 2, "{flavor}: {count}");
        let (code, text) = replica(&["forget-sid", "9", &server.url()]);
        assert!(
            code == Some(1) && text.contains("no contextCSN of server 009"),
            "{flavor}: {text}"
        );
        let (code, text) = replica(&["forget-sid", "10", &server.url()]);
        if flavor == Flavor::OpenLdap {
            // slapd 2.5 has no way to do it while it runs.
            assert!(code == Some(1) && text.contains("not manageable"), "{text}");
            continue;
        }
        assert!(code == Some(0) && text.contains(OBSOLETE), "{flavor}: {text}");
        assert_eq!(shown(&server), count - 1, "{flavor}");
        // It stays forgotten.
        change(&server, 2);
        server.stop().unwrap();
        server.launch().unwrap();
        change(&server, 3);
        assert_eq!(shown(&server), count - 1, "{flavor}");
    }
}

#[test]
fn a_context_vector_only_shrinks_and_only_for_managers() {
    let server = providing(
        Flavor::Ironbark,
        "access to * by dn.base=\"ou=people,dc=example,dc=com\" write by * read\n",
    );
    let ldif = PEOPLE.replace("ou: people", "ou: people\nuserPassword: secret");
    server.ldapadd(&ldif).unwrap().success().unwrap();
    let people = Credentials::Simple {
        dn: "ou=people,dc=example,dc=com",
        password: "secret",
    };
    let shown = || {
        let arguments = [
            "-LLL",
            "-o",
            "ldif-wrap=no",
            "-s",
            "base",
            "-b",
            "dc=example,dc=com",
            "contextCSN",
        ];
        server
            .client("ldapsearch", &Credentials::ROOT, &arguments, "")
            .unwrap()
            .stdout
    };
    let before = shown();
    let own = before
        .lines()
        .find(|line| line.starts_with("contextCSN: "))
        .unwrap()
        .to_owned();
    let attempt = |who: &Credentials<'_>, relax: bool, change: &str| {
        let ldif = format!("dn: dc=example,dc=com\nchangetype: modify\n{change}\n");
        let options: &[&str] = if relax { &["-e", "relax"] } else { &[] };
        server.client("ldapmodify", who, options, &ldif).unwrap().code()
    };
    let delete = format!("delete: contextCSN\n{own}");
    let invented = "contextCSN: 20990101000000.000000Z#000000#00b#000000";
    // Without relaxed rules, without manage access.
    assert_eq!(attempt(&Credentials::ROOT, false, &delete), Some(19));
    assert_eq!(attempt(&people, true, &delete), Some(50));
    // Claims of changes that are not there.
    for change in [
        format!("add: contextCSN\n{invented}"),
        format!("replace: contextCSN\n{invented}"),
        format!("replace: contextCSN\n{own}\n{invented}"),
        format!("delete: contextCSN\n{own}\n-\nadd: contextCSN\n{invented}"),
    ] {
        assert_eq!(attempt(&Credentials::ROOT, true, &change), Some(19), "{change}");
    }
    assert_eq!(
        attempt(&Credentials::ROOT, true, &format!("delete: contextCSN\n{invented}")),
        Some(16)
    );
    assert_eq!(shown(), before);
    // The server's own CSN comes back with the change itself.
    assert_eq!(attempt(&Credentials::ROOT, true, &delete), Some(0));
    assert!(
        shown() != before && shown().matches("contextCSN: ").count() == 1,
        "{}",
        shown()
    );
}

/// The page of metrics.
pub(super) fn metrics(port: u16) -> String {
    get(port, "/metrics")
}

pub(super) fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn metrics_say_what_consumers_do_and_that_they_fail() {
    let mut provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let port = ironbark_testkit::free_port().unwrap();
    let global = format!("metrics-listener 127.0.0.1:{port}");
    let lines = line(&provider, "type=refreshAndPersist");
    let consumer = Server::start(Flavor::Ironbark, &Server::people_config(&global, &lines)).unwrap();
    assert_follows(&consumer, &provider);
    let labels = "suffix=\"dc=example,dc=com\",rid=\"001\"".replace("001", "1");
    let sample = |name: &str, more: &str| {
        let page = metrics(port);
        let begin = format!("{name}{{{labels}{more}}} ");
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(&begin).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{begin} in {page}"))
    };
    let persists = || sample("ironbark_consumer_phase", ",phase=\"persist\"") == "1";
    assert!(wait::until(|| persists().then_some(())).is_some());
    assert_eq!(sample("ironbark_consumer_phase", ",phase=\"disconnected\""), "0");
    assert_eq!(sample("ironbark_consumer_failures_total", ""), "0");
    assert_eq!(sample("ironbark_consumer_refreshes_total", ""), "1");
    assert_eq!(sample("ironbark_consumer_entries", ""), "3");
    assert!(!sample("ironbark_consumer_last_contact_seconds", "").starts_with("0."));
    provider.stop().unwrap();
    let failed = || sample("ironbark_consumer_failures_total", "") != "0" && !persists();
    assert!(wait::until(|| failed().then_some(())).is_some());
    // A server without consumers has no such figures.
    let alone = format!("metrics-listener 127.0.0.1:{port}");
    drop(consumer);
    let _alone = Server::start(Flavor::Ironbark, &Server::people_config(&alone, "")).unwrap();
    assert!(!metrics(port).contains("ironbark_consumer_"));
}
