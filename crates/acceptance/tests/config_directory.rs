//! cn=config: conversions, the directory on disk, and changes of a running server, beside Debian's slapd.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use std::{fmt::Write as _, process::Command};

use ironbark_testkit::{
    CertificateAuthority, Credentials, Flavor, NormalizedLdif, ProgramOutput, Server, TestkitError, Tool, assert_same,
};

const CONFIG: Credentials<'static> = Credentials::Simple {
    dn: "cn=config",
    password: "secret",
};

const VOLATILE: [&str; 5] = [
    "entryUUID",
    "createTimestamp",
    "modifyTimestamp",
    "entryCSN",
    "olcConfigDir",
];

/// The usual server, with cn=config open to its rootdn. Debian's slapd has its parts in modules.
fn template(flavor: Flavor) -> String {
    let modules = match flavor {
        Flavor::Ironbark => "",
        Flavor::OpenLdap => {
            "modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\nmoduleload unique\nmoduleload sssvlv\n"
        }
    };
    let people = Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    // The testkit itself puts back_mdb in front for slapd.
    format!("{}{people}", modules.replace("moduleload back_mdb\n", ""))
}

fn modify(server: &Server, change: &str) -> ProgramOutput {
    server.client("ldapmodify", &CONFIG, &[], change).unwrap()
}

/// What a search of cn=config shows of some attributes.
fn shown(server: &Server, base: &str, attributes: &[&str]) -> String {
    let mut arguments = vec!["-b", base, "-s", "base"];
    arguments.extend_from_slice(attributes);
    let outcome = server.client("ldapsearch", &CONFIG, &arguments, "").unwrap();
    outcome.success().unwrap().stdout
}

fn slaptest(flavor: Flavor, arguments: &[&str]) -> ProgramOutput {
    Tool::Test.run(flavor, arguments, "").unwrap()
}

/// Loads nothing and starts: Debian's slaptest wants a database that exists.
fn with_database(flavor: Flavor) -> Server {
    let server = Server::prepare(flavor, &template(flavor)).unwrap();
    server
        .slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
        .unwrap();
    server
}

/// In slapd.conf a backslash removes a special meaning; in cn=config it stands for itself.
const ESCAPES: &str = r#"authz-regexp "gidnumber=[0-9]+\\+uidnumber=[0-9]+,cn=peercred,cn=external,cn=auth" "cn=Manager,dc=example,dc=com"
authz-regexp uid=([^,]*)\\.x,cn=auth "ldap:///dc=example,dc=com??sub?(cn=$1\\2A)"
"#;
const ESCAPES_OF_DATABASE: &str = r#"overlay unique
unique_uri ldap:///?cn?sub?(cn=a\\2Ab)
access to dn.regex="^cn=[^,]+\\.x,dc=example,dc=com$" filter=(cn=\\2A) by dn.regex="a\\+b c$" read by set="[cn=a\\2Cb,dc=example,dc=com]/member & user" read
access to dn.base="cn=a\\2Cb,dc=example,dc=com" by domain.regex="x\\.y$" read by peername.regex="IP=127\\.0\\.0\\.1:.*" read
limits dn.regex="^cn=a\\+b" size=7
limits dn.exact="cn=a\\2Cb,dc=example,dc=com" size=8
"#;

#[test]
fn a_converted_file_loads_in_either_server_and_says_the_same() {
    let extra =
        "threads 4\nidletimeout 30\nsizelimit 77\nrequire bind\nallow bind_v2 bind_anon_dn\nloglevel stats sync\n";
    let rest = "limits users size.soft=10 size.hard=20\naccess to attrs=userPassword by self write by anonymous auth by * none\n\
        access to * by * read\ncheckpoint 10 20\nenvflags nometasync writemap\nmaxsize 104857600\noverlay memberof\nmemberof-refint TRUE\n\
        overlay sssvlv\nsssvlv-maxkeys 3\n";
    let text = |flavor| format!("{extra}{ESCAPES}{}{rest}{ESCAPES_OF_DATABASE}", template(flavor));
    let server = Server::prepare(Flavor::OpenLdap, &text(Flavor::OpenLdap)).unwrap();
    server
        .slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
        .unwrap();
    let file = server.config_path().display().to_string();
    let mut dumps = Vec::new();
    for flavor in [Flavor::OpenLdap, Flavor::Ironbark] {
        let folder = server.layout().make_dir(&format!("{flavor:?}.d")).unwrap();
        let folder = folder.display().to_string();
        // Ours says that it cannot open slapd's database, after the conversion.
        slaptest(flavor, &["-f", &file, "-F", &folder]);
        for reader in [Flavor::OpenLdap, Flavor::Ironbark] {
            slaptest(reader, &["-u", "-F", &folder]).success().unwrap();
            let arguments = ["-F", &folder, "-n", "0", "-o", "ldif-wrap=no", "-a", "(!(cn=schema))"];
            let outcome = Tool::Cat.run(reader, &arguments, "").unwrap().success().unwrap();
            let dump = NormalizedLdif::new(&outcome.stdout).without(&VOLATILE).to_string();
            dumps.push((flavor, reader, dump));
        }
    }
    assert_eq!(dumps[0].2, dumps[1].2, "slapd's directory, read by both");
    assert_eq!(dumps[2].2, dumps[3].2, "our directory, read by both");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (theirs, ours) = (lines(&dumps[0].2), lines(&dumps[2].2));
    // Three differences: our own defaults, the order in which slapd keeps a set, and a second `modulepath`, which makes
    // a second list there.
    let differs = |line: &&String| {
        [
            "olcDbMaxReaders",
            "olcMaxDerefDepth",
            "olcLogLevel",
            "olcSchemaDN",
            "olcToolThreads",
            "olcModule",
            "cn: module",
            "dn: cn=module",
        ]
        .iter()
        .all(|name| !line.starts_with(name))
    };
    let missing: Vec<_> = theirs
        .iter()
        .filter(differs)
        .filter(|line| !ours.contains(line))
        .collect();
    let added: Vec<_> = ours
        .iter()
        .filter(differs)
        .filter(|line| !theirs.contains(line))
        .collect();
    assert!(
        missing.is_empty() && added.is_empty(),
        "slapd alone: {missing:#?}\nours alone: {added:#?}"
    );
}

#[test]
fn names_are_mapped_alike_from_a_file_and_from_either_servers_directory() {
    for flavor in [Flavor::Ironbark, Flavor::OpenLdap] {
        let mut server = Server::prepare(flavor, &format!("{ESCAPES}{}", template(flavor))).unwrap();
        let mut text = server.layout().read("slapd.conf").unwrap();
        if flavor == Flavor::Ironbark {
            // Debian's slapd, which converts it too, has its database in a module.
            text.insert_str(0, "modulepath /usr/lib/ldap\nmoduleload back_mdb\n");
        }
        let file = server.layout().write("both.conf", text).unwrap().display().to_string();
        let mut mapped = vec![];
        let folders = [Flavor::OpenLdap, Flavor::Ironbark].map(|writer| {
            let folder = server.layout().make_dir(&format!("{writer:?}.d")).unwrap();
            // It reports the missing database, after the conversion.
            slaptest(writer, &["-f", &file, "-F", &folder.display().to_string()]);
            folder
        });
        server.launch().unwrap();
        mapped.push(whoami(&server));
        server.stop().unwrap();
        for folder in folders {
            server = server.from_directory(folder);
            server.launch().unwrap();
            mapped.push(whoami(&server));
            server.stop().unwrap();
        }
        assert_eq!(mapped, ["dn:cn=manager,dc=example,dc=com\n"; 3], "{flavor}");
    }
}

fn whoami(server: &Server) -> String {
    server
        .client("ldapwhoami", &Credentials::External, &[], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout
}

#[test]
fn recipes_for_a_running_server_give_the_same_results() {
    let changes = [
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: mail eq\n",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: nothing eq\n",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcAccess\nolcAccess: to * by * read\n-\n\
         add: olcAccess\nolcAccess: {0}to attrs=userPassword by self write by anonymous auth by * none\n",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\ndelete: olcAccess\nolcAccess: {1}\n",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\ndelete: olcAccess\nolcAccess: {7}\n",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: 5\n",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: many\n",
        "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 60\n",
        "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: soon\n",
        "dn: cn=config\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: cn eq\n",
        "dn: cn=mine,cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: mine\n\
         olcAttributeTypes: ( 1.3.6.1.4.1.32473.1 NAME 'mine' SUP name )\n",
        "dn: cn={3}mine,cn=schema,cn=config\nchangetype: modify\nadd: olcObjectClasses\n\
         olcObjectClasses: ( 1.3.6.1.4.1.32473.2 NAME 'mineClass' SUP top AUXILIARY MAY mine )\n",
        "dn: olcOverlay=memberof,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcMemberOf\nolcOverlay: memberof\n",
        "dn: olcOverlay=nothing,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcOverlayConfig\nolcOverlay: nothing\n",
        "dn: olcDatabase={9}mdb,cn=config\nchangetype: modify\nreplace: olcReadOnly\nolcReadOnly: TRUE\n",
    ];
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = with_database(flavor);
        server.launch()?;
        let mut text = String::new();
        for change in changes {
            let outcome = modify(&server, change);
            writeln!(text, "{change}= {:?}", outcome.code()).unwrap();
        }
        for (base, attributes) in [
            (
                "olcDatabase={1}mdb,cn=config",
                &["olcAccess", "olcDbIndex", "olcSizeLimit"][..],
            ),
            ("cn={3}mine,cn=schema,cn=config", &["*"]),
            (
                "olcOverlay={0}memberof,olcDatabase={1}mdb,cn=config",
                &["objectClass", "olcOverlay"],
            ),
            ("cn=config", &["olcIdleTimeout"]),
        ] {
            text.push_str(&NormalizedLdif::new(&shown(&server, base, attributes)).to_string());
        }
        Ok(text)
    });
}

#[test]
fn limits_of_sorting_come_and_change_while_the_server_runs() {
    let changes = [
        "dn: olcOverlay=sssvlv,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcOverlayConfig\n\
         objectClass: olcSssVlvConfig\nolcOverlay: sssvlv\nolcSssVlvMaxKeys: 1\n",
        "dn: olcOverlay=sssvlv,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcSssVlvConfig\nolcOverlay: sssvlv\n",
        "dn: olcOverlay={0}sssvlv,olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcSssVlvMaxKeys\n\
         olcSssVlvMaxKeys: 2\n-\nadd: olcSssVlvMax\nolcSssVlvMax: 9\n",
        "dn: olcOverlay={0}sssvlv,olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcSssVlvMaxPerConn\n\
         olcSssVlvMaxPerConn: many\n",
    ];
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = with_database(flavor);
        server.launch()?;
        let mut text = String::new();
        for change in changes {
            let outcome = modify(&server, change);
            let sorted = server.search(&["-b", "dc=example,dc=com", "-E", "!sss=cn:2.5.13.3/sn:2.5.13.3"])?;
            writeln!(text, "{change}= {:?} {:?}", outcome.code(), sorted.code()).unwrap();
        }
        let overlay = shown(&server, "olcOverlay={0}sssvlv,olcDatabase={1}mdb,cn=config", &["*"]);
        text.push_str(&NormalizedLdif::new(&overlay).to_string());
        Ok(text)
    });
}

/// Whether an entry can be added (it is deleted again), and the suffix is found.
fn added_and_found(server: &Server) -> Result<String, TestkitError> {
    let entry = "dn: ou=two,dc=example,dc=com\nobjectClass: organizationalUnit\nou: two\ndescription: same\n";
    let added = server.ldapadd(entry)?.code();
    server.ldapmodify("dn: ou=two,dc=example,dc=com\nchangetype: delete\n")?;
    let found = server.search(&["-b", "dc=example,dc=com", "1.1"])?.code();
    Ok(format!("added {added:?}, found {found:?}"))
}

const ONE: &str = "dn: ou=one,dc=example,dc=com\nobjectClass: organizationalUnit\nou: one\ndescription: same\n";

#[test]
fn overlays_are_disabled_and_enabled_while_the_server_runs() {
    let add = "dn: olcOverlay=unique,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcUniqueConfig\n\
        olcOverlay: unique\nolcUniqueURI: ldap:///?description?sub\n";
    let replace = |attribute: &str, value: &str| {
        format!(
            "dn: olcOverlay={{0}}unique,olcDatabase={{1}}mdb,cn=config\nchangetype: modify\nreplace: {attribute}\n{attribute}: {value}\n"
        )
    };
    let changes = [
        add.to_owned(),
        replace("olcDisabled", "TRUE"),
        replace("olcDisabled", "FALSE"),
        replace("olcDisabled", "perhaps"),
        replace("olcDisabled", "TRUE"),
        replace("olcUniqueURI", "nonsense"),
        replace("olcUniqueURI", "ldap:///?sn?sub"),
        replace("olcDisabled", "FALSE"),
        replace("olcUniqueURI", "ldap:///?description?sub"),
        replace("olcDisabled", "TRUE"),
    ];
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = with_database(flavor);
        server.launch()?;
        server.ldapadd(ONE)?.success()?;
        let mut text = String::new();
        for change in &changes {
            let outcome = modify(&server, change);
            writeln!(text, "{change}= {:?}, {}", outcome.code(), added_and_found(&server)?).unwrap();
        }
        let overlay = shown(&server, "olcOverlay={0}unique,olcDatabase={1}mdb,cn=config", &["*"]);
        text.push_str(&NormalizedLdif::new(&overlay).to_string());
        Ok(text)
    });
}

/// A server of ours with a database, started from a configuration directory of this name.
fn from_folder(name: &str) -> Server {
    let server = with_database(Flavor::Ironbark);
    let folder = server.layout().make_dir(name).unwrap();
    let file = server.config_path().display().to_string();
    slaptest(Flavor::Ironbark, &["-f", &file, "-F", folder.to_str().unwrap()])
        .success()
        .unwrap();
    let mut server = server.from_directory(&folder);
    server.launch().unwrap();
    server
}

#[test]
fn a_database_is_disabled_and_enabled_while_the_server_runs() {
    // Debian's slapd ends with a segmentation fault when a database that is open is disabled, and it does not read the
    // directory then: the name of the rootdn is below no suffix.
    let mut server = from_folder("slapd.d").beyond_slapd();
    server.ldapadd(ONE).unwrap().success().unwrap();
    let change = |changes: &str| {
        let ldif = format!("dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\n{changes}\n");
        modify(&server, &ldif).success().unwrap();
        added_and_found(&server).unwrap()
    };
    // Its rootdn is unknown too.
    let (gone, there) = ("added Some(49), found Some(32)", "added Some(0), found Some(0)");
    assert_eq!(change("add: olcDisabled\nolcDisabled: TRUE"), gone);
    assert_eq!(change("replace: olcDisabled\nolcDisabled: FALSE"), there);
    assert_eq!(change("replace: olcDisabled\nolcDisabled: TRUE"), gone);
    assert_eq!(change("replace: olcSizeLimit\nolcSizeLimit: 7"), gone);
    assert_eq!(change("delete: olcDisabled"), there);
    assert_eq!(change("add: olcDisabled\nolcDisabled: TRUE"), gone);
    server.stop().unwrap();
    server.launch().unwrap();
    assert_eq!(added_and_found(&server).unwrap(), gone, "after a restart too");
    let enable = "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\ndelete: olcDisabled\n";
    modify(&server, enable).success().unwrap();
    assert_eq!(added_and_found(&server).unwrap(), there);
}

#[test]
fn the_code_of_a_refusal_comes_from_what_is_wrong_and_not_from_where_it_stands() {
    let server = from_folder("my olc files");
    for (entry, attribute, value, code) in [
        ("olcDatabase={1}mdb,cn=config", "olcDbIndex", "nosuch eq", 80),
        ("cn=config", "olcAttributeTypes", "( 1.2.3.4 NAME 'x' SUP nosuch )", 21),
    ] {
        let ldif = format!("dn: {entry}\nchangetype: modify\nadd: {attribute}\n{attribute}: {value}\n");
        assert_eq!(modify(&server, &ldif).code(), Some(code), "{attribute}");
    }
}

#[test]
fn a_file_never_takes_the_place_of_a_configuration_that_is_there() {
    for flavor in [Flavor::OpenLdap, Flavor::Ironbark] {
        let server = with_database(flavor);
        let file = server.config_path().display().to_string();
        let folder = server.layout().make_dir("slapd.d").unwrap();
        server.layout().write("slapd.d/.keep", "").unwrap();
        let both = ["-f", &file, "-F", folder.to_str().unwrap()];
        slaptest(flavor, &both).success().unwrap();
        // What somebody has changed since, as he may through cn=config.
        let changed = folder.join("cn=config/changed");
        std::fs::write(&changed, "").unwrap();
        for tool in [Tool::Test, Tool::Cat, Tool::Add, Tool::Index, Tool::Schema] {
            let outcome = tool.run(flavor, &both, "").unwrap();
            assert_eq!(outcome.code(), Some(1), "{tool:?}");
            assert!(outcome.stderr.contains("empty"), "{}", outcome.stderr);
        }
        let mut server = server.arguments(&both[2..]);
        assert!(server.launch().is_err(), "slapd itself");
        assert!(changed.exists(), "{flavor:?}");
    }
}

/// core.schema as LDIF, as packages have it; the path of the file.
fn core_as_ldif(server: &Server) -> String {
    let schema = Flavor::Ironbark.schema_dir().display().to_string();
    let folder = server.layout().make_dir("converted").unwrap().display().to_string();
    let file = server
        .layout()
        .write("core.conf", format!("include {schema}/core.schema\n"))
        .unwrap();
    slaptest(Flavor::Ironbark, &["-f", file.to_str().unwrap(), "-F", &folder])
        .success()
        .unwrap();
    let arguments = ["-F", &folder, "-n", "0", "-s", "cn={0}core,cn=schema,cn=config"];
    let dumped = Tool::Cat
        .run(Flavor::Ironbark, &arguments, "")
        .unwrap()
        .success()
        .unwrap();
    let text = NormalizedLdif::new(&dumped.stdout)
        .without(&["entryUUID", "entryCSN"])
        .to_string();
    assert!(text.contains("olcAttributeTypes: {0}"));
    let text = text.replace("cn={0}core", "cn=core").replace("cn: {0}core", "cn: core");
    server.layout().write("core.ldif", text).unwrap().display().to_string()
}

/// A configuration as a package writes it at installation.
fn initial_ldif(dir: &str, schema: &str) -> String {
    let root = "dn.exact=gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth";
    format!(
        "dn: cn=config\nobjectClass: olcGlobal\ncn: config\nolcPidFile: {dir}/slapd.pid\n\n\
         dn: olcDatabase={{-1}}frontend,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcFrontendConfig\n\
         olcDatabase: {{-1}}frontend\nolcSizeLimit: 500\nolcAccess: {{0}}to * by {root} manage by * break\n\
         olcAccess: {{1}}to dn.exact=\"\" by * read\n\n\
         dn: olcDatabase=config,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: config\n\
         olcAccess: to * by {root} manage by * break\n\n\
         dn: cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: schema\n\ninclude: file://{schema}\n\n\
         dn: olcDatabase=mdb,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcMdbConfig\nolcDatabase: mdb\n\
         olcDbDirectory: {dir}/db\nolcSuffix: dc=example,dc=com\nolcRootDN: cn=Manager,dc=example,dc=com\nolcRootPW: secret\n\
         olcDbIndex: objectClass eq\n# a comment inside a record\nolcLastMod: TRUE\n"
    )
}

/// A package's installation: makes a configuration directory from LDIF, then the database. The server starts from the
/// directory.
fn installed() -> Server {
    let server = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let dir = server.layout().path().display().to_string();
    let folder = server.layout().make_dir("slapd.d").unwrap().display().to_string();
    let add = |arguments: &[&str], input: &str| Tool::Add.run(Flavor::Ironbark, arguments, input).unwrap();
    let init = initial_ldif(&dir, &core_as_ldif(&server));
    add(&["-F", &folder, "-b", "cn=config"], &init).success().unwrap();
    let wrong = "dn: olcDatabase=mdb,cn=config\nobjectClass: olcMdbConfig\nolcDatabase: mdb\nolcDbDirectory: /x\n\
        olcSuffix: dc=example,dc=com\n";
    let refused = add(&["-F", &folder, "-n", "0"], wrong);
    assert_eq!(refused.code(), Some(1));
    let told = &refused.stderr;
    assert!(told.contains("(line=1)") && told.contains("already served"), "{told}");
    let suffix = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n";
    add(&["-F", &folder, "-b", "dc=example,dc=com"], suffix)
        .success()
        .unwrap();
    server.from_directory(&folder)
}

#[test]
fn a_directory_is_made_of_ldif_record_by_record_and_root_manages_it() {
    let mut server = installed();
    server.launch().unwrap();
    let read_only = "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcReadOnly\nolcReadOnly: TRUE\n";
    let external = |server: &Server, program: &str, input: &str| {
        let outcome = server.client(program, &Credentials::External, &[], input).unwrap();
        outcome.success().unwrap().stdout
    };
    external(&server, "ldapmodify", read_only);
    assert_eq!(
        external(&server, "ldapwhoami", "").trim(),
        "dn:gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth"
    );
    let anonymous = server.client("ldapsearch", &Credentials::Anonymous, &["-b", "cn=config"], "");
    assert_eq!(anonymous.unwrap().code(), Some(32), "nobody else sees it");
    let entry = "dn: ou=x,dc=example,dc=com\nobjectClass: organizationalUnit\nou: x\n";
    assert_eq!(
        server.ldapadd(entry).unwrap().code(),
        Some(53),
        "it is read-only at once"
    );
    server.stop().unwrap();
    server.launch().unwrap();
    assert_eq!(server.ldapadd(entry).unwrap().code(), Some(53), "and after a restart");
}

#[test]
fn databases_and_overlays_come_and_go_while_the_server_runs() {
    let mut server = with_database(Flavor::Ironbark);
    server.launch().unwrap();
    let second = server.layout().make_dir("second").unwrap();
    let add = format!(
        "dn: olcDatabase=mdb,cn=config\nchangetype: add\nobjectClass: olcMdbConfig\nolcDatabase: mdb\nolcSuffix: o=two\n\
         olcRootDN: cn=admin,o=two\nolcRootPW: secret\nolcDbDirectory: {}\n",
        second.display()
    );
    let two = Credentials::Simple {
        dn: "cn=admin,o=two",
        password: "secret",
    };
    for round in 0..3 {
        modify(&server, &add).success().unwrap();
        let entry = "dn: o=two\nchangetype: add\nobjectClass: organization\no: two\n";
        let outcome = server.client("ldapmodify", &two, &[], entry).unwrap();
        assert_eq!(
            outcome.code(),
            Some(if round == 0 { 0 } else { 68 }),
            "what was there is there again"
        );
        modify(&server, "dn: olcDatabase={2}mdb,cn=config\nchangetype: delete\n")
            .success()
            .unwrap();
        let outcome = server
            .client("ldapsearch", &Credentials::Anonymous, &["-b", "o=two"], "")
            .unwrap();
        assert_eq!(outcome.code(), Some(32));
    }
    let unique = "dn: olcOverlay=unique,olcDatabase={1}mdb,cn=config\nchangetype: add\nobjectClass: olcUniqueConfig\n\
        olcOverlay: unique\nolcUniqueURI: ldap:///?description?sub\n";
    modify(&server, unique).success().unwrap();
    let entry = |name: &str| {
        format!("dn: ou={name},dc=example,dc=com\nobjectClass: organizationalUnit\nou: {name}\ndescription: same\n")
    };
    assert_eq!(server.ldapadd(&entry("a")).unwrap().code(), Some(0));
    assert_eq!(server.ldapadd(&entry("b")).unwrap().code(), Some(19));
    modify(
        &server,
        "dn: olcOverlay={0}unique,olcDatabase={1}mdb,cn=config\nchangetype: delete\n",
    )
    .success()
    .unwrap();
    assert_eq!(server.ldapadd(&entry("b")).unwrap().code(), Some(0));
    let missing = "dn: olcDatabase=mdb,cn=config\nchangetype: add\nobjectClass: olcMdbConfig\nolcDatabase: mdb\nolcSuffix: o=three\n\
        olcDbDirectory: /no/such/directory\n";
    let outcome = modify(&server, missing);
    assert_eq!(outcome.code(), Some(80));
    assert!(outcome.stderr.contains("/no/such/directory"), "{}", outcome.stderr);
    assert_eq!(
        server.ldapadd(&entry("c")).unwrap().code(),
        Some(0),
        "a refusal leaves all as it was"
    );
}

#[test]
fn schema_in_use_stays_and_other_schema_goes() {
    let mut server = with_database(Flavor::Ironbark);
    server.launch().unwrap();
    let mine = "dn: cn=mine,cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: mine\n\
        olcAttributeTypes: ( 1.3.6.1.4.1.32473.1 NAME 'mine' SUP name )\n\
        olcAttributeTypes: ( 1.3.6.1.4.1.32473.3 NAME 'unused' SUP name )\n\
        olcObjectClasses: ( 1.3.6.1.4.1.32473.2 NAME 'mineClass' SUP top AUXILIARY MAY ( mine $ unused ) )\n";
    modify(&server, mine).success().unwrap();
    let entry =
        "dn: ou=x,dc=example,dc=com\nobjectClass: organizationalUnit\nobjectClass: mineClass\nou: x\nmine: yes\n";
    server.ldapadd(entry).unwrap().success().unwrap();
    let delete = "dn: cn={3}mine,cn=schema,cn=config\nchangetype: delete\n";
    let outcome = modify(&server, delete);
    assert_eq!(outcome.code(), Some(80), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("mine"), "{}", outcome.stderr);
    let remove = "dn: ou=x,dc=example,dc=com\nchangetype: delete\n";
    server.ldapmodify(remove).unwrap().success().unwrap();
    modify(&server, delete).success().unwrap();
    let subschema = server
        .client(
            "ldapsearch",
            &Credentials::Anonymous,
            &["-b", "cn=Subschema", "-s", "base", "attributeTypes"],
            "",
        )
        .unwrap();
    assert!(!subschema.stdout.contains("'mine'"));
}

#[test]
fn a_change_that_cannot_be_written_is_refused_and_has_no_effect() {
    let mut server = from_folder("slapd.d");
    let change = "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 9\n";
    // The temporary name of the new file.
    let in_the_way = server.layout().join("slapd.d").join("cn=config.new");
    std::fs::create_dir(&in_the_way).unwrap();
    let outcome = modify(&server, change);
    assert_eq!(outcome.code(), Some(80), "{}", outcome.stderr);
    assert!(shown(&server, "cn=config", &["olcIdleTimeout"]).contains("olcIdleTimeout: 0"));
    std::fs::remove_dir(&in_the_way).unwrap();
    modify(&server, change).success().unwrap();
    server.stop().unwrap();
    server.launch().unwrap();
    assert!(shown(&server, "cn=config", &["olcIdleTimeout"]).contains("olcIdleTimeout: 9"));
}

/// Whether a client can begin TLS.
fn starts_tls(server: &Server) -> bool {
    let environment = [("LDAPTLS_REQCERT", "never")];
    let arguments = ["-x", "-ZZ", "-H", &server.url()];
    let outcome = server.client_with("ldapwhoami", &environment, &arguments, "").unwrap();
    outcome.code() == Some(0)
}

/// A change of all settings that the server keeps outside the configuration.
fn settings_of_every_kind(server: &Server, log: &str, metrics: std::net::SocketAddr) -> String {
    let place = |name: &str| server.layout().join(name).display().to_string();
    let (certificate, key, log) = (place("server.crt"), place("server.key"), place(log));
    format!(
        "dn: cn=config\nchangetype: modify\nadd: olcTLSCertificateFile\nolcTLSCertificateFile: {certificate}\n-\n\
         add: olcTLSCertificateKeyFile\nolcTLSCertificateKeyFile: {key}\n-\nadd: olcLogFile\nolcLogFile: {log}\n-\n\
         replace: olcLogLevel\nolcLogLevel: stats\n-\nadd: olcMetricsListener\nolcMetricsListener: {metrics}\n"
    )
}

#[test]
fn of_a_change_that_fails_neither_tls_nor_log_nor_metrics_nor_databases_are_in_force() {
    let mut server = from_folder("slapd.d");
    let layout = server.layout();
    CertificateAuthority::new("Test CA")
        .unwrap()
        .server()
        .unwrap()
        .write(layout, "server")
        .unwrap();
    let other = layout.make_dir("other").unwrap();
    // Nobody listens there in between: other tests do not use this address, and the system does not give the port away.
    let address = std::net::SocketAddr::from(([127, 83, 1, 7], ironbark_testkit::free_port().unwrap()));
    let settings = |log: &str| settings_of_every_kind(&server, log, address);
    let database = format!(
        "dn: olcDatabase={{2}}mdb,cn=config\nchangetype: add\nobjectClass: olcMdbConfig\nolcDatabase: {{2}}mdb\n\
         olcSuffix: o=other\nolcDbDirectory: {}\n",
        other.display()
    );
    let contexts = || {
        let arguments = ["-LLL", "-b", "", "-s", "base", "namingContexts"];
        let outcome = server
            .client("ldapsearch", &Credentials::Anonymous, &arguments, "")
            .unwrap();
        outcome.stdout.matches("namingContexts: ").count()
    };
    let is_as_it_was = |log: &str| {
        assert!(!starts_tls(&server));
        assert!(std::net::TcpStream::connect(address).is_err());
        assert_eq!(layout.read(log).unwrap_or_default(), "");
        assert_eq!(contexts(), 1);
        let shown = shown(
            &server,
            "cn=config",
            &["olcLogFile", "olcTLSCertificateFile", "olcMetricsListener"],
        );
        assert_eq!(shown, "dn: cn=config\n\n");
        added_and_found(&server).unwrap();
    };
    // One of the settings cannot be applied.
    assert_eq!(modify(&server, &settings("no/such/folder")).code(), Some(80));
    is_as_it_was("log");
    let taken = std::net::TcpListener::bind(address).unwrap();
    assert_eq!(modify(&server, &settings("log")).code(), Some(80));
    drop(taken);
    is_as_it_was("log");
    // All settings can be applied, but the files cannot be written: their temporary names or the journal's are taken.
    let folder = layout.join("slapd.d");
    let several = "dn: olcDatabase={1}null,cn=config\nchangetype: add\nobjectClass: olcNullConfig\n\
         olcDatabase: {1}null\nolcSuffix: o=null\n";
    for (change, name) in [
        (settings("log"), "cn=config.new"),
        (database.clone(), "cn=config/olcDatabase={2}mdb.new"),
        (several.to_owned(), "ironbark-journal.new"),
    ] {
        std::fs::create_dir(folder.join(name)).unwrap();
        let outcome = modify(&server, &change);
        assert!(outcome.stderr.contains("could not be written"), "{}", outcome.stderr);
        is_as_it_was("log");
        std::fs::remove_dir(folder.join(name)).unwrap();
    }
    // The prepared database is closed, and its files are reused unchanged.
    assert!(other.join("data.mdb").exists());
    modify(&server, &settings("log")).success().unwrap();
    modify(&server, &database).success().unwrap();
    assert!(starts_tls(&server));
    assert!(std::net::TcpStream::connect(address).is_ok());
    assert!(layout.read("log").unwrap().contains("STARTTLS"));
    assert_eq!(contexts(), 2);
    server.stop().unwrap();
}

/// A file system of 4 MB, which only these commands see, is filled and emptied again.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=4m tmpfs fs || exit 99
mkdir fs/slapd.d fs/db fs/other
"$0" slaptest -f small.conf -F fs/slapd.d 2>/dev/null
"$0" slapd -F fs/slapd.d -h "$URL" -d 0 2>log &
pid=$!
until ldapwhoami -x -H "$URL" >/dev/null 2>&1; do kill -0 $pid || exit 98; done
change() { printf "$1" | ldapmodify -x -H "$URL" -D cn=config -w secret >/dev/null 2>&1; echo "$2: $?"; }
changes() {
    change "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: $1\n" "one file"
    change "dn: cn=x$1,cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: x$1\n" "a new file"
    change "dn: olcDatabase={1}null,cn=config\nchangetype: add\nobjectClass: olcNullConfig\nolcDatabase: {1}null\nolcSuffix: o=null\n" "several files"
    change "dn: olcDatabase={3}mdb,cn=config\nchangetype: add\nobjectClass: olcMdbConfig\nolcDatabase: {3}mdb\nolcSuffix: o=other\nolcDbDirectory: $PWD/fs/other\n" "a database"
}
dd if=/dev/zero of=fs/filler bs=1k 2>/dev/null
changes 8
rm fs/filler
changes 9
ldapsearch -LLL -x -H "$URL" -D cn=config -w secret -b cn=config "(|(olcSuffix=*)(cn=config)(cn=*x*))" olcSuffix olcIdleTimeout
kill $pid && wait $pid
echo "ended: $?"
"$0" slapcat -F fs/slapd.d -n 0 | grep -E "^olcSuffix|^olcIdleTimeout"
"#;

#[test]
fn a_full_disk_refuses_changes_and_one_with_room_again_takes_them() {
    let server = Server::prepare(Flavor::Ironbark, &template(Flavor::Ironbark)).unwrap();
    server.layout().make_dir("fs").unwrap();
    let text = server.layout().read("slapd.conf").unwrap();
    let folder = server.layout().path().display().to_string();
    let text = text.replace(&format!("{folder}/db"), &format!("{folder}/fs/db"));
    server.layout().write("small.conf", text).unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", FULL_DISK])
        .arg(Flavor::Ironbark.program().unwrap())
        .env("URL", server.ldapi_url())
        .current_dir(server.layout().path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let log = server.layout().read("log").unwrap_or_default();
    let refused = "one file: 80\na new file: 80\nseveral files: 80\na database: 80\n";
    let taken = refused.replace("80", "0");
    let shown_by_it = "dn: cn=config\nolcIdleTimeout: 9\n\ndn: cn={3}x9,cn=schema,cn=config\n\n\
        dn: olcDatabase={1}null,cn=config\nolcSuffix: o=null\n\ndn: olcDatabase={2}mdb,cn=config\nolcSuffix: dc=example,dc=com\n\n\
        dn: olcDatabase={3}mdb,cn=config\nolcSuffix: o=other\n\n";
    let kept = "ended: 0\nolcIdleTimeout: 9\nolcSuffix: o=null\nolcSuffix: dc=example,dc=com\nolcSuffix: o=other\n";
    let expected = format!("{refused}{taken}{shown_by_it}{kept}");
    assert_eq!(shown, expected, "{}\n{log}", String::from_utf8_lossy(&output.stderr));
}

/// A tree whose suffix, rootdn and rules have unknown attribute types, made by slapadd and served.
#[test]
fn names_with_unknown_types_are_taken_from_a_directory_and_in_requests_as_by_slapd() {
    assert_same(|flavor| {
        let server = Server::prepare(flavor, &template(flavor))?;
        let folder = server.layout().make_dir("new.d")?.display().to_string();
        let dir = server.layout().path().display();
        let ldif = format!(
            "dn: cn=config\nobjectClass: olcGlobal\ncn: config\n\n\
             dn: cn=module,cn=config\nobjectClass: olcModuleList\ncn: module\nolcModulePath: /usr/lib/ldap\nolcModuleLoad: back_mdb\n\n\
             dn: olcDatabase={{0}}config,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: {{0}}config\nolcRootPW: secret\n\n\
             dn: olcDatabase=mdb,cn=config\nobjectClass: olcMdbConfig\nolcDatabase: mdb\nolcSuffix: foo=a B,1.2.3.4=x\n\
             olcRootDN: cn=root,Foo=a B,1.2.3.4=x\nolcRootPW: secret\nolcDbDirectory: {dir}/db\n\
             olcAccess: to dn.base=\"foo=c,foo=a B,1.2.3.4=x\" by dn.base=\"cn=y,foo=z\" write\nolcAccess: to * by * read\n"
        );
        Tool::Add.run(flavor, &["-F", &folder, "-n0"], &ldif)?.success()?;
        Tool::Test.run(flavor, &["-u", "-F", &folder], "")?.success()?;
        let mut server = server.from_directory(&folder);
        server.launch()?;
        let mut text = String::new();
        for base in [
            "foo=a B,1.2.3.4=x",
            "FOO=A b,1.2.3.4=x",
            "foo=1,cn=x",
            "bar=a",
            "1.2.3.5=x",
            "f_o=x",
        ] {
            let outcome = server.search(&["-b", base, "-s", "base"])?;
            writeln!(text, "search {base}: {:?}", outcome.code()).unwrap();
        }
        let root = Credentials::Simple {
            dn: "cn=root,foo=a B,1.2.3.4=x",
            password: "secret",
        };
        let whoami = server.client("ldapwhoami", &root, &[], "")?;
        writeln!(text, "{:?} {}", whoami.code(), whoami.stdout).unwrap();
        for change in [
            "dn: foo=c,cn=config\nchangetype: add\nobjectClass: olcGlobal\n",
            "dn: foo=a B,1.2.3.4=x\nchangetype: add\nobjectClass: applicationProcess\ncn: x\n",
            "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcSuffix\nolcSuffix: bar=x\n",
            "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcAccess\nolcAccess: to dn.base=\"bar=x\" by * read\n",
            "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: olcAccess\nolcAccess: to dn.base=\"foo=x\" by * read\n",
        ] {
            let as_root = if change.contains("cn=config") { &CONFIG } else { &root };
            writeln!(
                text,
                "{change}= {:?}",
                server.client("ldapmodify", as_root, &[], change)?.code()
            )
            .unwrap();
        }
        text.push_str(&shown(
            &server,
            "olcDatabase={1}mdb,cn=config",
            &["olcSuffix", "olcRootDN", "olcAccess"],
        ));
        Ok(text)
    });
}

/// Debian's slaptest writes `olcDbMaxReaders: 0` for the default.
#[test]
fn a_directory_that_slapd_has_written_is_served_to_several_readers() {
    let server = with_database(Flavor::OpenLdap);
    let folder = server.layout().make_dir("slapd.d").unwrap().display().to_string();
    let file = server.config_path().display().to_string();
    slaptest(Flavor::OpenLdap, &["-f", &file, "-F", &folder])
        .success()
        .unwrap();
    let database = std::fs::read_to_string(format!("{folder}/cn=config/olcDatabase={{1}}mdb.ldif")).unwrap();
    assert!(database.contains("olcDbMaxReaders: 0"), "{database}");
    let ours = Server::prepare(Flavor::Ironbark, &template(Flavor::Ironbark)).unwrap();
    let copy = database.replace(
        &server.layout().path().display().to_string(),
        &ours.layout().path().display().to_string(),
    );
    std::fs::write(format!("{folder}/cn=config/olcDatabase={{1}}mdb.ldif"), copy).unwrap();
    let mut ours = ours.from_directory(&folder);
    ours.slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
        .unwrap();
    ours.launch().unwrap();
    for _ in 0..3 {
        let found = ours.search(&["-b", "dc=example,dc=com", "(dc=example)"]).unwrap();
        assert_eq!(found.code(), Some(0), "{found:?}\n{}", ours.log());
    }
}

/// Filters need not name the place of a value in an order; a compare has to. slapd takes any number for the right one
/// (`{2}mdb`), and does not find `{-1}frontend` by its name.
#[test]
fn a_database_is_found_without_its_number_as_by_slapd() {
    assert_same(|flavor| {
        let text = template(flavor);
        let mut server = Server::prepare(flavor, &format!("{text}overlay memberof\nlimits users size=7\n"))?;
        server.slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")?;
        server.launch()?;
        let mut text = String::new();
        for filter in [
            "(olcDatabase=mdb)",
            "(olcDatabase=MDB)",
            "(olcDatabase={1}mdb)",
            "(olcDatabase={1})",
            "(olcDatabase={-1}frontend)",
            "(olcOverlay=memberof)",
            "(|(olcOverlay=memberof)(olcOverlay=unique)(olcOverlay=sssvlv))",
            "(!(olcDatabase=mdb))",
            "(olcLimits=users size=7)",
            "(olcSuffix=dc=example,dc=com)",
        ] {
            let found = server.client("ldapsearch", &CONFIG, &["-LLL", "-b", "cn=config", filter, "1.1"], "")?;
            let names = found.stdout.lines().filter(|line| line.contains("olcDatabase"));
            writeln!(text, "{filter}: {:?}", names.collect::<Vec<_>>()).unwrap();
        }
        for assertion in ["olcDatabase:mdb", "olcDatabase:{1}mdb"] {
            let compared = server.client("ldapcompare", &CONFIG, &["olcDatabase={1}mdb,cn=config", assertion], "")?;
            writeln!(text, "{assertion}: {:?}", compared.code()).unwrap();
        }
        Ok(text)
    });
}

#[test]
fn a_server_whose_number_belongs_to_no_listener_does_not_start() {
    for flavor in [Flavor::Ironbark, Flavor::OpenLdap] {
        let with = |ids: &str| {
            Server::prepare(
                flavor,
                &template(flavor).replacen("pidfile", &format!("{ids}pidfile"), 1),
            )
            .unwrap()
        };
        let mut others = with("serverID 1 ldap://ldap1.invalid/\nserverID 2 ldap://ldap2.invalid:1389\n");
        let refused = others.launch().unwrap_err().to_string();
        assert!(
            refused.contains("no serverID / URL match found. Check slapd -h arguments"),
            "{refused}"
        );
        if flavor == Flavor::Ironbark {
            let compared = format!(
                "compared ldap://ldap1.invalid/ ldap://ldap2.invalid:1389 with the listeners {} {}",
                others.url(),
                others.ldapi_url()
            );
            assert!(refused.contains(&compared), "{refused}");
        }
        // The tools do not check listeners.
        others.tool(Tool::Test, &["-u"], "").unwrap().success().unwrap();
        let mut twice = with("serverID 1 ldap://127.0.0.1:{port}/\nserverID 2 ldap://:{port}\n");
        let refused = twice.launch().unwrap_err().to_string();
        assert!(refused.contains("multiple server ID URLs matched"), "{refused}");
    }
}

#[test]
fn one_process_writes_a_directory_and_the_second_is_told_which() {
    let mut server = from_folder("slapd.d");
    let folder = server.layout().join("slapd.d").display().to_string();
    let holder = format!("in use by process {}", server.pid().unwrap());
    let change = "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 8\n";
    let tool = |tool: Tool, arguments: &[&str], input: &str| {
        tool.run(Flavor::Ironbark, &[&["-F", &folder], arguments].concat(), input)
            .unwrap()
    };
    // The server would not notice the change, and its own next one would undo it.
    let refused = tool(Tool::Modify, &["-n", "0"], change);
    assert!(
        refused.code() == Some(1) && refused.stderr.contains(&holder),
        "{}",
        refused.stderr
    );
    let mut second = Server::prepare(Flavor::Ironbark, "").unwrap().from_directory(&folder);
    let said = second.launch().unwrap_err().to_string();
    assert!(said.contains(&holder), "{said}");
    // Readers go on, and the tools that ask the server.
    tool(Tool::Modify, &["-n", "0", "-u"], change).success().unwrap();
    tool(Tool::Test, &["-u"], "").success().unwrap();
    let shown = tool(Tool::Cat, &["-n", "0"], "").success().unwrap();
    assert!(shown.stdout.contains("dn: cn=config"));
    tool(Tool::Add, &["-n", "1"], ONE).success().unwrap();
    server.stop().unwrap();
    tool(Tool::Modify, &["-n", "0"], change).success().unwrap();
    server.launch().unwrap();
    assert!(self::shown(&server, "cn=config", &["olcIdleTimeout"]).contains("olcIdleTimeout: 8"));
}
