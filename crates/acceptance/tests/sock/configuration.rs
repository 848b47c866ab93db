//! cn=config says the same as slapd.conf.

use ironbark_testkit::{Credentials, Flavor, Server, Tool, assert_same};

use super::{config, program::Program};

#[test]
fn a_database_comes_changes_and_goes_while_the_server_runs() {
    let text = Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw config\ndatabase mdb");
    let server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    // The conversion comes before it says that there is no database yet.
    server.tool(Tool::Test, &["-F", &folder.to_string_lossy()], "").unwrap();
    let mut server = server.from_directory(folder);
    server.launch().unwrap();
    let config = Credentials::Simple {
        dn: "cn=config",
        password: "config",
    };
    let change = |text: &str| {
        let outcome = server.client("ldapmodify", &config, &[], text).unwrap();
        assert_eq!(outcome.code(), Some(0), "{text}{outcome:?}");
    };
    let socket = server.layout().join("program.sock");
    change(&format!(
        "dn: olcDatabase=sock,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\nobjectClass: olcDbSocketConfig\n\
         olcDatabase: sock\nolcSuffix: o=second\nolcDbSocketPath: {}\nolcDbSocketExtensions: binddn\n",
        socket.display()
    ));
    let entry = "dn: cn=a,o=second\ncn: a\n\nRESULT\ncode: 0";
    let program = Program::start(&server, &[("^SEARCH.*hang", "!hang"), ("^SEARCH", entry)]);
    let found = server.search(&["-b", "o=second"]).unwrap();
    assert_eq!(found.stdout.trim(), "dn: cn=a,o=second\ncn: a", "{found:?}");
    assert!(
        program
            .notes_with("SEARCH\n")
            .contains("\nbinddn: \nsuffix: o=second\n")
    );
    change(
        "dn: olcDatabase={2}sock,cn=config\nchangetype: modify\ndelete: olcDbSocketExtensions\n-\n\
         add: olcDbSocketExtensions\nolcDbSocketExtensions: ssf connid\n",
    );
    server.search(&["-b", "o=second"]).unwrap().success().unwrap();
    let notes = program.notes_with("SEARCH");
    // Unbind requests come when they come.
    let search = notes.split("-- end\n").find(|text| text.starts_with("SEARCH")).unwrap();
    assert!(
        search.contains("\nssf: 0\nconnid: ") && !search.contains("binddn"),
        "{notes}"
    );
    change("dn: olcDatabase={2}sock,cn=config\nchangetype: delete\n");
    assert_eq!(server.search(&["-b", "o=second"]).unwrap().code(), Some(32));
}

#[test]
fn the_configuration_directory_is_slapds() {
    assert_same(|flavor| {
        let server = Server::prepare(flavor, &config("extensions connid"))?;
        let suffix = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n";
        server
            .tool(Tool::Add, &["-b", "dc=example,dc=com"], suffix)?
            .success()?;
        let folder = server.layout().make_dir("slapd.d")?;
        let folder = folder.to_string_lossy();
        server.tool(Tool::Test, &["-F", &folder], "")?.success()?;
        let shown = Tool::Cat.run(flavor, &["-F", &folder, "-n0", "-o", "ldif-wrap=no"], "")?;
        let shown = shown.success()?.stdout;
        let entry = shown
            .split("\n\n")
            .find(|entry| entry.contains("}sock,cn=config"))
            .unwrap_or_default();
        let own = entry.lines().filter(|line| {
            let is_stamp = [
                "entryUUID",
                "entryCSN",
                "createTimestamp",
                "modifyTimestamp",
                "creatorsName",
                "modifiersName",
            ];
            !is_stamp.iter().any(|name| line.starts_with(name))
        });
        Ok(own
            .collect::<Vec<_>>()
            .join("\n")
            .replace(&*server.layout().path().to_string_lossy(), "DIR"))
    });
    // What may not be is refused.
    for (settings, reason) in [
        ("overlay memberof", "overlay memberof cannot act on a sock database"),
        ("subordinate", "cannot be subordinate"),
        ("extensions nosuch", "unknown extension \"nosuch\""),
    ] {
        let mut server = Server::prepare(Flavor::Ironbark, &config(settings)).unwrap();
        let error = server.launch().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    let without = config("").replace("socketpath {dir}/program.sock\n", "");
    let error = Server::start(Flavor::Ironbark, &without).unwrap_err().to_string();
    assert!(error.contains("needs a socketpath"), "{error}");
}
