//! Good configurations, which give no findings.

use ironbark_testkit::Flavor;

use super::{database, explain, private, run};

const NOTHING: &str = "nothing found; the configuration loads\n";

#[test]
fn a_good_configuration_has_no_findings() {
    let found = explain(&database(
        "rootdn cn=admin,dc=example,dc=com\nrootpw {SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3\nindex cn,sn,mail eq,sub\n\
         index member,uid eq\noverlay memberof\noverlay refint\nrefint_attributes member\noverlay unique\nunique_uri ldap:///?uid?sub\n\
         limits dn.exact=cn=replica,dc=example,dc=com size=unlimited\ndatabase monitor\naccess to * by dn.exact=cn=admin,dc=example,dc=com read\n",
    ));
    assert_eq!((found.text.as_str(), found.status), (NOTHING, 0));
}

#[test]
fn what_init_makes_has_no_findings() {
    let layout = private();
    let made = std::process::Command::new(Flavor::Ironbark.program().unwrap())
        .args(["init", "d", "--suffix", "dc=example,dc=com"])
        .current_dir(layout.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    // init tells the user to listen there.
    let found = run(layout.path(), &["-f", "d/slapd.conf", "-h", "ldap://127.0.0.1:3890/"]);
    assert_eq!((found.text.as_str(), found.status), (NOTHING, 0));
}

/// The configuration of Debian 12's package slapd, its LDIF loaded with slapadd.
#[test]
fn debians_configuration_is_not_called_unsafe() {
    let layout = private();
    layout.make_dir("slapd.d").unwrap();
    let database = layout.make_dir("ldap").unwrap();
    let text = std::fs::read_to_string("/usr/share/slapd/slapd.init.ldif").unwrap();
    let text = text
        .replace("@SUFFIX@", "dc=example,dc=com")
        .replace("@PASSWORD@", "{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3")
        .replace("/var/lib/ldap", &database.display().to_string());
    layout.write("init.ldif", text).unwrap();
    let added = std::process::Command::new(Flavor::Ironbark.program().unwrap())
        .args(["slapadd", "-F", "slapd.d", "-b", "cn=config", "-l", "init.ldif"])
        .current_dir(layout.path())
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    let found = run(layout.path(), &["-F", "slapd.d", "-h", "ldapi:///"]);
    assert_eq!(
        (found.text.contains(": unsafe: "), found.status),
        (false, 0),
        "{}",
        found.text
    );
    found.assert_has(
        "olcDatabase={1}mdb,cn=config: ignored: olcDbCheckpoint: ",
        "without dbnosync",
    );
}
