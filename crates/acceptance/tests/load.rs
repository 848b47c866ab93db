//! `ironbark load`: each workload, briefly, against our server and Debian's slapd.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use std::{collections::BTreeMap, fmt::Write as _, fs};

use crate::common::{ironbark, succeed};
use ironbark_load::result::{Point, RunResult};
use ironbark_testkit::{Flavor, Server, Tool, repository_root};

/// Data sets, each below an organization of its name, and their sizes.
const DATA: [(&str, &str); 6] = [
    ("zimbra", "200"),
    ("telco", "200"),
    ("university", "200"),
    ("directorymark", "200"),
    ("ycsb", "150"),
    ("groups", "1000"),
];

/// A running server with all data sets in databases of their own.
fn server(flavor: Flavor) -> Server {
    let ours = repository_root().join("schema");
    let mut config = String::new();
    for schema in ["core", "cosine", "inetorgperson", "nis"] {
        let _ = writeln!(config, "include {{schema}}/{schema}.schema");
    }
    for schema in ["eduperson", "telco", "zimbra"] {
        let _ = writeln!(config, "include {}/{schema}.schema", ours.display());
    }
    config.push_str("sizelimit unlimited\n");
    for (name, _) in DATA {
        let _ = write!(
            config,
            "database mdb\nsuffix o={name}\nrootdn cn=admin,o={name}\nrootpw secret\ndirectory {{dir}}/{name}\n\
             dbnosync\nindex objectClass,uid,cn,sn,givenName,mail eq\n"
        );
    }
    let mut server = Server::prepare(flavor, &config).unwrap().debug_level("none");
    for (name, _) in DATA {
        server.layout().make_dir(name).unwrap();
    }
    for (name, count) in DATA {
        let file = server.layout().join(&format!("{name}.ldif"));
        let file = file.to_str().unwrap();
        let suffix = format!("o={name}");
        succeed(&[
            "generate",
            name,
            "--count",
            count,
            "--suffix",
            &suffix,
            "--passwords",
            "ssha",
            "--output",
            file,
        ]);
        server
            .tool(Tool::Add, &["-q", "-b", &suffix, "-l", file], "")
            .unwrap()
            .success()
            .unwrap();
    }
    server.launch().unwrap();
    server
}

/// Runs a workload on the data set `name`. Returns the result from its JSON form.
fn run(server: &Server, name: &str, words: &[&str]) -> RunResult {
    let count = DATA.iter().find(|(known, _)| *known == name).unwrap().1;
    let (suffix, admin) = (format!("o={name}"), format!("cn=admin,o={name}"));
    let (url, json, pid) = (
        server.url(),
        server.layout().join("result.json"),
        server.pid().unwrap().to_string(),
    );
    let mut all = vec!["load"];
    all.extend(words);
    all.extend([
        "-H",
        &url,
        "-D",
        &admin,
        "-w",
        "secret",
        "--pid",
        &pid,
        "-o",
        json.to_str().unwrap(),
    ]);
    if words.first() != Some(&"replay") {
        all.extend(["--suffix", &suffix, "--entries", count]);
    }
    succeed(&all);
    RunResult::read(&fs::read(json).unwrap()).unwrap()
}

/// Answers by kind of operation.
fn counts(point: &Point) -> BTreeMap<&str, u64> {
    let answered = point.operations.iter().filter(|operation| operation.count > 0);
    answered
        .map(|operation| (operation.kind.as_str(), operation.count))
        .collect()
}

/// Checks that apply to every run that ends after `requests` answers.
#[track_caller]
fn check(result: &RunResult, clients: &[u32], requests: u64) {
    let measured: Vec<u32> = result.points.iter().map(|point| point.clients).collect();
    assert_eq!(measured, clients, "{result:?}");
    for point in &result.points {
        assert_eq!(point.answered_in_window(), requests, "{point:?}");
        assert_eq!(point.problems(&[]), Vec::<String>::new());
        assert!(point.rate > 0.0 && point.latency.max >= point.latency.p50 && point.latency.p50 > 0.0);
        assert!(point.server.as_ref().unwrap().resident_bytes > 0);
    }
}

fn every_workload(flavor: Flavor) {
    let server = server(flavor);
    let search = run(&server, "zimbra", &["search", "-c", "1,4", "-k", "8", "-n", "300"]);
    check(&search, &[1, 4], 300);
    let found = counts(&search.points[0]);
    assert!(
        found["zimbraMailDeliveryAddress"] > 90 && found["zimbraMailAlias"] > 90,
        "{found:?}"
    );

    for operation in ["add", "search", "compare", "bind", "bind-admin", "modify"] {
        for order in ["sequential", "random"] {
            let words = [
                "telco",
                operation,
                "--order",
                order,
                "--passwords",
                "ssha",
                "-c",
                "3",
                "-k",
                "4",
                "-n",
                "100",
            ];
            let result = run(&server, "telco", &words);
            check(&result, &[3], 100);
            assert_eq!(counts(&result.points[0]), BTreeMap::from([(operation, 100)]));
        }
    }
    for scenario in ["messaging", "addressing", "mixed"] {
        let result = run(
            &server,
            "directorymark",
            &["directorymark", scenario, "-c", "1,3,10", "-n", "400"],
        );
        check(&result, &[1, 3, 10], 400);
        let kinds = counts(&result.points[2]).len();
        assert_eq!(
            kinds,
            ["messaging", "addressing", "", "", "mixed"]
                .iter()
                .position(|name| *name == scenario)
                .unwrap()
                + 1
        );
    }
    for mix in ["a", "b", "c", "d", "e", "f", "80-20"] {
        check(
            &run(&server, "ycsb", &["ycsb", mix, "-c", "2", "-k", "2", "-n", "150"]),
            &[2],
            150,
        );
    }
    for mix in ["substring", "range", "and", "or-20"] {
        let words = ["filters", "--data", "zimbra", "--mix", mix, "-c", "2", "-n", "40"];
        check(&run(&server, "zimbra", &words), &[2], 40);
    }
    let groups = run(&server, "groups", &["groups", "-c", "3", "-n", "120"]);
    check(&groups, &[3], 120);
    assert_eq!(
        counts(&groups.points[0]).keys().copied().collect::<Vec<_>>(),
        ["add to 1000", "delete from 1000"]
    );
    whole_databases(&server);
    changes_and_open_loop(&server);
}

fn whole_databases(server: &Server) {
    // 200 people, 10 departments or units and the suffix at least.
    let scan = run(
        server,
        "university",
        &["scan", "--expect", "211", "-c", "1,2", "-n", "6"],
    );
    check(&scan, &[1, 2], 6);
    for point in &scan.points {
        assert!(
            point.operations[0].entries >= 6 * 211 && point.entries_rate > point.rate,
            "{point:?}"
        );
    }
    assert!(scan.points[0].operations[0].entries == scan.points[1].operations[0].entries);
}

fn changes_and_open_loop(server: &Server) {
    let file = server.layout().join("changes.ldif");
    let file = file.to_str().unwrap();
    succeed(&[
        "load",
        "changes",
        "--data",
        "telco",
        "--suffix",
        "o=telco",
        "--entries",
        "200",
        "--count",
        "250",
        "-o",
        file,
    ]);
    check(&run(server, "telco", &["replay", file, "-c", "4"]), &[4], 250);
    // The same again: the added values exist now.
    let again = [
        "load",
        "replay",
        file,
        "-H",
        &server.url(),
        "-D",
        "cn=admin,o=telco",
        "-w",
        "secret",
    ];
    let refused = ironbark(&again);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("NOT WHAT WAS EXPECTED") && said.contains("result code 20"),
        "{said}"
    );
    succeed(&[&again[..], &["--allow", "20"]].concat());

    let open = run(
        server,
        "zimbra",
        &["search", "--rate", "500", "-n", "100", "-c", "4", "-k", "4"],
    );
    check(&open, &[4], 100);
    assert_eq!(open.points[0].offered_rate, Some(500.0));
}

#[test]
fn every_workload_runs_against_our_server() {
    every_workload(Flavor::Ironbark);
}

#[test]
fn every_workload_runs_against_slapd() {
    every_workload(Flavor::OpenLdap);
}

#[test]
fn entries_are_added_each_once_and_optimizing_ends() {
    let server = Server::start(
        Flavor::Ironbark,
        "include {schema}/core.schema\ninclude {schema}/cosine.schema\ninclude {schema}/inetorgperson.schema\n\
         database mdb\nsuffix o=x\nrootdn cn=admin,o=x\nrootpw secret\ndirectory {dir}/db\nindex uid eq\n",
    )
    .unwrap();
    let (url, json) = (server.url(), server.layout().join("result.json"));
    let page = server.layout().join("result.html");
    let (json, page) = (json.to_str().unwrap(), page.to_str().unwrap());
    let containers = succeed(&["generate", "directorymark", "--count", "0", "--suffix", "o=x"]);
    let admin = ["-D", "cn=admin,o=x", "-w", "secret"];
    let added = ironbark_testkit::Credentials::Simple {
        dn: "cn=admin,o=x",
        password: "secret",
    };
    server
        .client("ldapadd", &added, &[], &containers)
        .unwrap()
        .success()
        .unwrap();
    let common = ["-H", &url, "--suffix", "o=x", "--entries", "120", "-o", json];
    succeed(&[&["load", "populate"], &common[..], &admin[..], &["--threads", "2"]].concat());
    let populated = RunResult::read(&fs::read(json).unwrap()).unwrap();
    check_without_pid(&populated, 120);

    let optimize = [
        "load",
        "directorymark",
        "messaging",
        "--optimize",
        "--increment",
        "3",
        "--most-clients",
        "20",
    ];
    let labelled = ["-n", "60", "--label", "ours <1>", "--html", page];
    succeed(&[&optimize[..], &labelled, &common, &admin].concat());
    let result = RunResult::read(&fs::read(json).unwrap()).unwrap();
    let clients: Vec<u32> = result.points.iter().map(|point| point.clients).collect();
    assert!(clients.len() >= 4 && clients.starts_with(&[1, 4, 7, 10]), "{clients:?}");

    let html = fs::read_to_string(page).unwrap();
    for part in [
        "<svg",
        "directorymark messaging",
        "ours &lt;1&gt;",
        "Latency by clients",
        "Latency percentiles",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // One mark for each measurement in the plots of rate and of latency.
    assert!(html.matches("<circle").count() >= 3 * clients.len());
    assert!(!html.contains("secret"));
    let both = server.layout().join("both.html");
    succeed(&[
        "load",
        "report",
        json,
        json,
        "--title",
        "Twice",
        "-o",
        both.to_str().unwrap(),
    ]);
    assert!(fs::read_to_string(both).unwrap().contains("<title>Twice</title>"));
}

#[track_caller]
fn check_without_pid(result: &RunResult, requests: u64) {
    let point = &result.points[0];
    assert_eq!(point.answered_in_window(), requests);
    assert!(point.server.is_none() && point.problems(&[]).is_empty(), "{point:?}");
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    for (words, reason) in [
        ("load", "Usage"),
        ("load nothing", "nothing"),
        ("load telco swim", "swim"),
        ("load search -c 0", "0"),
        ("load search -k 40000", "32000"),
        ("load search --data telco", "zimbra"),
        ("load search --entries 0", "at least 1"),
        ("load search --suffix x=y", "suffix"),
        (
            "load search -H http://127.0.0.1/",
            "-H http://127.0.0.1/: not an LDAP URL",
        ),
        ("load search -D cn=a", "password"),
        ("load search --rate 0", "rate"),
        ("load search --seconds 0", "no time"),
        ("load search --first-new 5", "first new"),
        ("load telco bind-admin", "a name and a password"),
        ("load groups --smallest 5000 --entries 6000", "none has"),
        ("load session --resume", "without TLS"),
        ("load session -k 2", "-k cannot be obeyed"),
        ("load session -H ldap://127.0.0.1/ -D cn=a -w b -Z", "for --follow"),
        ("load filters", "--filter-file"),
        ("load replay /no/such/file", "/no/such/file"),
    ] {
        let outcome = ironbark(&words.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains(reason), "{words}: {said}");
    }
    let nobody = ironbark(&["load", "search", "-H", "ldapi://%2Fno%2Fsocket/", "-n", "1"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("%2Fno%2Fsocket"));
}
