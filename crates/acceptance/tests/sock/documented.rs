//! The example of docs/sock.md does what the page says, and cn=config says the same as slapd.conf.

use std::{fs, path::Path};

use ironbark_testkit::{Credentials, Flavor, Server, Tool, assert_same};

use super::{config, program::Program};

const ADA: Credentials<'static> = Credentials::Simple {
    dn: "uid=ada,ou=phones,dc=example,dc=com",
    password: "engine",
};

#[test]
fn the_example_of_the_page_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sock.md");
    let page = fs::read_to_string(page).unwrap();
    let code = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let lines: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("    database   sock"))
        .take_while(|line| line.starts_with("    "))
        .collect();
    let settings = lines
        .join("\n")
        .replace("    ", "")
        .replace("/run/phones.sock", "{dir}/program.sock");
    let text = Server::PEOPLE_CONFIG.replace("database mdb", &format!("{settings}\n\ndatabase mdb"));
    let server = Server::start(Flavor::Ironbark, &text).unwrap();
    let script = server.layout().write("phones.py", code).unwrap();
    let _program = Program::run(&server, &script, &[]);

    let base = "ou=phones,dc=example,dc=com";
    let found = server
        .search(&["-b", base, "(sn=Hop*)", "cn", "telephoneNumber"])
        .unwrap();
    let expected = "dn: uid=grace,ou=phones,dc=example,dc=com\ncn: Grace Hopper\ntelephoneNumber: +1 2";
    assert_eq!(found.stdout.trim(), expected, "{found:?}");
    assert_eq!(server.search(&["-b", base]).unwrap().stdout.matches("dn: ").count(), 2);
    let who = server.client("ldapwhoami", &ADA, &[], "").unwrap();
    assert_eq!(who.stdout.trim(), "dn:uid=ada,ou=phones,dc=example,dc=com", "{who:?}");
    let wrong = Credentials::Simple {
        dn: "uid=ada,ou=phones,dc=example,dc=com",
        password: "cobol",
    };
    assert_eq!(server.client("ldapwhoami", &wrong, &[], "").unwrap().code(), Some(49));
    let compare = |assertion: &str| {
        let arguments = ["uid=ada,ou=phones,dc=example,dc=com", assertion];
        server.client("ldapcompare", &ADA, &arguments, "").unwrap().code()
    };
    assert_eq!((compare("sn:lovelace"), compare("sn:hopper")), (Some(6), Some(5)));
    let deleted = server
        .client("ldapdelete", &ADA, &[&format!("uid=ada,{base}")], "")
        .unwrap();
    assert_eq!(deleted.code(), Some(53));
    assert!(
        deleted.stderr.contains("the list cannot be changed here"),
        "{deleted:?}"
    );
}

#[test]
fn the_overlays_example_of_the_page_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sock.md");
    let page = fs::read_to_string(page).unwrap();
    let page = page.split("## The overlay\n").nth(1).unwrap();
    let code = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let lines = page.lines().skip_while(|line| !line.starts_with("    overlay"));
    let lines: Vec<&str> = lines.map_while(|line| line.strip_prefix("    ")).collect();
    let settings = lines.join("\n");
    let settings = settings.replace("/run/guard.sock", "{dir}/program.sock");
    let text = format!("{}access to * by * write\n{settings}\n", Server::PEOPLE_CONFIG);
    let mut server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    let unit =
        |dn: &str, name: &str| format!("dn: {dn}dc=example,dc=com\nobjectClass: organizationalUnit\nou: {name}\n\n");
    let domain = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\nuserPassword: x\n\n";
    let units = [("ou=people,", "people"), ("ou=a,ou=people,", "a"), ("ou=b,", "b")];
    let units = units.map(|(dn, name)| unit(dn, name));
    server.slapadd(&format!("{domain}{}", units.concat())).unwrap();
    server.launch().unwrap();
    let script = server.layout().write("guard.py", code).unwrap();
    let _program = Program::run(&server, &script, &[]);
    let user = Credentials::Simple {
        dn: "dc=example,dc=com",
        password: "x",
    };
    let delete = |who: &Credentials<'_>, dn: &str| server.client("ldapdelete", who, &[dn], "").unwrap();
    let refused = delete(&user, "ou=a,ou=people,dc=example,dc=com");
    assert!(
        refused.code() == Some(50) && refused.stderr.contains("ask the manager"),
        "{refused:?}"
    );
    assert_eq!(
        delete(&Credentials::ROOT, "ou=a,ou=people,dc=example,dc=com").code(),
        Some(0)
    );
    assert_eq!(delete(&user, "ou=b,dc=example,dc=com").code(), Some(0));
}

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
