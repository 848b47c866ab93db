//! The table of docs/security.md names all these tests, and only these.

use std::{collections::BTreeSet, fs, path::Path};

use ironbark_testkit::repository_root;

/// `file::function` of each test below a folder of tests, with the folder before the file. `main.rs` and
/// `mod.rs` have no name of their own.
fn tests_in(folder: &Path, above: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            tests_in(&path, &format!("{stem}::"), found);
            continue;
        }
        let place = match stem.as_str() {
            "main" | "mod" => above.to_owned(),
            _ => format!("{above}{stem}::"),
        };
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim().starts_with("#[test]") || line.trim().starts_with("#[tokio::test") {
                let mut rest = lines.by_ref().filter_map(|line| line.split_once("fn "));
                let name = rest.next().unwrap().1;
                found.insert(format!("{place}{}", name.split('(').next().unwrap()));
            }
        }
    }
}

#[test]
fn every_attack_is_in_the_table() {
    let mut tests = BTreeSet::new();
    for of in [
        "acceptance/tests",
        "directory/tests",
        "overlays/tests",
        "server/src",
        "simulator/tests",
    ] {
        tests_in(&repository_root().join("crates").join(of), "", &mut tests);
    }
    let page = fs::read_to_string(repository_root().join("docs/security.md")).unwrap();
    let named: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| line.rsplit('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(ToOwned::to_owned)
        .collect();
    let unknown: Vec<_> = named
        .iter()
        .filter(|name| name.contains("::") && !tests.contains(*name))
        .collect();
    assert!(unknown.is_empty(), "named, but not there: {unknown:#?}");
    let own = "attacks::documented::every_attack_is_in_the_table";
    let missing: Vec<_> = tests
        .iter()
        .filter(|test| test.starts_with("attacks::") && *test != own && !named.contains(*test))
        .collect();
    assert!(missing.is_empty(), "not in the table: {missing:#?}");
}
