//! What `ironbark replica status` and the log say of consumers that are not told everything.

use ironbark_testkit::{Flavor, Server, wait};

use crate::replication::{
    PEOPLE,
    administer::{MONITOR, replica},
    assert_follows, content, delta, following,
    mesh::{assert_equal, first_content, lines_of, start_with},
    providing,
};

const PERSIST: &str = "type=refreshAndPersist";
const HIDDEN_LEFT_OUT: &str = "filter=\"(!(sn=hidden))\"";
const HIDING: &str = "access to filter=(sn=hidden) by * none\n";

/// Two servers that write and follow each other, as the documentation says. `before` stands before the rules of the
/// first one, `words` are further ones of the line of the second one.
fn writers(flavors: [Flavor; 2], before: &str, words: &str) -> [Server; 2] {
    let mut id = 0;
    let mut servers = flavors.map(|flavor| {
        id += 1;
        let global = format!("serverID {id}\nmoduleload syncprov");
        let config = Server::people_config(&global, "index entryUUID,entryCSN eq\noverlay syncprov\n#consumers");
        Server::prepare(flavor, &config).unwrap()
    });
    for number in 0..2 {
        let (before, words) = if number == 0 { (before, "") } else { ("", words) };
        let lines = lines_of(&servers, vec![1 - number], &format!("{PERSIST} {words}"));
        let monitor = if flavors[number] == Flavor::Ironbark {
            MONITOR
        } else {
            ""
        };
        start_with(
            &mut servers[number],
            &format!("{before}{lines}multiprovider on\n{monitor}"),
        );
    }
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    servers
}

fn person(cn: &str) -> String {
    format!("dn: cn={cn},ou=people,dc=example,dc=com\nobjectClass: person\nsn: {cn}\n")
}

/// The table for these servers once it has all of these texts.
#[track_caller]
fn status(servers: &[Server], wanted: &[&str]) -> String {
    let urls: Vec<String> = servers.iter().map(Server::url).collect();
    let arguments: Vec<&str> = ["status"].into_iter().chain(urls.iter().map(String::as_str)).collect();
    let mut text = String::new();
    let found = wait::until(|| {
        text = replica(&arguments).1;
        wanted.iter().all(|wanted| text.contains(wanted)).then_some(())
    });
    assert!(found.is_some(), "{wanted:?} in\n{text}");
    text
}

/// How many rows of the table begin so and have this word.
fn rows(table: &str, server: &Server, direction: &str, places: &str) -> usize {
    let url = server.url();
    let is_its = |row: &&str| {
        row.starts_with(&url) && row.contains(&format!(" {direction} ")) && row.contains(&format!(" {places} "))
    };
    table.lines().filter(is_its).count()
}

#[test]
fn writers_that_are_told_everything_have_no_notes() {
    let servers = writers([Flavor::Ironbark; 2], "", "");
    assert_equal(&servers, "before");
    servers[1].ldapadd(&person("of-the-other")).unwrap().success().unwrap();
    let told = wait::until(|| {
        let table = status(&servers, &[]);
        let is_told =
            |server: &Server| rows(&table, server, "from", "told") == 1 && rows(&table, server, "to", "told") == 1;
        servers.iter().all(is_told).then_some(table)
    });
    let table = told.unwrap_or_else(|| panic!("{}", status(&servers, &[])));
    assert!(!table.contains("note: "), "{table}");
}

#[test]
fn rules_that_hide_are_told_on_both_sides_and_once_in_the_log() {
    let servers = writers([Flavor::Ironbark; 2], HIDING, "");
    let urls = servers.each_ref().map(Server::url);
    let here = format!(
        "note: {} from {} rid=000: access rules of the provider may hide entries",
        urls[1], urls[0]
    );
    let table = status(&servers, &[&here, "part (rules)"]);
    let there = format!("note: {} to ", urls[0]);
    let note = table.lines().find(|line| line.starts_with(&there)).unwrap();
    assert!(
        note.contains("(\"cn=replicator,dc=example,dc=com\"): access rules may hide entries from it")
            && note.ends_with("-c rid=000"),
        "{table}"
    );
    assert_eq!(rows(&table, &servers[0], "to", "part (rules)"), 1, "{table}");
    assert_eq!(rows(&table, &servers[1], "from", "part (rules)"), 1, "{table}");
    // The other way round everything is told.
    assert_eq!(table.matches("note: ").count(), 2, "{table}");
    servers[0].ldapadd(&person("hidden")).unwrap().success().unwrap();
    servers[0].ldapadd(&person("shown")).unwrap().success().unwrap();
    assert!(wait::until(|| has(&servers[1], "shown").then_some(())).is_some());
    assert!(!has(&servers[1], "hidden"));
    let log = servers[1].log();
    assert_eq!(
        log.matches("syncrepl rid=000: the provider may keep entries").count(),
        1,
        "{log}"
    );
    // What the line says to do helps.
    let [mut provider, mut consumer] = servers;
    for server in [&mut provider, &mut consumer] {
        server.stop().unwrap();
    }
    let config = std::fs::read_to_string(provider.config_path()).unwrap();
    std::fs::write(provider.config_path(), config.replace(HIDING, "")).unwrap();
    provider.launch().unwrap();
    let mut consumer = consumer.arguments(&["-c", "rid=000"]);
    consumer.launch().unwrap();
    let servers = [provider, consumer];
    assert_equal(&servers, "with all rights");
    assert!(has(&servers[1], "hidden"));
    let table = status(&servers, &[" told "]);
    assert!(!table.contains("note: "), "{table}");
}

#[test]
fn hidden_values_are_told_by_the_provider() {
    let servers = writers(
        [Flavor::Ironbark; 2],
        "access to attrs=description by self write by * none\n",
        "",
    );
    let note = format!("note: {} to ", servers[0].url());
    let table = status(&servers, &["told (values)", &note]);
    let note = table.lines().find(|line| line.starts_with(&note)).unwrap();
    assert!(
        note.contains("hide values from it: entries that are changed there come back without"),
        "{table}"
    );
    assert_eq!(table.matches("note: ").count(), 1, "{table}");
}

/// Whether an entry of this name is there.
fn has(server: &Server, cn: &str) -> bool {
    content(server).contains(&format!("dn: cn={cn},"))
}

#[test]
fn a_filter_among_writers_is_told() {
    let servers = writers([Flavor::Ironbark; 2], "", HIDDEN_LEFT_OUT);
    servers[0].ldapadd(&person("kept")).unwrap().success().unwrap();
    assert!(wait::until(|| has(&servers[1], "kept").then_some(())).is_some());
    let urls = servers.each_ref().map(Server::url);
    let here = format!("note: {} from {} rid=000: its filter", urls[1], urls[0]);
    let table = status(&servers, &[&here, "part (filter)"]);
    let there = format!("note: {} to ", urls[0]);
    let note = table.lines().find(|line| line.starts_with(&there)).unwrap();
    assert!(note.contains(": its filter may leave entries out"), "{table}");
    servers[0]
        .wait_for_log("the filter of the consumer rid=000 of \"cn=replicator,dc=example,dc=com\" may leave out entries")
        .unwrap();
    servers[0].ldapadd(&person("later")).unwrap().success().unwrap();
    assert!(wait::until(|| has(&servers[1], "later").then_some(())).is_some());
    let log = servers[0].log();
    assert_eq!(log.matches("the filter of the consumer").count(), 1, "{log}");
}

#[test]
fn what_ceases_to_match_among_writers_stays_everywhere() {
    let servers = writers([Flavor::Ironbark; 2], "", HIDDEN_LEFT_OUT);
    servers[0].ldapadd(&person("kept")).unwrap().success().unwrap();
    assert!(wait::until(|| has(&servers[1], "kept").then_some(())).is_some());
    let hide = "dn: cn=kept,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: hidden\n";
    servers[0].ldapmodify(hide).unwrap().success().unwrap();
    servers[0].ldapadd(&person("later")).unwrap().success().unwrap();
    assert!(wait::until(|| has(&servers[1], "later").then_some(())).is_some());
    servers[1].ldapadd(&person("back")).unwrap().success().unwrap();
    assert!(wait::until(|| has(&servers[0], "back").then_some(())).is_some());
    assert!(has(&servers[0], "kept") && has(&servers[1], "kept"));
}

#[test]
fn a_base_below_the_suffix_is_told() {
    let mut servers = [1, 2].map(|id| {
        let global = format!("serverID {id}\nmoduleload syncprov");
        Server::prepare(
            Flavor::Ironbark,
            &Server::people_config(&global, "overlay syncprov\n#consumers"),
        )
        .unwrap()
    });
    start_with(&mut servers[0], MONITOR);
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    let line = lines_of(&servers, vec![0], PERSIST);
    let line = line.replace("searchbase=", "searchbase=ou=people,");
    start_with(&mut servers[1], &format!("{line}multiprovider on\n{MONITOR}"));
    let urls = servers.each_ref().map(Server::url);
    let here = format!(
        "note: {} from {} rid=000: it copies a part of the tree",
        urls[1], urls[0]
    );
    status(&servers, &[&here, "none (base)", &format!("note: {} to ", urls[0])]);
    servers[0]
        .wait_for_log("copies a part of dc=example,dc=com, below ou=people,dc=example,dc=com: it is not told places")
        .unwrap();
}

#[test]
fn a_filtered_copy_is_told_by_its_provider() {
    let provider = providing(Flavor::Ironbark, MONITOR);
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let all = following(Flavor::Ironbark, &provider, PERSIST);
    assert_follows(&all, &provider);
    let table = status(&[provider], &[" unasked "]);
    assert!(!table.contains("note: "), "a copy of everything: {table}");

    let provider = providing(Flavor::Ironbark, MONITOR);
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let _some = following(Flavor::Ironbark, &provider, &format!("{PERSIST} filter=(ou=*)"));
    let wanted = [
        " unasked (filter) ",
        "its filter may leave entries out: it copies a part",
    ];
    status(&[provider], &wanted);
}

#[test]
fn slapd_among_writers_is_told_as_provider_and_as_consumer() {
    let servers = writers([Flavor::OpenLdap, Flavor::Ironbark], "", "");
    assert_equal(&servers, "before");
    let urls = servers.each_ref().map(Server::url);
    let from = format!(
        "note: {} from {} rid=000: the provider does not tell places of entries, as slapd",
        urls[1], urls[0]
    );
    let table = status(&servers, &[&from, "it does not ask for places of entries, as slapd"]);
    assert_eq!(rows(&table, &servers[1], "from", "none"), 1, "{table}");
    assert_eq!(rows(&table, &servers[1], "to", "unasked"), 1, "{table}");
    assert_eq!(table.matches("note: ").count(), 2, "{table}");
}

#[test]
fn writers_that_follow_logs_are_told() {
    let servers = delta::writers([Flavor::Ironbark; 2], MONITOR);
    assert_equal(&servers, "before");
    // The log tells places with adds and renames.
    for (number, server) in servers.iter().enumerate() {
        let unit = format!("dn: ou=u{number},dc=example,dc=com\nobjectClass: organizationalUnit\n");
        server.ldapadd(&unit).unwrap().success().unwrap();
    }
    assert_equal(&servers, "behind an add at each");
    let table = status(&servers, &[" told (log) "]);
    for server in &servers {
        assert_eq!(rows(&table, server, "from", "told"), 1, "{table}");
    }
    assert!(!table.contains("note: "), "{table}");
}
