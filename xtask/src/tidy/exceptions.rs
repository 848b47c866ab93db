//! The exception list: breaches that are accepted for now. It may only shrink.
//!
//! `xtask/tidy-exceptions.txt` has one exception a line: rule, path (or `path::function`), number, reason. The number
//! is the accepted size for a rule about size, and the count of breaches for any other. It must be exact: when the code
//! gets better, the number must go down, and an unneeded line must be removed.

use std::collections::BTreeMap;

use super::{Finding, Tree};

/// Removes the listed findings, and adds those about the list itself.
pub(crate) fn apply(tree: &Tree, findings: &mut Vec<Finding>) {
    let Some(text) = tree.file(PATH) else { return };
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| !finding.is_warning) {
        let count = counts.entry((finding.rule, finding.target.as_str())).or_default();
        *count = finding.size.unwrap_or(*count + 1);
    }
    let mut accepted: Vec<(String, String)> = Vec::new();
    let mut about_list = Vec::new();
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    for (index, line) in lines {
        let mut push = |reason: String| about_list.push(Finding::new("exceptions", PATH, index + 1, reason));
        let Some((rule, target, limit)) = parse(line) else {
            push("a line is: rule, path or path::function, number, reason".to_owned());
            continue;
        };
        match counts.get(&(rule, target)) {
            None => push(format!("{rule} {target} is not needed any more: remove the line")),
            Some(count) if *count > limit => {
                push(format!("{rule} {target} has grown to {count}, accepted are {limit}"));
            }
            Some(count) => {
                if *count < limit {
                    push(format!(
                        "{rule} {target} is down to {count}: lower the number from {limit}"
                    ));
                }
                accepted.push((rule.to_owned(), target.to_owned()));
            }
        }
    }
    findings.retain(|finding| {
        finding.is_warning
            || !accepted
                .iter()
                .any(|(rule, target)| rule == finding.rule && *target == finding.target)
    });
    findings.extend(about_list);
}

fn parse(line: &str) -> Option<(&str, &str, usize)> {
    let mut words = line.split_whitespace();
    let exception = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    words.next().map(|_| exception)
}

const PATH: &str = "xtask/tidy-exceptions.txt";

#[cfg(test)]
mod tests {
    use super::super::{Tree, check};

    fn reasons(code: &str, list: &str) -> Vec<String> {
        let code = format!("//! A.\n{code}\n");
        let tree = Tree::in_memory(&[("xtask/src/a.rs", &code), ("xtask/tidy-exceptions.txt", list)]);
        check(&tree)
            .findings()
            .iter()
            .map(|finding| format!("{}: {}", finding.rule, finding.reason))
            .collect()
    }

    const TWO: &str = "fn f() {\nunsafe {}\nunsafe {}\n}";

    #[test]
    fn a_listed_breach_is_accepted() {
        assert_eq!(
            reasons(TWO, "# Comment.\n\nunsafe xtask/src/a.rs 2 fork has no safe form\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_list_may_only_shrink() {
        let grown = reasons(TWO, "unsafe xtask/src/a.rs 1 reason\n");
        assert_eq!(grown.len(), 3, "both breaches and the line: {grown:?}");
        assert!(
            grown.iter().any(|reason| reason.contains("has grown to 2")),
            "{grown:?}"
        );
        let shrunk = reasons(TWO, "unsafe xtask/src/a.rs 3 reason\n");
        assert_eq!(
            shrunk,
            ["exceptions: unsafe xtask/src/a.rs is down to 2: lower the number from 3"]
        );
        let gone = reasons("fn f() {}", "unsafe xtask/src/a.rs 1 reason\n");
        assert_eq!(
            gone,
            ["exceptions: unsafe xtask/src/a.rs is not needed any more: remove the line"]
        );
    }

    #[test]
    fn a_size_is_a_ratchet_too() {
        let long = format!("impl A {{\nfn f() {{\n{}}}\n}}", "g();\n".repeat(80));
        assert_eq!(
            reasons(&long, "function-size xtask/src/a.rs::A::f 82 a table\n"),
            Vec::<String>::new()
        );
        assert_eq!(
            reasons(&long, "function-size xtask/src/a.rs::A::f 83 a table\n").len(),
            1
        );
        assert_eq!(
            reasons(&long, "function-size xtask/src/a.rs::A::f 81 a table\n").len(),
            2
        );
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        assert_eq!(reasons(TWO, "unsafe xtask/src/a.rs 2\n").len(), 3);
    }
}
