//! The tests of the repository, by their paths.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Source;

/// A test.
pub(crate) struct Test {
    /// `crate::module::name`, with the short name of the crate.
    pub(crate) path: String,
    /// Its documentation; empty for tests of `proptest!`.
    pub(crate) doc: String,
}

/// All tests.
pub(crate) fn all(sources: &[Source<'_>]) -> Vec<Test> {
    let mut found = Vec::new();
    for source in sources {
        let mut tests = Tests {
            module: module_path(source),
            found: &mut found,
        };
        tests.visit_file(&source.file);
    }
    found
}

/// `crates/ldap-proto/src/a/mod.rs` is `ldap_proto::a`; `crates/x/tests/socket.rs` is `x::socket`.
fn module_path(source: &Source<'_>) -> String {
    let folder = source.crate_folder();
    let name = folder.rsplit('/').next().unwrap_or(folder).replace('-', "_");
    let rest = source
        .path
        .strip_prefix(folder)
        .unwrap_or_default()
        .trim_end_matches(".rs");
    let rest = ["/src/", "/tests/"]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix))
        .unwrap_or(rest);
    let parts = rest.split('/').filter(|part| !matches!(*part, "lib" | "main" | "mod"));
    std::iter::once(name.as_str())
        .chain(parts)
        .collect::<Vec<_>>()
        .join("::")
}

struct Tests<'a> {
    module: String,
    found: &'a mut Vec<Test>,
}

impl<'ast> Visit<'ast> for Tests<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let outer = self.module.clone();
        self.module = format!("{outer}::{}", module.ident);
        visit::visit_item_mod(self, module);
        self.module = outer;
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let is_test = |attribute: &syn::Attribute| {
            attribute
                .path()
                .segments
                .last()
                .is_some_and(|last| last.ident == "test")
        };
        if function.attrs.iter().any(is_test) {
            self.found.push(Test {
                path: format!("{}::{}", self.module, function.sig.ident),
                doc: function.attrs.iter().filter_map(line_of_doc).collect(),
            });
        }
    }

    /// `proptest! { #[test] fn name(...) {...} }`
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        for name in tests_in_macro(item.mac.tokens.clone()) {
            self.found.push(Test {
                path: format!("{}::{name}", self.module),
                doc: String::new(),
            });
        }
    }
}

/// The text of a line of documentation, with its line feed.
fn line_of_doc(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(syn::MetaNameValue {
        path,
        value: syn::Expr::Lit(literal),
        ..
    }) = &attribute.meta
    else {
        return None;
    };
    match &literal.lit {
        syn::Lit::Str(text) if path.is_ident("doc") => Some(text.value() + "\n"),
        _ => None,
    }
}

fn tests_in_macro(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    let mut after_fn = false;
    for tree in tokens {
        match tree {
            TokenTree::Group(group) if group.stream().to_string() == "test" => is_test = true,
            TokenTree::Ident(ident) if after_fn && is_test => {
                names.push(ident.to_string());
                (is_test, after_fn) = (false, false);
            }
            TokenTree::Ident(ident) => after_fn = ident == "fn",
            _ => {}
        }
    }
    names
}
