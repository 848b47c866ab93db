//! The root DSE, and refusals of requests about it and about the subschema subentry.

use ironbark_testkit::{Flavor, Server, assert_same};

#[test]
fn the_default_referral_and_the_protocol_version_are_shown_as_slapd_shows_them() {
    let lines = "allow bind_v2\nreferral ldap://root.example.com/\nreferral ldap://other.example.com/";
    assert_same(|flavor| {
        let server = Server::start(flavor, &Server::people_config(lines, ""))?;
        let answer = server.search(&[
            "-b",
            "",
            "-s",
            "base",
            "ref",
            "supportedLDAPVersion",
            "supportedExtension",
        ])?;
        Ok(answer.success()?.stdout)
    });
}

#[test]
fn the_makers_name_and_version_are_sent_only_when_they_are_named() {
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let shown = |names: &[&str]| {
        let answer = server.search(&[&["-b", "", "-s", "base", "(vendorName=Ironbark)"], names].concat());
        let answer = answer.unwrap().success().unwrap().stdout;
        assert!(answer.contains("dn:"), "the filter sees it: {answer}");
        answer.lines().filter(|line| line.starts_with("vendor")).count()
    };
    for names in [&["+"][..], &["*", "+"], &["*"], &[], &["supportedControl"]] {
        assert_eq!(shown(names), 0, "{names:?}");
    }
    assert_eq!(shown(&["vendorName"]), 1);
    assert_eq!(shown(&["+", "vendorname", "vendorVersion"]), 2);
}

#[test]
fn a_makers_name_in_a_root_dse_file_takes_the_place_of_ours_and_is_shown_as_slapd_shows_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "dn:\nvendorName: Example\n").unwrap();
    let config = Server::people_config(&format!("rootDSE {}", file.path().display()), "");
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    let answer = server
        .search(&["-LLL", "-b", "", "-s", "base", "+"])
        .unwrap()
        .success()
        .unwrap();
    let shown: Vec<_> = answer
        .stdout
        .lines()
        .filter(|line| line.starts_with("vendor"))
        .collect();
    assert_eq!(shown, ["vendorName: Example"]);
}

#[test]
fn overlay_ppolicy_brings_slapds_four_controls() {
    let config = Server::people_config("moduleload ppolicy", "overlay ppolicy");
    let controls = |flavor, config: &str| {
        let server = Server::start(flavor, config)?;
        let answer = server
            .search(&["-b", "", "-s", "base", "supportedControl"])?
            .success()?
            .stdout;
        let lines: std::collections::BTreeSet<_> = answer.lines().map(str::to_owned).collect();
        Ok::<_, ironbark_testkit::TestkitError>(lines)
    };
    assert_same(|flavor| {
        let (with, without) = (controls(flavor, &config)?, controls(flavor, Server::PEOPLE_CONFIG)?);
        let new: Vec<_> = with.difference(&without).cloned().collect();
        assert_eq!(new.len(), 4);
        Ok(new.join("\n"))
    });
}

/// The identity does not change, as in slapd, which does not know the operation.
#[test]
fn start_tls_that_cannot_be_leaves_the_identity() {
    assert_same(|flavor| {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG)?;
        let script = format!(
            "import ldap\nc = ldap.initialize('{}')\nc.simple_bind_s('cn=Manager,dc=example,dc=com', 'secret')\n\
             try:\n    c.start_tls_s()\nexcept ldap.LDAPError as error:\n    print(error.__class__.__name__)\nprint(c.whoami_s())\n",
            server.url()
        );
        Ok(server.python(&script)?.success()?.stdout)
    });
}
