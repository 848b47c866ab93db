//! A link of a document leads to a file and to a heading that are there, and each page of `docs/` can be found.
//!
//! Only links within the repository are read; those to other machines may fail without a fault of ours.

use std::collections::BTreeSet;

use super::{Finding, Tree};

/// Links of Markdown files that lead nowhere, and pages that the front page or the map does not link.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut linked = BTreeSet::new();
    for (path, text) in tree.files().filter(|(path, _)| is_markdown(path)) {
        for (line, address) in links(text) {
            let (file, heading) = address.split_once('#').unwrap_or((address, ""));
            let target = if file.is_empty() {
                path.to_owned()
            } else {
                joined(path, file)
            };
            if INDEXES.contains(&path) {
                linked.insert(target.clone());
            }
            if let Some(reason) = fault(tree, &target, heading) {
                findings.push(Finding::new("dead-link", path, line, format!("`{address}`: {reason}")));
            }
        }
    }
    if tree.file(FRONT_PAGE).is_none() {
        return;
    }
    let pages = tree
        .files()
        .filter(|(path, _)| path.starts_with("docs/") && is_markdown(path));
    for (path, _) in pages.filter(|(path, _)| !linked.contains(*path)) {
        let reason = format!("no link of {} leads to the page", INDEXES.join(" or "));
        findings.push(Finding::new("lonely-page", path, 1, reason));
    }
}

fn is_markdown(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "md")
}

/// The addresses of links and pictures within the repository, outside of code, with the numbers of their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, content) in prose(text) {
        for part in content.split("](").skip(1) {
            let address = part.split([')', ' ']).next().unwrap_or_default();
            let is_elsewhere = address.contains(':') || address.is_empty();
            found.extend((!is_elsewhere).then_some((line, address)));
        }
    }
    found
}

/// The lines that are not in a fenced block, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// The path that an address in a file leads to.
fn joined(path: &str, address: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn fault(tree: &Tree, target: &str, heading: &str) -> Option<String> {
    let Some(text) = tree.file(target) else {
        let folder = format!("{target}/");
        let is_folder = tree.files().any(|(path, _)| path.starts_with(&folder));
        return (!is_folder).then(|| format!("there is no file {target}"));
    };
    let is_there = heading.is_empty() || headings(text).any(|found| found == heading);
    (!is_there).then(|| format!("{target} has no heading of this name"))
}

/// The names of the headings, as a link has them: small letters, blanks as hyphens, no other signs.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter_map(|(_, line)| {
        let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
        let kept = heading.to_lowercase();
        let kept = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
    })
}

const FRONT_PAGE: &str = "README.md";
/// Where a reader finds the pages.
const INDEXES: [&str; 2] = [FRONT_PAGE, "ARCHITECTURE.md"];

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn a_link_leads_to_a_file_and_a_heading() {
        let page = ("docs/a.md", "# A page\n\n## What it's `for`\n");
        let picture = ("docs/paper/plot.svg", "<svg/>\n");
        for (link, rule) in [
            ("[x](docs/a.md)", None),
            ("[x](docs/a.md#what-its-for)", None),
            (
                "[x](https://example.com/a.md#b) and [y](#b-c), ![z](docs/paper/plot.svg)",
                None,
            ),
            ("[x](docs/paper)", None),
            ("```\n[x](gone.md)\n```", None),
            ("[x](docs/b.md)", Some("README.md:6: dead-link")),
            ("[x](docs/a.md#gone)", Some("README.md:6: dead-link")),
            ("[x](#gone)", Some("README.md:6: dead-link")),
            ("![x](docs/plot.svg)", Some("README.md:6: dead-link")),
        ] {
            let text = format!("# A\n\n## B c\n\n[a](docs/a.md)\n{link}\n");
            assert_eq!(
                found(&[page, picture, ("README.md", &text)]),
                Vec::from_iter(rule),
                "{link}"
            );
        }
    }

    #[test]
    fn a_link_is_read_from_the_folder_of_its_page() {
        let text = "[map](../../ARCHITECTURE.md), [other](b.md), [up](../a.md#a)\n";
        let files = [
            (
                "ARCHITECTURE.md",
                "[a](docs/internals/a.md) [b](docs/internals/b.md) [c](docs/a.md)\n",
            ),
            ("docs/a.md", "# A\n"),
            ("docs/internals/a.md", text),
            ("docs/internals/b.md", "# B\n"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn a_page_that_no_index_links_is_found() {
        let files = [
            ("README.md", "[a](docs/a.md)\n"),
            ("docs/a.md", "[b](b.md)\n"),
            ("docs/b.md", "# B\n"),
        ];
        assert_eq!(found(&files), ["docs/b.md:1: lonely-page"]);
    }
}
