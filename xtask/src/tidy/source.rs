//! A Rust file as the rules read it: syntax tree, flat tokens, and which of its lines are tests.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Finding, Tree};

/// A parsed Rust file.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) file: syn::File,
    /// Identifiers, literals, delimiters and single punctuation characters, without comments.
    pub(crate) tokens: Vec<Token>,
    /// Whether the whole file is test code: it lies in `tests/` or `benches/`, or its module is declared
    /// `#[cfg(test)]`.
    pub(crate) is_test_file: bool,
    /// Lines of items that are `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A token and the line it starts on, counted from 1.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Parses each Rust file of the tree; a file that does not parse becomes a finding.
pub(crate) fn parse_all<'a>(tree: &'a Tree, findings: &mut Vec<Finding>) -> Vec<Source<'a>> {
    let mut sources = Vec::new();
    let mut test_modules = BTreeSet::new();
    for (path, text) in tree
        .files()
        .filter(|(path, _)| path.rsplit_once('.').is_some_and(|(_, extension)| extension == "rs"))
    {
        match syn::parse_file(text) {
            Ok(file) => sources.push(Source::new(path, text, file, &mut test_modules)),
            Err(error) => {
                findings.push(Finding::new(
                    "syntax",
                    path,
                    error.span().start().line,
                    error.to_string(),
                ));
            }
        }
    }
    for source in &mut sources {
        source.is_test_file |= test_modules.contains(source.path);
    }
    sources
}

impl<'a> Source<'a> {
    fn new(path: &'a str, text: &'a str, file: syn::File, test_modules: &mut BTreeSet<String>) -> Self {
        let mut tests = TestItems {
            path,
            lines: Vec::new(),
            modules: test_modules,
        };
        tests.visit_file(&file);
        let test_lines = tests.lines;
        let mut tokens = Vec::new();
        flatten(quote::ToTokens::to_token_stream(&file), &mut tokens);
        let is_test_file = path.split('/').any(|part| part == "tests" || part == "benches");
        Self {
            path,
            text,
            file,
            tokens,
            is_test_file,
            test_lines,
        }
    }

    /// True when the line belongs to test code.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.is_test_file || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// The crate's folder: `crates/ber` or `xtask`.
    pub(crate) fn crate_folder(&self) -> &str {
        let depth = if self.path.starts_with("crates/") { 2 } else { 1 };
        let end = self
            .path
            .match_indices('/')
            .nth(depth - 1)
            .map_or(self.path.len(), |(at, _)| at);
        self.path.get(..end).unwrap_or(self.path)
    }
}

/// Appends the tokens of a stream; groups give their delimiters and their content.
pub(crate) fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let mut push = |text: String, line| tokens.push(Token { text, line });
        match tree {
            TokenTree::Ident(ident) => push(ident.to_string(), line),
            TokenTree::Punct(punct) => push(punct.as_char().to_string(), line),
            TokenTree::Literal(literal) => push(literal.to_string(), line),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                push(open.to_owned(), line);
                flatten(group.stream(), tokens);
                tokens.push(Token {
                    text: close.to_owned(),
                    line: group.span_close().end().line,
                });
            }
        }
    }
}

/// True for `#[cfg(test)]` and conditions that need it, such as `#[cfg(all(test, unix))]`.
pub(crate) fn is_cfg_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let mut tokens = Vec::new();
        flatten(list.tokens.clone(), &mut tokens);
        let has = |word: &str| tokens.iter().any(|token| token.text == word);
        list.path.is_ident("cfg") && has("test") && !has("not") && !has("any")
    })
}

struct TestItems<'a> {
    path: &'a str,
    lines: Vec<RangeInclusive<usize>>,
    modules: &'a mut BTreeSet<String>,
}

impl<'ast> Visit<'ast> for TestItems<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_cfg_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        } else if module.content.is_some() {
            self.lines.push(module.span().start().line..=module.span().end().line);
        } else {
            let folder = match self.path.rsplit_once('/') {
                Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
                _ => self.path.trim_end_matches(".rs"),
            };
            self.modules.insert(format!("{folder}/{}.rs", module.ident));
            self.modules.insert(format!("{folder}/{}/mod.rs", module.ident));
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if is_cfg_test(&function.attrs) {
            self.lines
                .push(function.span().start().line..=function.span().end().line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tree: &Tree) -> Vec<Source<'_>> {
        let mut findings = Vec::new();
        let sources = parse_all(tree, &mut findings);
        assert_eq!(findings, []);
        sources
    }

    #[test]
    fn test_code_is_known_by_place_and_attribute() {
        let tree = Tree::in_memory(&[
            (
                "crates/a/src/lib.rs",
                "#[cfg(test)]\nmod vectors;\nfn live() {}\n#[cfg(test)]\nmod tests {\n}\n#[cfg(not(test))]\nfn shipped() {}\n",
            ),
            ("crates/a/src/vectors.rs", ""),
            ("crates/a/tests/socket.rs", ""),
        ]);
        let sources = parse(&tree);
        let [lib, vectors, socket] = &sources[..] else {
            panic!("three files")
        };
        assert!(vectors.is_test_file && socket.is_test_file && !lib.is_test_file);
        assert_eq!((1..=8).filter(|line| lib.is_test(*line)).collect::<Vec<_>>(), [4, 5, 6]);
        assert_eq!(socket.crate_folder(), "crates/a");
    }

    #[test]
    fn tokens_leave_comments_out_and_keep_their_lines() {
        let tree = Tree::in_memory(&[("xtask/src/main.rs", "// a\nfn f() {\n  g!(h /* i */)\n}\n")]);
        let sources = parse(&tree);
        let tokens: Vec<(usize, &str)> = sources[0]
            .tokens
            .iter()
            .map(|token| (token.line, token.text.as_str()))
            .collect();
        let expected = [
            (2, "fn"),
            (2, "f"),
            (2, "("),
            (2, ")"),
            (2, "{"),
            (3, "g"),
            (3, "!"),
            (3, "("),
            (3, "h"),
            (3, ")"),
            (4, "}"),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn a_file_that_does_not_parse_is_a_finding() {
        assert_eq!(
            super::super::tests::found(&[("xtask/src/a.rs", "//! A.\nfn (\n")])[0],
            "xtask/src/a.rs:2: syntax"
        );
    }
}
