//! Both forms of the configuration, changes of a running server, and cn=Monitor.

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, Server, TestkitError, Tool, assert_same};

use super::{TREE, common::converted, config, files};

const ADMINISTRATOR: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

#[test]
fn both_forms_say_the_same_as_slapds() {
    let theirs = Server::prepare(Flavor::OpenLdap, &config("readonly on")).unwrap();
    theirs.slapadd(TREE).unwrap();
    let shown = converted(&theirs, "ldif");
    assert!(
        shown.contains("objectClass: olcLdifConfig") && shown.contains("olcReadOnly: TRUE"),
        "{shown}"
    );
}

#[test]
fn what_it_needs_and_what_it_does_not_know_is_said() {
    for (settings, reason) in [
        ("database ldif\nsuffix o=x", "<database> needs a directory"),
        (
            "database ldif\nsuffix o=x\nsuffix o=y\ndirectory /x",
            "Only one suffix is allowed on this ldif backend",
        ),
        (
            "database ldif\nsuffix o=x\ndirectory /x\nindex cn eq",
            "<index> only allowed within mdb database declaration",
        ),
        (
            "database ldif\nsuffix dc=example,dc=com\nhidden on\ndirectory {dir}/db",
            "another database already has the directory",
        ),
        ("database ldif\nsuffix o=x\ndirectory /nonexistent", "/nonexistent"),
    ] {
        let server = Server::prepare(Flavor::Ironbark, &format!("{}{settings}\n", config(""))).unwrap();
        let outcome = server.tool(Tool::Test, &[], "").unwrap().expect_code(1).unwrap();
        assert!(outcome.stderr.contains(reason), "{settings}: {outcome:?}");
    }
    // Different names in one directory.
    let server = Server::prepare(
        Flavor::Ironbark,
        &format!("{}database ldif\nsuffix o=x\ndirectory {{dir}}/db\n", config("")),
    )
    .unwrap();
    server.slapadd(TREE).unwrap();
    server
        .tool(Tool::Add, &["-n", "2"], "dn: o=x\nobjectClass: organization\n")
        .unwrap()
        .success()
        .unwrap();
    assert!(files(&server).contains_key("o=x.ldif"));
}

fn search(server: &Server, base: &str) -> Result<String, TestkitError> {
    let found = server.search(&["-b", base, "*"])?;
    Ok(format!(
        "{:?}\n{}",
        found.code(),
        NormalizedLdif::new(&found.stdout).sorted()
    ))
}

#[test]
fn it_comes_changes_and_goes_over_ldap() {
    let template = Server::PEOPLE_CONFIG.replace(
        "database mdb",
        "modulepath /usr/lib/ldap\ndatabase config\nrootpw secret\ndatabase mdb",
    );
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = Server::prepare(flavor, &template)?;
        server.slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")?;
        let folder = server.layout().make_dir("files")?.display().to_string();
        server.launch()?;
        let add = format!(
            "dn: olcDatabase=ldif,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\nobjectClass: olcLdifConfig\n\
             olcDatabase: ldif\nolcSuffix: o=files\nolcRootDN: cn=Manager,dc=example,dc=com\nolcDbDirectory: {folder}\n"
        );
        let mut text = String::new();
        let mut change = |who: &Credentials<'_>, change: &str| -> Result<(), TestkitError> {
            let code = server.client("ldapmodify", who, &[], change)?.code();
            writeln!(text, "{} {code:?}", change.replace(&folder, "FOLDER")).unwrap();
            Ok(())
        };
        change(&ADMINISTRATOR, &add)?;
        change(
            &Credentials::ROOT,
            "dn: o=files\nchangetype: add\nobjectClass: organization\no: files\n",
        )?;
        change(
            &Credentials::ROOT,
            "dn: cn=x,o=files\nchangetype: add\nobjectClass: person\ncn: x\nsn: x\n",
        )?;
        change(
            &ADMINISTRATOR,
            "dn: olcDatabase={2}ldif,cn=config\nchangetype: modify\nreplace: olcReadOnly\nolcReadOnly: TRUE\n",
        )?;
        change(&Credentials::ROOT, "dn: cn=x,o=files\nchangetype: delete\n")?;
        change(
            &ADMINISTRATOR,
            "dn: olcDatabase={2}ldif,cn=config\nchangetype: modify\nreplace: olcReadOnly\nolcReadOnly: FALSE\n",
        )?;
        text += &search(&server, "o=files")?;
        if flavor == Flavor::Ironbark {
            let delete = "dn: olcDatabase={2}ldif,cn=config\nchangetype: delete\n";
            server.client("ldapmodify", &ADMINISTRATOR, &[], delete)?.success()?;
            assert!(search(&server, "o=files")?.starts_with("Some(32)"));
            // Somebody changes the files in the meantime.
            let file = server.layout().join("files/o=files/cn=x.ldif");
            std::fs::remove_file(file).unwrap();
            server.client("ldapmodify", &ADMINISTRATOR, &[], &add)?.success()?;
            let found = search(&server, "o=files")?;
            assert!(found.contains("dn: o=files\n") && !found.contains("cn=x"), "{found}");
            // Its schema is converted too.
            let schema = "dn: cn=mine,cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: mine\n\
                olcAttributeTypes: ( 1.3.6.1.4.1.32473.1 NAME 'mine' SUP name )\n\
                olcObjectClasses: ( 1.3.6.1.4.1.32473.2 NAME 'mineClass' SUP top AUXILIARY MAY mine )\n";
            server.client("ldapmodify", &ADMINISTRATOR, &[], schema)?.success()?;
            server.ldapmodify("dn: o=files\nchangetype: modify\nadd: objectClass\nobjectClass: mineClass\n-\nadd: mine\nmine: yes\n")?.success()?;
            assert!(server.layout().read("files/o=files.ldif")?.contains("\nmine: yes\n"));
        }
        Ok(text)
    });
}

#[test]
fn monitor_shows_databases_without_a_store_as_slapd_does() {
    let modules = "modulepath /usr/lib/ldap\nmoduleload back_monitor\nmoduleload back_null\ndatabase ldif";
    let template = config("restrict add").replace("database ldif", modules);
    let template = template + "database null\nsuffix o=null\nsuffix o=void\ndatabase monitor\n";
    assert_same(|flavor| -> Result<String, TestkitError> {
        let server = Server::start(flavor, &template)?;
        let mut text = String::new();
        for base in ["cn=Databases,cn=Monitor", "cn=Backends,cn=Monitor"] {
            let filter = "(|(monitoredInfo=ldif)(monitoredInfo=null))";
            let found = server.search(&["-b", base, filter, "*", "+"])?.success()?;
            text += &NormalizedLdif::new(&found.stdout)
                .without(&NormalizedLdif::VOLATILE)
                .to_string();
        }
        let found = server.search(&["-s", "base", "-b", "", "namingContexts"])?.success()?;
        Ok(text + &found.stdout)
    });
}
