//! The writable entries of cn=Monitor: changes are accepted as in slapd, and in force at once.

use std::fmt::Write as _;

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
    // slapd shows levels in the order in which they were added.
    values.sort_unstable();
    Ok(values.iter().fold(String::new(), |all, line| all + line + "\n"))
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
        text += "delete => ";
        text += delete.stderr.trim();
        Ok(text)
    });
}

#[test]
fn single_operations_are_restricted_as_in_slapd() {
    assert_same(|flavor| {
        let server = start(flavor)?;
        server
            .ldapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")?
            .success()?;
        let mut text = String::new();
        let database = "cn=Database 1,cn=Databases,cn=Monitor";
        for changes in [
            "add: restrictedOperation\nrestrictedOperation: compare\nrestrictedOperation: Rename",
            "add: restrictedOperation\nrestrictedOperation: search\nrestrictedOperation: compare",
            "add: restrictedOperation\nrestrictedOperation: nonsense",
            "delete: restrictedOperation\nrestrictedOperation: add",
            "delete: restrictedOperation\nrestrictedOperation: rename",
            "add: restrictedOperation\nrestrictedOperation: search\nrestrictedOperation: modify",
            "replace: restrictedOperation\nrestrictedOperation: delete",
            "add: restrictedOperation\nrestrictedOperation: 1.3.6.1.4.1.4203.1.11.1",
            "add: restrictedOperation\nrestrictedOperation: 1.2.3",
            "add: restrictedOperation\nrestrictedOperation: extended",
            "delete: restrictedOperation\nrestrictedOperation: 1.3.6.1.4.1.4203.1.11.1",
            "add: restrictedOperation\nrestrictedOperation: add\nrestrictedOperation: modify\nrestrictedOperation: rename",
            "replace: readOnly\nreadOnly: FALSE",
            "replace: readOnly\nreadOnly: TRUE\n-\nadd: restrictedOperation\nrestrictedOperation: bind",
        ] {
            text.push_str(&modify(&server, &ADMIN, database, changes)?);
            text.push_str(&values(&server, database, "readOnly")?);
            text.push_str(&values(&server, database, "restrictedOperation")?);
            let name = "dc=example,dc=com";
            for (program, arguments, input) in [
                ("ldapsearch", &["-s", "base", "-b", name, "1.1"][..], String::new()),
                ("ldapcompare", &[name, "dc:example"], String::new()),
                (
                    "ldapmodify",
                    &[],
                    format!("dn: {name}\nchangetype: modify\nreplace: description\ndescription: x\n"),
                ),
            ] {
                let outcome = server.client(program, &Credentials::ROOT, arguments, &input)?;
                writeln!(text, "{program} {:?} {}", outcome.code(), outcome.stderr.trim()).unwrap();
            }
        }
        Ok(text)
    });
}

/// Whether an entry can be added; it is deleted again.
fn is_writable(server: &Server) -> bool {
    let name = "ou=new,dc=example,dc=com";
    let entry = format!("dn: {name}\nobjectClass: organizationalUnit\nou: new\n");
    let is_added = server.ldapadd(&entry).unwrap().code() == Some(0);
    if is_added {
        let delete = format!("dn: {name}\nchangetype: delete\n");
        server.ldapmodify(&delete).unwrap().success().unwrap();
    }
    is_added
}

#[test]
fn a_change_of_cn_config_leaves_a_restriction_unless_it_speaks_of_it() {
    let config = Credentials::Simple {
        dn: "cn=config",
        password: "secret",
    };
    let before = "database config\nrootpw secret\ndatabase mdb\nsuffix o=other\ndirectory {dir}/other\ndatabase mdb";
    let people = Server::PEOPLE_CONFIG.replacen("database mdb", before, 1);
    let monitor = "database monitor\nrootdn cn=admin,cn=Monitor\nrootpw secret\n";
    let mut server = Server::prepare(Flavor::Ironbark, &format!("{people}{monitor}")).unwrap();
    server.layout().make_dir("other").unwrap();
    server.launch().unwrap();
    let base = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n";
    server.ldapadd(base).unwrap().success().unwrap();
    let restrict = |number: i32, changes: &str| {
        let database = format!("cn=Database {number},cn=Databases,cn=Monitor");
        let told = modify(&server, &ADMIN, &database, changes).unwrap();
        assert!(told.contains("=> Some(0)"), "{told}");
    };
    let change = |dn: &str, changes: &str| {
        let told = modify(&server, &config, dn, changes).unwrap();
        assert!(told.contains("=> Some(0)"), "{told}");
    };
    let read_only = "replace: readOnly\nreadOnly: TRUE";
    restrict(2, read_only);
    change("cn=config", "replace: olcIdleTimeout\nolcIdleTimeout: 60");
    let size = "replace: olcSizeLimit\nolcSizeLimit: 60";
    change("olcDatabase={2}mdb,cn=config", size);
    change(
        "olcDatabase={1}mdb,cn=config",
        "replace: olcReadOnly\nolcReadOnly: TRUE",
    );
    assert!(!is_writable(&server), "they speak of other things");
    let delete = "dn: olcDatabase={1}mdb,cn=config\nchangetype: delete\n";
    let outcome = server.client("ldapmodify", &config, &[], delete).unwrap();
    outcome.success().unwrap();
    assert!(!is_writable(&server), "it has another number now");
    // slapd deletes all values, although the modification names a single one.
    restrict(1, "delete: restrictedOperation");
    assert!(is_writable(&server));
    restrict(1, read_only);
    change(
        "olcDatabase={1}mdb,cn=config",
        "replace: olcReadOnly\nolcReadOnly: TRUE",
    );
    assert!(!is_writable(&server));
    change(
        "olcDatabase={1}mdb,cn=config",
        "replace: olcReadOnly\nolcReadOnly: FALSE",
    );
    assert!(is_writable(&server), "cn=config has said something else");
    restrict(1, read_only);
    change("olcDatabase={1}mdb,cn=config", "add: olcRestrict\nolcRestrict: compare");
    assert!(is_writable(&server), "cn=config has said something else");
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
