//! Configuration directories: findings name entries of cn=config.

use std::fs;

use ironbark_testkit::{Flavor, Layout};

use super::{LOCAL, database, private, run};

/// A directory made of a slapd.conf file.
fn converted(text: &str) -> Layout {
    let layout = private();
    layout.write("slapd.conf", text).unwrap();
    layout.make_dir("slapd.d").unwrap();
    layout.make_dir("db").unwrap();
    let made = std::process::Command::new(Flavor::Ironbark.program().unwrap())
        .args(["slaptest", "-f", "slapd.conf", "-F", "slapd.d", "-n", "0"])
        .current_dir(layout.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    layout
}

/// Changes the text of an entry's file.
fn edit(layout: &Layout, name: &str, change: impl Fn(String) -> String) {
    let path = layout.join(&format!("slapd.d/cn=config{name}.ldif"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, change(text)).unwrap();
}

#[test]
fn findings_name_the_entry_and_the_attribute() {
    let layout = converted(&format!(
        "allow bind_anon_dn\n{}",
        database(
            "searchstack 32\nrootdn cn=admin,dc=example,dc=com\nrootpw secret\noverlay refint\nrefint_attributes manager\n"
        )
    ));
    let found = run(layout.path(), &["-F", "slapd.d", "-h", LOCAL]);
    found.assert_has("cn=config: unsafe: olcAllows: ", "bind_anon_dn");
    found.assert_has(
        "olcDatabase={1}mdb,cn=config: ignored: olcDbSearchStack: ",
        "preallocated",
    );
    found.assert_has("olcDatabase={1}mdb,cn=config: unsafe: olcRootPW: ", "clear text");
    found.assert_has(
        "olcDatabase={1}mdb,cn=config: missing: olcDbIndex: ",
        "overlay refint looks manager up with each write, and reads all entries without an eq index. Write olcDbIndex: manager eq"
    );
    assert_eq!(found.status, 2);
    let json = run(layout.path(), &["--explain=json", "-F", "slapd.d", "-h", LOCAL]);
    let value: serde_json::Value = serde_json::from_str(&json.text).unwrap();
    let finding = &value["findings"][0];
    assert_eq!(finding["dn"], "cn=config");
    assert!(finding["file"].as_str().unwrap().ends_with("slapd.d/cn=config.ldif"));
}

#[test]
fn a_rule_is_named_by_its_number() {
    let rules = super::RULES.replace(
        "access to * by users read",
        "access to attrs=entry by users read\naccess to attrs=userPassword,sn by * read\naccess to * by users read",
    );
    let layout = converted(&database("").replace(
        super::RULES,
        &rules.replace("attrs=userPassword by self", "attrs=cn by self"),
    ));
    let found = run(layout.path(), &["-F", "slapd.d", "-h", LOCAL]);
    let words = "by {2}, every user may read userPassword of others, for one of cn=sample,dc=example,dc=com. Before this rule, write olcAccess: to attrs=userPassword by self";
    found.assert_has("olcDatabase={1}mdb,cn=config: unsafe: olcAccess: ", words);
}

#[test]
fn errors_in_several_files_are_all_listed() {
    let layout = converted(&format!(
        "{}database mdb\nsuffix o=b\ndirectory b\n{}",
        database(""),
        super::RULES
    ));
    edit(&layout, "", |text| {
        format!("{text}olcIdleTimeout: many\nolcNoSuch: 1\n")
    });
    edit(&layout, "/olcDatabase={1}mdb", |text| {
        format!("{text}olcDbIndex: nosuch eq\n")
    });
    edit(&layout, "/olcDatabase={2}mdb", |_| "no entry at all\n".to_owned());
    edit(&layout, "/cn=schema/cn={0}core", |text| {
        format!("{text}olcAttributeTypes: ( 1.2.3 NAME 'broken\n")
    });
    let found = run(layout.path(), &["-F", "slapd.d", "-h", LOCAL]);
    assert_eq!(found.status, 1);
    found.assert_has("cn=config: wrong: olcIdleTimeout: ", "many");
    found.assert_has("cn=config: unknown: olcNoSuch: ", "it has no effect");
    found.assert_has("olcDatabase={1}mdb,cn=config: wrong: olcDbIndex: ", "nosuch");
    found.assert_has("cn={0}core,cn=schema,cn=config: wrong: schema: ", "broken");
    let file = layout.join("slapd.d/cn=config/olcDatabase={2}mdb.ldif");
    let file = file.file_name().unwrap().to_string_lossy().into_owned();
    let lines: Vec<_> = found.text.lines().filter(|line| line.contains(&file)).collect();
    assert!(
        lines.iter().any(|line| line.contains(": wrong: slapd.d: ")),
        "{}",
        found.text
    );
    found.assert_has("cn=config: ignored: slapd.d: ", "changed by hand");
}

#[test]
fn an_overlay_that_is_not_built_is_unknown_with_what_belongs_to_it() {
    let layout = converted(&database("overlay refint\nrefint_attributes member\nindex member eq\n"));
    edit(&layout, "/olcDatabase={1}mdb/olcOverlay={0}refint", |text| {
        text.replace("{0}refint", "{0}rwm")
            .replace("olcRefintConfig", "olcRwmConfig")
            .replace("olcRefintAttribute: member", "olcRwmRewrite: x")
    });
    fs::rename(
        layout.join("slapd.d/cn=config/olcDatabase={1}mdb/olcOverlay={0}refint.ldif"),
        layout.join("slapd.d/cn=config/olcDatabase={1}mdb/olcOverlay={0}rwm.ldif"),
    )
    .unwrap();
    let found = run(layout.path(), &["-F", "slapd.d", "-h", LOCAL]);
    let dn = "olcOverlay={0}rwm,olcDatabase={1}mdb,cn=config";
    found.assert_has(&format!("{dn}: unknown: overlay: "), "rwm");
    found.assert_has(&format!("{dn}: unknown: olcRwmRewrite: "), "may belong to overlay rwm");
    assert_eq!(found.status, 1);
}
