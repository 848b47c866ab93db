//! The subcommands of our own.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

mod check_migration;
mod completions;
mod first_minutes;
mod init;
mod support_bundle;

use std::{fs, process::Command};

use crate::common::{PEOPLE, dump, ironbark, prepared, succeed};
use ironbark_testkit::{Flavor, Server, Tool};

const DATA_SETS: &str = "\
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
include {schema}/nis.schema
include {schema}/eduperson.schema
include {schema}/telco.schema
include {schema}/zimbra.schema
database mdb
suffix dc=example,dc=com
directory {dir}/db
index objectClass,uid eq
";

#[test]
fn generated_data_sets_are_loaded_and_dumped_whole() {
    for kind in ["zimbra", "telco", "university", "directorymark"] {
        let server = Server::prepare(Flavor::Ironbark, DATA_SETS).unwrap();
        let file = server.layout().join("data.ldif");
        let file = file.to_str().unwrap();
        succeed(&[
            "generate",
            kind,
            "--count",
            "300",
            "--suffix",
            "dc=example,dc=com",
            "--seed",
            "7",
            "--output",
            file,
        ]);
        server
            .tool(Tool::Add, &["-q", "-l", file], "")
            .unwrap()
            .success()
            .unwrap();
        let count = |text: &str| text.lines().filter(|line| line.starts_with("dn:")).count();
        let made = count(&fs::read_to_string(file).unwrap());
        let dumped = server.tool(Tool::Cat, &[], "").unwrap().success().unwrap().stdout;
        assert!(made > 300 && count(&dumped) == made, "{kind}: {made}");
    }
    assert_eq!(
        succeed(&["generate", "telco", "--count", "5"]),
        succeed(&["generate", "telco", "--count", "5"])
    );
    assert!(!ironbark(&["generate", "nothing", "--count", "5"]).status.success());
    let kept = tempfile::NamedTempFile::new().unwrap();
    let path = kept.path().to_str().unwrap();
    let again = ironbark(&["generate", "telco", "--count", "5", "-o", path]);
    assert!(
        !again.status.success() && fs::metadata(path).unwrap().len() == 0,
        "{again:?}"
    );
}

#[test]
fn a_search_is_explained() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let config = server.config_path();
    let config = config.to_str().unwrap();
    let text = succeed(&["explain", "-f", config, "-b", "dc=example,dc=com", "(cn=ann lee)"]);
    assert!(
        text.contains("candidates examined: 1\nentries found: 1\n") && text.contains("cn"),
        "{text}"
    );
    let text = succeed(&[
        "explain",
        "-f",
        config,
        "-b",
        "dc=example,dc=com",
        "-s",
        "one",
        "(sn=lee)",
    ]);
    assert!(text.contains("entries found: 0"), "{text}");
    assert!(
        !ironbark(&["explain", "-f", config, "-b", "ou=none,dc=example,dc=com", "(cn=x)"])
            .status
            .success()
    );
    assert!(!ironbark(&["explain", "-f", config, "(cn="]).status.success());
}

#[test]
fn a_computed_value_is_explained_by_its_definition() {
    let config = Server::people_config("", "index title eq\noverlay cos");
    let server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    let template = "objectClass: extensibleObject\nobjectClass: cosTemplate\ncn: all\nroomNumber: 7";
    let definition = "objectClass: cosPointerDefinition\ncn: rooms\ncosTemplateDn: cn=all,dc=example,dc=com\n\
                      cosAttribute: roomNumber";
    let more = format!(
        "{PEOPLE}\ndn: cn=all,dc=example,dc=com\n{template}\n\ndn: cn=rooms,dc=example,dc=com\n{definition}\n\n\
         dn: cn=x,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n"
    );
    server.slapadd(&more).unwrap();
    let config = server.config_path();
    let config = config.to_str().unwrap();
    let explain = |filter: &str| succeed(&["explain", "-f", config, "-b", "dc=example,dc=com", filter]);
    let text = explain("(&(roomNumber=7)(sn=x))");
    assert!(text.contains("entries found: 1\n"), "{text}");
    let origin = "computed values of cn=x,dc=example,dc=com:\n  roomNumber: 7\n    by overlay cos\n    \
                  definition cn=rooms,dc=example,dc=com, values of cn=all,dc=example,dc=com\n";
    assert!(text.contains(origin), "{text}");
    let text = explain("(roomNumber=7)");
    assert!(
        text.contains("roomNumber equality") || text.contains("scan of all entries"),
        "{text}"
    );
    assert!(!text.contains("entries found: 0"), "{text}");
}

#[test]
fn a_backup_is_restored_and_overwrites_nothing() {
    let mut server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let config = server.config_path();
    let config = config.to_str().unwrap().to_owned();
    server.launch().unwrap();
    let (folder, file) = (
        server.layout().make_dir("backup").unwrap(),
        server.layout().join("copy.mdb"),
    );
    for target in [folder.to_str().unwrap(), file.to_str().unwrap()] {
        assert!(succeed(&["backup", "-f", &config, target]).contains("4 entries, verified"));
        let again = ironbark(&["backup", "-f", &config, "--compact", target]);
        assert!(
            !again.status.success() && String::from_utf8_lossy(&again.stderr).contains("exists"),
            "{again:?}"
        );
    }
    server.stop().unwrap();
    let before = dump(&server);
    let refused = ironbark(&["restore", "-f", &config, file.to_str().unwrap()]);
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("exists"),
        "{refused:?}"
    );
    for source in [&folder, &file] {
        fs::remove_file(server.layout().join("db/data.mdb")).unwrap();
        succeed(&["restore", "-f", &config, source.to_str().unwrap()]);
        assert_eq!(dump(&server), before);
    }
    fs::remove_file(server.layout().join("db/data.mdb")).unwrap();
    let rubbish = server.layout().write("rubbish", "x".repeat(100_000)).unwrap();
    let refused = ironbark(&["restore", "-f", &config, rubbish.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && !said.contains(".tmp"), "{said}");
    assert!(
        !server.layout().join("db/data.mdb").exists(),
        "what is not sound is not put in place"
    );
    let left = fs::read_dir(server.layout().join("db")).unwrap().filter(|entry| {
        entry
            .as_ref()
            .is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(".ironbark"))
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn what_a_killed_backup_left_goes_with_the_next_one_and_what_is_in_use_stays() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let config = server.config_path();
    let config = config.to_str().unwrap().to_owned();
    let left = |number: u32| server.layout().join(&format!(".ironbark-{number}.tmp"));
    for number in [1, 7] {
        let folder = server.layout().make_dir(&format!(".ironbark-{number}.tmp")).unwrap();
        fs::write(folder.join("data.mdb"), "half").unwrap();
    }
    // Another backup that is under way; its process number may equal that of this process.
    let lock = fs::File::open(left(7)).unwrap();
    lock.try_lock().unwrap();
    let file = |name: &str| server.layout().join(name).to_str().unwrap().to_owned();
    succeed(&["backup", "-f", &config, &file("one.mdb")]);
    assert!(!left(1).exists() && left(7).join("data.mdb").exists());
    drop(lock);
    succeed(&["backup", "-f", &config, &file("two.mdb")]);
    assert!(!left(7).exists());
}

#[test]
fn a_deep_check_says_that_all_is_sound_beside_a_server_and_without() {
    let mut server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let config = server.config_path();
    let config = config.to_str().unwrap().to_owned();
    let check = ["health", "--deep", "-f", &config];
    assert!(succeed(&check).contains("data.mdb: 4 entries, sound\n"));
    server.launch().unwrap();
    assert!(succeed(&check).contains("data.mdb: 4 entries, sound\n"));
    let ldif = "dn: ou=new,dc=example,dc=com\nobjectClass: organizationalUnit\nou: new\n";
    server.ldapadd(ldif).unwrap().success().unwrap();
    assert!(succeed(&check).contains("data.mdb: 5 entries, sound\n"));
    assert!(!ironbark(&["health", "-f", &config]).status.success());
}

#[test]
fn a_server_that_answers_is_healthy() {
    let mut server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    server.launch().unwrap();
    for url in [server.url(), server.ldapi_url()] {
        assert!(succeed(&["health", "-H", &url]).contains("naming contexts: dc=example,dc=com"));
    }
    let url = server.url();
    server.stop().unwrap();
    assert!(!ironbark(&["health", "-H", &url]).status.success());
    assert!(!ironbark(&["health", "-H", "http://x/"]).status.success());
}

#[test]
fn a_bare_server_answers_every_search_with_one_entry() {
    let mut server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server
        .ldapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
        .unwrap()
        .success()
        .unwrap();
    server.stop().unwrap();
    let url = server.ldapi_url();
    let mut bare = Command::new(Flavor::Ironbark.program().unwrap())
        .args([
            "serve",
            "-f",
            server.config_path().to_str().unwrap(),
            "-H",
            &url,
            "--log",
            "0",
            "--bare",
        ])
        .spawn()
        .unwrap();
    let found = ironbark_testkit::wait::until(|| {
        let output = Command::new("ldapsearch")
            .args(["-x", "-LLL", "-H", &url, "-b", "dc=nowhere", "(cn=nobody)"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    });
    let _ = bare.kill();
    let _ = bare.wait();
    let found = found.unwrap();
    assert!(
        found.starts_with("dn: dc=example,dc=com\n") && found.contains("dc: example"),
        "{found}"
    );
}
