//! Which file of a crate needs which other one: names in `use` and in paths are followed to the file that defines them,
//! through re-exports. Tests do not count, and names that occur only inside a macro call are not seen.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::{Source, source::is_cfg_test};

/// A path from the root of the crate.
type Path = Vec<String>;

/// Maximum number of re-exports that are followed for one name.
const MOST_STEPS: usize = 16;

/// The files of one crate that are not tests, and what they need.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// File, file that it needs, line of the first mention.
    pub(crate) edges: BTreeMap<String, BTreeMap<String, usize>>,
    /// `impl Type` blocks, without a trait, of types that another file defines.
    pub(crate) impls: Vec<Impl>,
}

/// An `impl` block of a type.
#[derive(Debug)]
pub(crate) struct Impl {
    /// Where it stands.
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The name of the type, and the file that defines it.
    pub(crate) name: String,
    pub(crate) definer: String,
}

/// A module as other modules see it.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    /// Names that `use` imports, and their targets; `None`: outside the crate.
    names: BTreeMap<String, Option<Path>>,
    /// The paths of `use ...::*`.
    globs: Vec<Path>,
}

struct Crate<'a> {
    modules: BTreeMap<Path, Module<'a>>,
}

/// One mention of a name: its path from the root, and its line.
struct Mention {
    path: Path,
    line: usize,
}

impl Imports {
    /// The imports of the crate in a folder.
    pub(crate) fn of(folder: &str, sources: &[Source<'_>]) -> Self {
        let root = format!("{folder}/src/");
        let files: Vec<(&Source<'_>, Path)> = sources
            .iter()
            .filter(|source| !source.is_test_file)
            .filter_map(|source| Some((source, module_path(source.path.strip_prefix(&root)?))))
            .collect();
        let mut all = Crate {
            modules: BTreeMap::new(),
        };
        for (source, path) in &files {
            all.modules.entry(path.clone()).or_default().file = source.path;
        }
        for (source, path) in &files {
            let mut uses = Uses::default();
            uses.visit_file(&source.file);
            for (tree, name) in uses.found {
                let target = all.absolute(path, &tree);
                let Some(module) = all.modules.get_mut(path) else {
                    continue;
                };
                match (name.as_str(), target) {
                    ("*", Some(target)) => module.globs.push(target),
                    ("*", None) => {}
                    (name, target) => drop(module.names.insert(name.to_owned(), target)),
                }
            }
        }
        let mut imports = Self::default();
        for (source, path) in &files {
            let mut mentions = Mentions {
                all: &all,
                module: path,
                found: Vec::new(),
            };
            mentions.visit_file(&source.file);
            for (written, line) in inherent_impls(&source.file.items) {
                let definer = all.absolute(path, &written).and_then(|path| all.definer(path));
                if let (Some(definer), Some(name)) = (definer.filter(|file| *file != source.path), written.last()) {
                    imports.impls.push(Impl {
                        file: source.path.to_owned(),
                        line,
                        name: name.clone(),
                        definer: definer.to_owned(),
                    });
                }
            }
            let needed = imports.edges.entry(source.path.to_owned()).or_default();
            for Mention { path, line } in mentions.found {
                if let Some(file) = all.definer(path).filter(|file| *file != source.path) {
                    needed.entry(file.to_owned()).or_insert(line);
                }
            }
        }
        imports
    }

    /// Sets of files in which each file needs all others, directly or not; the biggest first.
    pub(crate) fn circles(&self) -> Vec<Vec<&str>> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for file in self.edges.keys() {
            self.finish(file, &mut seen, &mut order);
        }
        let mut back: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (from, to) in &self.edges {
            for to in to.keys() {
                back.entry(to).or_default().push(from);
            }
        }
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(start) = order.pop() {
            let (mut circle, mut open) = (Vec::new(), vec![start]);
            while let Some(file) = open.pop() {
                if seen.insert(file) {
                    circle.push(file);
                    open.extend(back.get(file).into_iter().flatten());
                }
            }
            if circle.len() > 1 {
                circle.sort_unstable();
                circles.push(circle);
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// Appends a file behind all files that it needs.
    fn finish<'s>(&'s self, start: &'s str, seen: &mut BTreeSet<&'s str>, order: &mut Vec<&'s str>) {
        let mut open = vec![(start, false)];
        while let Some((file, is_done)) = open.pop() {
            if is_done {
                order.push(file);
            } else if seen.insert(file) {
                open.push((file, true));
                let needed = self.edges.get(file).into_iter().flat_map(BTreeMap::keys);
                open.extend(needed.map(|file| (file.as_str(), false)));
            }
        }
    }
}

/// The types as written, and lines, of the `impl` blocks without a trait.
fn inherent_impls(items: &[syn::Item]) -> Vec<(Path, usize)> {
    let of_item = |item: &syn::Item| match item {
        syn::Item::Impl(block) if block.trait_.is_none() && !is_cfg_test(&block.attrs) => match &*block.self_ty {
            syn::Type::Path(named) => {
                let written = named.path.segments.iter().map(|segment| segment.ident.to_string());
                Some((written.collect(), block.impl_token.span.start().line))
            }
            _ => None,
        },
        _ => None,
    };
    items.iter().filter_map(of_item).collect()
}

/// `a/b/mod.rs` is `a::b`.
fn module_path(relative: &str) -> Path {
    let mut parts: Path = relative.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        parts.pop();
    }
    parts
}

impl Crate<'_> {
    /// The path from the root for a name in a module; `None`: it is outside the crate.
    fn absolute(&self, module: &Path, written: &[String]) -> Option<Path> {
        let (first, rest) = written.split_first()?;
        let mut base = module.clone();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                let mut rest = rest;
                while let Some((next, behind)) = rest.split_first()
                    && next == "super"
                {
                    base.pop();
                    rest = behind;
                }
                base.extend_from_slice(rest);
                return Some(base);
            }
            name => {
                let mut child = module.clone();
                child.push(name.to_owned());
                if self.modules.contains_key(&child) {
                    base.extend_from_slice(written);
                    return Some(base);
                }
                base = self.modules.get(module)?.names.get(name)?.clone()?;
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file that defines the target of a path from the root; `None`: a module, or something outside the crate.
    fn definer(&self, mut path: Path) -> Option<&str> {
        for _ in 0..MOST_STEPS {
            let depth = (0..=path.len())
                .rev()
                .find(|depth| path.get(..*depth).is_some_and(|start| self.modules.contains_key(start)))?;
            let module = self.modules.get(path.get(..depth)?)?;
            let name = path.get(depth)?;
            match module.names.get(name) {
                None => return Some(self.by_glob(module, name).unwrap_or(module.file)),
                Some(None) => return None,
                Some(Some(target)) => {
                    let rest = path.get(depth + 1..).unwrap_or_default();
                    path = [target, rest].concat();
                }
            }
        }
        None
    }

    fn by_glob(&self, module: &Module<'_>, name: &str) -> Option<&str> {
        module.globs.iter().find_map(|glob| {
            let target = self.modules.get(glob)?;
            let defines = target.names.contains_key(name);
            defines.then(|| self.definer([&glob[..], &[name.to_owned()]].concat()))?
        })
    }
}

/// The imports of the `use` items of a file: path as written, and name.
#[derive(Default)]
struct Uses {
    found: Vec<(Path, String)>,
}

impl Uses {
    fn tree(&mut self, tree: &syn::UseTree, mut before: Path) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before.clone());
                }
            }
            syn::UseTree::Glob(_) => self.found.push((before, "*".to_owned())),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                self.found.push((before, last));
            }
            syn::UseTree::Name(name) => {
                before.push(name.ident.to_string());
                self.found.push((before, name.ident.to_string()));
            }
            syn::UseTree::Rename(rename) => {
                if rename.ident != "self" {
                    before.push(rename.ident.to_string());
                }
                self.found.push((before, rename.rename.to_string()));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_cfg_test(&item.attrs) {
            self.tree(&item.tree, Vec::new());
        }
    }
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}
}

/// All names that a file mentions.
struct Mentions<'c> {
    all: &'c Crate<'c>,
    module: &'c Path,
    found: Vec<Mention>,
}

impl Mentions<'_> {
    fn mention(&mut self, written: &[String], line: usize) {
        if let Some(path) = self.all.absolute(self.module, written) {
            self.found.push(Mention { path, line });
        }
    }
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A re-exported name is needed by the files that use it from here.
        if is_cfg_test(&item.attrs) || !matches!(item.vis, syn::Visibility::Inherited) {
            return;
        }
        let mut uses = Uses::default();
        uses.tree(&item.tree, Vec::new());
        let line = item.use_token.span.start().line;
        for (path, name) in uses.found {
            if name != "*" {
                self.mention(&path, line);
            }
        }
    }
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_cfg_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_cfg_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1
            && let Some(first) = path.segments.first()
        {
            let written: Path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.mention(&written, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }
}
