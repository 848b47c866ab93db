//! Names and contents of files: each server can serve the files of the other.

use std::fs;

use ironbark_testkit::{Flavor, Server, Tool};

use super::{comparable, config, dump, files, folder, hand_over};

/// Names that need special forms in file names.
const NAMES: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
    dn: ou=Sales/Marketing: No. 1,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
    dn: cn=Ann  Maria   LEE + uid=ANN,ou=Sales/Marketing: No. 1,dc=example,dc=com\nobjectClass: inetOrgPerson\nsn: Lee\n\n\
    dn: telephoneNumber=\\+1 555-0100+cn=Tel,ou=Sales/Marketing: No. 1,dc=example,dc=com\nobjectClass: person\nsn: Lee\n\n\
    dn:: Y249WsO2w6sgw4VuZ3N0csO2bSxkYz1leGFtcGxlLGRjPWNvbQ==\nobjectClass: person\nsn: Lee\n\n\
    dn: cn=a\\,b\\+c\\\"d\\\\e\\<f\\>g\\;h\\=i,dc=example,dc=com\nobjectClass: person\nsn: Lee\n\n\
    dn: cn=\\#lead,dc=example,dc=com\nobjectClass: person\nsn: Lee\n\n\
    dn: cn={10}ten,dc=example,dc=com\nobjectClass: person\nsn: Lee\n\n\
    dn: cn={2}two,dc=example,dc=com\nobjectClass: person\nsn: Lee\n\n\
    dn: uidNumber=4711+cn=number,dc=example,dc=com\nobjectClass: account\nobjectClass: posixAccount\nuid: n\ngidNumber: 1\n\
    homeDirectory: /home/n\n\n\
    dn: homeDirectory=/Home/Case+cn=path,dc=example,dc=com\nobjectClass: account\nobjectClass: posixAccount\nuid: n\n\
    gidNumber: 1\nuidNumber: 7\n\n\
    dn: member=CN=X\\,DC=Example,dc=example,dc=com\nobjectClass: groupOfNames\ncn: g\n\n\
    dn: x121Address=12 34+cn=x121,dc=example,dc=com\nobjectClass: organizationalRole\n\n\
    dn: cn=x.ldif,dc=example,dc=com\nobjectClass: person\nsn: Lee\n\n\
    dn: cn=below,cn=x.ldif,dc=example,dc=com\nobjectClass: person\nsn: Lee\ndescription:: w6Bubg==\n\
    description: a long text that has to be folded because it has far more than seventy-eight columns in it\n";

fn with_nis() -> String {
    config("").replace("pidfile", "include {schema}/nis.schema\npidfile")
}

fn loaded(flavor: Flavor) -> Server {
    let server = Server::prepare(flavor, &with_nis()).unwrap();
    server.slapadd(NAMES).unwrap();
    server
}

#[test]
fn files_have_the_names_and_the_content_that_slapd_gives_them() {
    let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| comparable(&files(&loaded(flavor))));
    ironbark_testkit::assert_ldif_eq(&theirs, &ours);
    assert!(
        ours.contains("== dc=example,dc=com/ou=sales\\2Fmarketing\\3A no\\2E 1/cn=ann maria lee+uid=ann.ldif\n"),
        "{ours}"
    );
}

#[test]
fn what_slapd_wrote_is_served_as_it_is_and_stays_where_it_is() {
    let theirs = loaded(Flavor::OpenLdap);
    let expected = dump(&theirs);
    let mut ours = Server::prepare(Flavor::Ironbark, &with_nis()).unwrap();
    hand_over(&theirs, &ours);
    // Including the order.
    assert_eq!(dump(&ours), expected);
    let before: Vec<String> = files(&ours).into_keys().collect();
    ours.launch().unwrap();
    let found = ours
        .search(&["-b", "dc=example,dc=com", "1.1"])
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let names: Vec<&str> = found.split("\n\n").filter(|record| !record.is_empty()).collect();
    assert_eq!(names.len(), before.len());
    for name in &names {
        let change = format!("{name}\nchangetype: modify\nreplace: description\ndescription: changed\n");
        ours.ldapmodify(&change).unwrap().success().unwrap();
    }
    ours.stop().unwrap();
    let after = files(&ours);
    assert_eq!(after.keys().cloned().collect::<Vec<_>>(), before);
    assert!(
        after
            .values()
            .all(|content| content.contains("\ndescription: changed\n")),
        "{after:?}"
    );
}

#[test]
fn what_we_wrote_slapd_serves_and_changes() {
    let mut ours = loaded(Flavor::Ironbark);
    ours.launch().unwrap();
    for change in [
        "dn: cn=below,cn=x.ldif,dc=example,dc=com\nchangetype: modify\nadd: description\ndescription: more\n",
        "dn: cn=x.ldif,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=y.z\ndeleteoldrdn: 1\n\
         newsuperior: ou=Sales/Marketing: No. 1,dc=example,dc=com\n",
        "dn: cn={2}two,dc=example,dc=com\nchangetype: delete\n",
    ] {
        ours.ldapmodify(change).unwrap().success().unwrap();
    }
    ours.stop().unwrap();
    let expected = dump(&ours);
    let mut theirs = Server::prepare(Flavor::OpenLdap, &with_nis()).unwrap();
    hand_over(&ours, &theirs);
    let sorted = |text: &str| ironbark_testkit::NormalizedLdif::new(text).sorted().to_string();
    assert_eq!(sorted(&dump(&theirs)), sorted(&expected));
    assert!(!theirs.tool(Tool::Cat, &[], "").unwrap().stderr.contains("checksum"));
    theirs.launch().unwrap();
    let moved = "cn=below,cn=y.z,ou=sales/marketing: no. 1,dc=example,dc=com";
    let change = format!("dn: {moved}\nchangetype: modify\nreplace: sn\nsn: theirs\n");
    theirs.ldapmodify(&change).unwrap().success().unwrap();
    theirs.stop().unwrap();
    hand_over(&theirs, &ours);
    ours.launch().unwrap();
    let found = ours
        .search(&["-s", "base", "-b", moved, "sn", "description"])
        .unwrap()
        .success()
        .unwrap();
    assert!(
        found.stdout.contains("sn: theirs\n") && found.stdout.contains("description: more\n"),
        "{found:?}"
    );
}

#[test]
fn an_edited_file_is_read_and_told_and_one_out_of_place_is_refused() {
    let mut server = loaded(Flavor::Ironbark);
    let file = folder(&server).join("dc=example,dc=com/cn={2}two.ldif");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("sn: Lee", "sn: Edited")).unwrap();
    server.launch().unwrap();
    assert!(server.log().contains("{2}two.ldif: checksum error"), "{}", server.log());
    let found = server
        .search(&["-b", "dc=example,dc=com", "(sn=edited)", "1.1"])
        .unwrap();
    assert_eq!(found.stdout.trim(), "dn: cn={2}two,dc=example,dc=com");
    server.stop().unwrap();
    for (wrong, reason) in [
        (
            "dn: cn=other\nobjectClass: person\n",
            "would be dc=example,dc=com/cn=other.ldif",
        ),
        ("dn: cn={2}two\nnothing: x\n", "line 1: nothing: "),
        ("dn: cn={2}two,dc=example,dc=com\nsn: x\n", "line 1: an RDN is expected"),
        ("dn: rubbish\nsn: x\n", "line 1: invalid DN"),
        ("rubbish\n", "line 1"),
        ("", "holds no entry"),
    ] {
        fs::write(&file, wrong).unwrap();
        let outcome = server.tool(Tool::Test, &[], "").unwrap().expect_code(1).unwrap();
        assert!(
            outcome.stderr.contains("{2}two.ldif: ") && outcome.stderr.contains(reason),
            "{wrong}: {outcome:?}"
        );
        assert!(server.launch().is_err(), "{wrong}");
    }
}

#[test]
fn a_file_that_cannot_be_written_refuses_the_write_and_nothing_changes() {
    let mut server = loaded(Flavor::Ironbark);
    server.launch().unwrap();
    let below = folder(&server).join("dc=example,dc=com");
    fs::create_dir(below.join("cn=obstacle.ldif")).unwrap();
    let before = files(&server);
    let add = "dn: cn=obstacle,dc=example,dc=com\nobjectClass: person\ncn: obstacle\nsn: x\n";
    let refused = server.ldapadd(add).unwrap().expect_code(80).unwrap();
    assert!(
        refused.stderr.contains("the file of an entry cannot be written"),
        "{refused:?}"
    );
    let long = format!(
        "dn: cn={},dc=example,dc=com\nobjectClass: person\nsn: x\n",
        "x".repeat(300)
    );
    server.ldapadd(&long).unwrap().expect_code(80).unwrap();
    assert_eq!(files(&server), before);
    server
        .search(&["-s", "base", "-b", "cn=obstacle,dc=example,dc=com"])
        .unwrap()
        .expect_code(32)
        .unwrap();
    fs::remove_dir(below.join("cn=obstacle.ldif")).unwrap();
    server.ldapadd(add).unwrap().success().unwrap();
    server
        .search(&["-s", "base", "-b", "cn=obstacle,dc=example,dc=com"])
        .unwrap()
        .success()
        .unwrap();
}
