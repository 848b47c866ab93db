//! Every file of a crate's `tests/` belongs to a test program: with `autotests = false` cargo does not look for them.

use super::{Finding, Tree};

/// Files that neither a manifest nor `tests/all.rs` names, and crates that have more programs than they say.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for (folder, _, manifest) in tree.crates() {
        let tests = format!("{folder}/tests/");
        let all = tree.file(&format!("{tests}all.rs"));
        let is_listed = manifest.lines().any(|line| line.trim() == "autotests = false");
        let mut programs = 0_usize;
        for (path, _) in tree.files() {
            let Some((name, root)) = path.strip_prefix(&*tests).and_then(root_of) else {
                continue;
            };
            let is_program = if is_listed {
                manifest.contains(&format!("path = \"tests/{root}\""))
            } else {
                !root.ends_with("/mod.rs")
            };
            let is_module = all.is_some_and(|all| all.lines().any(|line| line == format!("mod {name};")));
            programs += usize::from(is_program && !manifest.contains(&format!("name = \"{name}\"")));
            if !is_program && !is_module && is_listed {
                let reason = "no test program has this file: tests/all.rs lists the modules";
                findings.push(Finding::new("test-programs", path, 1, reason));
            }
        }
        if programs > 1 {
            let reason = "a crate has one test program, tests/all.rs, and names others in its manifest";
            findings.push(Finding::new(
                "test-programs",
                &format!("{folder}/Cargo.toml"),
                1,
                reason,
            ));
        }
    }
}

/// The name of a module or program, and its file below `tests/`: `a.rs`, `a/mod.rs`, `a/main.rs`.
fn root_of(path: &str) -> Option<(&str, &str)> {
    let name = ["/mod.rs", "/main.rs", ".rs"]
        .iter()
        .find_map(|end| path.strip_suffix(end))?;
    (!name.contains('/')).then_some((name, path))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    const LISTED: &str = "[package]\nname = \"ironbark-a\"\nautotests = false\n\n[lints]\nworkspace = true\n\n[[test]]\n\
        name = \"all\"\npath = \"tests/all.rs\"\n\n[[test]]\nname = \"own\"\npath = \"tests/own.rs\"\n";
    const MAP: &str = "## Code map\n\n| crate | may depend on |\n|---|---|\n| `a` | - |\n\n## Invariants\n\n\
        | invariant | enforced by |\n|---|---|\n";

    fn findings(manifest: &str, files: &[(&str, &str)]) -> Vec<String> {
        let base = [
            ("crates/a/src/lib.rs", "//! A crate.\n"),
            ("crates/a/Cargo.toml", manifest),
            ("ARCHITECTURE.md", MAP),
        ];
        found(&[&base, files].concat())
    }

    #[test]
    fn a_file_that_no_program_has_fails() {
        let files = [
            ("crates/a/tests/all.rs", "//! All.\n\nmod folder;\nmod there;\n"),
            ("crates/a/tests/folder/mod.rs", "//! A folder.\n\nmod part;\n"),
            ("crates/a/tests/folder/part.rs", "//! A part.\n"),
            ("crates/a/tests/forgotten.rs", "//! Forgotten.\n"),
            ("crates/a/tests/own.rs", "//! A program.\n"),
            ("crates/a/tests/there.rs", "//! There.\n"),
        ];
        assert_eq!(
            findings(LISTED, &files),
            ["crates/a/tests/forgotten.rs:1: test-programs"]
        );
    }

    #[test]
    fn a_second_program_that_the_manifest_does_not_name_fails() {
        let manifest = "[package]\nname = \"ironbark-a\"\n\n[lints]\nworkspace = true\n";
        let files = [
            ("crates/a/tests/one.rs", "//! One.\n"),
            ("crates/a/tests/two/main.rs", "//! Two.\n"),
        ];
        assert_eq!(findings(manifest, &files), ["crates/a/Cargo.toml:1: test-programs"]);
        assert!(findings(manifest, files.get(..1).unwrap()).is_empty());
    }
}
