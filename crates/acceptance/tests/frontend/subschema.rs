//! The subschema subentry: the schema of loaded overlays, its own attributes, and compare.

use std::collections::BTreeSet;

use ironbark_testkit::{Flavor, Server, TestkitError, assert_same, repository_root};

/// The additions of slapd 2.6 to the schema of ppolicy. slapd 2.5 does not have them.
const LATER: [&str; 4] = [
    "pwdUseCheckModule",
    "pwdDefaultHash",
    "pwdRehashOnBind",
    "pwdHashingPolicy",
];

/// The definitions in the subschema subentry, without descriptions, which differ between servers.
fn shown(flavor: Flavor, configuration: &str) -> Result<BTreeSet<String>, TestkitError> {
    let server = Server::start(flavor, configuration)?;
    let arguments = ["-b", "cn=Subschema", "-s", "base", "attributeTypes", "objectClasses"];
    let answer = server.search(&arguments)?.success()?.stdout;
    let without_description = |line: &str| match line.split_once(" DESC '") {
        Some((before, after)) => format!("{before}{}", after.split_once('\'').unwrap_or_default().1),
        None => line.to_owned(),
    };
    let lines = answer.lines().filter(|line| line.contains(": ( "));
    Ok(lines.map(without_description).collect())
}

/// The definitions that appear with these lines and not without them. The schema of cn=config is always there in this
/// server, as in a slapd with all parts built in.
fn brought(flavor: Flavor, before: &str, after: &str) -> BTreeSet<String> {
    let without = shown(flavor, &Server::people_config("", "")).unwrap();
    let with = shown(flavor, &Server::people_config(before, after)).unwrap();
    let new = with
        .difference(&without)
        .filter(|line| !line.contains("NAME 'olc") && !line.contains("( 'olc"));
    new.cloned().collect()
}

#[test]
fn the_schema_of_a_loaded_overlay_is_shown_as_slapd_shows_it() {
    for part in ["ppolicy", "memberof", "refint"] {
        let module = format!("moduleload {part}");
        let overlay = format!("overlay {part}");
        let theirs = brought(Flavor::OpenLdap, &module, "");
        assert_eq!(theirs.is_empty(), part == "refint");
        // The line of the overlay is enough here. It adds nothing to the module.
        for (before, after) in [(&*module, ""), ("", &*overlay), (&*module, &*overlay)] {
            let ours = brought(Flavor::Ironbark, before, after);
            let is_later = |line: &&String| LATER.iter().any(|name| line.contains(&format!("NAME '{name}'")));
            assert_eq!(
                ours.iter().filter(is_later).count(),
                if part == "ppolicy" { 4 } else { 0 }
            );
            let ours = ours.iter().filter(|line| !is_later(line));
            let ours: BTreeSet<_> = ours.map(|line| line.replace(" $ pwdUseCheckModule", "")).collect();
            assert_eq!(ours, theirs, "{before} {after}");
        }
    }
}

#[test]
fn an_old_ppolicy_schema_beside_the_overlay_takes_nothing_from_what_is_shown() {
    let file = repository_root().join("schema/ppolicy.schema");
    let include = format!("include {}", file.display());
    let with_both = format!("moduleload ppolicy\n{include}");
    assert!(
        Server::start(Flavor::OpenLdap, &Server::people_config(&with_both, "")).is_err(),
        "slapd 2.5 refuses it"
    );
    let alone = shown(
        Flavor::Ironbark,
        &Server::people_config("moduleload ppolicy", "overlay ppolicy"),
    )
    .unwrap();
    for lines in [with_both, format!("{include}\nmoduleload ppolicy"), include.clone()] {
        let both = shown(Flavor::Ironbark, &Server::people_config(&lines, "overlay ppolicy")).unwrap();
        assert_eq!(both, alone, "{lines}");
    }
    // Without the overlay: the classes in the file, and everything that they name.
    let file_alone = brought(Flavor::Ironbark, &include, "");
    assert!(file_alone.is_subset(&alone));
    assert!(
        file_alone.iter().any(|line| line.contains("NAME 'pwdMaxIdle'")),
        "pwdPolicy names it"
    );
}

#[test]
fn the_entry_has_slapds_attributes_in_its_order_and_says_when_it_was_made() {
    assert_same(|flavor| {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG)?;
        let answer = server
            .search(&["-b", "cn=Subschema", "-s", "base", "*", "+"])?
            .success()?
            .stdout;
        let mut names: Vec<_> = answer
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, _)| name)
            .collect();
        names.dedup();
        let times: Vec<_> = answer.lines().filter(|line| line.contains("Timestamp: ")).collect();
        let [created, modified] = times.as_slice() else {
            return Ok(answer.clone());
        };
        assert_eq!(created.replace("create", "modify"), *modified);
        assert_eq!(created.len(), "createTimestamp: 20260102030405Z".len());
        Ok(names.join("\n"))
    });
}

/// For cn=Monitor slapd refuses the control: 12.
#[test]
fn compare_with_an_assertion_tells_of_no_hidden_entry_in_memory() {
    let rules = "database monitor\naccess to dn.base=\"cn=Monitor\" by * read\naccess to * by * none";
    let server = Server::start(Flavor::Ironbark, &Server::people_config("", rules)).unwrap();
    for (name, filter, code) in [
        ("cn=Monitor", "(cn=Monitor)", 6),
        ("cn=Monitor", "(cn=nosuch)", 122),
        ("cn=Time,cn=Monitor", "(cn=Time)", 32),
        ("cn=Time,cn=Monitor", "(cn=nosuch)", 32),
        ("cn=Nothing,cn=Monitor", "(cn=nosuch)", 32),
    ] {
        let control = format!("!assert={filter}");
        let arguments = ["-e", &control, name, "objectClass:top"];
        let who = ironbark_testkit::Credentials::Anonymous;
        let outcome = server.client("ldapcompare", &who, &arguments, "").unwrap();
        assert_eq!(outcome.code(), Some(code), "{name} {filter}");
    }
}
