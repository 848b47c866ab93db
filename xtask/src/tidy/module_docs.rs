//! Every Rust file starts with its purpose, and so does every public module inside a file.
//!
//! A `pub mod name;` is documented by the first line of its own file.

use syn::visit::{self, Visit};

use super::source::is_cfg_test;
use super::{Finding, Source};

/// Files and inline modules without a purpose.
pub(crate) fn check(sources: &[Source<'_>], findings: &mut Vec<Finding>) {
    for source in sources {
        let purpose = source.text.lines().next().and_then(|line| line.strip_prefix("//!"));
        if purpose.is_none_or(|purpose| purpose.trim().is_empty()) {
            let reason = "the first line says what the file is for: `//! Purpose.`";
            findings.push(Finding::new("module-docs", source.path, 1, reason));
        }
        if !source.is_test_file {
            InlineModules { source, findings }.visit_file(&source.file);
        }
    }
}

struct InlineModules<'a, 'f> {
    source: &'a Source<'a>,
    findings: &'f mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for InlineModules<'_, '_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let is_public = matches!(module.vis, syn::Visibility::Public(_));
        let is_documented = module.attrs.iter().any(|attribute| attribute.path().is_ident("doc"));
        if is_public && module.content.is_some() && !is_documented && !is_cfg_test(&module.attrs) {
            let reason = format!("public module {} has no documentation", module.ident);
            let line = module.ident.span().start().line;
            self.findings
                .push(Finding::new("module-docs", self.source.path, line, reason));
        }
        visit::visit_item_mod(self, module);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn a_file_without_purpose_fails() {
        for text in [
            "",
            "fn f() {}\n",
            "//!\nfn f() {}\n",
            "\n//! Late.\n",
            "// Not a doc comment.\n",
        ] {
            assert_eq!(
                found(&[("xtask/src/a.rs", text)]),
                ["xtask/src/a.rs:1: module-docs"],
                "{text:?}"
            );
        }
    }

    #[test]
    fn an_undocumented_public_inline_module_fails() {
        let text = "//! A.\npub mod bare {}\n/// Said.\npub mod outer {}\npub mod inner {\n    //! Said.\n}\nmod private {}\npub mod file;\n";
        assert_eq!(found(&[("xtask/src/a.rs", text)]), ["xtask/src/a.rs:2: module-docs"]);
    }
}
