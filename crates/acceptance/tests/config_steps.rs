//! Changes of cn=config that are made one after the other, through states that are not whole; and the way back:
//! Debian's slapd loads the directory after each of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use ironbark_testkit::{CertificateAuthority, Credentials, Flavor, ProgramOutput, Server, TestkitError, Tool};

const CONFIG: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

/// A server with a configuration directory that either server can read, and the directory.
fn served(flavor: Flavor, global: &str) -> (Server, PathBuf) {
    let modules = match flavor {
        // The testkit itself writes these two for slapd.
        Flavor::OpenLdap => "",
        Flavor::Ironbark => "modulepath /usr/lib/ldap\nmoduleload back_mdb\n",
    };
    let text = Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    let server = Server::prepare(flavor, &format!("{modules}{global}{text}")).unwrap();
    server
        .slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
        .unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    let file = server.config_path().display().to_string();
    let arguments = ["-f", &file, "-F", folder.to_str().unwrap()];
    Tool::Test.run(flavor, &arguments, "").unwrap().success().unwrap();
    let mut server = server.from_directory(&folder);
    server.launch().unwrap();
    (server, folder)
}

fn modify(server: &Server, change: &str) -> ProgramOutput {
    server.client("ldapmodify", &CONFIG, &[], change).unwrap()
}

/// Debian's slapd reads the directory.
fn loads_in_slapd(folder: &Path) -> Result<ProgramOutput, TestkitError> {
    let arguments = ["-u", "-F", folder.to_str().unwrap()];
    Tool::Test.run(Flavor::OpenLdap, &arguments, "")?.success()
}

fn bind(server: &Server, dn: &str, password: &str) -> Option<i32> {
    let who = Credentials::Simple { dn, password };
    server.client("ldapwhoami", &who, &[], "").unwrap().code()
}

const SUFFIX: (&str, &str) = ("olcSuffix", "dc=new,dc=org");
const ROOT: (&str, &str) = ("olcRootDN", "cn=admin,dc=new,dc=org");
const PASSWORD: (&str, &str) = ("olcRootPW", "fresh");

fn orders() -> [[(&'static str, &'static str); 3]; 6] {
    let (a, b, c) = (SUFFIX, ROOT, PASSWORD);
    [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]]
}

fn of_database(action: &str, attribute: &str, value: Option<&str>) -> String {
    let value = value.map(|value| format!("{attribute}: {value}\n")).unwrap_or_default();
    format!("dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\n{action}: {attribute}\n{value}")
}

/// The results of the steps, and of a bind with the new name and password.
fn replaced(server: &Server, order: &[(&str, &str)]) -> (Vec<Option<i32>>, Option<i32>) {
    let step =
        |(attribute, value): &(&str, &str)| modify(server, &of_database("replace", attribute, Some(value))).code();
    let codes = order.iter().map(step).collect();
    (codes, bind(server, ROOT.1, PASSWORD.1))
}

#[test]
fn suffix_rootdn_and_password_are_replaced_one_by_one_as_in_slapd() {
    for order in orders() {
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let (server, folder) = served(flavor, "");
            // Between the steps it is not whole, and slapd does not start with it either.
            let mut server = server.beyond_slapd();
            let answers = replaced(&server, &order);
            loads_in_slapd(&folder).unwrap();
            server.stop().unwrap();
            server.launch().unwrap();
            (answers, bind(&server, ROOT.1, PASSWORD.1))
        });
        assert_eq!(theirs, ours, "{order:?}");
    }
}

#[test]
fn one_modify_that_slapd_takes_in_its_order_is_taken() {
    let mut orders: Vec<Vec<(&str, &str)>> = orders().map(Vec::from).to_vec();
    orders.extend(
        [
            [PASSWORD, SUFFIX],
            [PASSWORD, ROOT],
            [SUFFIX, PASSWORD],
            [ROOT, PASSWORD],
        ]
        .map(Vec::from),
    );
    for order in orders {
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let server = served(flavor, "").0.beyond_slapd();
            let parts = order
                .iter()
                .map(|(attribute, value)| format!("replace: {attribute}\n{attribute}: {value}\n-\n"));
            let change = format!(
                "dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\n{}",
                parts.collect::<String>()
            );
            let code = modify(&server, &change).code();
            (code, bind(&server, ROOT.1, PASSWORD.1))
        });
        // Ours looks at the whole as well: it takes what is whole at the end.
        if theirs.0 == Some(0) || order.len() == 2 {
            assert_eq!(theirs, ours, "{order:?}");
        } else {
            assert_eq!(ours, (Some(0), Some(0)), "{order:?}");
        }
    }
}

#[test]
fn suffix_rootdn_and_password_are_deleted_one_by_one_and_the_server_starts_again() {
    for order in orders() {
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let (server, _) = served(flavor, "");
            let mut server = server.beyond_slapd();
            let step = |(attribute, _): &(&str, &str)| modify(&server, &of_database("delete", attribute, None)).code();
            let codes: Vec<Option<i32>> = order.iter().map(step).collect();
            if flavor == Flavor::Ironbark {
                // slapd does not start without a suffix.
                server.stop().unwrap();
                server.launch().unwrap();
                assert!(server.log().contains("is not served until its settings are complete"));
                let (codes, bound) = replaced(&server, &[SUFFIX, ROOT, PASSWORD]);
                assert_eq!((codes, bound), (vec![Some(0); 3], Some(0)));
            }
            codes
        });
        assert_eq!(theirs, ours, "{order:?}");
    }
}

#[test]
fn each_half_made_change_of_the_rootdn_survives_a_restart() {
    for (attribute, value) in [SUFFIX, ROOT] {
        let (server, _) = served(Flavor::Ironbark, "");
        let mut server = server.beyond_slapd();
        let step = of_database("replace", attribute, Some(value));
        modify(&server, &step).success().unwrap();
        server.stop().unwrap();
        // Debian's slapd refuses to start here.
        server.launch().unwrap();
        assert!(
            server.log().contains("can only be set when rootdn is under suffix"),
            "{attribute}"
        );
        assert_eq!(bind(&server, "cn=Manager,dc=example,dc=com", "secret"), Some(49));
        let (codes, bound) = replaced(&server, &[SUFFIX, ROOT, PASSWORD]);
        assert_eq!((codes, bound), (vec![Some(0); 3], Some(0)), "{attribute}");
    }
}

/// Whether StartTLS works with the server's certificate of this authority.
fn speaks_tls(server: &Server, authority: &str) -> bool {
    let file = server.layout().join(authority).display().to_string();
    let mut command = Command::new("ldapwhoami");
    command.args(["-x", "-ZZ", "-H", &server.url()]);
    command.env("LDAPTLS_CACERT", file).output().unwrap().status.success()
}

/// A server, with two pairs of certificate and key, and authorities, in files: `a.crt`, `a.key`, `a-ca.crt`, and the
/// same of `b`.
fn with_pairs() -> Server {
    let (server, _) = served(Flavor::Ironbark, "");
    for name in ["a", "b"] {
        let mut authority = CertificateAuthority::new(name).unwrap();
        server
            .layout()
            .write(&format!("{name}-ca.crt"), authority.certificate())
            .unwrap();
        authority.server().unwrap().write(server.layout(), name).unwrap();
    }
    server
}

fn tls(server: &Server, attribute: &str, file: Option<&str>) -> ProgramOutput {
    let (action, value) = match file {
        Some(file) => {
            let path = server.layout().join(file).display().to_string();
            ("replace", format!("{attribute}: {path}\n"))
        }
        None => ("delete", String::new()),
    };
    modify(
        server,
        &format!("dn: cn=config\nchangetype: modify\n{action}: {attribute}\n{value}"),
    )
}

const CRT: &str = "olcTLSCertificateFile";
const KEY: &str = "olcTLSCertificateKeyFile";
const CA: &str = "olcTLSCACertificateFile";

#[test]
fn certificate_key_and_authorities_are_set_renewed_and_deleted_in_any_order() {
    let orders = [
        [CRT, KEY, CA],
        [CRT, CA, KEY],
        [KEY, CRT, CA],
        [KEY, CA, CRT],
        [CA, CRT, KEY],
        [CA, KEY, CRT],
    ];
    let mut server = with_pairs();
    let file = |pair: &str, attribute: &str| match attribute {
        CRT => format!("{pair}.crt"),
        KEY => format!("{pair}.key"),
        _ => format!("{pair}-ca.crt"),
    };
    for order in orders {
        assert!(!speaks_tls(&server, "a-ca.crt"));
        for attribute in order {
            tls(&server, attribute, Some(&file("a", attribute))).success().unwrap();
        }
        assert!(speaks_tls(&server, "a-ca.crt"), "{order:?}");
        let mut renewed = 0;
        for attribute in order {
            tls(&server, attribute, Some(&file("b", attribute))).success().unwrap();
            renewed += usize::from(attribute != CA);
            // Until both are there, the former pair serves.
            let pair = if renewed == 2 { "b-ca.crt" } else { "a-ca.crt" };
            assert!(speaks_tls(&server, pair), "{order:?}");
        }
        assert!(
            speaks_tls(&server, "b-ca.crt") && !speaks_tls(&server, "a-ca.crt"),
            "{order:?}"
        );
        for attribute in order {
            tls(&server, attribute, None).success().unwrap();
        }
        assert!(!speaks_tls(&server, "b-ca.crt"), "{order:?}");
    }
    assert!(server.log().contains("until certificate and key are a pair"));
    // Half a pair is kept, and the server starts with it.
    tls(&server, CRT, Some("a.crt")).success().unwrap();
    server.stop().unwrap();
    server.launch().unwrap();
    assert!(!speaks_tls(&server, "a-ca.crt"));
    tls(&server, KEY, Some("a.key")).success().unwrap();
    assert!(speaks_tls(&server, "a-ca.crt"));
    tls(&server, KEY, Some("b.key")).success().unwrap();
    server.stop().unwrap();
    server.launch().unwrap();
    assert!(!speaks_tls(&server, "a-ca.crt") && !speaks_tls(&server, "b-ca.crt"));
    tls(&server, CRT, Some("b.crt")).success().unwrap();
    assert!(speaks_tls(&server, "b-ca.crt"));
}

#[test]
fn a_tls_file_that_cannot_be_used_is_refused_at_each_step() {
    let server = with_pairs();
    for (attribute, file) in [
        (CRT, "none.crt"),
        (CRT, "a.key"),
        (KEY, "none.key"),
        (KEY, "a.crt"),
        (CA, "none.crt"),
    ] {
        let whole = attribute == CA;
        if whole {
            tls(&server, CRT, Some("a.crt")).success().unwrap();
            tls(&server, KEY, Some("a.key")).success().unwrap();
        }
        assert_eq!(
            tls(&server, attribute, Some(file)).code(),
            Some(80),
            "{attribute}: {file}"
        );
    }
    assert!(speaks_tls(&server, "a-ca.crt"));
    // A client's certificate cannot be verified without authorities: none gets in that has to show one.
    let verify = |word: &str| {
        let change =
            format!("dn: cn=config\nchangetype: modify\nreplace: olcTLSVerifyClient\nolcTLSVerifyClient: {word}\n");
        modify(&server, &change).success().unwrap();
    };
    verify("demand");
    assert!(!speaks_tls(&server, "a-ca.crt"));
    verify("allow");
    assert!(speaks_tls(&server, "a-ca.crt"));
}

fn schema(name: &str, definition: &str) -> String {
    format!(
        "dn: cn={name},cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: {name}\n{definition}\n"
    )
}

fn overlay(name: &str, rest: &str) -> String {
    format!("dn: olcOverlay={name},olcDatabase={{1}}mdb,cn=config\nchangetype: add\n{rest}olcOverlay: {name}\n")
}

/// Definitions that slapd takes, and those that it refuses.
fn definitions() -> Vec<String> {
    let attribute = "olcAttributeTypes: ( 1.3.6.1.4.1.32473.1 NAME 'mine' SUP name )";
    let class = "olcObjectClasses: ( 1.3.6.1.4.1.32473.2 NAME 'mineClass' SUP top AUXILIARY MAY cn )";
    let rule = "olcDitContentRules: ( 0.9.2342.19200300.100.4.5 NAME 'rule' MAY cn )";
    let syntax = "olcLdapSyntaxes: ( 1.3.6.1.4.1.32473.9 DESC 'x' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )";
    let name = "olcObjectIdentifier: mineOID 1.3.6.1.4.1.32473";
    vec![
        schema("my", attribute),
        schema("my", attribute),
        schema("other", attribute),
        schema("classes", class),
        schema("classes", class),
        schema("rules", rule),
        schema("rules", rule),
        schema("syntaxes", syntax),
        schema("syntaxes", syntax),
        schema("names", name),
        schema("names", name),
        schema("names", &name.replace("32473", "32474")),
        schema(
            "standard",
            "olcAttributeTypes: ( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name )",
        ),
        schema(
            "cosine",
            "olcAttributeTypes: ( 0.9.2342.19200300.100.1.5 NAME ( 'drink' 'favouriteDrink' ) SUP name )",
        ),
        schema(
            "wrong",
            "olcAttributeTypes: ( 1.3.6.1.4.1.32473.7 NAME 'wrong' SUP nosuch )",
        ),
        schema(
            "forward",
            "olcAttributeTypes: ( 1.3.6.1.4.1.32473.10 NAME 'later' SUP latest )\n\
             olcAttributeTypes: ( 1.3.6.1.4.1.32473.11 NAME 'latest' SUP name )",
        ),
        schema(
            "itself",
            "olcObjectClasses: ( 1.3.6.1.4.1.32473.12 NAME 'laterClass' SUP latestClass AUXILIARY )\n\
             olcObjectClasses: ( 1.3.6.1.4.1.32473.13 NAME 'latestClass' SUP top AUXILIARY )",
        ),
        schema(
            "backward",
            "olcObjectClasses: ( 1.3.6.1.4.1.32473.14 NAME 'oneClass' SUP top AUXILIARY MAY ( last $ cn ) )\n\
             olcAttributeTypes: ( 1.3.6.1.4.1.32473.16 NAME 'last' SUP name )\n\
             olcObjectClasses: ( 1.3.6.1.4.1.32473.15 NAME 'twoClass' SUP 1.3.6.1.4.1.32473.14 AUXILIARY )",
        ),
        schema(
            "operational",
            "olcAttributeTypes: ( 1.3.6.1.4.1.32473.17 NAME 'op' SUP name USAGE directoryOperation )",
        ),
        schema(
            "{0}first",
            "olcAttributeTypes: ( 1.3.6.1.4.1.32473.18 NAME 'first' SUP name )",
        ),
        schema(
            "{99}at-the-end",
            "olcAttributeTypes: ( 1.3.6.1.4.1.32473.19 NAME 'end' SUP name )",
        ),
    ]
}

#[test]
fn an_element_of_the_schema_is_defined_once_as_in_slapd() {
    let changes = definitions();
    let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
        let (server, folder) = served(flavor, "");
        let answer = |change: &String| {
            let outcome = modify(&server, change);
            loads_in_slapd(&folder).unwrap();
            (change.clone(), outcome.code(), outcome.stderr)
        };
        changes.iter().map(answer).collect::<Vec<_>>()
    });
    for (theirs, ours) in theirs.iter().zip(&ours) {
        // slapd answers 21 to a definition that is wrong since 2.7 (ITS#9556); Debian's is older.
        let is_wrong = theirs.1 == Some(80) && !ours.2.contains("Duplicate");
        let expected = if is_wrong { Some(21) } else { theirs.1 };
        assert_eq!(ours.1, expected, "{}: {} {}", theirs.0, theirs.2, ours.2);
    }
}

#[test]
fn debians_slapd_loads_the_directory_after_each_change() {
    let (server, folder) = served(Flavor::Ironbark, "");
    let of_config = |text: &str| format!("dn: cn=config\nchangetype: modify\n{text}\n");
    let of_frontend = |text: &str| format!("dn: olcDatabase={{-1}}frontend,cn=config\nchangetype: modify\n{text}\n");
    for change in [
        of_database("add", "olcDbIndex", Some("memberOf eq")),
        overlay("memberof", "objectClass: olcMemberOfConfig\n"),
        overlay("refint", "objectClass: olcRefintConfig\nolcRefintAttribute: member\n"),
        overlay(
            "syncprov",
            "objectClass: olcSyncProvConfig\nolcSpCheckpoint: 100 10\nolcSpSessionlog: 100\n",
        ),
        overlay(
            "unique",
            "objectClass: olcUniqueConfig\nolcUniqueURI: ldap:///?mail?sub\n",
        ),
        of_database("add", "olcAccess", Some("to attrs=pwdAccountLockedTime by * read")),
        overlay("ppolicy", "objectClass: olcPPolicyConfig\n"),
        of_frontend("add: olcPasswordHash\nolcPasswordHash: {ARGON2}"),
        of_frontend("replace: olcPasswordHash\nolcPasswordHash: {SSHA512}"),
        of_config("replace: olcLogLevel\nolcLogLevel: 65535"),
        of_config("replace: olcSizeLimit\nolcSizeLimit: 77"),
        "dn: olcDatabase=null,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\nobjectClass: olcNullConfig\n\
         olcDatabase: null\nolcSuffix: dc=null\n"
            .to_owned(),
        "dn: olcDatabase=monitor,cn=config\nchangetype: add\nobjectClass: olcDatabaseConfig\nolcDatabase: monitor\n"
            .to_owned(),
        schema(
            "named",
            "olcObjectIdentifier: SUSE.YaST 1.3.6.1.4.1.32473\n\
             olcAttributeTypes: ( SUSE.YaST:1 NAME 'mine' SUP name ) behind",
        ),
    ] {
        modify(&server, &change)
            .success()
            .unwrap_or_else(|error| panic!("{change}: {error}"));
        loads_in_slapd(&folder).unwrap_or_else(|error| panic!("{change}: {error}"));
    }
    // What is in use stays loaded; nothing is loaded twice.
    let of_modules = |text: &str| format!("dn: cn=module{{0}},cn=config\nchangetype: modify\n{text}\n");
    for change in [
        of_modules("delete: olcModuleLoad\nolcModuleLoad: {1}memberof"),
        "dn: cn=module,cn=config\nchangetype: add\nobjectClass: olcModuleList\ncn: module\nolcModuleLoad: memberof\n"
            .to_owned(),
    ] {
        assert_eq!(modify(&server, &change).code(), Some(80), "{change}");
        loads_in_slapd(&folder).unwrap();
    }
}

#[test]
fn a_converted_file_keeps_what_only_slapd_obeys_and_slapd_reads_it() {
    let global = "moduleload argon2\nmoduleload syncprov\npassword-hash {ARGON2}\nloglevel 65535\n";
    let text = Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    let text = format!(
        "modulepath /usr/lib/ldap\nmoduleload back_mdb\n{global}{text}overlay syncprov\nsyncprov-checkpoint 100 10\n\
         syncprov-sessionlog 100\n"
    );
    let server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server
        .slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
        .unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    let file = server.config_path().display().to_string();
    let arguments = ["-f", &file, "-F", folder.to_str().unwrap()];
    Tool::Test
        .run(Flavor::Ironbark, &arguments, "")
        .unwrap()
        .success()
        .unwrap();
    loads_in_slapd(&folder).unwrap();
    let arguments = ["-F", folder.to_str().unwrap(), "-n", "0", "-o", "ldif-wrap=no"];
    let dump = Tool::Cat
        .run(Flavor::OpenLdap, &arguments, "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    for line in [
        "olcSpCheckpoint: 100 10",
        "olcSpSessionlog: 100",
        "olcPasswordHash: {ARGON2}",
    ] {
        assert!(dump.lines().any(|found| found == line), "{line}");
    }
    let (_, frontend) = dump.split_once("dn: olcDatabase={-1}frontend").unwrap();
    assert!(frontend.contains("olcPasswordHash"));
}

/// Requests one after the other, each with the answer of either server.
#[test]
fn what_is_only_for_copies_is_set_after_what_makes_a_copy() {
    let provider = "{0}rid=1 provider=ldap://127.0.0.1:1 searchbase=dc=example,dc=com retry=\"300 +\"";
    let changes = [
        of_database("add", "olcMultiProvider", Some("TRUE")),
        of_database("add", "olcUpdateRef", Some("ldap://127.0.0.1/")),
        of_database("add", "olcMultiProvider", Some("FALSE")),
        of_database("delete", "olcMultiProvider", None),
        of_database("add", "olcSyncrepl", Some(provider)),
        of_database("add", "olcMultiProvider", Some("TRUE")),
        of_database("add", "olcUpdateRef", Some("ldap://127.0.0.1/")),
        of_database("delete", "olcSyncrepl", None),
        of_database("delete", "olcMultiProvider", None),
        of_database("delete", "olcUpdateRef", None),
    ];
    let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
        let (server, _) = served(flavor, "serverID 1\n");
        // Between the two, slapd does not read its own directory.
        let server = server.beyond_slapd();
        let answer = |change: &String| (change.clone(), modify(&server, change).code());
        changes.iter().map(answer).collect::<Vec<_>>()
    });
    assert_eq!(theirs, ours);
}
