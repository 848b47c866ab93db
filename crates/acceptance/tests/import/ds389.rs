//! Exports of a 389 Directory Server.

use std::{fs, path::Path};

use ironbark_testkit::{Ds389, Layout};

use super::Imported;

const CONTENT: &str = include_str!("389.ldif");
/// Replication, plugins and password policy, before the server starts anew.
const SETTINGS: &str = include_str!("389-settings.ldif");
/// Changes that leave state of replication behind.
const CHANGES: &str = "\
dn: uid=ann,ou=people,dc=example,dc=com
changetype: modify
replace: description
description: second
-
add: mail
mail: a@example.com
mail: b@example.com

dn: uid=ann,ou=people,dc=example,dc=com
changetype: modify
delete: mail
mail: a@example.com

dn: uid=gone,ou=people,dc=example,dc=com
changetype: delete
";
const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";
const BOB: &str = "uid=bob,ou=people,dc=example,dc=com";
/// Where Debian has the schema that all instances share.
const SCHEMA: &str = "/usr/share/dirsrv/schema";

fn filled() -> Ds389 {
    let mut server = Ds389::start().unwrap();
    let change = |server: &Ds389, program, text| server.client(program, &[], text).unwrap().success().unwrap();
    change(&server, "ldapmodify", SETTINGS);
    server.kill().unwrap();
    server.launch().unwrap();
    change(&server, "ldapadd", CONTENT);
    change(&server, "ldapmodify", CHANGES);
    server
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What must hold however the data was exported.
fn check(imported: &Imported, uuid: &str) {
    assert_eq!(imported.bind(ANN, "the password of ann"), Some(0));
    assert_eq!(imported.bind(ANN, "another"), Some(49));
    assert_eq!(
        imported.bind(BOB, "the password of bob"),
        Some(49),
        "the account is locked"
    );
    let found = imported.search(&[
        "-b",
        "dc=example,dc=com",
        "(nsRole=cn=managed,ou=people,dc=example,dc=com)",
        "1.1",
    ]);
    assert_eq!(found.trim(), format!("dn: {BOB}"));
    let found = imported.search(&["-b", "dc=example,dc=com", "(&(uid=ann)(postalCode=12345))", "*", "+"]);
    for line in [
        "postalCode: 12345",
        "memberOf: cn=all,ou=groups,dc=example,dc=com",
        "description: second",
        "mail: b@example.com",
        "mozillaNickname: Annie",
    ] {
        assert!(found.contains(line), "{line}: {found}");
    }
    for line in ["a@example.com", "first", "csn-", "nsUniqueId", "dsEntryDN"] {
        assert!(!found.contains(line), "{line}: {found}");
    }
    assert!(found.contains(uuid), "{uuid}: {found}");
    let names = imported.search(&["-b", "dc=example,dc=com", "1.1"]);
    // 10 entries of the content, and the password policy.
    assert_eq!(names.matches("dn: ").count(), 11, "{names}");
    assert!(!names.contains("gone") && !names.contains("nsuniqueid"), "{names}");
    imported.reports(&[
        "# Import from 389 Directory Server",
        "recognized from the data",
        "| 10 | `nsUniqueId` |",
        "| 1 | `nsAccountLock` | `pwdAccountLockedTime: 000001010000Z`, if it is true |",
        "`nsSizeLimit`",
        "class `nsMemberOf`",
        "acl \"all read\"",
        "object class 'groupOfNames' requires attribute 'member'`: 1 (`cn=empty,ou=groups,dc=example,dc=com`)",
        "pk12util -d",
    ]);
    let left_out = fs::read_to_string(imported.folder.join("left-out.ldif")).unwrap();
    assert!(left_out.contains("aci: (targetattr="), "{left_out}");
}

#[test]
fn an_export_of_389_is_served_with_its_passwords_roles_and_values() {
    let mut other = filled();
    let plain = other.export("plain.ldif", &[]).unwrap();
    let there = other
        .client("ldapsearch", &["-b", ANN, "-s", "base", "entryUUID"], "")
        .unwrap();
    let uuid = there
        .stdout
        .lines()
        .find(|line| line.starts_with("entryUUID: "))
        .unwrap();
    // With the state of replication only a server that does not run is exported.
    other.kill().unwrap();
    let replica = other.export("replica.ldif", &["-r"]).unwrap();
    let (config, schema) = (other.path("dse.ldif"), other.path("schema"));
    let with = ["--config", text(&config), "--schema", SCHEMA, "--schema", text(&schema)];

    let imported = Imported::new(&[&with[..], &[text(&plain)]].concat());
    check(&imported, uuid);
    imported.reports(&[
        "| MemberOf plugin |",
        "| Referential Integrity plugin | `overlay refint`",
        "| Attribute Uniqueness plugin for mail | `overlay unique` |",
        "| nsslapd-sizelimit: 700 | `sizelimit 700` |",
        "| passwordInHistory: 6 | `pwdInHistory` of the default policy |",
        "| replica of dc=example,dc=com |",
    ]);
    let config = fs::read_to_string(imported.folder.join("slapd.conf")).unwrap();
    for line in [
        "sizelimit 700",
        "idletimeout 900",
        "overlay roles",
        "overlay cos",
        "overlay refint",
        "unique_uri \"ldap:///dc=example,dc=com?mail?sub\"",
        "index telephoneNumber pres,eq,sub",
    ] {
        assert!(config.contains(line), "{line}: {config}");
    }
    let policy = imported.search(&["-b", "dc=example,dc=com", "(objectClass=pwdPolicy)"]);
    assert!(
        policy.contains("pwdInHistory: 6\n") && policy.contains("pwdMaxFailure: 3\n"),
        "{policy}"
    );
    drop(imported);

    let imported = Imported::new(&[&with[..], &[text(&replica)]].concat());
    check(&imported, uuid);
    imported.reports(&[
        "| 2 | entries of class `nsTombstone` |",
        "options `adcsn-*`",
        "| 1 | options `deleted`, `deletedattribute` | left out |",
    ]);
}

#[test]
fn without_schema_unknown_attributes_are_left_out_and_reported() {
    let other = filled();
    let plain = other.export("plain.ldif", &[]).unwrap();
    let imported = Imported::new(&[text(&plain)]);
    assert_eq!(imported.bind(ANN, "the password of ann"), Some(0));
    imported.reports(&[
        "No configuration was given",
        "- `mozillaNickname`: 1 (`uid=ann,ou=people,dc=example,dc=com`)",
        "## Unknown object classes",
        "- `mozillaAbPersonAlpha`: 1",
    ]);
    let left_out = fs::read_to_string(imported.folder.join("left-out.ldif")).unwrap();
    assert!(left_out.contains("Annie"), "{left_out}");
    let found = imported.search(&["-b", ANN, "-s", "base"]);
    assert!(found.contains("cn: Ann") && !found.contains("Annie"), "{found}");
}

#[test]
fn backends_become_databases_and_plugins_overlays() {
    let layout = Layout::new().unwrap();
    let config = layout.write("dse.ldif", include_str!("389-form.ldif")).unwrap();
    let data = |name: &str, dn: &str, class: &str| {
        let ldif = format!("dn: {dn}\nobjectClass: {class}\nnsUniqueId: 80ec968e-e9e411f1-a52daa54-e2f6f672\n");
        layout.write(name, ldif).unwrap()
    };
    let top = data("1.ldif", "dc=example,dc=com", "domain");
    let staff = data("2.ldif", "ou=staff,dc=example,dc=com", "organizationalUnit");
    let other = data("3.ldif", "o=other", "organization");
    let imported = Imported::new(&["--config", text(&config), text(&staff), text(&top), text(&other)]);
    let found = imported.search(&["-b", "dc=example,dc=com", "(objectClass=*)", "entryUUID"]);
    assert!(
        found.contains("dn: ou=staff,dc=example,dc=com\nentryUUID: 80ec968e-e9e4-11f1-a52d-aa54e2f6f672"),
        "{found}"
    );
    let found = imported.search(&["-b", "o=other", "1.1"]);
    assert_eq!(found.trim(), "dn: o=other");
    let config = fs::read_to_string(imported.folder.join("slapd.conf")).unwrap();
    let place = |text: &str| config.find(text).unwrap_or_else(|| panic!("{text}: {config}"));
    assert!(
        place("\nsubordinate\nreadonly on\n") < place("suffix \"dc=example,dc=com\""),
        "{config}"
    );
    for line in [
        "disallow bind_anon",
        "security simple_bind=128",
        "lastbind on",
        "overlay psearch",
        "dna-next-value \"1000\"",
    ] {
        place(line);
    }
    assert!(!config.contains("automember"), "{config}");
    imported.reports(&[
        "glued into the one above it",
        "| overlay automember",
        "| not taken: ",
        "| plugin local thing | not known here",
        "| replication agreement with b.example.com | `syncrepl`",
    ]);
}

#[test]
fn what_a_conflict_of_replication_has_left_is_named_and_kept() {
    const LOSER: &str = "nsuniqueid=66446001-1dd211b2-adecd9b2-d9e7ca9a+uid=ann,dc=example,dc=com";
    let layout = Layout::new().unwrap();
    let of = "nsUniqueId: 80ec968e-e9e411f1-a52daa54-e2f6f67";
    let ldif = format!(
        "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n{of}0\n\n\
         dn: uid=ann,dc=example,dc=com\nobjectClass: account\nuid: ann\n{of}1\n\n\
         dn: {LOSER}\nobjectClass: account\nuid: ann\ndescription: the other ann\n\
         nsds5ReplConflict: namingConflict (ADD) uid=ann,dc=example,dc=com\n{of}2\n\n\
         dn: cn=below,{LOSER}\nobjectClass: device\ncn: below\n{of}3\n\n\
         dn: ou=glue,dc=example,dc=com\nobjectClass: organizationalUnit\nou: glue\n\
         nsds5ReplConflict: deletedEntryHasChildren\n{of}4\n\n\
         dn: cn=child,ou=glue,dc=example,dc=com\nobjectClass: device\ncn: child\n{of}5\n"
    );
    let file = layout.write("conflicts.ldif", ldif).unwrap();
    let imported = Imported::new(&["--schema", SCHEMA, text(&file)]);
    let names = imported.search(&["-b", "dc=example,dc=com", "1.1"]);
    for name in ["uid=ann,dc", "ou=glue,dc", "cn=child,ou=glue,dc"] {
        assert!(names.contains(&format!("dn: {name}=example")), "{name}: {names}");
    }
    assert!(!names.contains("nsuniqueid") && !names.contains("below"), "{names}");
    imported.reports(&[
        "| 2 | entries with `nsuniqueid=` in their names | left out; see left-out.ldif",
        &format!("`{LOSER}`; `cn=below,{LOSER}`"),
        "| 1 | `nsds5ReplConflict` | left out; see left-out.ldif. The entry is loaded",
        "`ou=glue,dc=example,dc=com`",
    ]);
    let left_out = fs::read_to_string(imported.folder.join("left-out.ldif")).unwrap();
    let left_out = left_out.replace("\n ", "");
    for part in [
        &format!("dn: {LOSER}\n"),
        "description: the other ann\n",
        "nsds5ReplConflict: namingConflict (ADD) uid=ann,dc=example,dc=com\n",
        &format!("dn: cn=below,{LOSER}\n"),
        "dn: ou=glue,dc=example,dc=com\nnsds5ReplConflict: deletedEntryHasChildren\n",
    ] {
        assert!(left_out.contains(part), "{part}: {left_out}");
    }
}

/// What the tools of 389 make to inactivate accounts and roles.
const INACTIVATION: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example
nsUniqueId: 80ec968e-e9e411f1-a52daa54-e2f6f670

dn: cn=nsManagedDisabledRole,dc=example,dc=com
objectClass: LDAPsubentry
objectClass: nsRoleDefinition
objectClass: nsSimpleRoleDefinition
objectClass: nsManagedRoleDefinition
cn: nsManagedDisabledRole

dn: cn=leavers,dc=example,dc=com
objectClass: LDAPsubentry
objectClass: nsRoleDefinition
objectClass: nsSimpleRoleDefinition
objectClass: nsManagedRoleDefinition
cn: leavers

dn: cn=temps,dc=example,dc=com
objectClass: LDAPsubentry
objectClass: nsRoleDefinition
objectClass: nsComplexRoleDefinition
objectClass: nsFilteredRoleDefinition
cn: temps
nsRoleFilter: (employeeType=temp)

dn: cn=nsDisabledRole,dc=example,dc=com
objectClass: LDAPsubentry
objectClass: nsRoleDefinition
objectClass: nsComplexRoleDefinition
objectClass: nsNestedRoleDefinition
cn: nsDisabledRole
nsRoleDN: cn=nsManagedDisabledRole, dc=example,dc=com
nsRoleDN: cn=gone,dc=example,dc=com
nsRoleDN: cn=temps,dc=example,dc=com

dn: cn=gone,dc=example,dc=com
objectClass: LDAPsubentry
objectClass: nsRoleDefinition
objectClass: nsComplexRoleDefinition
objectClass: nsNestedRoleDefinition
cn: gone
nsRoleDN: cn=leavers,dc=example,dc=com
nsRoleDN: cn=nsDisabledRole,dc=example,dc=com
";

#[test]
fn accounts_that_are_locked_by_an_inactivated_role_stay_locked() {
    let layout = Layout::new().unwrap();
    let mut ldif = vec![INACTIVATION.to_owned()];
    for (name, more) in [
        ("free", ""),
        ("other", "nsRoleDN: cn=managed,dc=example,dc=com\n"),
        ("role", "nsRoleDN: cn=nsManagedDisabledRole,dc=example,dc=com\n"),
        (
            "both",
            "nsAccountLock: true\nnsRoleDN: cn=nsManagedDisabledRole,dc=example,dc=com\n",
        ),
        ("leaver", "nsRoleDN: cn=Leavers,dc=example,dc=com\n"),
    ] {
        ldif.push(format!(
            "\ndn: uid={name},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: {name}\ncn: x\nsn: x\n\
             userPassword: secret\n{more}"
        ));
    }
    let file = layout.write("inactivated.ldif", ldif.concat()).unwrap();
    let imported = Imported::new(&[text(&file)]);
    for (name, code) in [("free", 0), ("other", 0), ("role", 49), ("both", 49), ("leaver", 49)] {
        let name = format!("uid={name},dc=example,dc=com");
        assert_eq!(imported.bind(&name, "secret"), Some(code), "{name}");
    }
    imported.reports(&[
        "| 3 | `nsRoleDN` | the same, with `pwdAccountLockedTime: 000001010000Z`",
        "| the inactivated role cn=temps,dc=example,dc=com, which has a filter | accounts that it locks there",
    ]);
}
