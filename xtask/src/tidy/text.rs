//! Text: no trailing blanks, no paths of a user's machine, no marks for later work, a line feed at the end.
//!
//! Test data and generated files are left alone: LDIF may need a trailing blank and a home directory.

use super::{Finding, Tree};

/// Lines of text files that break a rule of text.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for (path, text) in tree.files().filter(|(path, _)| !is_data(path)) {
        for (index, line) in text.split('\n').enumerate() {
            let mut push = |rule, reason: String| findings.push(Finding::new(rule, path, index + 1, reason));
            if line.ends_with([' ', '\t', '\r']) {
                push("trailing-blank", "blank at the end of the line".to_owned());
            }
            if let Some(found) = machine_path(line) {
                push("machine-path", format!("`{found}` is a path of one machine"));
            }
            if let Some(mark) = MARKS.iter().find(|mark| has_word(line, mark)) {
                push(
                    "mark",
                    format!("`{mark}`: finish it now, or open an issue and leave no mark"),
                );
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            findings.push(Finding::new(
                "final-line-feed",
                path,
                text.lines().count(),
                "no line feed at the end",
            ));
        }
    }
}

fn is_data(path: &str) -> bool {
    const SUFFIXES: [&str; 5] = [".ldif", ".lock", ".snap", ".proptest-regressions", ".csv"];
    SUFFIXES.iter().any(|suffix| path.ends_with(suffix))
        || path.split('/').any(|part| {
            matches!(
                part,
                "data" | "corpus" | "proptest-regressions" | "recorded" | "scenarios"
            )
        })
}

/// A path below a user's home. A `homeDirectory` value, or a name with a placeholder (`/home/{uid}`), is data.
fn machine_path(line: &str) -> Option<&str> {
    if line.to_ascii_lowercase().contains("homedirectory") {
        return None;
    }
    HOMES.iter().find_map(|home| {
        let at = line.find(home)?;
        let rest = line.get(at + home.len()..)?;
        let is_path = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '.' || next == '_');
        let starts = !line
            .get(..at)?
            .ends_with(|before: char| before.is_ascii_alphanumeric() || before == '.');
        let end = rest
            .find(|c: char| c.is_whitespace() || "\"'`)>,;".contains(c))
            .unwrap_or(rest.len());
        (is_path && starts)
            .then(|| line.get(at..at + home.len() + end))
            .flatten()
    })
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        !line.get(..at).is_some_and(|before| before.ends_with(is_letter))
            && !line
                .get(at + word.len()..)
                .is_some_and(|after| after.starts_with(is_letter))
    })
}

// In two parts, so that this file does not break its own rules.
const HOMES: [&str; 3] = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    fn rules(line: &str) -> Vec<String> {
        let findings = found(&[("docs/a.md", &format!("{line}\n"))]);
        findings
            .iter()
            .map(|finding| finding.trim_start_matches("docs/a.md:1: ").to_owned())
            .collect()
    }

    #[test]
    fn each_rule_catches_its_example() {
        for (line, rule) in [
            ("text ".to_owned(), "trailing-blank"),
            ("text\t".to_owned(), "trailing-blank"),
            ("text\r".to_owned(), "trailing-blank"),
            (concat!("cd /ro", "ot/project").to_owned(), "machine-path"),
            (concat!("see `/ho", "me/alice/x`").to_owned(), "machine-path"),
            (concat!("// TO", "DO: more").to_owned(), "mark"),
            (concat!("FIX", "ME").to_owned(), "mark"),
        ] {
            assert_eq!(rules(&line), [rule], "{line:?}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_left_alone() {
        for line in [
            concat!("homeDirectory: /ho", "me/alice").to_owned(),
            concat!("format!(\"/ho", "me/{uid}\")").to_owned(),
            concat!("https://example.com/ho", "me/page").to_owned(),
            concat!("TO", "DOS and MY_TO", "DO").to_owned(),
            "plain".to_owned(),
        ] {
            assert_eq!(rules(&line), Vec::<String>::new(), "{line:?}");
        }
    }

    #[test]
    fn a_file_ends_with_a_line_feed() {
        assert_eq!(found(&[("docs/a.md", "one\ntwo")]), ["docs/a.md:2: final-line-feed"]);
        assert_eq!(found(&[("docs/empty.md", "")]), Vec::<String>::new());
    }

    #[test]
    fn data_is_left_alone() {
        let line = concat!("sn: X \ndescription: TO", "DO in /ro", "ot/x");
        assert_eq!(
            found(&[("demo/people.ldif", line), ("crates/a/tests/data/x.txt", line)]),
            Vec::<String>::new()
        );
    }
}
