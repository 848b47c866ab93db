//! What somebody sees who has just got the program.

use std::{
    fs,
    process::{Command, Output},
};

use ironbark_testkit::{Flavor, Server, wait};
use regex::Regex;

use crate::common::{PEOPLE, ironbark, prepared, succeed};

/// A command of ours on a terminal of 80 columns.
fn on_terminal(words: &[&str]) -> Command {
    let program = Flavor::Ironbark.program().unwrap().display().to_string();
    let quoted = [&[&*program][..], words]
        .concat()
        .iter()
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>();
    let line = format!("stty cols 80; {}", quoted.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    command
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env_remove("CI")
        .env("SHELL", "/bin/sh");
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_program_alone_says_what_it_can_do_in_groups() {
    let output = ironbark(&[]);
    assert_eq!(output.status.code(), Some(2));
    let page = text(&output);
    let at = |word: &str| page.find(word).unwrap_or_else(|| panic!("{word}: {page}"));
    let order = [
        "\nBegin:\n  init ",
        "\nSee:\n",
        "\nKeep:\n",
        "\nMove:\n",
        "\nMeasure:\n",
        "\nExamples:\n",
    ];
    assert!(order.is_sorted_by_key(|word| at(word)), "{page}");
    let version = concat!("ironbark ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(
        (succeed(&["version"]), succeed(&["--version"])),
        (version.to_owned(), version.to_owned())
    );
    assert!(succeed(&["help"]).contains("\nBegin:\n  init "));
    let help = succeed(&["help", "serve"]);
    for part in [
        "-f, --config <FILE>",
        "-H, --url <URL>",
        "ldap://127.0.0.1:3890/",
        "Examples:\n  ironbark serve\n",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn a_server_on_a_terminal_says_when_and_where() {
    let server = prepared(Flavor::Ironbark);
    let config = server.config_path().display().to_string();
    let log = server.layout().join("terminal.log");
    let mut process = on_terminal(&["serve", "-f", &config, "-H", &server.url()])
        .stdout(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = || fs::read_to_string(&log).unwrap();
    let listens = wait::until(|| said().contains("listening on ").then_some(()));
    let pid = fs::read_to_string(server.layout().join("slapd.pid"));
    if let Some(pid) = pid.ok().and_then(|pid| pid.trim().parse().ok()) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
    } else {
        let _ = process.kill();
    }
    let _ = process.wait();
    let said = said();
    assert!(listens.is_some(), "{said}");
    let line = said.lines().find(|line| line.contains("listening on ")).unwrap();
    let wanted = format!(
        r"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}} listening on {}; Ctrl-C ends it\r?$",
        server.url()
    );
    assert!(Regex::new(&wanted).unwrap().is_match(line), "{line:?}");
}

#[test]
fn colours_are_for_terminals_that_have_them() {
    let mut server = prepared(Flavor::Ironbark);
    server.launch().unwrap();
    let (url, config) = (server.url(), server.config_path().display().to_string());
    for (words, plain, coloured) in [
        (vec!["health", "-H", &url], ": ok in ", "\u{1b}[32mok\u{1b}[0m in "),
        (vec!["check-migration", &config], "\nGO: ", "\u{1b}[32mGO\u{1b}[0m: "),
    ] {
        let shown = text(&on_terminal(&words).output().unwrap()).replace("\r\n", "\n");
        assert!(shown.contains(coloured), "{shown:?}");
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let shown = text(&on_terminal(&words).env(name, value).output().unwrap()).replace("\r\n", "\n");
            assert!(shown.contains(plain) && !shown.contains('\u{1b}'), "{name}: {shown:?}");
        }
        let piped = succeed(&words);
        assert!(piped.contains(plain) && !piped.contains('\u{1b}'), "{piped:?}");
    }
}

#[test]
fn progress_has_whole_numbers() {
    let server = prepared(Flavor::Ironbark);
    let file = server.layout().join("data.ldif").display().to_string();
    let words = ["generate", "zimbra", "--count", "30000", "-o", &file];
    let shown = text(&on_terminal(&words).output().unwrap());
    let figures = Regex::new(r"[\d,.]+/30,000 entries ([\d.]+)/s").unwrap();
    let rates: Vec<&str> = figures
        .captures_iter(&shown)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    assert!(
        !rates.is_empty() && rates.iter().all(|rate| !rate.contains('.')),
        "{shown:?}"
    );
}

#[test]
fn the_directory_of_init_is_found_from_where_it_was_made() {
    let place = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(Flavor::Ironbark.program().unwrap());
        command.current_dir(place.layout().path()).args(words).output().unwrap()
    };
    let made = run(&["init", "./directory", "--suffix", "dc=example,dc=com"]);
    assert!(made.status.success(), "{made:?}");
    let explained = run(&["explain", "(ou=pe*)"]);
    let said = text(&explained);
    assert!(
        explained.status.success() && said.contains("would help: index ou sub\n"),
        "{said}"
    );
    assert!(
        said.contains("ironbark: the configuration is ./directory/slapd.conf\n"),
        "{said}"
    );
    assert!(text(&run(&["health", "--deep"])).contains("data.mdb: 5 entries, sound"));
}

#[test]
fn explain_names_what_is_not_there_and_what_would_help() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let config = server.config_path().display().to_string();
    let explain = |filter: &str| succeed(&["explain", "-f", &config, filter]);
    let text = explain("(mial=x*)");
    assert!(
        text.starts_with("mial: the schema has no such attribute, so nothing matches it; did you mean mail?\n"),
        "{text}"
    );
    assert!(!text.contains("would help"), "{text}");
    for (filter, line) in [
        ("(mail=x*)", "would help: index mail sub\n"),
        ("(sn=Lee)", "would help: index sn eq\n"),
        (
            "(|(sn=Lee)(mail=*))",
            "would help: index mail pres\nwould help: index sn eq\n",
        ),
        (
            "(commonName=*Lee)",
            "would help: index cn eq,sub, in place of index cn eq\n",
        ),
    ] {
        let text = explain(filter);
        assert!(text.contains(line), "{filter}: {text}");
    }
    for filter in ["(cn=Ann Lee)", "(!(sn=Lee))", "(userPassword=*x*)"] {
        let text = explain(filter);
        assert!(!text.contains("would help"), "{filter}: {text}");
    }
}

#[test]
fn what_is_wrong_is_answered_by_what_is_wanted() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let config = server.config_path().display().to_string();
    let data = server.layout().join("db/data.mdb");
    let new = server.layout().join("new").display().to_string();
    for (words, wanted) in [
        (
            vec!["explain", "-f", &config, "(cn="],
            "\"(cn=\" is no filter: a parenthesis is missing",
        ),
        (
            vec!["explain", "-f", &config, "-b", "x", "(cn=a)"],
            "such as ou=people,dc=example,dc=com is wanted",
        ),
        (
            vec!["backup", "-f", &config, "-b", "dc=z", "x"],
            "there is \"dc=example,dc=com\"",
        ),
        (vec!["backup", "-f", &config, "-n", "9", "x"], "numbered from 1 to 1"),
        (
            vec!["health", "-H", "http://x/"],
            "a URL such as ldap://127.0.0.1:3890/",
        ),
        (
            vec!["init", &new, "--suffix", "example.com"],
            "such as ou=people,dc=example,dc=com is wanted",
        ),
        (
            vec!["init", &new, "--suffix", "dc=x", "--organization", ""],
            "\"\" cannot be a value of o",
        ),
    ] {
        let output = ironbark(&words);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.contains(wanted) && said.matches("ironbark: ").count() == 1,
            "{words:?}: {said}"
        );
        assert!(!server.layout().join("new").exists(), "nothing is left behind");
    }
    fs::write(&data, vec![7; 16384]).unwrap();
    let said = text(&ironbark(&["explain", "-f", &config, "(cn=a)"]));
    assert!(
        said.contains("data.mdb") && said.matches("ironbark: ").count() == 1,
        "{said}"
    );
}
