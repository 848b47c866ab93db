//! One name, one type: a `pub` type has a name that no other `pub` type of the workspace has.
//!
//! The rule reads `crates/*/src` without its tests. It counts structs, enums, unions, traits and aliases whose
//! visibility is `pub`, those inside macro calls too. A `pub` type of a private module counts as well: the compiler's
//! lint `unreachable_pub` asks for `pub(crate)` where no other crate can see the type. A type that is `pub(crate)` or
//! private may share its name. `use ... as` may give a type another name in one file.

use std::collections::BTreeMap;

use super::{Finding, Source};

/// `pub` types whose name an earlier file, in the order of the paths, gives to another type.
pub(crate) fn check(sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for source in sources.iter().filter(|source| is_code(source)) {
        for (name, line) in public_types(source).filter(|(_, line)| !source.is_test(*line)) {
            if let Some((path, there)) = first.get(name) {
                let reason = format!("{path}:{there} has a `pub` type {name}, too: give one of them a name of its own");
                findings.push(Finding::new("type-names", source.path, line, reason).of_item(name));
            } else {
                first.insert(name, (source.path, line));
            }
        }
    }
}

/// Whether a file stands in the `src` of a crate and is not test code.
fn is_code(source: &Source<'_>) -> bool {
    let rest = source
        .path
        .strip_prefix("crates/")
        .and_then(|path| path.split_once('/'));
    rest.is_some_and(|(_, inside)| inside.starts_with("src/")) && !source.is_test_file
}

/// Names and lines of the `pub` types. `pub(crate)` has a parenthesis where these have a keyword.
fn public_types<'s>(source: &'s Source<'_>) -> impl Iterator<Item = (&'s str, usize)> {
    source.tokens.windows(4).filter_map(|tokens| {
        let [visibility, keyword, next, after] = tokens else {
            return None;
        };
        let (keyword, name) = match keyword.text.as_str() {
            "unsafe" => (next, after),
            _ => (keyword, next),
        };
        let declares = visibility.text == "pub" && DECLARATIONS.contains(&keyword.text.as_str());
        let is_name = name.text.starts_with(|first: char| first.is_alphabetic());
        (declares && is_name).then_some((name.text.as_str(), name.line))
    })
}

const DECLARATIONS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

#[cfg(test)]
mod tests {
    use super::super::{Tree, source};
    use super::*;

    /// The findings for `pub struct Name;` in one file and a text in another one.
    fn reasons(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::in_memory(&[("crates/a/src/lib.rs", "//! A.\npub struct Name;\n"), (path, text)]);
        let mut findings = Vec::new();
        let sources = source::parse_all(&tree, &mut findings);
        check(&sources, &mut findings);
        findings
            .iter()
            .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.reason))
            .collect()
    }

    #[test]
    fn a_second_public_type_of_one_name_is_refused() {
        let reason = "crates/a/src/lib.rs:2 has a `pub` type Name, too: give one of them a name of its own";
        for text in [
            "\npub enum Name {}",
            "\npub union Name { a: u8 }",
            "\npub trait Name {}",
            "\npub unsafe trait Name {}",
            "\npub type Name = u8;",
            "\n#[derive(Debug)] pub struct Name<'a>(&'a str);",
            "mod inside {\npub struct Name;\n}",
            "numbers! {\npub struct Name: 1;\n}",
        ] {
            for path in ["crates/b/src/lib.rs", "crates/a/src/other.rs"] {
                assert_eq!(reasons(path, text), [format!("{path}:2: {reason}")], "{text}");
            }
        }
    }

    #[test]
    fn other_items_and_tests_may_have_the_name() {
        for text in [
            "struct Name;",
            "pub(crate) struct Name;",
            "pub(in crate::x) enum Name {}",
            "pub use ironbark_a::Name;",
            "pub struct Other<Name>(Name);",
            "pub enum Other { Name }",
            "macro_rules! made { ($name:ident) => { pub struct $name; } }",
            "#[cfg(test)]\nmod tests {\npub struct Name;\n}",
        ] {
            assert_eq!(reasons("crates/b/src/lib.rs", text), Vec::<String>::new(), "{text}");
        }
        let text = "pub struct Name;";
        for path in ["crates/b/tests/all.rs", "crates/b/src/tests/x.rs", "xtask/src/x.rs"] {
            assert_eq!(reasons(path, text), Vec::<String>::new(), "{path}");
        }
    }
}
