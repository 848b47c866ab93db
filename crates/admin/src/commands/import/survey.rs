//! The first pass over the data: what it names, so that configuration and schema can be made.

use std::{
    collections::BTreeSet,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use ironbark_ldif::{Attributes, LdifChange, LdifReader, LdifRecord, NoFiles, RecordKind};

use super::{
    locking::Roles,
    rules::{self, Action},
    source::{Marks, Source},
};

/// The most names that are remembered: schemas are far smaller.
const MOST_NAMES: usize = 100_000;
/// The most suffixes.
const MOST_SUFFIXES: usize = 1_000;

/// What the data names.
#[derive(Default, Debug)]
pub(super) struct Survey {
    pub(super) marks: Marks,
    /// Attribute types, in small letters.
    pub(super) types: BTreeSet<String>,
    /// Object classes, in small letters.
    pub(super) classes: BTreeSet<String>,
    /// The topmost names as written.
    pub(super) suffixes: Vec<String>,
    /// Roles of 389.
    pub(super) roles: Roles,
}

/// Takes an entry: its name, its content and its line.
pub(super) type Each<'e> = dyn FnMut(&[u8], Attributes, u64) -> Result<(), String> + 'e;

/// Reads records of a file one by one. Everything that goes wrong is told with file and line. A value that names a file
/// (`:< file:///etc/shadow`) is refused: the export is of another server, and no server writes such values.
///
/// # Errors
/// The file cannot be read, is not LDIF, or has changes instead of entries; or `each` fails.
pub(super) fn each_record(path: &Path, each: &mut Each<'_>) -> Result<(), String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut reader = LdifReader::new(BufReader::with_capacity(1 << 16, file), NoFiles);
    loop {
        match reader.read() {
            Ok(None) => return Ok(()),
            Ok(Some(LdifRecord { line, dn, kind, .. })) => match kind {
                RecordKind::Content(attributes)
                | RecordKind::Change {
                    change: LdifChange::Add(attributes),
                    ..
                } => each(&dn, attributes, line)?,
                RecordKind::Change { .. } => {
                    return Err(format!(
                        "{}: line {line}: a change, where an entry is expected",
                        path.display()
                    ));
                }
            },
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
}

/// A name in small letters without spaces beside separators: good enough to see what lies below what.
pub(super) fn plain(dn: &str) -> String {
    let mut text = String::with_capacity(dn.len());
    for one in dn.chars().flat_map(char::to_lowercase) {
        if one == ' ' && text.ends_with([',', '=']) {
            continue;
        }
        if matches!(one, ',' | '=') {
            text.truncate(text.trim_end_matches(' ').len());
        }
        text.push(one);
    }
    text
}

/// Whether a plain name is that of `base` or lies below it.
pub(super) fn is_within(dn: &str, base: &str) -> bool {
    dn.strip_suffix(base)
        .is_some_and(|rest| base.is_empty() || rest.is_empty() || rest.ends_with(','))
}

impl Survey {
    /// Reads all files.
    pub(super) fn of(files: &[PathBuf]) -> Result<Self, String> {
        let mut survey = Self::default();
        for file in files {
            let mut entries = 0_u64;
            each_record(file, &mut |dn, attributes, line| {
                entries += 1;
                survey
                    .entry(dn, &attributes)
                    .map_err(|text| format!("{}: line {line}: {text}", file.display()))
            })?;
            if entries == 0 {
                return Err(format!("{}: there are no entries in it", file.display()));
            }
        }
        Ok(survey)
    }

    fn entry(&mut self, dn: &[u8], attributes: &Attributes) -> Result<(), String> {
        let dn = std::str::from_utf8(dn).map_err(|_| "the name is not UTF-8".to_owned())?;
        let shown = plain(dn);
        let (mut types, mut classes) = (Vec::new(), Vec::new());
        for (name, value) in attributes {
            let name = base_name(name);
            self.marks.see(&name);
            if name == "objectclass" {
                classes.push(String::from_utf8_lossy(value).to_ascii_lowercase());
            } else {
                types.push(name);
            }
        }
        // What is left out in any case needs no schema.
        let is_tombstone =
            |class: &String| rules::find(Source::Ds389, |action| action == Action::DropEntry, class).is_some();
        if classes.iter().any(is_tombstone) || rules::of_name(Source::Ds389, &shown).is_some() {
            return Ok(());
        }
        self.roles.see(&shown, &classes, attributes)?;
        for class in classes {
            insert(&mut self.classes, class)?;
        }
        for name in types {
            insert(&mut self.types, name)?;
        }
        let rdn = shown.split(',').next().unwrap_or_default();
        for part in rdn.split('+') {
            if let Some((name, _)) = part.split_once('=') {
                insert(&mut self.types, name.to_owned())?;
            }
        }
        self.name(dn, &shown)
    }

    fn name(&mut self, dn: &str, shown: &str) -> Result<(), String> {
        if self.suffixes.iter().any(|suffix| is_within(shown, &plain(suffix))) {
            return Ok(());
        }
        self.suffixes.retain(|suffix| !is_within(&plain(suffix), shown));
        self.suffixes.push(dn.to_owned());
        if self.suffixes.len() > MOST_SUFFIXES {
            return Err("the data has no suffix: too many entries lack the entry above them".to_owned());
        }
        Ok(())
    }

    /// Whether an object class occurs; `name` in small letters.
    pub(super) fn has_class(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.classes.contains(*name))
    }
}

/// The attribute type of a description, in small letters.
pub(super) fn base_name(description: &[u8]) -> String {
    let name = description.split(|octet| *octet == b';').next().unwrap_or_default();
    String::from_utf8_lossy(name).to_ascii_lowercase()
}

fn insert(names: &mut BTreeSet<String>, name: String) -> Result<(), String> {
    names.insert(name);
    if names.len() > MOST_NAMES {
        return Err("the data names more attribute types or classes than any schema has".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_the_topmost_names() {
        let mut survey = Survey::default();
        for dn in ["ou=x, dc=a", "DC=a", "ou=y,dc=A", "o=b", "cn=1,o=B"] {
            survey.entry(dn.as_bytes(), &Vec::new()).unwrap();
        }
        assert_eq!(survey.suffixes, ["DC=a", "o=b"]);
        assert!(!is_within("xdc=a", "dc=a") && is_within("x=1,dc=a", "dc=a"));
    }
}
