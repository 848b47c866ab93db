//! Size: the amount that a reader must keep in mind at once.
//!
//! Files: lines of `.rs` files that are not test code. Functions: lines from `fn` to the closing brace that hold code,
//! so that comments and blank lines cost nothing.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::source::{flatten, is_cfg_test};
use super::{Finding, Source};

const FILE_WARNING_LINES: usize = 600;
const FILE_MAX_LINES: usize = 1_000;
const FUNCTION_MAX_LINES: usize = 70;

/// Files and functions that are too long.
pub(crate) fn check(sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    for source in sources.iter().filter(|source| !source.is_test_file) {
        let total = source.text.lines().count();
        let lines = (1..=total).filter(|line| !source.is_test(*line)).count();
        if lines > FILE_WARNING_LINES {
            let reason = format!("{lines} lines outside tests; aim at 200, at most {FILE_MAX_LINES}: split it");
            let finding = Finding::new("file-size", source.path, 1, reason).sized(lines);
            findings.push(if lines > FILE_MAX_LINES {
                finding
            } else {
                finding.warning()
            });
        }
        Functions {
            source,
            owner: None,
            findings,
        }
        .visit_file(&source.file);
    }
}

struct Functions<'a, 'f> {
    source: &'a Source<'a>,
    /// The type whose `impl` is being read.
    owner: Option<String>,
    findings: &'f mut Vec<Finding>,
}

impl Functions<'_, '_> {
    fn measure(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let mut tokens = TokenStream::new();
        signature.to_tokens(&mut tokens);
        body.to_tokens(&mut tokens);
        let lines = code_lines(tokens);
        if lines <= FUNCTION_MAX_LINES {
            return;
        }
        let name = match &self.owner {
            Some(owner) => format!("{owner}::{}", signature.ident),
            None => signature.ident.to_string(),
        };
        let reason = format!("{name} has {lines} lines of code, at most {FUNCTION_MAX_LINES}: name its steps");
        let line = signature.span().start().line;
        self.findings.push(
            Finding::new("function-size", self.source.path, line, reason)
                .of_item(&name)
                .sized(lines),
        );
    }
}

impl<'ast> Visit<'ast> for Functions<'_, '_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_cfg_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        let outer = self.owner.replace(type_name(&block.self_ty));
        visit::visit_item_impl(self, block);
        self.owner = outer;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let outer = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.measure(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn type_name(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string())
            .unwrap_or_default(),
        syn::Type::Reference(reference) => type_name(&reference.elem),
        other => other.to_token_stream().to_string().replace(' ', ""),
    }
}

/// The number of lines on which a token lies; a literal of several lines counts all of them.
fn code_lines(stream: TokenStream) -> usize {
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let mut lines = BTreeSet::new();
    for token in tokens {
        lines.extend((0..=token.text.matches('\n').count()).map(|offset| token.line + offset));
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    fn function(statements: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(statements))
    }

    #[test]
    fn a_function_over_70_lines_fails() {
        let text = |statements| format!("//! A.\n{}", function(statements));
        assert_eq!(found(&[("xtask/src/a.rs", &text(68))]), Vec::<String>::new());
        assert_eq!(
            found(&[("xtask/src/a.rs", &text(69))]),
            ["xtask/src/a.rs:2: function-size"]
        );
    }

    #[test]
    fn comments_blank_lines_and_strings_are_counted_for_what_they_are() {
        let comments = format!("//! A.\nfn f() {{\n{}}}\n", "// {\n\n".repeat(80));
        assert_eq!(found(&[("xtask/src/a.rs", &comments)]), Vec::<String>::new());
        let literal = format!("//! A.\nfn f() -> &'static str {{\n\"{}\"\n}}\n", "}\n".repeat(80));
        assert_eq!(
            found(&[("xtask/src/a.rs", &literal)]),
            ["xtask/src/a.rs:2: function-size"]
        );
    }

    #[test]
    fn methods_count_and_tests_do_not() {
        let method = format!("//! A.\nimpl A {{\n{}}}\n", function(80));
        assert_eq!(
            found(&[("xtask/src/a.rs", &method)]),
            ["xtask/src/a.rs:3: function-size"]
        );
        let test = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n", function(80));
        assert_eq!(
            found(&[
                ("xtask/src/a.rs", &test),
                ("xtask/tests/b.rs", &format!("//! B.\n{}", function(80)))
            ]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_file_warns_over_600_lines_and_fails_over_1000() {
        let file = |lines: usize| format!("//! A.\n{}", "static A: u8 = 1;\n".repeat(lines - 1));
        assert_eq!(found(&[("xtask/src/a.rs", &file(600))]), Vec::<String>::new());
        assert_eq!(
            found(&[("xtask/src/a.rs", &file(601))]),
            ["xtask/src/a.rs:1: file-size (warning)"]
        );
        assert_eq!(
            found(&[("xtask/src/a.rs", &file(1_001))]),
            ["xtask/src/a.rs:1: file-size"]
        );
    }

    #[test]
    fn inline_tests_do_not_count_as_lines_of_the_file() {
        let file = format!(
            "//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "static A: u8 = 1;\n".repeat(2_000)
        );
        assert_eq!(found(&[("xtask/src/a.rs", &file)]), Vec::<String>::new());
    }
}
