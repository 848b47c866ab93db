//! Exports that somebody has prepared.

use std::{fmt::Write as _, fs};

use ironbark_testkit::Layout;

use super::import;

const ENTRY: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n";

/// What is in a file of the new directory.
fn imported(layout: &Layout, arguments: &[&str], data: &str, file: &str) -> String {
    let export = layout.write("data.ldif", data).unwrap();
    let all = [&["--from", "389"], arguments, &[export.to_str().unwrap()]].concat();
    let folder = layout.join("new");
    let output = import(&folder, &all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(folder.join(file)).unwrap()
}

/// Values in base64: `member`, a line end and `rootdn cn=evil`; `uidNumber`, a line end and `readonly on`.
const SETTINGS: &str = "\
dn: cn=config
nsslapd-sizelimit: 2000

dn: cn=Referential Integrity Postoperation,cn=plugins,cn=config
cn: Referential Integrity Postoperation
nsslapd-pluginEnabled: on
referint-membership-attr: seeAlso
referint-membership-attr:: bWVtYmVyCnJvb3RkbiBjbj1ldmls

dn: cn=Distributed Numeric Assignment Plugin,cn=plugins,cn=config
cn: Distributed Numeric Assignment Plugin
nsslapd-pluginEnabled: on

dn: cn=numbers,cn=Distributed Numeric Assignment Plugin,cn=plugins,cn=config
objectClass: dnaPluginConfig
dnaType:: dWlkTnVtYmVyCnJlYWRvbmx5IG9u
dnaFilter: (objectClass=posixAccount)
dnaScope: dc=example,dc=com
dnaNextValue: 1
";

#[test]
fn a_line_end_in_a_value_adds_no_setting() {
    let layout = Layout::new().unwrap();
    let settings = layout.write("dse.ldif", SETTINGS).unwrap();
    let made = imported(&layout, &["--config", settings.to_str().unwrap()], ENTRY, "slapd.conf");
    assert!(
        !made.contains("\nrootdn cn=evil") && !made.contains("\nreadonly on"),
        "{made}"
    );
    // Such an overlay is refused, and the report says so.
    let report = fs::read_to_string(layout.join("new/report.md")).unwrap();
    assert!(report.contains("not taken: "), "{report}");
}

#[test]
fn a_line_end_in_a_description_ends_no_definition() {
    let layout = Layout::new().unwrap();
    // `( 1.3.9999.1.1 NAME 'told' DESC 'one`, a line end, `two' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )`.
    let schema = "dn: cn=schema\nattributeTypes:: KCAxLjMuOTk5OS4xLjEgTkFNRSAndG9sZCcgREVTQyAnb25lCnR3bycgU1lOVEFYIDEuMy42\n \
                  LjEuNC4xLjE0NjYuMTE1LjEyMS4xLjE1ICk=\nobjectClasses: ( 1.3.9999.2.1 NAME 'teller' AUXILIARY MAY told )\n";
    let schema = layout.write("schema.ldif", schema).unwrap();
    let data = format!("{ENTRY}objectClass: teller\ntold: x\n");
    let arguments = ["--schema", schema.to_str().unwrap()];
    let made = imported(&layout, &arguments, &data, "schema/imported.schema");
    assert!(made.contains("DESC 'one two'"), "{made}");
}

#[test]
fn superiors_without_end_are_followed_a_hundred_steps_far() {
    let layout = Layout::new().unwrap();
    let mut schema = "dn: cn=schema\n".to_owned();
    for number in 0..30_000 {
        let next = number + 1;
        let _ = writeln!(
            schema,
            "attributeTypes: ( 1.3.9999.1.{number} NAME 't{number}' SUP t{next} )\n\
             objectClasses: ( 1.3.9999.2.{number} NAME 'c{number}' SUP c{next} AUXILIARY MAY t0 )"
        );
    }
    let schema = layout.write("schema.ldif", &schema).unwrap();
    let data = format!("{ENTRY}objectClass: c0\nt0: x\n");
    let arguments = ["--schema", schema.to_str().unwrap()];
    let made = imported(&layout, &arguments, &data, "schema/imported.schema");
    assert!(made.contains("NAME 't99'") && !made.contains("NAME 't100'"), "{made}");
    assert!(made.contains("NAME 'c99'") && !made.contains("NAME 'c100'"), "{made}");
}
