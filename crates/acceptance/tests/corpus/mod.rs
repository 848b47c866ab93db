//! Files of the kinds that public repositories have, beside Debian's slapd: configurations, schema files and data. Both
//! servers take each file, or both refuse it; each reads what the other one has made of it.
//!
//! The files are written for this test. In them stand `@FOLDER@` (the folder of one test), `@SCHEMA@` and `@MODULES@`
//! (schema files and modules of Debian's slapd) and `@CORPUS@` (this folder). A file whose name begins with `refused-`
//! is refused by both, one that begins with `lenient-` by slapd alone.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod configurations;
mod data;
mod schemas;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use ironbark_testkit::{Flavor, Layout, NormalizedLdif, Tool, difference, repository_root};

/// What a check of one file says; the error is for a reader.
type Checked<T = ()> = Result<T, Box<dyn Error>>;

/// A file of the corpus.
struct CorpusFile {
    name: String,
    content: Vec<u8>,
}

impl CorpusFile {
    /// Whether a server refuses it.
    fn is_refused_by(&self, flavor: Flavor) -> bool {
        self.name.starts_with("refused-") || (flavor == Flavor::OpenLdap && self.name.starts_with("lenient-"))
    }

    /// Whether it is LDIF.
    fn is_ldif(&self) -> bool {
        Path::new(&self.name)
            .extension()
            .is_some_and(|extension| extension == "ldif")
    }

    /// Writes it into the folder of a test, without placeholders; its path.
    fn write(&self, layout: &Layout) -> Checked<String> {
        let path = layout.write(&self.name, filled(layout, &self.content))?;
        Ok(path.display().to_string())
    }
}

/// Checks all files of a folder, and tells of all that fail.
fn check_all(folder: &str, check: impl Fn(&CorpusFile) -> Checked + Sync) {
    Flavor::Ironbark.program().unwrap();
    let files = files(&corpus().join(folder));
    let (queue, failures) = (Mutex::new(files.iter()), Mutex::new(Vec::new()));
    let work = || {
        while let Some(file) = { queue.lock().unwrap().next() } {
            if let Err(failure) = check(file) {
                failures.lock().unwrap().push(format!("{}: {failure}", file.name));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    let (failed, all) = (failures.len(), files.len());
    assert!(
        failures.is_empty(),
        "{failed} of {all} files\n{}",
        failures.join("\n\n")
    );
}

/// The files directly in a folder, by name.
fn files(folder: &Path) -> Vec<CorpusFile> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<CorpusFile> = paths
        .filter(|path| path.is_file())
        .map(|path| CorpusFile {
            name: path.file_name().unwrap().to_str().unwrap().to_owned(),
            content: fs::read(&path).unwrap(),
        })
        .collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

/// A text with its placeholders filled. It may be in any character set.
fn filled(layout: &Layout, content: &[u8]) -> Vec<u8> {
    let text: String = content.iter().copied().map(char::from).collect();
    let text = text
        .replace("@FOLDER@", &layout.path().display().to_string())
        .replace("@SCHEMA@", &Flavor::OpenLdap.schema_dir().display().to_string())
        .replace("@MODULES@", MODULES)
        .replace("@CORPUS@", &corpus().display().to_string());
    text.chars().map(|character| u8::try_from(character).unwrap()).collect()
}

fn corpus() -> PathBuf {
    repository_root().join("crates/acceptance/tests/corpus")
}

/// Makes these folders anew: each server begins with its own databases.
fn empty(layout: &Layout, folders: &[&str]) -> Checked {
    for folder in folders {
        let path = layout.make_dir(folder)?;
        fs::remove_dir_all(path)?;
        layout.make_dir(folder)?;
    }
    Ok(())
}

/// An export of the database at `dc=example,dc=com`, or of another one by `which`.
fn exported(flavor: Flavor, source: &[&str], which: &[&str]) -> Checked<String> {
    let arguments = [source, which, &["-o", "ldif-wrap=no"]].concat();
    Ok(Tool::Cat.run(flavor, &arguments, "")?.success()?.stdout)
}

/// Two texts of LDIF say the same, but for some attributes.
fn assert_alike(what: &str, theirs: &str, ours: &str, without: &[&str]) -> Checked {
    let normal = |text: &str| NormalizedLdif::new(text).without(without).to_string();
    let (theirs, ours) = (normal(theirs), normal(ours));
    if theirs == ours {
        return Ok(());
    }
    Err(format!("{what}\n{}", difference("slapd", &theirs, "ours", &ours)).into())
}

const MODULES: &str = "/usr/lib/ldap";

/// The entries of the data belong to this database.
const SUFFIX: [&str; 2] = ["-b", "dc=example,dc=com"];
