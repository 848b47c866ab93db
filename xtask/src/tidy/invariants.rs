//! Every invariant that ARCHITECTURE.md promises names a test that exists.
//!
//! The section `## Invariants` holds a table with a column `enforced by`. Each of its cells names one or more tests in
//! backticks: as `crate::module::test_name` with the short name of the crate (`ldap_proto::framing::tests::...`), or as
//! `crate::file::test_name` for a file in the crate's `tests/`.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::{Finding, Source, Tree};

/// Rows of the table that name no test, or a missing one.
pub(crate) fn check(tree: &Tree, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    let Some(text) = tree.file(PATH) else { return };
    let lines = text.lines().enumerate();
    let section: Vec<(usize, &str)> = lines
        .skip_while(|(_, line)| line.trim() != "## Invariants")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "))
        .collect();
    let mut push = |line: usize, reason: String| findings.push(Finding::new(RULE, PATH, line, reason));
    let rows: Vec<(usize, Vec<&str>)> = section
        .iter()
        .filter(|(_, line)| line.trim_start().starts_with('|'))
        .map(|(index, line)| (index + 1, line.split('|').map(str::trim).collect()))
        .collect();
    let column = rows
        .first()
        .and_then(|(_, cells)| cells.iter().position(|cell| cell.eq_ignore_ascii_case("enforced by")));
    let Some(column) = column else {
        if tree.crates().next().is_some() {
            push(
                1,
                "there is no section `## Invariants` with a table that has a column `enforced by`".to_owned(),
            );
        }
        return;
    };
    let tests = test_paths(sources);
    for (line, cells) in rows.iter().skip(1) {
        let cell = cells.get(column).copied().unwrap_or_default();
        if cell.chars().all(|c| matches!(c, '-' | ':')) && !cell.is_empty() {
            continue;
        }
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            push(*line, "the invariant names no test that enforces it".to_owned());
        }
        for name in named.iter().filter(|name| !tests.contains(**name)) {
            let last = name.rsplit("::").next().unwrap_or(name);
            let similar = tests.iter().find(|test| test.rsplit("::").next() == Some(last));
            let hint = similar
                .map(|test| format!("; did you mean `{test}`?"))
                .unwrap_or_default();
            push(*line, format!("there is no test `{name}`{hint}"));
        }
    }
}

/// The paths of all tests.
fn test_paths(sources: &[Source<'_>]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for source in sources {
        let mut tests = Tests {
            module: module_path(source),
            found: &mut paths,
        };
        tests.visit_file(&source.file);
    }
    paths
}

/// `crates/ldap-proto/src/a/mod.rs` is `ldap_proto::a`; `crates/x/tests/socket.rs` is `x::socket`.
fn module_path(source: &Source<'_>) -> String {
    let folder = source.crate_folder();
    let name = folder.rsplit('/').next().unwrap_or(folder).replace('-', "_");
    let rest = source
        .path
        .strip_prefix(folder)
        .unwrap_or_default()
        .trim_end_matches(".rs");
    let rest = ["/src/", "/tests/"]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix))
        .unwrap_or(rest);
    let parts = rest.split('/').filter(|part| !matches!(*part, "lib" | "main" | "mod"));
    std::iter::once(name.as_str())
        .chain(parts)
        .collect::<Vec<_>>()
        .join("::")
}

struct Tests<'a> {
    module: String,
    found: &'a mut BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Tests<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let outer = self.module.clone();
        self.module = format!("{outer}::{}", module.ident);
        visit::visit_item_mod(self, module);
        self.module = outer;
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let is_test = |attribute: &syn::Attribute| {
            attribute
                .path()
                .segments
                .last()
                .is_some_and(|last| last.ident == "test")
        };
        if function.attrs.iter().any(is_test) {
            self.found.insert(format!("{}::{}", self.module, function.sig.ident));
        }
    }

    /// `proptest! { #[test] fn name(...) {...} }`
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        for name in tests_in_macro(item.mac.tokens.clone()) {
            self.found.insert(format!("{}::{name}", self.module));
        }
    }
}

fn tests_in_macro(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    let mut after_fn = false;
    for tree in tokens {
        match tree {
            TokenTree::Group(group) if group.stream().to_string() == "test" => is_test = true,
            TokenTree::Ident(ident) if after_fn && is_test => {
                names.push(ident.to_string());
                (is_test, after_fn) = (false, false);
            }
            TokenTree::Ident(ident) => after_fn = ident == "fn",
            _ => {}
        }
    }
    names
}

const PATH: &str = "ARCHITECTURE.md";
const RULE: &str = "invariants";

#[cfg(test)]
mod tests {
    use super::super::{Tree, check};

    const CODE: &str = "//! A.\nfn helper() {}\nmod tests {\n#[test]\nfn plain() {}\n#[tokio::test(flavor = \"x\")]\nasync fn awaited() {}\n\
        proptest! {\n#![proptest_config(c)]\n/// Said.\n#[test]\nfn random(a in 0..1) {}\n}\n}\n";

    fn reasons(cell: &str) -> Vec<String> {
        let table = format!(
            "# A\n\n## Invariants\n\nText.\n\n| no | enforced by |\n|---|---|\n| 1 | {cell} |\n\n## Next\n\n| x | y |\n"
        );
        let tree = Tree::in_memory(&[
            ("ARCHITECTURE.md", &table),
            ("crates/ldap-proto/src/a/mod.rs", CODE),
            (
                "crates/ldap-proto/tests/socket.rs",
                "//! A.\n#[test]\nfn connects() {}\n",
            ),
        ]);
        check(&tree)
            .findings()
            .iter()
            .map(|finding| format!("{}: {}", finding.line, finding.reason))
            .collect()
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
    fn a_repository_without_the_table_fails() {
        let manifest = "[lints]\nworkspace = true\n";
        let tree = Tree::in_memory(&[
            ("ARCHITECTURE.md", "## Code map\n| `a` | - |\n"),
            ("crates/a/Cargo.toml", manifest),
        ]);
        let report = check(&tree);
        assert!(
            report.findings().iter().any(|finding| finding.rule == "invariants"),
            "{report}"
        );
    }
}
