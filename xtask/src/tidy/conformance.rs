//! docs/conformance.md says which sections of the RFCs have tests. It is made of the tests: `cargo xtask conformance`.
//!
//! A test belongs to a section by its place, if it is a scenario (`conformance/rfc4511/4.2.1/name.txt` in the scenarios
//! of `acceptance`), or by its documentation, if it is Rust (`/// RFC 4511 §4.2.1`). `data/rfc-sections.txt` has the
//! titles, and the sections that are shown also where there is no test.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Finding, Source, Tree, source, tests_found};

/// A page that is not the one that the tests make; tests of sections that do not exist.
pub(crate) fn check(tree: &Tree, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    if tree.file(TITLES).is_none() {
        return;
    }
    let mut page = Page::new(tree);
    page.add_scenarios(tree, findings);
    page.add_rust(sources, findings);
    if tree.file(PAGE) != Some(&page.to_string()) {
        findings.push(Finding::new(RULE, PAGE, 1, "stale: run `cargo xtask conformance`"));
    }
}

/// Where the page is, and its text.
pub(crate) fn page(tree: &Tree) -> (&'static str, String) {
    let mut findings = Vec::new();
    let sources = source::parse_all(tree, &mut findings);
    let mut page = Page::new(tree);
    page.add_scenarios(tree, &mut findings);
    page.add_rust(&sources, &mut findings);
    (PAGE, page.to_string())
}

/// The sections of each RFC, in order.
struct Page {
    rfcs: BTreeMap<u32, Rfc>,
}

struct Rfc {
    title: String,
    sections: BTreeMap<Number, Section>,
}

#[derive(Default)]
struct Section {
    title: String,
    /// What each test shows.
    tests: Vec<String>,
}

/// The number of a section, in parts.
type Number = Vec<u32>;

impl Page {
    fn new(tree: &Tree) -> Self {
        let mut rfcs = BTreeMap::new();
        for line in tree.file(TITLES).unwrap_or_default().lines() {
            let Some((rfc, rest)) = line.split_once(' ') else {
                continue;
            };
            let Ok(rfc) = rfc.parse::<u32>() else { continue };
            let entry = rfcs.entry(rfc).or_insert_with(|| Rfc {
                title: String::new(),
                sections: BTreeMap::new(),
            });
            match rest
                .split_once(' ')
                .and_then(|(first, title)| Some((number(first)?, title)))
            {
                Some((number, title)) => title.clone_into(&mut entry.sections.entry(number).or_default().title),
                None => rest.clone_into(&mut entry.title),
            }
        }
        Self { rfcs }
    }

    /// `false`: there is no such RFC.
    fn add(&mut self, rfc: u32, section: Number, test: String) -> bool {
        let Some(rfc) = self.rfcs.get_mut(&rfc) else {
            return false;
        };
        rfc.sections.entry(section).or_default().tests.push(test);
        true
    }

    fn add_scenarios(&mut self, tree: &Tree, findings: &mut Vec<Finding>) {
        for (path, text) in tree.files() {
            let Some(rest) = path.strip_prefix(SCENARIOS) else {
                continue;
            };
            let mut parts = rest.split('/');
            let rfc = parts.next().and_then(|part| part.strip_prefix("rfc")?.parse().ok());
            let section = parts.next().and_then(number);
            let is_added = match (rfc, section) {
                (Some(rfc), Some(section)) => self.add(rfc, section, shown(text)),
                _ => false,
            };
            if !is_added {
                let reason = format!("no folder of an RFC in {TITLES} and of a section");
                findings.push(Finding::new(RULE, path, 1, reason));
            }
        }
    }

    fn add_rust(&mut self, sources: &[Source<'_>], findings: &mut Vec<Finding>) {
        for test in tests_found::all(sources) {
            for (rfc, section) in references(&test.doc) {
                if !self.add(rfc, section, format!("`{}`", test.path)) {
                    let reason = format!("RFC {rfc}, which `{}` names, has no title", test.path);
                    findings.push(Finding::new(RULE, TITLES, 1, reason));
                }
            }
        }
    }
}

impl std::fmt::Display for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(HEAD)?;
        for (number, rfc) in self.rfcs.iter().filter(|(_, rfc)| !rfc.sections.is_empty()) {
            let tested = rfc
                .sections
                .values()
                .filter(|section| !section.tests.is_empty())
                .count();
            let all = rfc.sections.len();
            write!(f, "\n## RFC {number}: {}\n\n", rfc.title)?;
            if tested < all {
                write!(f, "{tested} of {all} sections have tests.\n\n")?;
            }
            writeln!(f, "| section | tests |\n|---|---|")?;
            for (number, section) in &rfc.sections {
                let mut number = number.iter().fold(String::new(), |text, part| format!("{text}{part}."));
                number.pop();
                let tests = match section.tests.as_slice() {
                    [] => "-".to_owned(),
                    tests => tests.join(" "),
                };
                writeln!(f, "| {} | {tests} |", format!("{number} {}", section.title).trim_end())?;
            }
        }
        Ok(())
    }
}

/// What a scenario shows, and why its answers are not those of slapd, if so.
fn shown(scenario: &str) -> String {
    let purpose = scenario.lines().map_while(|line| line.strip_prefix("# "));
    let mut shown = purpose.collect::<Vec<_>>().join(" ");
    if let Some(reason) = scenario.lines().find_map(|line| line.strip_prefix("ours ")) {
        let _ = write!(shown, " ({reason})");
    }
    shown.replace('|', "\\|")
}

/// The sections that a documentation names: `RFC 4511 §4.2.1`.
fn references(doc: &str) -> Vec<(u32, Number)> {
    let references = doc.split("RFC ").skip(1).filter_map(|rest| {
        let (rfc, rest) = rest.split_once(" §")?;
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let section = rest.get(..end)?.trim_end_matches('.');
        Some((rfc.parse().ok()?, number(section)?))
    });
    references.collect()
}

fn number(text: &str) -> Option<Number> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

const HEAD: &str = "\
# Conformance

This page says which sections of the RFCs have tests of their own. It is made of the tests (`cargo xtask conformance`).

A sentence is a scenario: a text file in `crates/acceptance/tests/scenarios/conformance`, in a folder for the RFC and
one for the section. It has a configuration, commands of ldap-utils or whole messages, and the answers. They are the
answers of OpenLDAP's slapd 2.5, and ours must be the same. Where slapd does not do what the RFC asks, the parentheses
say what it does, and the answers are ours. A name is a test in Rust.
";
const TITLES: &str = "data/rfc-sections.txt";
const PAGE: &str = "docs/conformance.md";
const SCENARIOS: &str = "crates/acceptance/tests/scenarios/conformance/";
const RULE: &str = "conformance";

#[cfg(test)]
mod tests {
    use super::*;

    const SECTIONS: (&str, &str) = (
        TITLES,
        "# Titles.\n4511 The Protocol\n4511 4.2 Bind\n4511 4.10 Compare\n",
    );
    const SCENARIO: (&str, &str) = (
        "crates/acceptance/tests/scenarios/conformance/rfc4511/4.2/a.txt",
        "# The version is 3.\nours slapd says 4\n\n$ pdu\n",
    );
    const TEST: (&str, &str) = (
        "crates/a/tests/all.rs",
        "//! A.\n\n/// RFC 4511 §4.2.1, and RFC 4511 §4.2.\n#[test]\nfn bound() {}\n",
    );

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let report = super::super::check(&Tree::in_memory(files));
        let findings = report.findings().iter().filter(|finding| finding.rule == RULE);
        findings
            .map(|finding| format!("{}: {}", finding.path, finding.reason))
            .collect()
    }

    #[test]
    fn the_page_has_each_section_with_its_tests() {
        let tree = Tree::in_memory(&[SECTIONS, SCENARIO, TEST]);
        let (path, text) = page(&tree);
        let table = "| 4.2 Bind | The version is 3. (slapd says 4) `a::all::bound` |\n| 4.2.1 | `a::all::bound` |\n\
            | 4.10 Compare | - |\n";
        assert!(text.ends_with(table), "{text}");
        assert!(
            text.contains("## RFC 4511: The Protocol\n\n2 of 3 sections have tests."),
            "{text}"
        );
        assert_eq!(found(&[SECTIONS, SCENARIO, TEST, (path, &text)]), Vec::<String>::new());
    }

    #[test]
    fn a_stale_page_fails() {
        assert_eq!(
            found(&[SECTIONS, SCENARIO, (PAGE, "# Conformance\n")]),
            ["docs/conformance.md: stale: run `cargo xtask conformance`"]
        );
    }

    #[test]
    fn a_test_of_an_unknown_rfc_fails() {
        let lost = "crates/acceptance/tests/scenarios/conformance/rfc1/2/a.txt";
        let other = ("crates/b/src/lib.rs", "//! B.\n/// RFC 99 §1\n#[test]\nfn x() {}\n");
        let found = found(&[SECTIONS, (lost, "# X.\n"), other]);
        assert!(found.iter().any(|reason| reason.starts_with(lost)), "{found:?}");
        assert!(
            found.iter().any(|reason| reason.contains("RFC 99, which `b::x` names")),
            "{found:?}"
        );
    }
}
