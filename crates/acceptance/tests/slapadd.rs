//! slapadd and slapcat, compared with Debian's.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::{fmt::Write as _, fs};

use crate::common::{PEOPLE, dump, prepared};
use ironbark_testkit::{Flavor, Layout, Server, TestkitError, Tool, assert_same};

const GLUED: &str = "\
include {schema}/core.schema
database mdb
suffix ou=a,dc=example,dc=com
subordinate
directory {dir}/a
database mdb
suffix ou=b,dc=example,dc=com
subordinate
directory {dir}/b
database mdb
suffix dc=example,dc=com
directory {dir}/db
";

const GLUED_LDIF: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=b,dc=example,dc=com
objectClass: organizationalUnit

dn: ou=a,dc=example,dc=com
objectClass: organizationalUnit

dn: ou=c,ou=b,dc=example,dc=com
objectClass: organizationalUnit
entryCSN: 20200101000000.000000Z#000000#003#000000
";

fn glued(flavor: Flavor) -> Result<Server, TestkitError> {
    let server = Server::prepare(flavor, GLUED)?;
    server.layout().make_dir("a")?;
    server.layout().make_dir("b")?;
    Ok(server)
}

#[test]
fn a_load_and_its_dump_are_those_of_slapd() {
    assert_same(|flavor| {
        let server = prepared(flavor);
        server.slapadd(PEOPLE)?;
        Ok(dump(&server))
    });
}

#[test]
fn a_dump_is_loaded_and_dumped_byte_for_byte_by_either() {
    let debian = prepared(Flavor::OpenLdap);
    debian.slapadd(PEOPLE).unwrap();
    for wrap in [&[][..], &["-o", "ldif-wrap=no"], &["-o", "ldif-wrap=30"]] {
        let theirs = debian.tool(Tool::Cat, wrap, "").unwrap().success().unwrap().stdout;
        let ours = prepared(Flavor::Ironbark);
        ours.slapadd(&theirs).unwrap();
        assert_eq!(
            ours.tool(Tool::Cat, wrap, "").unwrap().success().unwrap().stdout,
            theirs
        );
    }
}

#[test]
fn parts_of_a_database_are_those_of_slapd() {
    for arguments in [
        &["-a", "(sn=ray)"][..],
        &["-a", "(!(entryDN:dnSubtreeMatch:=ou=people,dc=example,dc=com))"],
        &["-H", "ldap:///ou=people,dc=example,dc=com??one?(cn=*)"],
        &["-n", "1"],
        &["-b", "dc=example,dc=com"],
    ] {
        assert_same(|flavor| {
            let server = prepared(flavor);
            server.slapadd(PEOPLE)?;
            let text = server.tool(Tool::Cat, arguments, "")?.success()?.stdout;
            Ok(text
                .lines()
                .filter(|line| line.starts_with("dn:"))
                .collect::<Vec<_>>()
                .join("\n"))
        });
    }
}

/// slapd 2.5 crashes here.
#[test]
fn a_subtree_is_dumped() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let text = server
        .tool(Tool::Cat, &["-s", "ou=people,dc=example,dc=com"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let names: Vec<_> = text.lines().filter(|line| line.starts_with("dn:")).collect();
    assert_eq!(
        names,
        [
            "dn: ou=people,dc=example,dc=com",
            "dn: cn=Ann Lee,ou=people,dc=example,dc=com"
        ]
    );
}

#[test]
fn glued_databases_are_loaded_and_dumped_together() {
    for arguments in [&[][..], &["-g"], &["-n", "1"], &["-n", "3"]] {
        assert_same(|flavor| {
            let server = glued(flavor)?;
            server.tool(Tool::Add, &[], GLUED_LDIF)?.success()?;
            let text = server.tool(Tool::Cat, arguments, "")?.success()?.stdout;
            Ok(text
                .lines()
                .filter(|line| line.starts_with("dn:"))
                .collect::<Vec<_>>()
                .join("\n"))
        });
    }
}

#[test]
fn refusals_have_slapds_words_lines_and_exit_status() {
    let base =
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n# x\n";
    for record in [
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\nmail: x\n",
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\n",
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\nobjectClass: foo\ncn: x\n",
        "dn: cn=x,dc=example,dc=com\nobjectClass: dcObject\ndc: x\n",
        "dn: cn=x,dc=example,dc=com\ncn: x\n",
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\nfoo: x\n",
        "dn: cn=x,dc=other,dc=com\nobjectClass: person\ncn: x\nsn: x\n",
        "dn: foo\nobjectClass: person\n",
        "dn: dc=x,dc=example,dc=com\nobjectClass: domain\ndc: y\n",
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\nseeAlso: foo\n",
        "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\nstructuralObjectClass: organization\n",
        "dn: cn=x,dc=example,dc=com\nchangetype: delete\n",
        "dn:\nobjectClass: person\n",
        "dn: jpegPhoto=x,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: x\nsn: x\njpegPhoto: x\n",
        "dn: cn=x+creatorsName=cn\\=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\n",
    ] {
        for arguments in [&[][..], &["-c"]] {
            assert_same(|flavor| {
                let outcome = prepared(flavor).tool(Tool::Add, arguments, &format!("{base}{record}"))?;
                let said = outcome.stderr.lines().filter(|line| line.starts_with("slapadd:"));
                Ok(format!("{:?}\n{}", outcome.code(), said.collect::<Vec<_>>().join("\n")))
            });
        }
    }
}

#[test]
fn a_number_out_of_range_is_refused_as_slapd_does() {
    assert_same(|flavor| {
        let outcome = prepared(flavor).tool(Tool::Cat, &["-n", "9"], "")?;
        Ok(format!(
            "{:?} {}",
            outcome.code(),
            outcome.stderr.contains("Must be in the range 0 to 1")
        ))
    });
}

#[test]
fn nothing_is_left_of_a_load_that_fails() {
    let server = prepared(Flavor::Ironbark);
    let bad = format!("{PEOPLE}\ndn: cn=x,dc=example,dc=com\nobjectClass: person\n");
    assert_eq!(server.tool(Tool::Add, &[], &bad).unwrap().code(), Some(1));
    assert_eq!(dump_if_any(&server), "");
    server.slapadd(PEOPLE).unwrap();
    let before = dump(&server);
    let more = "dn: cn=new,dc=example,dc=com\nobjectClass: person\nsn: x\n\ndn: cn=staff,dc=example,dc=com\nobjectClass: person\nsn: x\n";
    let refused = server.tool(Tool::Add, &[], more).unwrap();
    assert_eq!(refused.code(), Some(1));
    assert!(
        refused
            .stderr
            .contains("could not add entry dn=\"cn=staff,dc=example,dc=com\" (line=5): entry exists"),
        "{refused:?}"
    );
    assert_eq!(dump(&server), before);
    let orphan = "dn: cn=y,ou=nowhere,dc=example,dc=com\nobjectClass: person\nsn: x\n";
    assert!(
        server
            .tool(Tool::Add, &[], orphan)
            .unwrap()
            .stderr
            .contains("ou=nowhere,dc=example,dc=com")
    );
    assert_eq!(dump(&server), before);
}

fn dump_if_any(server: &Server) -> String {
    server.tool(Tool::Cat, &[], "").unwrap().stdout
}

#[test]
fn going_on_keeps_what_is_right() {
    assert_same(|flavor| {
        let server = prepared(flavor);
        let bad = "dn: cn=x,dc=example,dc=com\nobjectClass: person\n\n";
        let orphan = "\ndn: cn=y,ou=nowhere,dc=example,dc=com\nobjectClass: person\nsn: x\n";
        let outcome = server
            .tool(Tool::Add, &["-c"], &format!("{bad}{PEOPLE}{orphan}"))?
            .expect_code(1)?;
        assert!(outcome.stderr.contains("ou=nowhere,dc=example,dc=com"), "{outcome:?}");
        Ok(dump(&server))
    });
}

/// Under `-c`, a record that cannot be read or breaks the schema does not count as an error; one that the database
/// refuses does.
#[test]
fn exit_statuses_are_slapds_whatever_is_wrong() {
    let person = |name: &str, more: &str| {
        format!("dn: cn={name},dc=example,dc=com\nobjectClass: person\ncn: {name}\nsn: x\n{more}\n")
    };
    let top = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n";
    let wrong = [
        person("a", "") + &person("A", ""),
        top.to_owned(),
        person("a,ou=none", ""),
        person("a,foo=b", ""),
        person("a", "nosuch: x\n"),
        person("a", "seeAlso: nothing\n"),
        person("a", "sn: X\n"),
        person("a", "").replace("person", "nosuch"),
        person("a", "").replace("sn: x\n", ""),
        person("a", "").replace("objectClass: person\n", ""),
        person("a", "garbage\n"),
        person("a", "").replace("dn: ", ""),
        "dn: dc=other\nobjectClass: domain\ndc: other\n\n".to_owned(),
        "dn:\nobjectClass: domain\ndc: x\n\n".to_owned(),
        "include: file:///nonexistent\n\n".to_owned(),
        String::new(),
    ];
    assert_same(|flavor| {
        let mut text = String::new();
        for (record, arguments) in wrong.iter().flat_map(|record| [(record, &[][..]), (record, &["-c"])]) {
            // In bulk, and into a database that has entries.
            let (bulk, other) = (prepared(flavor), prepared(flavor));
            let all = format!("{top}{record}{}", person("last", ""));
            let first = bulk.tool(Tool::Add, arguments, &all)?.code();
            other.slapadd(top)?;
            let all = format!("{record}{}", person("last", ""));
            let then = other.tool(Tool::Add, arguments, &all)?.code();
            writeln!(text, "{arguments:?} {record}= {first:?} {then:?}").unwrap();
        }
        Ok(text)
    });
}

/// The same for cn=config. (With `-c`, slapd continues after any record.)
#[test]
fn exit_statuses_of_loads_of_cn_config_are_slapds() {
    let global = "dn: cn=config\nobjectClass: olcGlobal\ncn: config\n\n";
    let database =
        |more: &str| format!("dn: olcDatabase=null,cn=config\nobjectClass: olcNullConfig\nolcDatabase: null\n{more}\n");
    let wrong = [
        global.to_owned(),
        database("olcNoSuch: x\n"),
        database("olcSuffix: cn=x\nolcSizeLimit: some\n"),
        database("olcSuffix: cn=x\ngarbage\n"),
        database("olcSuffix: cn=x\nolcDbCheckpoint: 1 2\n"),
        "dn: olcOverlay=memberof,olcDatabase={7}null,cn=config\nobjectClass: olcOverlayConfig\nolcOverlay: memberof\n\n".to_owned(),
        "dn: cn=x\nobjectClass: applicationProcess\ncn: x\n\n".to_owned(),
        "dn: nothing\nobjectClass: applicationProcess\ncn: x\n\n".to_owned(),
        String::new(),
    ];
    assert_same(|flavor| {
        let mut text = String::new();
        for (record, arguments) in wrong
            .iter()
            .flat_map(|record| [(record, &["-n0"][..]), (record, &["-n0", "-c"])])
        {
            let layout = Layout::new()?;
            let folder = layout.make_dir("d")?.display().to_string();
            let module = "dn: cn=module,cn=config\nobjectClass: olcModuleList\ncn: module\nolcModulePath: /usr/lib/ldap\n\
                          olcModuleLoad: back_null\n\n";
            let all = format!("{global}{module}{record}{}", database("olcSuffix: cn=good\n"));
            let all_arguments = [arguments, &["-F", &folder]].concat();
            let code = Tool::Add.run(flavor, &all_arguments, &all)?.code();
            let dump = Tool::Cat.run(flavor, &["-n0", "-F", &folder], "")?.stdout;
            let kept = code == Some(0) && dump.contains("cn=good");
            writeln!(text, "{arguments:?} {record}= {code:?} {kept}").unwrap();
        }
        Ok(text)
    });
}

#[test]
fn a_load_goes_on_at_a_line() {
    assert_same(|flavor| {
        let server = prepared(flavor);
        server.slapadd(PEOPLE.split_once("\n\n").unwrap().0)?;
        server.tool(Tool::Add, &["-j", "8"], PEOPLE)?.success()?;
        Ok(dump(&server))
    });
}

#[test]
fn context_csns_are_written_as_slapd_writes_them() {
    assert_same(|flavor| {
        let server = prepared(flavor);
        server.tool(Tool::Add, &["-w", "-S", "5"], PEOPLE)?.success()?;
        let text = server.tool(Tool::Cat, &[], "")?.success()?.stdout;
        let csns = text.lines().filter(|line| line.starts_with("contextCSN: "));
        Ok(csns
            .map(|line| line.split('#').nth(2).unwrap_or("?").to_owned())
            .collect::<Vec<_>>()
            .join(","))
    });
}

#[test]
fn values_are_loaded_whatever_their_syntax_where_slapd_loads_them() {
    let mut ldif = PEOPLE.split_once("\n\n").unwrap().0.to_owned();
    for (number, line) in [
        "uidNumber: 01",
        "uidNumber: abc",
        "telephoneNumber: a_b",
        "x121Address: abc",
        "mail:: w6Q=",
        "postalAddress: a$$b",
        "postalAddress:",
        "postalAddress: a\\b",
        "preferredDeliveryMethod: x",
        "facsimileTelephoneNumber: 1$$2",
        "seeAlso: x",
        "description:: /w==",
    ]
    .into_iter()
    .enumerate()
    {
        write!(
            ldif,
            "\n\ndn: cn={number},dc=example,dc=com\nobjectClass: inetOrgPerson\nobjectClass: extensibleObject\nsn: x\n{line}"
        )
        .unwrap();
    }
    ldif += "\n\ndn: cn=many,dc=example,dc=com\nobjectClass: device\nobjectClass: extensibleObject";
    for number in 100..200 {
        write!(ldif, "\nmail: m{number} \u{e9}{}", "-".repeat(40)).unwrap();
    }
    assert_same(|flavor| {
        let server = prepared(flavor);
        server.tool(Tool::Add, &["-c"], &format!("{ldif}\n"))?;
        Ok(dump(&server))
    });
}

#[test]
fn checks_are_switched_off_and_on_as_in_slapd() {
    let unchecked = "dn: dc=example,dc=com\nobjectClass: organization\ndc: example\n";
    let syntax = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\nassociatedName: dc=x\nl: x\nl: X\n";
    for (arguments, ldif) in [
        (&["-s"][..], unchecked),
        (&["-o", "schema-check=no"], unchecked),
        (&[], unchecked),
        (&["-o", "value-check=yes"], syntax),
        (&[], syntax),
        (&["-q"], syntax),
        (&["-u"], syntax),
        (&["-q", "-o", "value-check=yes"], syntax),
    ] {
        assert_same(|flavor| {
            let server = prepared(flavor);
            let code = server.tool(Tool::Add, arguments, ldif)?.code();
            // For slapd, slapcat of a missing database is an error; here it gives an empty dump.
            Ok(format!(
                "{arguments:?} {code:?}\n{}",
                dump_if_any(&server)
                    .lines()
                    .filter(|line| line.starts_with("dn:"))
                    .count()
            ))
        });
    }
}

#[test]
fn files_may_be_included() {
    let server = prepared(Flavor::Ironbark);
    let people = PEOPLE.split_once("\n\n").unwrap();
    let inner = server.layout().write("inner.ldif", people.1).unwrap();
    let outer = format!(
        "{}\n\ninclude: file://{}\n\ndn: ou=last,dc=example,dc=com\nobjectClass: organizationalUnit\n",
        people.0,
        inner.display()
    );
    let outer = server.layout().write("outer.ldif", outer).unwrap();
    server
        .tool(Tool::Add, &["-l", outer.to_str().unwrap()], "")
        .unwrap()
        .success()
        .unwrap();
    let text = dump(&server);
    assert!(
        text.contains("dn: cn=staff,dc=example,dc=com\n") && text.contains("dn: ou=last,dc=example,dc=com\n"),
        "{text}"
    );
    let broken = server
        .layout()
        .write("inner.ldif", "dn: cn=q,dc=example,dc=com\nobjectClass: person\n")
        .unwrap();
    let text = format!("include: file://{}\n", broken.display());
    let refused = server.tool(Tool::Add, &[], &text).unwrap();
    assert!(refused.stderr.contains("(line=1 of file://"), "{refused:?}");
}

#[test]
fn a_load_of_several_blocks_keeps_the_order_of_the_file() {
    let server = prepared(Flavor::Ironbark);
    let mut ldif = PEOPLE.split_once("\n\n").unwrap().0.to_owned();
    for number in 0..4000 {
        let (name, text) = (format!("cn=person {number},dc=example,dc=com"), "y".repeat(400));
        ldif.push_str(&["\n\ndn: ", &name, "\nobjectClass: person\nsn: x\ndescription: ", &text].concat());
    }
    server.slapadd(&ldif).unwrap();
    let text = server
        .tool(Tool::Cat, &["-a", "(sn=x)"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let names: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("dn: "))
        .map(str::to_owned)
        .collect();
    let expected: Vec<_> = (0..4000)
        .map(|number| format!("dn: cn=person {number},dc=example,dc=com"))
        .collect();
    assert_eq!(names, expected);
    let csns: Vec<_> = text.lines().filter(|line| line.starts_with("entryCSN: ")).collect();
    assert!(csns.len() == 4000 && csns.is_sorted());
}

#[test]
fn files_belong_to_the_owner_of_the_directory_when_root_loads() {
    use std::os::unix::fs::{MetadataExt, chown};
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        // Only root can give files away, and only root needs to: the rest is all that the test can show.
        let server = prepared(Flavor::Ironbark);
        server.slapadd(PEOPLE).unwrap();
        assert_ne!(fs::metadata(server.layout().join("db/data.mdb")).unwrap().uid(), 0);
        return;
    }
    let server = prepared(Flavor::Ironbark);
    let directory = server.layout().join("db");
    chown(&directory, Some(65534), Some(65534)).unwrap();
    let owners = || {
        let files = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap());
        files.map(|found| (found.uid(), found.gid())).collect::<Vec<_>>()
    };
    server.slapadd(PEOPLE).unwrap();
    assert!(
        !owners().is_empty() && owners().iter().all(|owner| *owner == (65534, 65534)),
        "{:?}",
        owners()
    );
    fs::remove_file(directory.join("lock.mdb")).ok();
    server.tool(Tool::Cat, &[], "").unwrap().success().unwrap();
    server
        .slapadd("dn: ou=more,dc=example,dc=com\nobjectClass: organizationalUnit\n")
        .unwrap();
    server.tool(Tool::Index, &[], "").unwrap().success().unwrap();
    assert!(
        owners().len() == 2 && owners().iter().all(|owner| *owner == (65534, 65534)),
        "{:?}",
        owners()
    );
}

#[test]
fn tools_that_refuse_a_database_of_another_program_leave_it_as_it_is() {
    use std::os::unix::fs::{MetadataExt, chown};
    let theirs = prepared(Flavor::OpenLdap);
    theirs.slapadd(PEOPLE).unwrap();
    let ours = prepared(Flavor::Ironbark);
    let (from, to) = (theirs.layout().join("db"), ours.layout().join("db"));
    fs::copy(from.join("data.mdb"), to.join("data.mdb")).unwrap();
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(&to, Some(65534), Some(65534)).unwrap();
    }
    let seen = || {
        let found = fs::metadata(to.join("data.mdb")).unwrap();
        (
            found.uid(),
            found.ino(),
            found.mtime_nsec(),
            found.ctime_nsec(),
            found.len(),
        )
    };
    let before = seen();
    for tool in [
        Tool::Cat,
        Tool::Index,
        Tool::Test,
        Tool::Schema,
        Tool::Add,
        Tool::Modify,
    ] {
        let outcome = ours.tool(tool, &[], PEOPLE).unwrap();
        assert_eq!(outcome.code(), Some(1), "{tool:?}: {}", outcome.stderr);
        assert_eq!(seen(), before, "{tool:?}");
    }
    // The owner of the directory can still use it: no lock file of root is in his way.
    let owner = fs::metadata(&to).unwrap().uid();
    let lock = fs::metadata(to.join("lock.mdb"));
    assert!(lock.is_err() || lock.is_ok_and(|lock| lock.uid() == owner));
}

#[test]
fn a_link_in_the_directory_gives_nothing_away() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    let server = prepared(Flavor::Ironbark);
    let directory = server.layout().join("db");
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(&directory, Some(65534), Some(65534)).unwrap();
    }
    let precious = server.layout().write("precious", "").unwrap();
    let owner = fs::metadata(&precious).unwrap().uid();
    symlink(&precious, directory.join("lock.mdb")).unwrap();
    let _ = server.slapadd(PEOPLE);
    assert_eq!(fs::metadata(&precious).unwrap().uid(), owner);
}

#[test]
fn a_file_is_no_configuration_directory() {
    let server = prepared(Flavor::Ironbark);
    for (arguments, told) in [
        (&["-n", "0"][..], "give a configuration directory"),
        (&["-b", "cn=config"], "give a configuration directory"),
        (&["-F", "/nowhere"], "could not open config directory \"/nowhere\""),
    ] {
        let outcome = server.tool(Tool::Add, arguments, PEOPLE).unwrap();
        assert_eq!(outcome.code(), Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(told), "{outcome:?}");
    }
}

/// Accounts enough to fill a small file system.
fn many(count: usize) -> String {
    let mut ldif = String::from(PEOPLE);
    let filler = "x".repeat(500);
    for n in 0..count {
        write!(
            ldif,
            "\ndn: cn=filler {n},dc=example,dc=com\nobjectClass: person\ncn: filler {n}\nsn: {n}\ndescription: {n} {filler}\n"
        )
        .unwrap();
    }
    ldif
}

#[test]
fn a_full_disk_is_named_and_leaves_nothing_of_the_load() {
    let server = prepared(Flavor::Ironbark);
    server.layout().write("many.ldif", many(20_000)).unwrap();
    // A file system of 4 MB over the database's directory, which only this command sees.
    let script = "mount -t tmpfs -o size=4m tmpfs db || exit 99
        \"$0\" slapadd -q -f slapd.conf -l many.ldif; code=$?; ls -A db; exit $code";
    let output = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(Flavor::Ironbark.program().unwrap())
        .current_dir(server.layout().path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.to_lowercase().contains("no space left on device"), "{errors}");
    assert!(
        output.stdout.is_empty(),
        "left: {}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// A type and its supertype, with all kinds in all orders: a load makes the same indexes as adds.
#[test]
fn a_load_makes_every_index_whole() {
    let data = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
                dn: cn=g1,dc=example,dc=com\nobjectClass: groupOfNames\ncn: g1\nmember: dc=example,dc=com\nowner: cn=g1,dc=example,dc=com\n\n";
    for kinds in ["eq,pres", "pres,eq", "pres,sub", "pres,eq,sub,approx", "approx,eq"] {
        let names = if kinds.contains("sub") || kinds.contains("approx") {
            String::new()
        } else {
            format!("index member,owner,distinguishedName {kinds}\n")
        };
        let people = Server::PEOPLE_CONFIG.replace("index objectClass,cn,uid eq", "index objectClass,uid eq");
        let config = format!("{people}\nindex cn,name {kinds}\n{names}");
        for arguments in [&["-q"][..], &[]] {
            let server = Server::prepare(Flavor::Ironbark, &config).unwrap();
            server.tool(Tool::Add, arguments, data).unwrap().success().unwrap();
            let path = server.config_path().display().to_string();
            let said = crate::common::succeed(&["health", "--deep", "-f", &path]);
            assert!(!said.contains("missing"), "{kinds} {arguments:?}: {said}");
        }
    }
}
