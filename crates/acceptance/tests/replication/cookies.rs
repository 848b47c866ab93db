//! `slapd -c`: a consumer begins with a cookie of the command line, whatever its database has.

use std::process::Command;

use ironbark_testkit::{Flavor, Server, wait};

use crate::replication::{PEOPLE, assert_follows, change, content, line, providing};

/// A provider, and the configuration of a consumer that has the provider's `contextCSN` although entries are missing.
/// The first one of them is older than `between`.
struct Damaged {
    provider: Server,
    config: String,
    ldif: String,
    between: String,
}

fn person(cn: &str) -> String {
    format!("dn: cn={cn},ou=people,dc=example,dc=com\nobjectClass: person\nsn: {cn}\n")
}

fn context_csn(server: &Server) -> String {
    let held = content(server);
    let found = held.lines().find_map(|line| line.strip_prefix("contextCSN: "));
    found.unwrap().to_owned()
}

fn damaged() -> Damaged {
    let mut provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    provider.ldapadd(&person("first")).unwrap().success().unwrap();
    let between = context_csn(&provider);
    provider.ldapadd(&person("second")).unwrap().success().unwrap();
    provider.stop().unwrap();
    let output = Command::new(Flavor::Ironbark.program().unwrap())
        .args(["slapcat", "-f"])
        .arg(provider.config_path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    provider.launch().unwrap();
    let all = String::from_utf8(output.stdout).unwrap();
    let is_left = |entry: &&str| !entry.contains("dn: cn=first,") && !entry.contains("dn: cn=second,");
    let ldif = all.split("\n\n").filter(is_left).collect::<Vec<_>>().join("\n\n");
    assert!(ldif.contains("contextCSN: "), "{ldif}");
    let config = Server::people_config("", &line(&provider, "type=refreshAndPersist"));
    Damaged {
        provider,
        config,
        ldif,
        between,
    }
}

impl Damaged {
    /// The consumer, started with these options.
    fn start(&self, options: &[&str]) -> Server {
        let mut consumer = Server::prepare(Flavor::Ironbark, &self.config)
            .unwrap()
            .arguments(options);
        consumer.slapadd(&self.ldif).unwrap();
        consumer.launch().unwrap();
        consumer
    }
}

fn has(server: &Server, cn: &str) -> bool {
    content(server).contains(&format!("dn: cn={cn},ou=people,dc=example,dc=com\n"))
}

#[test]
fn a_cookie_says_from_where_on_changes_are_wanted() {
    let damaged = damaged();
    // It has the CSN of everything, so nothing comes but what is new.
    let consumer = damaged.start(&[]);
    change(&damaged.provider, 1);
    let is_told = wait::until(|| (context_csn(&consumer) == context_csn(&damaged.provider)).then_some(()));
    assert!(is_told.is_some(), "{}", consumer.log());
    assert!(!has(&consumer, "first") && !has(&consumer, "second"));
    // From the moment between the two on.
    let cookie = format!("rid=001,csn={}", damaged.between);
    let consumer = damaged.start(&["-c", &cookie, "-d", "sync"]);
    assert!(
        wait::until(|| has(&consumer, "second").then_some(())).is_some(),
        "{}",
        consumer.log()
    );
    consumer.wait_for_log(&format!("sending cookie={cookie}")).unwrap();
    assert!(!has(&consumer, "first"));
}

#[test]
fn a_cookie_without_csn_loads_everything_anew() {
    let damaged = damaged();
    let consumer = damaged.start(&["-c", "rid=001"]);
    assert_follows(&consumer, &damaged.provider);
    assert!(has(&consumer, "first") && has(&consumer, "second"));
}
