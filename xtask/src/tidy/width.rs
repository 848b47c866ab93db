//! Comments and prose have the same width as code.
//!
//! rustfmt keeps code to the width in `rustfmt.toml` and does not touch comments. Tables, code and generated parts of
//! Markdown are exempt, and so is a line without a place to break.

use super::{Finding, Tree};

/// Characters of a line, as in `rustfmt.toml`.
const WIDTH: usize = 120;

/// `ironbark settings` generates it from the settings, one line for each.
const GENERATED: &str = "docs/settings.md";

/// Comments in Rust files and prose in Markdown files that are wider than [`WIDTH`].
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for (path, text) in tree.files().filter(|(path, _)| *path != GENERATED) {
        let wide = match path.rsplit_once('.') {
            Some((_, "rs")) => wide_lines(text, |line| {
                let comment = line.trim_start().strip_prefix("//")?.trim_start_matches(['/', '!']);
                Some(comment.strip_prefix(' ').unwrap_or(comment))
            }),
            Some((_, "md")) => wide_lines(text, |line| Some(line)),
            _ => continue,
        };
        findings.extend(wide.into_iter().map(|line| {
            let reason = format!("wider than {WIDTH} characters: break the line");
            Finding::new("width", path, line, reason)
        }));
    }
}

/// Numbers of the lines with too wide prose. `markdown` cuts the Markdown out of a line.
fn wide_lines(text: &str, markdown: impl Fn(&str) -> Option<&str>) -> Vec<usize> {
    let (mut in_code, mut in_generated) = (false, false);
    let mut wide = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(content) = markdown(line) else {
            (in_code, in_generated) = (false, false);
            continue;
        };
        if content.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if content.starts_with("<!--") {
            in_generated = !content.starts_with("<!-- /");
        } else if !in_code && !in_generated && !content.starts_with("    ") && is_wide(line, content) {
            wide.push(index + 1);
        }
    }
    wide
}

/// Whether the line is too wide and could be broken: at a blank outside of code, with text before it.
fn is_wide(line: &str, content: &str) -> bool {
    if line.chars().count() <= WIDTH || content.trim_start().starts_with('|') {
        return false;
    }
    let marker = content.find(char::is_alphanumeric).unwrap_or(0);
    let mut in_code = content.get(..marker).is_some_and(|before| before.contains('`'));
    content.chars().skip(marker).take(WIDTH).any(|c| {
        in_code ^= c == '`';
        c == ' ' && !in_code
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    fn prose(length: usize) -> String {
        "word "
            .repeat(length.div_ceil(5))
            .chars()
            .take(length - 1)
            .collect::<String>()
            + "x"
    }

    #[test]
    fn a_comment_or_a_paragraph_wider_than_code_is_found() {
        let (fits, wide) = (prose(116), prose(117));
        for (path, text, rule) in [
            ("xtask/a.rs", format!("//! {fits}\n"), None),
            (
                "xtask/a.rs",
                format!("//! Doc.\n\n/// {wide}\nfn a() {{}}\n"),
                Some("xtask/a.rs:3: width"),
            ),
            ("docs/a.md", format!("é{fits}\n\n- {fits}\n"), None),
            (
                "docs/a.md",
                format!("Text.\n\n1. a{wide}\n"),
                Some("docs/a.md:3: width"),
            ),
        ] {
            assert_eq!(found(&[(path, &text)]), Vec::from_iter(rule), "{text}");
        }
    }

    #[test]
    fn tables_code_generated_parts_and_long_words_are_left_alone() {
        let wide = prose(200);
        let word = "x".repeat(200);
        for text in [
            format!("| {wide} |\n"),
            format!("```\n{wide}\n```\n"),
            format!("<!-- figures -->\n{wide}\n<!-- /figures -->\n"),
            format!("- {word}\n"),
            format!("`{wide}`\n"),
            format!("    {wide}\n"),
        ] {
            assert_eq!(found(&[("docs/a.md", &text)]), Vec::<String>::new(), "{text}");
        }
    }
}
