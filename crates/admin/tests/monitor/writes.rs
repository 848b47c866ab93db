//! The writable entries of cn=Monitor: as slapd takes them, and in force at once.

use ironbark_testkit::{Credentials, Flavor, Server, TestkitError, assert_same, wait};

const ADMIN: Credentials<'static> = Credentials::Simple {
    dn: "cn=admin,cn=Monitor",
    password: "secret",
};

fn start(flavor: Flavor) -> Result<Server, TestkitError> {
    let module = match flavor {
        Flavor::OpenLdap => "moduleload back_monitor\n",
        Flavor::Ironbark => "",
    };
    let people = Server::PEOPLE_CONFIG.replacen("database mdb", &format!("{module}database mdb"), 1);
    let monitor = "database monitor\nrootdn cn=admin,cn=Monitor\nrootpw secret\n";
    Server::start(flavor, &format!("{people}{monitor}"))
}

/// Modifies an entry; exit status and complaint of the client.
fn modify(server: &Server, who: &Credentials<'_>, dn: &str, changes: &str) -> Result<String, TestkitError> {
    let ldif = format!("dn: {dn}\nchangetype: modify\n{changes}\n");
    let outcome = server.client("ldapmodify", who, &[], &ldif)?;
    Ok(format!(
        "{changes}\n=> {:?} {}\n",
        outcome.code(),
        outcome.stderr.trim()
    ))
}

fn values(server: &Server, dn: &str, attribute: &str) -> Result<String, TestkitError> {
    let found = server.search(&["-s", "base", "-b", dn, attribute])?.success()?.stdout;
    let mut values: Vec<&str> = found.lines().filter(|line| line.starts_with(attribute)).collect();
    // slapd shows levels as they were added, in whatever order.
    values.sort_unstable();
    Ok(values.iter().map(|line| format!("{line}\n")).collect())
}

#[test]
fn log_levels_change_as_in_slapd() {
    const LOG: &str = "cn=Log,cn=Monitor";
    assert_same(|flavor| {
        let server = start(flavor)?;
        let mut text = String::new();
        for changes in [
            "replace: managedInfo\nmanagedInfo: Stats",
            "add: managedInfo\nmanagedInfo: sync\nmanagedInfo: Config",
            "add: managedInfo\nmanagedInfo: stats",
            "replace: managedInfo\nmanagedInfo: nonsense",
            "delete: managedInfo\nmanagedInfo: Sync",
            "delete: managedInfo\nmanagedInfo: Shell",
            "replace: description\ndescription: x",
            "replace: managedInfo\nmanagedInfo: any",
            "delete: managedInfo",
            "delete: managedInfo",
            "replace: managedInfo\nmanagedInfo: Stats",
        ] {
            text.push_str(&modify(&server, &ADMIN, LOG, changes)?);
            text.push_str(&values(&server, LOG, "managedInfo")?);
        }
        for who in [Credentials::Anonymous, Credentials::ROOT] {
            text.push_str(&modify(&server, &who, LOG, "delete: managedInfo")?);
        }
        Ok(text)
    });
}

#[test]
fn a_database_is_made_read_only_as_in_slapd() {
    assert_same(|flavor| {
        let server = start(flavor)?;
        let mut text = String::new();
        let database = "cn=Database 1,cn=Databases,cn=Monitor";
        let add = |name: &str| {
            let ldif = format!("dn: {name}\nobjectClass: domain\ndc: example\n");
            let outcome = server.ldapadd(&ldif)?;
            Ok::<_, TestkitError>(format!("add => {:?} {}\n", outcome.code(), outcome.stderr.trim()))
        };
        for changes in [
            "replace: readOnly\nreadOnly: TRUE",
            "delete: readOnly\nreadOnly: FALSE",
            "delete: readOnly",
            "add: readOnly\nreadOnly: FALSE",
            "replace: readOnly\nreadOnly: maybe",
            "replace: monitoredInfo\nmonitoredInfo: x",
            "delete: readOnly\nreadOnly: TRUE\n-\nadd: readOnly\nreadOnly: FALSE",
            "replace: readOnly\nreadOnly: FALSE",
        ] {
            text.push_str(&modify(&server, &ADMIN, database, changes)?);
            text.push_str(&values(&server, database, "readOnly")?);
            text.push_str(&add("dc=example,dc=com")?);
        }
        let monitor = "cn=Database 2,cn=Databases,cn=Monitor";
        text.push_str(&modify(&server, &ADMIN, monitor, "replace: readOnly\nreadOnly: TRUE")?);
        let nobody = "cn=Nobody,cn=Monitor";
        text.push_str(&modify(
            &server,
            &ADMIN,
            nobody,
            "replace: description\ndescription: x",
        )?);
        let delete = server.client("ldapdelete", &ADMIN, &["cn=Log,cn=Monitor"], "")?;
        text.push_str(&format!("delete => {:?} {}\n", delete.code(), delete.stderr.trim()));
        Ok(text)
    });
}

#[test]
fn log_levels_are_in_force_at_once() {
    let settings = "logfile {dir}/log\nlogfile-only on\nloglevel none\n";
    let monitor = "database monitor\nrootdn cn=admin,cn=Monitor\nrootpw secret\n";
    let configuration = format!("{settings}{}{monitor}", Server::PEOPLE_CONFIG);
    let mut server = Server::prepare(Flavor::Ironbark, &configuration)
        .unwrap()
        .debug_level("0");
    server.launch().unwrap();
    let read = || std::fs::read_to_string(server.layout().join("log")).unwrap();
    let search = |name: &str| server.search(&["-s", "base", "-b", name]).unwrap();
    search("cn=before");
    modify(
        &server,
        &ADMIN,
        "cn=Log,cn=Monitor",
        "replace: managedInfo\nmanagedInfo: Stats",
    )
    .unwrap();
    search("cn=after");
    wait::until(|| read().contains("SRCH base=\"cn=after\"").then_some(())).unwrap();
    assert!(!read().contains("cn=before"), "{}", read());
}
