//! Every invariant that the documents promise names a test that exists.
//!
//! The section `## Invariants` of ARCHITECTURE.md has the invariants that a newcomer must know, docs/invariants.md the
//! others, in one table for each crate. Each table has a column `enforced by`. Each of its cells names one or more
//! tests in backticks: as `crate::module::test_name` with the short name of the crate
//! (`ldap_proto::framing::tests::...`), or as `crate::file::test_name` for a file in the crate's `tests/`.

use std::collections::BTreeSet;

use super::{Finding, Source, Tree, tests_found};

/// Rows of the tables that name no test, or a missing one.
pub(crate) fn check(tree: &Tree, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    let tests = tests_found::all(sources).into_iter().map(|test| test.path).collect();
    for (path, heading) in [(MAP, Some(SECTION)), (PAGE, None)] {
        // A page that is missing altogether is a dead link of the map.
        let Some(text) = tree.file(path) else { continue };
        let rows = rows(text, heading);
        if rows.is_empty() && tree.crates().next().is_some() {
            let reason = format!("there is no table with a column `{COLUMN}` (in the map: below `{SECTION}`)");
            findings.push(Finding::new(RULE, path, 1, reason));
        }
        for (line, cell) in rows {
            let reasons = cell.map_or_else(Vec::new, |cell| wrong_names(cell, &tests));
            findings.extend(reasons.into_iter().map(|reason| Finding::new(RULE, path, line, reason)));
        }
    }
}

/// The rows of all tables with the column, below the heading if there is one: the number of the line, and the cell.
/// The head of a table has no cell.
fn rows<'a>(text: &'a str, heading: Option<&str>) -> Vec<(usize, Option<&'a str>)> {
    let mut rows = Vec::new();
    let mut column = None;
    let mut is_in_section = heading.is_none();
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = heading
            && line.starts_with("## ")
        {
            is_in_section = line.trim() == heading;
        }
        if !is_in_section || !line.trim_start().starts_with('|') {
            column = None;
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(column) = column else {
            column = cells.iter().position(|cell| cell.eq_ignore_ascii_case(COLUMN));
            rows.extend(column.map(|_| (index + 1, None)));
            continue;
        };
        let cell = cells.get(column).copied().unwrap_or_default();
        let is_rule = !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'));
        rows.extend((!is_rule).then_some((index + 1, Some(cell))));
    }
    rows
}

/// What is wrong with the tests that a cell names.
fn wrong_names(cell: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return vec!["the invariant names no test that enforces it".to_owned()];
    }
    let missing = named.into_iter().filter(|name| !tests.contains(*name));
    missing
        .map(|name| {
            let last = name.rsplit("::").next().unwrap_or(name);
            let similar = tests.iter().find(|test| test.rsplit("::").next() == Some(last));
            let hint = similar
                .map(|test| format!("; did you mean `{test}`?"))
                .unwrap_or_default();
            format!("there is no test `{name}`{hint}")
        })
        .collect()
}

const COLUMN: &str = "enforced by";
const MAP: &str = "ARCHITECTURE.md";
const PAGE: &str = "docs/invariants.md";
const SECTION: &str = "## Invariants";
const RULE: &str = "invariants";

#[cfg(test)]
mod tests {
    use super::super::{Tree, check};

    const CODE: &str = "//! A.\nfn helper() {}\nmod tests {\n#[test]\nfn plain() {}\n#[tokio::test(flavor = \"x\")]\nasync fn awaited() {}\n\
        proptest! {\n#![proptest_config(c)]\n/// Said.\n#[test]\nfn random(a in 0..1) {}\n}\n}\n";

    const TABLE: &str = "| no | enforced by |\n|---|---|\n| 1 | `ldap_proto::socket::connects` |\n";

    /// The findings for the two documents.
    fn findings(map: &str, page: &str) -> Vec<String> {
        let tree = Tree::in_memory(&[
            ("ARCHITECTURE.md", map),
            ("docs/invariants.md", page),
            ("crates/ldap-proto/src/a/mod.rs", CODE),
            (
                "crates/ldap-proto/tests/socket.rs",
                "//! A.\n#[test]\nfn connects() {}\n",
            ),
        ]);
        let report = check(&tree);
        let found = report.findings().iter().filter(|finding| finding.rule == "invariants");
        found
            .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.reason))
            .collect()
    }

    /// The findings for a cell of the map.
    fn reasons(cell: &str) -> Vec<String> {
        let map = format!(
            "# A\n\n## Invariants\n\nText.\n\n| no | enforced by |\n|---|---|\n| 1 | {cell} |\n\n## Next\n\n| x | y |\n"
        );
        let found = findings(&map, TABLE);
        let of_map = found
            .iter()
            .map(|finding| finding.strip_prefix("ARCHITECTURE.md:").unwrap().to_owned());
        of_map.collect()
    }

    #[test]
    fn tests_of_every_kind_are_found() {
        for test in [
            "a::tests::plain",
            "a::tests::awaited",
            "a::tests::random",
            "socket::connects",
        ] {
            assert_eq!(
                reasons(&format!("`ldap_proto::{test}`")),
                Vec::<String>::new(),
                "{test}"
            );
        }
    }

    #[test]
    fn a_test_that_does_not_exist_fails() {
        assert_eq!(
            reasons("`ldap_proto::a::tests::plain`, `ldap_proto::plain`"),
            ["9: there is no test `ldap_proto::plain`; did you mean `ldap_proto::a::tests::plain`?"]
        );
        assert_eq!(
            reasons("`ldap_proto::a::helper`"),
            ["9: there is no test `ldap_proto::a::helper`"]
        );
    }

    #[test]
    fn an_invariant_without_a_test_fails() {
        assert_eq!(reasons(""), ["9: the invariant names no test that enforces it"]);
        assert_eq!(
            reasons("by review"),
            ["9: the invariant names no test that enforces it"]
        );
    }

    #[test]
    fn each_table_of_the_page_is_read() {
        let map = format!("## Invariants\n\n{TABLE}");
        let page = "# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## One\n\n| no | enforced by |\n|---|---|\n| 1 | `a::b` |\n\n\
            ## Two\n\n| enforced by | no |\n|---|---|\n| | 2 |\n";
        assert_eq!(
            findings(&map, page),
            [
                "docs/invariants.md:11: there is no test `a::b`",
                "docs/invariants.md:17: the invariant names no test that enforces it"
            ]
        );
    }

    #[test]
    fn a_repository_without_the_tables_fails() {
        let manifest = ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n");
        let map = format!("## Code map\n\n{TABLE}");
        let tree = Tree::in_memory(&[("ARCHITECTURE.md", &map), ("docs/invariants.md", "# A\n"), manifest]);
        let report = check(&tree);
        let paths: Vec<&str> = report
            .findings()
            .iter()
            .filter(|finding| finding.rule == "invariants")
            .map(|finding| finding.path.as_str())
            .collect();
        assert_eq!(paths, ["ARCHITECTURE.md", "docs/invariants.md"], "{report}");
    }
}
