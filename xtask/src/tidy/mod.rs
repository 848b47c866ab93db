//! The rules of the house that neither the compiler nor clippy checks.
//!
//! Each rule is a file with a function from the [`Tree`] to [`Finding`]s; the list in [`check`] is the registry.
//! Findings that are accepted for now stand in `xtask/tidy-exceptions.txt`, which may only shrink.

mod banned;
mod conformance;
mod edges;
mod exceptions;
mod floors;
mod imports;
mod invariants;
mod links;
mod locks;
mod module_docs;
mod paths;
mod report;
mod size;
mod source;
mod test_programs;
mod tests_found;
mod text;
mod tree;
mod type_names;
mod width;

pub(crate) use conformance::page as conformance_page;
pub(crate) use report::{Finding, Report};
pub(crate) use source::Source;
pub(crate) use tree::Tree;

/// Applies every rule, then the exception list.
pub(crate) fn check(tree: &Tree) -> Report {
    let mut findings = Vec::new();
    let sources = source::parse_all(tree, &mut findings);
    edges::check(tree, &mut findings);
    floors::check(tree, &sources, &mut findings);
    size::check(&sources, &mut findings);
    module_docs::check(&sources, &mut findings);
    banned::check(tree, &sources, &mut findings);
    type_names::check(&sources, &mut findings);
    test_programs::check(tree, &mut findings);
    text::check(tree, &mut findings);
    width::check(tree, &mut findings);
    paths::check(tree, &mut findings);
    links::check(tree, &mut findings);
    invariants::check(tree, &sources, &mut findings);
    conformance::check(tree, &sources, &mut findings);
    locks::check(tree, &sources, &mut findings);
    exceptions::apply(tree, &mut findings);
    Report::new(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings for a tree of the given files, as `path:line: rule`, warnings marked.
    pub(super) fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::in_memory(files))
            .findings()
            .iter()
            .map(Finding::summary)
            .collect()
    }

    #[test]
    fn the_repository_is_tidy() {
        let root = crate::repository_root().unwrap();
        let report = check(&Tree::load(&root).unwrap());
        assert!(report.is_clean(), "\n{report}");
    }

    #[test]
    fn a_good_tree_has_no_findings() {
        assert_eq!(
            found(&[
                ("crates/a/src/lib.rs", "//! A crate.\n\nfn short() {}\n"),
                (
                    "crates/a/Cargo.toml",
                    "[package]\nname = \"ironbark-a\"\n\n[lints]\nworkspace = true\n"
                ),
                (
                    "ARCHITECTURE.md",
                    "## Code map\n\n| crate | may depend on |\n|---|---|\n| `a` | - |\n\n## Invariants\n\n| invariant | enforced by |\n|---|---|\n"
                ),
            ]),
            Vec::<String>::new()
        );
    }
}
