//! Exports in the form of OpenDJ, which cannot be run here: written by hand.

use std::{fs, process::Command};

use ironbark_testkit::{Flavor, Layout};

use super::{Imported, import};

const DATA: &str = include_str!("opendj.ldif");
const CONFIG: &str = include_str!("opendj-config.ldif");
const SCHEMA: &str = "\
dn: cn=schema
objectClass: top
objectClass: ldapSubentry
objectClass: subschema
attributeTypes: ( 1.3.6.1.4.1.99999.1.1 NAME 'badge' EQUALITY caseIgnoreMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributeTypes: ( 1.3.6.1.4.1.99999.1.2 NAME 'rawBadge' EQUALITY userPasswordMatch
  SYNTAX 1.3.6.1.4.1.26027.1.3.1 )
attributeTypes: ( 1.3.6.1.4.1.99999.1.3 NAME 'unused' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
objectClasses: ( 1.3.6.1.4.1.99999.2.1 NAME 'badgeHolder' AUXILIARY MAY ( badge $ rawBadge ) )
";
const EVE: &str = "uid=eve,ou=people,dc=example,dc=com";

#[test]
fn an_import_that_is_cut_off_leaves_nothing_that_a_server_starts_with() {
    let layout = Layout::new().unwrap();
    let person = |number: u32| {
        format!(
            "\ndn: uid=u{number},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: u{number}\ncn: x\nsn: x\n\
             description: {}\n",
            "x".repeat(1_000)
        )
    };
    let base = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n".to_owned();
    let ldif = base + &(0..2_000).map(person).collect::<String>();
    let data = layout.write("data.ldif", ldif).unwrap();
    let folder = layout.join("imported");
    // The kernel ends a process that writes a longer file: while it writes the entries.
    let limited = "ulimit -f 1024; exec \"$0\" import --from opendj --output \"$1\" \"$2\"";
    let cut_off = Command::new("sh")
        .args(["-c", limited, Flavor::Ironbark.program().unwrap().to_str().unwrap()])
        .args([&folder, &data])
        .output()
        .unwrap();
    assert!(!cut_off.status.success(), "{cut_off:?}");
    assert!(folder.join("slapd.conf.unfinished").exists() && !folder.join("slapd.conf").exists());
    fs::remove_dir_all(&folder).unwrap();
    let done = import(&folder, &["--from", "opendj", data.to_str().unwrap()]);
    assert!(done.status.success(), "{done:?}");
    assert!(folder.join("slapd.conf").exists() && !folder.join("slapd.conf.unfinished").exists());
}

#[test]
fn an_export_in_the_form_of_opendj_is_served() {
    let layout = Layout::new().unwrap();
    let write = |name: &str, text: &str| layout.write(name, text).unwrap().display().to_string();
    let (data, config) = (write("data.ldif", DATA), write("config.ldif", CONFIG));
    let schema = write("99-user.ldif", SCHEMA);
    let imported = Imported::new(&["--config", &config, "--schema", &schema, &data]);
    assert_eq!(imported.bind(EVE, "secret"), Some(0));
    let locked = "uid=max,ou=people,dc=example,dc=com";
    assert_eq!(imported.bind(locked, "secret"), Some(49), "the account is disabled");
    let expired = "uid=tim,ou=people,dc=example,dc=com";
    assert_eq!(imported.bind(expired, "secret"), Some(49), "the account has expired");
    let found = imported.search(&["-b", EVE, "-s", "base", "*", "+"]);
    for line in [
        "entryUUID: 0b1a2c3d-1111-4222-8333-444455556666",
        "pwdChangedTime: 20240102030405",
        "badge: 17",
        "rawBadge: x",
        "memberOf: cn=all,dc=example,dc=com",
    ] {
        assert!(found.contains(line), "{line}: {found}");
    }
    assert!(!found.contains("ds-sync") && !found.contains("ds-pwp"), "{found}");
    imported.reports(&[
        "# Import from OpenDJ",
        "recognized from the data",
        "| 1 | `ds-pwp-account-disabled` |",
        "| 2 | `ds-sync-*` |",
        "| 1 | `ds-pwp-*` |",
        "`rawBadge`: syntax 1.3.6.1.4.1.26027.1.3.1 becomes 1.3.6.1.4.1.1466.115.121.1.40",
        "- `{3DES}`: 1 (`uid=max,ou=people,dc=example,dc=com`)",
        "| ds-cfg-size-limit: 1000 | `sizelimit 1000` |",
        "| password policy cn=default password policy,cn=password policies,cn=config |",
    ]);
    let config = fs::read_to_string(imported.folder.join("slapd.conf")).unwrap();
    assert!(config.contains("index telephoneNumber eq,sub\n"), "{config}");
    let schema = fs::read_to_string(imported.folder.join("schema/imported.schema")).unwrap();
    assert!(
        schema.contains("'badgeHolder'") && !schema.contains("unused"),
        "{schema}"
    );
}
