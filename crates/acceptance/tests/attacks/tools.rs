//! Files from other people as input of the tools.

use std::{fs, process::Command};

use ironbark_testkit::{Credentials, Flavor, Server, Tool};

use crate::attacks::site::{ANN, BASE, DATA, run, site};

fn prepared() -> Server {
    Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap()
}

#[test]
fn a_value_from_a_file_is_the_loaders_business_and_no_clients() {
    let server = prepared();
    let secret = server.layout().write("secret", "file content").unwrap();
    let url = format!("file://{}", secret.display());
    // slapadd reads it, as slapd's does: a user that may run slapadd may read the file.
    let ldif = format!("{DATA}\ndn: cn=f,{BASE}\nobjectClass: person\ncn: f\nsn: x\ndescription:< {url}\n");
    server.slapadd(&ldif).unwrap();
    let dump = server.tool(Tool::Cat, &["-a", "(cn=f)"], "").unwrap().stdout;
    assert!(dump.contains("description: file content"), "{dump}");
    // Other schemes are refused by name, nothing is fetched.
    let refused = server.tool(
        Tool::Add,
        &[],
        &format!("dn: cn=g,{BASE}\nobjectClass: person\ncn: g\nsn:< http://127.0.0.1:1/x\n"),
    );
    assert_ne!(refused.unwrap().code(), Some(0));
    // Everything that a client sends is only a value.
    let server = site();
    let script = format!(
        "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s(os.environ['ROOT_DN'], 'secret')\n\
         c.modify_s('{ANN}', [(ldap.MOD_REPLACE, 'description', [b'< {url}'])])\nprint(c.search_s('{ANN}', 0, attrlist=['description']))\n"
    );
    let answer = server.python(&script).unwrap().success().unwrap().stdout;
    assert!(answer.contains(&format!("b'< {url}'")), "{answer}");
}

#[test]
fn a_configuration_entry_reads_no_other_file() {
    let server = prepared();
    server.slapadd(DATA).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    server
        .tool(Tool::Test, &["-F", folder.to_str().unwrap()], "")
        .unwrap()
        .success()
        .unwrap();
    let file = folder.join("cn=config.ldif");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}olcSaslHost:< file:///etc/hostname\n")).unwrap();
    let outcome = Tool::Test
        .run(Flavor::Ironbark, &["-u", "-F", folder.to_str().unwrap()], "")
        .unwrap();
    assert_ne!(outcome.code(), Some(0), "{outcome:?}");
}

#[test]
fn hostile_ldif_ends_with_a_reason_and_leaves_nothing() {
    let random: String = (0..20_000_u32)
        .map(|n| char::from(n.wrapping_mul(2_654_435_761).to_le_bytes()[3] & 0x7f))
        .collect();
    let server = prepared();
    let own = server.layout().join("loop.ldif");
    let include = format!("include: file://{}\n", own.display());
    fs::write(&own, include.repeat(3)).unwrap();
    for ldif in [
        random,
        "dn: ".to_owned() + &"cn=x,".repeat(100_000) + BASE + "\nobjectClass: person\n",
        format!("dn: {BASE}\nobjectClass: {}\n", "x".repeat(1 << 22)),
        format!("dn: {BASE}\n{}", "objectClass;x: domain\n".repeat(100_000)),
        format!("dn:: {}\n", "!".repeat(1000)),
        format!("dn: {BASE}\n{}: x\n", "a".repeat(1 << 20)),
        format!("version: 99999999999999999999\ndn: {BASE}\n"),
        include,
    ] {
        let outcome = server.tool(Tool::Add, &[], &ldif).unwrap();
        assert_eq!(
            outcome.code(),
            Some(1),
            "{} {}",
            &ldif[..ldif.len().min(60)],
            outcome.stderr
        );
        // The error is quoted once.
        assert!(
            !outcome.stderr.is_empty() && outcome.stderr.len() < ldif.len() + 20_000,
            "{}",
            outcome.stderr.len()
        );
    }
    server.slapadd(DATA).unwrap();
}

#[test]
fn what_is_no_database_is_refused() {
    let mut server = prepared();
    let file = server.layout().join("db/data.mdb");
    for content in [
        vec![0; 8192],
        vec![0xff; 65_536],
        b"not a database".to_vec(),
        b"SQLite format 3\0".repeat(1000),
    ] {
        fs::write(&file, &content).unwrap();
        let dump = server.tool(Tool::Cat, &[], "").unwrap();
        assert_eq!(dump.code(), Some(1), "{dump:?}");
        assert!(
            dump.stderr.contains("data.mdb") || dump.stderr.contains("database"),
            "{dump:?}"
        );
        assert!(server.launch().is_err());
        assert_eq!(fs::read(&file).unwrap(), content, "what is not ours is left as it is");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(server.tool(Tool::Cat, &[], "").unwrap().code(), Some(1));
}

#[test]
fn a_hostile_configuration_is_refused_by_line() {
    let server = prepared();
    let config = server.config_path();
    let own = config.display();
    for text in [
        format!("include {own}\n"),
        format!("access to * by set=\"{}\" read\n", "(".repeat(100_001)),
        format!(
            "access to filter={}(cn=a){} by * read\n",
            "(!".repeat(50_000),
            ")".repeat(50_000)
        ),
        format!("access to dn.regex={} by * read\n", "(".repeat(50_000)),
        format!(
            "access to dn.regex={}a{} by * read\n",
            "(".repeat(50_000),
            ")".repeat(50_000)
        ),
        format!("attributetype ( 1.2.3 NAME 'x' SUP {} )\n", "a".repeat(1 << 20)),
        "attributetype ( 1.2.3 NAME 'x' SUP y )\nattributetype ( 1.2.4 NAME 'y' SUP x )\n".to_owned(),
        "objectclass ( 1.2.3 NAME 'x' SUP y )\nobjectclass ( 1.2.4 NAME 'y' SUP x )\n".to_owned(),
        "objectidentifier a b\nobjectidentifier b a\nattributetype ( a:1 NAME 'x' )\n".to_owned(),
        "\0\0\0\n".to_owned(),
        "sizelimit 99999999999999999999\n".to_owned(),
    ] {
        fs::write(&config, &text).unwrap();
        let test = server.tool(Tool::Test, &["-u"], "").unwrap();
        let start = &text[..text.len().min(60)];
        // slapd also accepts a malformed set, which holds for nobody.
        assert!(test.code() == Some(1) || text.contains("set="), "{start}: {test:?}");
        assert!(test.stderr.len() < 5_000_000, "{start}");
    }
}

#[test]
fn passwords_are_read_from_files_too() {
    let server = site();
    // Everybody can see a command line: every tool that takes a password there also takes a file.
    let file = server.layout().write("password", "secret").unwrap();
    let program = Flavor::Ironbark.program().unwrap();
    for arguments in [&["load", "search", "--help"][..], &["advise", "--help"]] {
        let help = Command::new(&program).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(text.contains("-y"), "{text}");
    }
    let hashed = Tool::Passwd
        .run(Flavor::Ironbark, &["-T", file.to_str().unwrap()], "")
        .unwrap()
        .success()
        .unwrap();
    let stored = format!(
        "dn: {ANN}\nchangetype: modify\nreplace: userPassword\nuserPassword: {}\n",
        hashed.stdout.trim()
    );
    assert_eq!(
        run(&server, &Credentials::ROOT, "ldapmodify", &[], &stored).code(),
        Some(0)
    );
    let ann = Credentials::Simple {
        dn: ANN,
        password: "secret",
    };
    assert_eq!(run(&server, &ann, "ldapwhoami", &[], "").code(), Some(0));
}
