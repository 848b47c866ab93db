//! `ironbark load --follow`: how far a consumer is behind while its provider is under load.

use std::{fmt::Write as _, fs, process::Command};

use ironbark_load::result::RunResult;
use ironbark_testkit::Flavor;

use crate::replication::{PEOPLE, assert_follows, following, providing};

/// Runs `ironbark load replay` of additions at a fixed rate, for a second; `words` come last. It ends by itself.
fn replay(server: &ironbark_testkit::Server, words: &[&str]) -> (Option<i32>, String) {
    let mut changes = String::new();
    for number in 0..100 {
        let _ = write!(
            changes,
            "dn: cn=l{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n"
        );
    }
    let file = server.layout().write("changes.ldif", changes).unwrap();
    let output = Command::new(Flavor::Ironbark.program().unwrap())
        .args(["load", "replay"])
        .arg(file)
        .args([
            "-H",
            &server.url(),
            "-D",
            "cn=Manager,dc=example,dc=com",
            "-w",
            "secret",
        ])
        .args(["--rate", "100", "-c", "1"])
        .args(words)
        .output()
        .unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn the_lag_of_a_consumer_is_measured_and_drawn() {
    let provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let consumer = following(Flavor::Ironbark, &provider, "type=refreshAndPersist");
    assert_follows(&consumer, &provider);
    let [json, html] = ["r.json", "r.html"].map(|name| provider.layout().join(name));
    let (json_text, html_text) = (json.to_str().unwrap(), html.to_str().unwrap());
    let url = consumer.url();
    let (code, text) = replay(&provider, &["--follow", &url, "-o", json_text, "--html", html_text]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(&format!("{url} was ")), "{text}");
    let result = RunResult::read(&fs::read(json).unwrap()).unwrap();
    let lags = &result.points[0].lags;
    assert_eq!(lags.len(), 1);
    assert_eq!(lags[0].consumer, url);
    assert!(lags[0].samples.len() > 1, "{lags:?}");
    let is_possible = |(at, lag): &(f64, f64)| (0.0..60.0).contains(at) && (0.0..60.0).contains(lag);
    assert!(lags[0].samples.iter().all(is_possible), "{lags:?}");
    assert!(fs::read_to_string(html).unwrap().contains("Lag of consumers over time"));
    assert_follows(&consumer, &provider);
}

#[test]
fn a_consumer_that_cannot_be_asked_is_told_before_the_load() {
    let provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let (code, text) = replay(&provider, &["--follow", "ldap://127.0.0.1:1/"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("ldap://127.0.0.1:1/: "), "{text}");
}
