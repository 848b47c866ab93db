//! The text files of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ignore::WalkBuilder;

/// Text files by path, relative to the repository, with `/`.
#[derive(Debug)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the files under `root` that `.gitignore` does not name. Files that are not UTF-8 are left out.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .parents(false)
            .git_global(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for entry in walk {
            let entry = entry?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let bytes = fs::read(entry.path()).with_context(|| entry.path().display().to_string())?;
            let path = entry.path().strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            if let Ok(text) = String::from_utf8(bytes) {
                files.insert(path, text);
            }
        }
        Ok(Self { files })
    }

    /// A tree for a test.
    #[cfg(test)]
    pub(crate) fn in_memory(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        }
    }

    /// All files in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Folder (`crates/ber`), short name (`ber`) and manifest of each crate of the workspace.
    pub(crate) fn crates(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.files().filter_map(|(path, text)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            let name = folder
                .strip_prefix("crates/")
                .or((folder == "xtask").then_some(folder))?;
            (!name.contains('/')).then_some((folder, name, text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_and_binary_files_are_left_out() {
        let root = std::env::temp_dir().join(format!("tidy-tree-{}", std::process::id()));
        for folder in ["target", "crates", ".ci", ".git"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (path, bytes) in [
            (".gitignore", &b"/target\n"[..]),
            ("target/x.rs", b"x"),
            ("crates/y.rs", b"y"),
            ("crates/binary", b"\xff\xfe"),
            (".ci/run", b"z"),
            (".git/config", b"g"),
        ] {
            fs::write(root.join(path), bytes).unwrap();
        }
        let tree = Tree::load(&root);
        fs::remove_dir_all(&root).unwrap();
        let paths: Vec<String> = tree.unwrap().files().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(paths, [".ci/run", ".gitignore", "crates/y.rs"]);
    }

    #[test]
    fn crates_are_the_folders_of_the_workspace() {
        let tree = Tree::in_memory(&[
            ("Cargo.toml", ""),
            ("crates/ber/Cargo.toml", "b"),
            ("crates/ber/nested/Cargo.toml", ""),
            ("fuzz/Cargo.toml", ""),
            ("xtask/Cargo.toml", "x"),
        ]);
        assert_eq!(
            tree.crates().collect::<Vec<_>>(),
            [("crates/ber", "ber", "b"), ("xtask", "xtask", "x")]
        );
    }
}
