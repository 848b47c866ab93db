//! Source files that documents name must exist: documents outlive moves.
//!
//! CHANGELOG.md describes the past, and may name removed files.

use super::{Finding, Tree};

/// Names of `.rs` files in code of Markdown files (`` `folder/file.rs` ``) that match the end of no file's path.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let documents = tree
        .files()
        .filter(|(path, _)| path.rsplit_once('.').is_some_and(|(_, extension)| extension == "md"));
    for (path, text) in documents.filter(|(path, _)| *path != "CHANGELOG.md") {
        for (index, line) in text.lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2).filter(|code| is_source(code)) {
                if !tree.files().any(|(path, _)| ends_with_path(path, name)) {
                    let reason = format!("no file is called `{name}`");
                    findings.push(Finding::new("dead-path", path, index + 1, reason));
                }
            }
        }
    }
}

fn is_source(code: &str) -> bool {
    code.strip_suffix(".rs").is_some_and(|name| {
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        !name.is_empty() && name.chars().all(is_of_path)
    })
}

fn ends_with_path(path: &str, name: &str) -> bool {
    path.strip_suffix(name)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn a_document_names_files_that_are_there() {
        let source = ("xtask/src/text/file.rs", "//! A file.\n");
        for (name, rule) in [
            ("text/file.rs", None),
            ("xtask/src/text/file.rs", None),
            ("file.rs", None),
            ("ext/file.rs", Some("docs/a.md:2: dead-path")),
            ("text/gone.rs", Some("docs/a.md:2: dead-path")),
        ] {
            let text = format!("Words.\nSee `{name}` and `cargo run`.\n");
            assert_eq!(found(&[source, ("docs/a.md", &text)]), Vec::from_iter(rule), "{name}");
        }
        assert_eq!(found(&[("CHANGELOG.md", "Was `gone.rs`.\n")]), Vec::<String>::new());
    }
}
