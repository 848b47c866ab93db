//! Crate edges: the allowed dependencies of each crate, as in the code map of ARCHITECTURE.md.
//!
//! The second column of the table is read as:
//!
//! - `-`: nothing
//! - names in backticks: these crates
//! - "... and what it sees": these crates and all crates that they may depend on
//! - "all above": every crate of the rows above
//!
//! Dev-dependencies may go beyond the table (a crate may test itself against a crate that it must not know). But all
//! edges together, including those for development, must not form a circle: `testkit` depends on no crate, so every
//! crate can be tested with it. The one exception is `harness`, which has no code of the server: the crate that it
//! drives is tested with it, too.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Tree};

/// The crate that drives a directory in tests.
const HARNESS: &str = "harness";

type Edges = BTreeMap<String, BTreeSet<String>>;

/// Dependencies that the code map does not allow, crates without a row, and rows without a crate.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let crates: Vec<(&str, &str, &str)> = tree.crates().collect();
    if crates.is_empty() {
        return;
    }
    let Some(map) = tree.file(MAP) else {
        findings.push(Finding::new("edges", MAP, 1, "the file with the code map is missing"));
        return;
    };
    let allowed = read_map(map, findings);
    for (name, (line, _)) in &allowed {
        if !crates.iter().any(|(_, crate_name, _)| crate_name == name) {
            findings.push(Finding::new("edges", MAP, *line, format!("there is no crate {name}")));
        }
    }
    let mut normal = Edges::new();
    let mut all = Edges::new();
    let mut lines = BTreeMap::new();
    for (folder, name, manifest) in crates {
        let path = format!("{folder}/Cargo.toml");
        check_lints(&path, manifest, findings);
        let Some((_, targets)) = allowed.get(name) else {
            findings.push(Finding::new(
                "edges",
                &path,
                1,
                format!("{name} has no row in the code map of {MAP}"),
            ));
            continue;
        };
        for dependency in dependencies(&path, manifest, findings) {
            let to = dependency.name;
            if !dependency.is_dev && !targets.contains(&to) {
                let reason = format!("{name} -> {to} is not in the code map of {MAP}");
                findings.push(Finding::new("edges", &path, dependency.line, reason));
            }
            if !dependency.is_dev {
                normal.entry(name.to_owned()).or_default().insert(to.clone());
            }
            if dependency.is_dev && to == HARNESS {
                continue;
            }
            lines.insert((name.to_owned(), to.clone()), (path.clone(), dependency.line));
            all.entry(name.to_owned()).or_default().insert(to);
        }
    }
    for ((from, to), (path, line)) in lines {
        if reaches(&all, &to, &from) {
            let kind = if reaches(&normal, &to, &from) {
                "depends on"
            } else {
                "is developed with"
            };
            let reason = format!("{from} -> {to} closes a circle: {to} {kind} {from}");
            findings.push(Finding::new("edges", &path, line, reason));
        }
    }
}

/// Crate -> line of its row and crates that it may depend on.
fn read_map(text: &str, findings: &mut Vec<Finding>) -> BTreeMap<String, (usize, BTreeSet<String>)> {
    let mut rows: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    let mut in_map = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            in_map = line.starts_with("## Code map");
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (true, [_, name, targets, ..]) = (in_map, &cells[..]) else {
            continue;
        };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let mut allowed: BTreeSet<String> = BTreeSet::new();
        if targets.contains("all above") {
            allowed.extend(rows.keys().cloned());
        }
        for target in targets.split('`').skip(1).step_by(2) {
            match rows.get(target) {
                Some((_, seen)) if targets.contains("what it sees") => allowed.extend(seen.iter().cloned()),
                Some(_) => {}
                None => {
                    let reason = format!("{name} -> {target}: rows are in dependency order, and {target} is not above");
                    findings.push(Finding::new("edges", MAP, index + 1, reason));
                }
            }
            allowed.insert(target.to_owned());
        }
        rows.insert(name.to_owned(), (index + 1, allowed));
    }
    rows
}

struct Dependency {
    /// The short name of a crate of this workspace.
    name: String,
    line: usize,
    is_dev: bool,
}

/// The dependencies of a manifest on crates of this workspace, including those for one target only.
fn dependencies(path: &str, manifest: &str, findings: &mut Vec<Finding>) -> Vec<Dependency> {
    let table: toml::Table = match manifest.parse() {
        Ok(table) => table,
        Err(error) => {
            findings.push(Finding::new(
                "edges",
                path,
                1,
                format!("the manifest cannot be read: {error}"),
            ));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    let targets = table.get("target").and_then(toml::Value::as_table);
    let per_target = targets
        .into_iter()
        .flat_map(|targets| targets.values())
        .filter_map(toml::Value::as_table);
    for table in per_target.chain([&table]) {
        for (section, is_dev) in [
            ("dependencies", false),
            ("build-dependencies", false),
            ("dev-dependencies", true),
        ] {
            let names = table.get(section).and_then(toml::Value::as_table);
            for (key, value) in names.into_iter().flatten() {
                let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                if let Some(name) = package
                    .strip_prefix("ironbark-")
                    .or((package == "xtask").then_some(package))
                {
                    let line = manifest
                        .lines()
                        .position(|line| line.trim_start().starts_with(key.as_str()));
                    found.push(Dependency {
                        name: name.to_owned(),
                        line: line.map_or(1, |index| index + 1),
                        is_dev,
                    });
                }
            }
        }
    }
    found
}

fn check_lints(path: &str, manifest: &str, findings: &mut Vec<Finding>) {
    let table = manifest.parse::<toml::Table>().unwrap_or_default();
    let inherits = table
        .get("lints")
        .and_then(|lints| lints.get("workspace"))
        .and_then(toml::Value::as_bool);
    if inherits != Some(true) {
        findings.push(Finding::new(
            "lints",
            path,
            1,
            "the crate does not inherit the lints of the workspace",
        ));
    }
}

fn reaches(edges: &Edges, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            open.extend(edges.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    false
}

const MAP: &str = "ARCHITECTURE.md";

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    const TABLE: &str = "## Code map, in order\n\n| crate | may depend on |\n|---|---|\n| `a` | - |\n\
        | `b` | `a` (for x) |\n| `c` | `b` and what it sees |\n| `d` | all above |\n| `e` | `b` |\n\n## Other\n\n| `z` | `y` |\n\
        \n## Invariants\n| enforced by |\n";

    fn check(edges: &[(&str, &str)]) -> Vec<String> {
        let mut files = vec![("ARCHITECTURE.md".to_owned(), TABLE.to_owned())];
        for name in ["a", "b", "c", "d", "e"] {
            let own = edges
                .iter()
                .find(|(from, _)| *from == name)
                .map_or("", |(_, rest)| rest);
            let manifest = format!("[lints]\nworkspace = true\n{own}\n");
            files.push((format!("crates/{name}/Cargo.toml"), manifest));
        }
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        found(&files)
    }

    #[test]
    fn edges_of_the_table_pass() {
        let good = [
            ("b", "[dependencies]\nironbark-a.workspace = true\nserde = \"1\""),
            (
                "c",
                "[dependencies]\nironbark-a.workspace = true\nironbark-b.workspace = true",
            ),
            (
                "d",
                "[dependencies]\nironbark-a.workspace = true\nironbark-c.workspace = true",
            ),
        ];
        assert_eq!(check(&good), Vec::<String>::new());
    }

    #[test]
    fn every_other_edge_fails() {
        let upward = [("e", "[dependencies]\nironbark-a.workspace = true")];
        assert_eq!(check(&upward), ["crates/e/Cargo.toml:4: edges"]);
        let hidden = [(
            "e",
            "[target.'cfg(unix)'.build-dependencies]\nx = { package = \"ironbark-a\", path = \"\" }",
        )];
        assert_eq!(check(&hidden), ["crates/e/Cargo.toml:4: edges"]);
    }

    #[test]
    fn dev_dependencies_go_further_but_not_in_a_circle() {
        assert_eq!(
            check(&[("a", "[dev-dependencies]\nironbark-e.workspace = true")]),
            Vec::<String>::new()
        );
        let circle = [
            ("a", "[dev-dependencies]\nironbark-b.workspace = true"),
            ("b", "[dependencies]\nironbark-a.workspace = true"),
        ];
        assert_eq!(
            check(&circle),
            ["crates/a/Cargo.toml:4: edges", "crates/b/Cargo.toml:4: edges"]
        );
    }

    #[test]
    fn the_harness_may_be_in_a_circle() {
        let circle = |other: &str| {
            let table = format!("## Code map\n| `a` | - |\n| `{other}` | `a` |\n## Invariants\n| enforced by |\n");
            let lints = "[lints]\nworkspace = true\n";
            let of_a = format!("{lints}[dev-dependencies]\nironbark-{other}.workspace = true\n");
            let of_other = format!("{lints}[dependencies]\nironbark-a.workspace = true\n");
            found(&[
                ("ARCHITECTURE.md", &table),
                ("crates/a/Cargo.toml", &of_a),
                (&format!("crates/{other}/Cargo.toml"), &of_other),
            ])
        };
        assert_eq!(circle("harness"), Vec::<String>::new());
        assert_eq!(circle("other").len(), 2);
    }

    #[test]
    fn rows_and_crates_need_each_other() {
        let manifest = "[lints]\nworkspace = true\n";
        let table = "## Code map\n| `a` | `b` |\n| `b` | - |\n## Invariants\n| enforced by |\n";
        let files = [
            ("crates/a/Cargo.toml", manifest),
            ("crates/x/Cargo.toml", manifest),
            ("ARCHITECTURE.md", table),
        ];
        assert_eq!(
            found(&files),
            [
                "ARCHITECTURE.md:2: edges",
                "ARCHITECTURE.md:3: edges",
                "crates/x/Cargo.toml:1: edges"
            ]
        );
        assert_eq!(
            found(&[("crates/a/Cargo.toml", manifest)]),
            ["ARCHITECTURE.md:1: edges"]
        );
    }

    #[test]
    fn a_crate_without_the_lints_of_the_workspace_fails() {
        let files = [
            ("crates/a/Cargo.toml", "[package]\n"),
            (
                "ARCHITECTURE.md",
                "## Code map\n| `a` | - |\n## Invariants\n| enforced by |\n",
            ),
        ];
        assert_eq!(found(&files), ["crates/a/Cargo.toml:1: lints"]);
    }
}
