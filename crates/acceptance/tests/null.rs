//! `database null`: everything succeeds and nothing is kept, as with Debian's slapd.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::fmt::Write as _;

use crate::common::converted;
use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, Server, TestkitError, Tool, assert_same};

/// A database that keeps nothing, with these settings, before one that keeps entries.
fn config(settings: &str) -> String {
    let null = format!(
        "modulepath /usr/lib/ldap\nmoduleload back_null\ndatabase null\nsuffix \"cn=Nothing, o=Void\"\nsuffix o=second\n\
         rootdn cn=root,cn=Nothing,o=Void\nrootpw nil\n{settings}\n"
    );
    Server::PEOPLE_CONFIG.replace("database mdb", &format!("{null}database mdb"))
}

const SUFFIX: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n";

const ROOT: Credentials<'static> = Credentials::Simple {
    dn: "cn=root,cn=Nothing,o=Void",
    password: "nil",
};

const CHANGES: [&str; 9] = [
    "dn: cn=x,ou=missing,cn=nothing,o=void\nchangetype: add\nobjectClass: person\ncn: y\n",
    "dn: cn=x,o=second\nchangetype: add\nobjectClass: person\ncn: x\nsn: x\n",
    "dn: cn=x,cn=nothing,o=void\nchangetype: add\nobjectClass: person\nnothing: x\n",
    "dn: cn=x,cn=nothing,o=void\nchangetype: modify\nreplace: sn\nsn: y\n-\ndelete: description\n",
    "dn: cn=x,cn=nothing,o=void\nchangetype: modify\nreplace: createTimestamp\ncreateTimestamp: 20200101000000Z\n",
    "dn: cn=x,cn=nothing,o=void\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 1\nnewsuperior: ou=missing,cn=nothing,o=void\n",
    "dn: cn=x,cn=nothing,o=void\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 1\nnewsuperior: dc=example,dc=com\n",
    "dn: cn=nothing,o=void\nchangetype: delete\n",
    "dn: rubbish\nchangetype: delete\n",
];

#[test]
fn tools_find_nothing_and_load_into_nothing() {
    assert_same(|flavor| -> Result<String, TestkitError> {
        let server = Server::prepare(flavor, &config(""))?;
        server.tool(Tool::Add, &["-n", "2"], SUFFIX)?.success()?;
        let mut text = String::new();
        let entry = "dn: cn=nothing,o=void\nobjectClass: applicationProcess\ncn: nothing\n";
        for (tool, arguments, input) in [
            (Tool::Add, &["-n", "1"][..], entry),
            (Tool::Cat, &["-n", "1"], ""),
            (Tool::Cat, &["-b", "o=second"], ""),
            (Tool::Index, &["-n", "1"], ""),
            (Tool::Schema, &["-n", "1"], ""),
        ] {
            let outcome = server.tool(tool, arguments, input)?;
            writeln!(
                text,
                "{tool:?} {arguments:?} = {:?}\n{}",
                outcome.code(),
                outcome.stdout
            )
            .unwrap();
        }
        server.tool(Tool::Test, &[], "")?.success()?;
        Ok(text)
    });
}

#[test]
fn an_overlay_is_told_of_what_is_not_kept() {
    for flavor in Flavor::ALL {
        let text = config("moduleload auditlog\noverlay auditlog\nauditlog {dir}/audit.ldif")
            .replace("moduleload auditlog\n", "");
        let text = text.replace("moduleload back_null\n", "moduleload back_null\nmoduleload auditlog\n");
        let server = Server::start(flavor, &text).unwrap();
        let outcome = server.client("ldapmodify", &ROOT, &[], CHANGES[3]).unwrap();
        outcome.success().unwrap();
        let log = server.layout().read("audit.ldif").unwrap();
        assert!(
            log.contains("dn: cn=x,cn=nothing,o=void\nchangetype: modify\nreplace: sn\nsn: y\n-\n"),
            "{log}"
        );
    }
}

#[test]
fn overlays_that_need_entries_are_told_to_have_none() {
    let server = Server::prepare(Flavor::Ironbark, &config("overlay memberof")).unwrap();
    let outcome = server.tool(Tool::Test, &["-u", "-v"], "").unwrap();
    assert!(
        outcome
            .stderr
            .contains("overlay memberof: a null database has no entries"),
        "{outcome:?}"
    );
    let refused = config("subordinate\ndosearch on");
    let server = Server::prepare(Flavor::Ironbark, &refused).unwrap();
    let outcome = server.tool(Tool::Test, &["-u"], "").unwrap().expect_code(1).unwrap();
    assert!(
        outcome.stderr.contains("a subordinate database cannot have dosearch"),
        "{outcome:?}"
    );
}

const ADMINISTRATOR: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

#[test]
fn it_comes_changes_and_goes_over_ldap_and_is_shown() {
    let add = "dn: olcDatabase=null,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\nobjectClass: olcNullConfig\n\
        olcDatabase: null\nolcSuffix: cn=nothing\nolcDbBindAllowed: TRUE\n";
    let change = "dn: olcDatabase={2}null,cn=config\nchangetype: modify\nreplace: olcDbBindAllowed\nolcDbBindAllowed: FALSE\n-\n\
        add: olcDbDoSearch\nolcDbDoSearch: TRUE\n";
    let delete = "dn: olcDatabase={2}null,cn=config\nchangetype: delete\n";
    let template = Server::PEOPLE_CONFIG.replace(
        "database mdb",
        "modulepath /usr/lib/ldap\nmoduleload back_null\nmoduleload back_monitor\ndatabase config\nrootpw secret\ndatabase mdb",
    );
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = Server::prepare(flavor, &template)?;
        server.slapadd(SUFFIX)?;
        server.launch()?;
        let mut text = String::new();
        let nobody = Credentials::Simple {
            dn: "cn=anybody,cn=nothing",
            password: "x",
        };
        for change in [add, change] {
            let changed = server.client("ldapmodify", &ADMINISTRATOR, &[], change)?;
            let bound = server.client("ldapwhoami", &nobody, &[], "")?;
            writeln!(text, "{:?} {:?}", changed.code(), bound.code()).unwrap();
            let arguments = ["-b", "olcDatabase={2}null,cn=config", "*", "structuralObjectClass"];
            let shown = server.client("ldapsearch", &ADMINISTRATOR, &arguments, "")?.success()?;
            let mut lines: Vec<&str> = shown.stdout.lines().collect();
            lines.sort_unstable();
            text += &lines.join("\n");
            let names = server.search(&["-s", "base", "-b", "", "namingContexts"])?.success()?;
            text += &NormalizedLdif::new(&names.stdout).to_string();
        }
        if flavor == Flavor::Ironbark {
            // slapd creates the entry when it starts.
            let found = server.search(&["-LLL", "-b", "cn=x,cn=nothing"])?.success()?;
            assert!(found.stdout.starts_with("dn: cn=nothing\n"), "{found:?}");
            let outcome = server.client("ldapmodify", &ADMINISTRATOR, &[], delete)?;
            outcome.success()?;
            server.search(&["-b", "cn=x,cn=nothing"])?.expect_code(32)?;
        }
        Ok(text)
    });
}

#[test]
fn both_forms_of_the_configuration_say_the_same_as_slapds() {
    let theirs = Server::prepare(Flavor::OpenLdap, &config("bind on\ndosearch on")).unwrap();
    theirs.tool(Tool::Add, &["-n", "2"], SUFFIX).unwrap().success().unwrap();
    let shown = converted(&theirs, "null");
    assert!(
        shown.contains("olcDbBindAllowed: TRUE") && shown.contains("olcDbDoSearch: TRUE"),
        "{shown}"
    );
}
