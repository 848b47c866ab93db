//! Operations, compared with slapd on the same files: results, found entries, and the files afterwards.

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, Server, TestkitError, Tool, assert_same};

use super::{TREE, comparable, config, files};

const ANN: Credentials<'static> = Credentials::Simple {
    dn: "uid=ann,ou=people,dc=example,dc=com",
    password: "secret",
};

const CHANGES: [&str; 22] = [
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nuid: cay\ncn: Cay\nsn: Poe\n",
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nuid: cay\ncn: Cay\nsn: Poe\n",
    "dn: uid=dee,ou=none,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nuid: dee\ncn: Dee\nsn: Doe\n",
    "dn: uid=dee,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nuid: dee\ncn: Dee\n",
    "dn: dc=elsewhere,dc=com\nchangetype: add\nobjectClass: domain\n",
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: modify\nadd: mail\nmail: cay@example.com\nmail: c@example.com\n-\n\
     replace: sn\nsn: Poet\n-\nadd: description\ndescription: x\n-\ndelete: description\n",
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: modify\ndelete: mail\nmail: nobody@example.com\n",
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: modify\ndelete: sn\n",
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: entryUUID\nentryUUID: x\n",
    "dn: uid=nobody,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: x\n",
    "dn: ou=staff,ou=people,dc=example,dc=com\nchangetype: delete\n",
    "dn: uid=nobody,ou=people,dc=example,dc=com\nchangetype: delete\n",
    "dn: uid=cay,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=kay\ndeleteoldrdn: 0\n",
    "dn: uid=kay,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 1\n",
    "dn: uid=kay,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=KAY\ndeleteoldrdn: 1\n",
    "dn: uid=kay,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=kay\ndeleteoldrdn: 1\nnewsuperior: ou=none,dc=example,dc=com\n",
    "dn: ou=staff,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=Team\ndeleteoldrdn: 1\nnewsuperior: dc=example,dc=com\n",
    "dn: uid=bob,ou=team,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: Ray-Moe\n",
    "dn: uid=eve,uid=bob,ou=team,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nuid: eve\ncn: Eve\nsn: Fox\n",
    "dn: ou=team,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=crew\ndeleteoldrdn: 1\n",
    "dn: uid=eve,uid=bob,ou=crew,dc=example,dc=com\nchangetype: delete\n",
    "dn: uid=kay,ou=people,dc=example,dc=com\nchangetype: delete\n",
];

#[test]
fn results_entries_and_files_are_those_of_slapd() {
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = Server::prepare(flavor, &config(""))?;
        server.slapadd(TREE)?;
        server.launch()?;
        let mut text = String::new();
        for change in CHANGES {
            writeln!(text, "{change}= {:?}", server.ldapmodify(change)?.code()).unwrap();
            if change.contains("modrdn") || change.contains("delete") {
                text += &comparable(&files(&server));
            }
        }
        for arguments in [
            &["-b", "dc=example,dc=com"][..],
            &["-b", "dc=example,dc=com", "-s", "one"],
            &["-b", "ou=people,dc=example,dc=com", "-s", "children"],
            &[
                "-b",
                "uid=bob,ou=crew,dc=example,dc=com",
                "-s",
                "base",
                "*",
                "creatorsName",
                "modifiersName",
                "structuralObjectClass",
                "entryDN",
            ],
            &["-b", "dc=example,dc=com", "(|(sn=ray*)(!(uid=*)))", "1.1"],
            &["-b", "dc=example,dc=com", "(&(objectClass=person)(cn>=b))", "cn"],
            &["-b", "uid=none,dc=example,dc=com"],
            &["-b", "dc=example,dc=com", "-z", "2", "uid"],
        ] {
            let found = server.search(arguments)?;
            let is_cut = arguments.contains(&"-z");
            let entries = if is_cut {
                String::new()
            } else {
                NormalizedLdif::new(&found.stdout).sorted().to_string()
            };
            writeln!(text, "{arguments:?} = {:?}\n{entries}", found.code()).unwrap();
        }
        for (who, dn, assertion) in [
            (&Credentials::ROOT, "uid=bob,ou=crew,dc=example,dc=com", "sn:ray-moe"),
            (&Credentials::ROOT, "uid=bob,ou=crew,dc=example,dc=com", "sn:ray"),
            (&Credentials::ROOT, "uid=nobody,dc=example,dc=com", "sn:ray"),
        ] {
            let compared = server.client("ldapcompare", who, &[dn, assertion], "")?;
            writeln!(text, "{dn} {assertion} = {:?}", compared.code()).unwrap();
        }
        let wrong = Credentials::Simple {
            dn: "uid=ann,ou=people,dc=example,dc=com",
            password: "wrong",
        };
        for who in [&ANN, &wrong, &Credentials::ROOT] {
            let bound = server.client("ldapwhoami", who, &[], "")?;
            writeln!(text, "{:?} {}", bound.code(), bound.stdout).unwrap();
        }
        text += &comparable(&files(&server));
        Ok(text)
    });
}

#[test]
fn glued_databases_are_searched_and_written_as_one() {
    let sub = "database ldif\nsuffix ou=people,dc=example,dc=com\nrootdn cn=Manager,dc=example,dc=com\ndirectory {dir}/sub\nsubordinate\n\
        database ldif";
    let template = config("").replace("database ldif", sub);
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = Server::prepare(flavor, &template)?;
        server.layout().make_dir("sub")?;
        server.tool(Tool::Add, &["-b", "dc=example,dc=com"], TREE)?.success()?;
        server.launch()?;
        let mut text = String::new();
        for change in [CHANGES[0], CHANGES[3], CHANGES[5]] {
            writeln!(text, "{:?}", server.ldapmodify(change)?.code()).unwrap();
        }
        // With the scope of all subordinates, slapd leaves out the glued database.
        for scope in ["one", "sub"] {
            let found = server
                .search(&["-b", "dc=example,dc=com", "-s", scope, "uid", "mail"])?
                .success()?;
            text += &NormalizedLdif::new(&found.stdout).sorted().to_string();
        }
        let below = server.layout().read("sub/ou=people,dc=example,dc=com/uid=cay.ldif")?;
        assert!(below.contains("\ndn: uid=cay\n"), "{below}");
        Ok(text)
    });
}

#[test]
fn access_rules_decide_about_writes_too() {
    let rules = "access to attrs=userPassword by self write by anonymous auth\naccess to dn.base=uid=ann,ou=people,dc=example,dc=com by self write by * read\n\
        access to * by * read";
    let mut server = Server::prepare(Flavor::Ironbark, &config(rules)).unwrap();
    server.slapadd(TREE).unwrap();
    server.launch().unwrap();
    let modify = |dn: &str| {
        let change = format!("dn: {dn}\nchangetype: modify\nreplace: description\ndescription: x\n");
        server.client("ldapmodify", &ANN, &[], &change).unwrap().code()
    };
    assert_eq!(modify("uid=ann,ou=people,dc=example,dc=com"), Some(0));
    assert_eq!(modify("ou=people,dc=example,dc=com"), Some(50));
    let new = Credentials::Simple {
        dn: "uid=ann,ou=people,dc=example,dc=com",
        password: "new",
    };
    server
        .client("ldappasswd", &ANN, &["-s", "new"], "")
        .unwrap()
        .success()
        .unwrap();
    server.client("ldapwhoami", &new, &[], "").unwrap().success().unwrap();
    server
        .client("ldapwhoami", &ANN, &[], "")
        .unwrap()
        .expect_code(49)
        .unwrap();
    let file = &files(&server)["dc=example,dc=com/ou=people/uid=ann.ldif"];
    assert!(
        file.contains("description: x\n") && file.contains("userPassword:: e1NTSEF9"),
        "{file}"
    );
}

#[test]
fn overlays_act_and_their_effects_are_in_the_files() {
    let overlays =
        "overlay memberof\noverlay refint\nrefint_attributes member\noverlay unique\nunique_uri ldap:///?mail?sub";
    let mut server = Server::prepare(Flavor::Ironbark, &config(overlays)).unwrap();
    server.slapadd(TREE).unwrap();
    server.launch().unwrap();
    let group = "dn: cn=g,dc=example,dc=com\nchangetype: add\nobjectClass: groupOfNames\ncn: g\n\
        member: uid=ann,ou=people,dc=example,dc=com\nmember: uid=bob,ou=staff,ou=people,dc=example,dc=com\n";
    let rename = "dn: ou=staff,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=crew\ndeleteoldrdn: 1\n";
    for change in [group, rename] {
        server.ldapmodify(change).unwrap().success().unwrap();
    }
    // An unfinished change would block all others.
    let long = "x".repeat(250);
    let group = format!(
        "dn: cn={long},dc=example,dc=com\nchangetype: add\nobjectClass: groupOfNames\n\
         member: uid=ann,ou=people,dc=example,dc=com\n"
    );
    server.ldapmodify(&group).unwrap().expect_code(80).unwrap();
    let mail = |dn: &str| {
        let change = format!("dn: {dn}\nchangetype: modify\nreplace: mail\nmail: same@example.com\n");
        server.ldapmodify(&change).unwrap().code()
    };
    assert_eq!(mail("uid=ann,ou=people,dc=example,dc=com"), Some(0));
    assert_eq!(mail("uid=bob,ou=crew,ou=people,dc=example,dc=com"), Some(19));
    let expected = comparable(&files(&server));
    assert!(
        expected.contains("== dc=example,dc=com/ou=people/ou=crew/uid=bob.ldif\n"),
        "{expected}"
    );
    for line in [
        "memberOf: cn=g,dc=example,dc=com\n",
        "member: uid=bob,ou=crew,ou=people,dc=example,dc=com\n",
    ] {
        assert!(expected.contains(line), "{expected}");
    }
    let before = server.search(&["-b", "dc=example,dc=com", "*", "+"]).unwrap().stdout;
    server.stop().unwrap();
    server.launch().unwrap();
    let after = server.search(&["-b", "dc=example,dc=com", "*", "+"]).unwrap().stdout;
    let sorted = |text: &str| NormalizedLdif::new(text).sorted().to_string();
    assert_eq!(sorted(&after), sorted(&before), "the files say what the server said");
}

#[test]
fn glue_is_an_entry_as_in_slapd() {
    const PLACE: &str = "ou=glue,ou=people,dc=example,dc=com";
    let tree = format!(
        "{TREE}\ndn: {PLACE}\nobjectClass: top\nobjectClass: glue\nstructuralObjectClass: glue\n\n\
         dn: uid=low,{PLACE}\nobjectClass: inetOrgPerson\nuid: low\ncn: Low\nsn: Low\n"
    );
    assert_same(|flavor| -> Result<String, TestkitError> {
        let mut server = Server::prepare(flavor, &config(""))?;
        server.tool(Tool::Add, &["-s"], &tree)?.success()?;
        server.launch()?;
        let mut text = String::new();
        for scope in ["base", "one", "sub"] {
            for manage in [&[][..], &["-M"]] {
                let arguments = [&["-b", PLACE, "-s", scope], manage, &["(objectClass=*)", "objectClass"]].concat();
                let found = server.search(&arguments)?;
                writeln!(text, "{scope} {manage:?} {:?}", found.code()).unwrap();
                text += &NormalizedLdif::new(&found.stdout).sorted().to_string();
            }
        }
        let compared = server.client("ldapcompare", &Credentials::ROOT, &[PLACE, "objectClass:glue"], "")?;
        writeln!(text, "{:?}", compared.code()).unwrap();
        for change in [
            "changetype: add\nobjectClass: organizationalUnit\nou: glue\n",
            "changetype: modrdn\nnewrdn: ou=gum\ndeleteoldrdn: 1\n",
            "changetype: delete\n",
        ] {
            let done = server.ldapmodify(&format!("dn: {PLACE}\n{change}"))?;
            writeln!(text, "{change} {:?}", done.code()).unwrap();
        }
        Ok(text)
    });
}
