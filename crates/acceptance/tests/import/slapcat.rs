//! Exports of Debian's slapd.

use ironbark_testkit::{Flavor, NormalizedLdif, Server, Tool, assert_ldif_eq};

use super::Imported;
use crate::common::{PEOPLE, succeed};

#[test]
fn an_export_of_slapcat_comes_back_unchanged() {
    let server = Server::prepare(Flavor::OpenLdap, Server::PEOPLE_CONFIG).unwrap();
    server.slapadd(PEOPLE).unwrap();
    let slapcat = |server: &Server| server.tool(Tool::Cat, &["-o", "ldif-wrap=no"], "").unwrap();
    let before = slapcat(&server).success().unwrap().stdout;
    let file = server
        .layout()
        .write("data.ldif", &before)
        .unwrap()
        .display()
        .to_string();
    let imported = Imported::new(&[&file]);
    let config = imported.folder.join("slapd.conf").display().to_string();
    let after = succeed(&["slapcat", "-o", "ldif-wrap=no", "-f", &config]);
    let sorted = |text: &str| NormalizedLdif::new(text).sorted().to_string();
    assert_ldif_eq(&sorted(&before), &sorted(&after));
    imported.reports(&[
        "# Import from OpenLDAP",
        "Nothing: all entries are loaded as they were.",
    ]);
    assert_eq!(
        imported.bind("cn=Ann Lee,ou=people,dc=example,dc=com", "secret"),
        Some(0)
    );
}
