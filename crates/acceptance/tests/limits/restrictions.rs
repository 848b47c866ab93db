//! `restrict`, `readonly`, `require`, `disallow` and `allow`: which requests are refused, and how.

use ironbark_testkit::{Credentials, TestkitError, Transcript, assert_same_answers};

use crate::limits::{ANN, BASE, BOB, config, data, user};

/// One of each operation, as an anonymous client, as a user and as the rootdn.
fn every_operation(transcript: &mut Transcript<'_>) -> Result<(), TestkitError> {
    let wrong = Credentials::Simple {
        dn: BOB,
        password: "wrong",
    };
    transcript.client("ldapwhoami", &wrong, &[], "")?;
    transcript.client("ldapwhoami", &user("cn=nobody,dc=example,dc=com"), &[], "")?;
    for who in [Credentials::Anonymous, user(ANN), Credentials::ROOT] {
        transcript.client("ldapsearch", &who, &["-b", BASE, "-s", "base", "1.1"], "")?;
        transcript.client("ldapsearch", &who, &["-b", "", "-s", "base", "1.1"], "")?;
        transcript.client("ldapsearch", &who, &["-b", "cn=Subschema", "-s", "base", "1.1"], "")?;
        transcript.client("ldapcompare", &who, &[BASE, "dc:example"], "")?;
        transcript.client("ldapcompare", &who, &["", "objectClass:top"], "")?;
        transcript.client("ldapwhoami", &who, &[], "")?;
        let added = "dn: cn=new,dc=example,dc=com\nobjectClass: organizationalRole\ncn: new\n";
        transcript.client("ldapadd", &who, &[], added)?;
        let modified = "dn: cn=r0,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: x\n";
        transcript.client("ldapmodify", &who, &[], modified)?;
        let renamed = "dn: cn=r1,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=r1\ndeleteoldrdn: 0\n";
        transcript.client("ldapmodify", &who, &[], renamed)?;
        transcript.client("ldappasswd", &who, &["-s", "secret", BOB], "")?;
        transcript.client("ldapdelete", &who, &["cn=new,dc=example,dc=com"], "")?;
        // Cancel of a missing operation, and an unknown operation.
        transcript.client("ldapexop", &who, &["cancel", "77"], "")?;
        transcript.client("ldapexop", &who, &["1.2.3.4"], "")?;
    }
    Ok(())
}

fn same_everywhere(lines: &[&str]) {
    for line in lines {
        for configuration in [format!("{line}\n{}", config("")), config(line)] {
            assert_same_answers(&configuration, &data(3), every_operation);
        }
    }
}

#[test]
fn restricted_operations_are_refused_as_by_slapd() {
    same_everywhere(&[
        "restrict read",
        "restrict write",
        "restrict search compare",
        "restrict add delete",
        "restrict modify rename",
        "restrict bind",
        "restrict all",
        "restrict extended",
        "restrict extended=1.3.6.1.4.1.4203.1.11.1",
        "restrict extended=1.3.6.1.4.1.4203.1.11.3 compare",
        "restrict extended=1.3.6.1.1.8",
        "readonly on",
    ]);
}

#[test]
fn what_is_required_is_demanded_as_by_slapd() {
    same_everywhere(&[
        "require none",
        "require bind",
        "require LDAPv3",
        "require authc",
        "require strong",
        "require bind LDAPv3 authc strong",
    ]);
}

#[test]
fn a_database_adds_to_the_global_restrictions() {
    for (global, own) in [
        ("restrict search", "restrict compare"),
        ("restrict compare", "restrict search"),
        ("require authc", "require none bind"),
        ("require bind", "require authc"),
        ("readonly on", "readonly off"),
    ] {
        let configuration = format!("{global}\n{}", config(own));
        assert_same_answers(&configuration, &data(3), every_operation);
    }
}

#[test]
fn features_are_allowed_and_disallowed_as_by_slapd() {
    for line in [
        "disallow bind_anon",
        "disallow bind_simple",
        "disallow bind_anon bind_simple",
        "allow update_anon",
        "allow update_anon\nrestrict delete",
        "allow bind_anon_cred bind_anon_dn bind_v2",
        "disallow tls_2_anon tls_authc",
        "disallow proxy_authz_non_critical dontusecopy_non_critical",
    ] {
        let configuration = format!("{line}\n{}", config("access to * by * write"));
        assert_same_answers(&configuration, &data(3), |transcript| {
            if !line.contains("bind_simple") {
                every_operation(transcript)?;
            }
            for (dn, password) in [("", ""), ("", "x"), (ANN, ""), (ANN, "secret"), (ANN, "wrong")] {
                let arguments = ["-D", dn, "-w", password];
                transcript.client("ldapwhoami", &Credentials::Anonymous, &arguments, "")?;
            }
            let controls: &[&str] = if line.contains("non_critical") {
                &["authzid=dn:", "dontUseCopy"]
            } else {
                &["!dontUseCopy", "dontUseCopy"]
            };
            for control in controls {
                let arguments = ["-b", BASE, "-s", "base", "-e", *control, "1.1"];
                transcript.client("ldapsearch", &Credentials::Anonymous, &arguments, "")?;
                transcript.client("ldapsearch", &user(ANN), &arguments, "")?;
            }
            Ok(())
        });
    }
}

#[test]
fn glued_databases_are_restricted_as_the_one_above() {
    let own = config("restrict search delete");
    let (head, main) = own.split_once("database mdb\n").unwrap();
    let text = |below: &str| {
        format!(
            "{head}database mdb\nsuffix \"ou=people,dc=example,dc=com\"\nsubordinate\n\
             rootdn \"cn=Manager,dc=example,dc=com\"\ndirectory {{dir}}/below\n{below}\ndatabase mdb\n{main}"
        )
    };
    for below in ["", "restrict add compare", "readonly on"] {
        ironbark_testkit::assert_same(|flavor| {
            let mut server = ironbark_testkit::Server::prepare(flavor, &text(below))?;
            server.layout().make_dir("below")?;
            server.slapadd(&data(3))?;
            server.launch()?;
            let mut transcript = Transcript::new(&server);
            let added = "dn: cn=new,ou=people,dc=example,dc=com\nobjectClass: organizationalRole\ncn: new\n";
            transcript.client("ldapadd", &Credentials::ROOT, &[], added)?;
            transcript.client("ldapsearch", &Credentials::ROOT, &["-b", ANN, "-s", "base", "1.1"], "")?;
            transcript.client("ldapcompare", &Credentials::ROOT, &[ANN, "cn:ann"], "")?;
            transcript.client("ldappasswd", &Credentials::ROOT, &["-s", "secret", ANN], "")?;
            transcript.client("ldapdelete", &Credentials::ROOT, &[BOB], "")?;
            Ok(transcript.finish())
        });
    }
}
