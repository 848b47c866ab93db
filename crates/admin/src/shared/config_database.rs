//! slapcat, slapadd and slapmodify on cn=config (`-n 0`, `-b cn=config`): the configuration directory itself.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use ironbark_config::{
    ConfigError,
    olc::{self, AttributeChange, AttributeChangeKind, ChangeError, Folder, Tree},
};
use ironbark_ldif::{
    FileResolver, LdifChange, LdifError, LdifErrorKind, LdifReader, LdifRecord, LdifWriter, ModifyKind, RecordKind,
};
use ironbark_model::{Attribute, Dn, Entry, ResultCode, Schema};
use ironbark_overlays::registry;
use ironbark_server::{new_stamps, stamp, usual_folder};

use super::{chosen::read_configuration, filter::Selection, load_options::LoadOptions, options::Options, owner};

/// Whether a command line is about cn=config.
pub(crate) fn is_chosen(options: &Options) -> bool {
    let is_config = |text: &String| {
        Dn::parse(registry().base_schema(), text.as_bytes()).is_ok_and(|dn| dn.ancestor(1).normalized() == b"cn=config")
    };
    options.number == Some(0) || options.suffix.as_ref().is_some_and(is_config)
}

/// Writes cn=config as LDIF, an entry at a time.
///
/// # Errors
/// The message for the user, or the error of `out`.
pub(crate) fn cat<E: From<String>>(
    options: &Options,
    writer: LdifWriter,
    out: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let loaded = read_configuration(options)?;
    let selection = Selection::new(options, &loaded.configuration)?;
    let schema = &*loaded.configuration.schema;
    // A directory is shown as stored, without the parts that the server adds.
    let tree = loaded.stored.as_ref().unwrap_or(&loaded.tree);
    for entry in tree.entries(schema) {
        if selection.holds_entry(schema, &entry) {
            let mut text = Vec::new();
            writer.entry(&mut text, schema, &entry);
            out(&text)?;
        }
    }
    Ok(())
}

/// A configuration directory that is being changed.
struct Changes<'o> {
    options: &'o Options,
    folder: Folder,
    /// The content of the files.
    stored: Option<Tree>,
    /// The content after the changes.
    tree: Option<Tree>,
}

/// Why a record is refused.
enum Refusal {
    /// The record cannot be read, or breaks the schema. Under `-c` slapadd skips it, as for any database.
    Record(String),
    /// The configuration does not allow the change.
    Change(String),
}

/// slapadd and slapmodify: apply LDIF to a configuration directory, record by record. If a record is refused, nothing
/// is written. With `-c` the record is skipped, and the result is false.
///
/// # Errors
/// The message for the user.
pub(crate) fn change(options: &Options, load: &LoadOptions, modifies: bool) -> Result<bool, String> {
    let changes = Changes::open(options, modifies)?;
    let input: Box<dyn BufRead> = match &options.file {
        None => Box::new(io::stdin().lock()),
        Some(path) => Box::new(BufReader::new(
            File::open(path).map_err(|error| format!("{}: {error}", path.display()))?,
        )),
    };
    let mut reader = LdifReader::new(input, FileResolver::default());
    if modifies {
        reader = reader.with_modify_by_default();
    }
    changes.all(load.first_line, modifies, &mut || reader.read())
}

/// Applies records to an existing configuration directory, which `options` name.
///
/// # Errors
/// The message for the user; nothing is written then.
pub(crate) fn apply(options: &Options, next: &mut NextRecord<'_>) -> Result<bool, String> {
    Changes::open(options, true)?.all(0, true, next)
}

/// Gives the next record of LDIF; `None` at the end.
pub(crate) type NextRecord<'r> = dyn FnMut() -> Result<Option<LdifRecord>, LdifError> + 'r;

impl Changes<'_> {
    fn all(mut self, first_line: u64, modifies: bool, next: &mut NextRecord<'_>) -> Result<bool, String> {
        let options = self.options;
        let mut is_clean = true;
        loop {
            let record = match next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) if options.keep_going == 0 || matches!(error.kind, LdifErrorKind::Read(_)) => {
                    return Err(format!("{}: {error}", options.program));
                }
                Err(error) => {
                    eprintln!("{}: {error}", options.program);
                    is_clean &= !modifies;
                    continue;
                }
            };
            if record.line < first_line {
                continue;
            }
            let line = record.line;
            if let Err(refusal) = self.record(&record) {
                let dn = String::from_utf8_lossy(&record.dn).into_owned();
                let (text, counts) = match refusal {
                    Refusal::Record(text) => (text, modifies),
                    Refusal::Change(text) => (text, true),
                };
                let text = format!("{}: dn=\"{dn}\" (line={line}): {text}", options.program);
                if options.keep_going == 0 {
                    return Err(text);
                }
                eprintln!("{text}");
                is_clean &= !counts;
            }
        }
        self.finish()?;
        Ok(is_clean)
    }
}

impl<'o> Changes<'o> {
    fn open(options: &'o Options, modifies: bool) -> Result<Self, String> {
        if options.config_file.is_some() {
            let loaded = read_configuration(options)?;
            let Some(folder) = loaded.folder else {
                return Err(format!(
                    "{}: the configuration is a slapd.conf file: give a configuration directory with -F",
                    options.program
                ));
            };
            return Ok(Self {
                options,
                folder,
                stored: loaded.stored.clone(),
                tree: Some(loaded.tree),
            });
        }
        let path = options.config_directory.clone().unwrap_or_else(usual_folder);
        if !Path::new(&path).is_dir() {
            return Err(format!("{}: {}: no such directory", options.program, path.display()));
        }
        let folder = Folder::new(path, &registry());
        if !options.dry_run {
            // Before it is read: a server beside this tool would not notice the change, and undo it.
            if modifies {
                let claimed = folder.claim();
                claimed.map_err(|error| format!("{}: {error}", options.program))?;
            } else if let Some(error) = folder.claim_to_add() {
                // Scripts of images add schemas so, and start the server again.
                eprintln!(
                    "{}: warning: {error}; it will see the new entries when it starts again",
                    options.program
                );
            }
        }
        if !folder.holds_configuration() {
            if modifies {
                return Err(format!(
                    "{}: {}: holds no configuration",
                    options.program,
                    folder.path().display()
                ));
            }
            return Ok(Self {
                options,
                folder,
                stored: None,
                tree: None,
            });
        }
        let (stored, notices) = folder.read().map_err(|error| error.to_string())?;
        for notice in notices {
            eprintln!("{notice}");
        }
        // As in slapd, the entries that every server has exist already: they can be changed, and other entries can be
        // added below them.
        let mut tree = stored.clone();
        tree.complete();
        let schema = whole(&tree).map_err(|error| error.to_string())?.schema;
        stamp(&mut tree, &schema).map_err(|error| error.to_string())?;
        Ok(Self {
            options,
            folder,
            stored: Some(stored),
            tree: Some(tree),
        })
    }

    /// Applies one record, and checks the new configuration.
    fn record(&mut self, record: &LdifRecord) -> Result<(), Refusal> {
        let change = |error: ConfigError| Refusal::Change(error.to_string());
        let schema = match &self.tree {
            Some(tree) => whole(tree).map_err(change)?.schema,
            None => registry().base_schema().clone(),
        };
        let changed = self.changed(&schema, record)?;
        whole(&changed).map_err(change)?;
        self.tree = Some(changed);
        Ok(())
    }

    fn changed(&self, schema: &Schema, record: &LdifRecord) -> Result<Tree, Refusal> {
        let author = self.tree.as_ref().and_then(root_dn);
        let stamps =
            new_stamps(author.as_deref().unwrap_or("cn=config")).map_err(|error| Refusal::Change(error.to_string()))?;
        let dn = Dn::parse(schema, &record.dn).map_err(|_| Refusal::Record("invalid DN".to_owned()))?;
        let is_outside = dn.ancestor(1).normalized() != b"cn=config";
        let refused = |error: ChangeError| {
            let code = error.result_code;
            let text = match error.diagnostic_message.as_str() {
                "" => format!("result code {}", code.0),
                text => format!("{text} (result code {})", code.0),
            };
            if is_outside || code == ResultCode::OBJECT_CLASS_VIOLATION {
                Refusal::Record(text)
            } else {
                Refusal::Change(text)
            }
        };
        let attributes = match &record.kind {
            RecordKind::Content(attributes)
            | RecordKind::Change {
                change: LdifChange::Add(attributes),
                ..
            } => attributes,
            RecordKind::Change { change, .. } => {
                let tree = self.tree.as_ref();
                let tree = tree.ok_or_else(|| Refusal::Change("there is no configuration yet".to_owned()))?;
                let changed = other_change(tree, schema, &dn, change, &stamps).map_err(Refusal::Record)?;
                return changed.map_err(refused);
            }
        };
        let entry = entry_of(schema, dn, attributes).map_err(Refusal::Record)?;
        match &self.tree {
            Some(tree) => tree.add(schema, &entry, &stamps),
            None => Tree::begin(&registry(), schema, &entry, &stamps),
        }
        .map_err(refused)
    }

    fn finish(self) -> Result<(), String> {
        let Some(tree) = self.tree.filter(|_| !self.options.dry_run) else {
            return Ok(());
        };
        let written = self.folder.write(self.stored.as_ref(), &tree);
        if let Some(error) = written.map_err(|error| error.to_string())? {
            eprintln!(
                "{}: the next change will finish this one: {error}",
                self.options.program
            );
        }
        owner::adopt_folder(self.folder.path()).map_err(|error| format!("{}: {error}", self.folder.path().display()))
    }
}

/// The rootdn of cn=config, if the tree names one. It is the author of the changes.
fn root_dn(tree: &Tree) -> Option<String> {
    let mut databases = tree.root.children.iter();
    let config = databases.find(|node| node.is_named("olcDatabase", "config"))?;
    config.texts("olcRootDN").next().map(str::to_owned)
}

/// The configuration of a tree, with the parts that the server adds.
fn whole(tree: &Tree) -> Result<ironbark_config::LoadedConfiguration, ironbark_config::ConfigError> {
    let mut tree = tree.clone();
    tree.complete();
    olc::load(&tree)
}

fn other_change(
    tree: &Tree,
    schema: &Schema,
    dn: &Dn,
    change: &LdifChange,
    stamps: &olc::Stamps,
) -> Result<Result<Tree, ChangeError>, String> {
    let parse = |text: &[u8]| Dn::parse(schema, text).map_err(|_| "invalid DN".to_owned());
    Ok(match change {
        LdifChange::Add(_) => return Err("an add is no other change".to_owned()),
        LdifChange::Delete => tree.delete(schema, dn),
        LdifChange::Modify(modifications) => {
            let modifications = modifications.iter().map(|one| {
                Ok(AttributeChange {
                    kind: match one.kind {
                        ModifyKind::Add => AttributeChangeKind::Add,
                        ModifyKind::Delete => AttributeChangeKind::Delete,
                        ModifyKind::Replace => AttributeChangeKind::Replace,
                        ModifyKind::Increment => return Err("increment: not supported in cn=config".to_owned()),
                    },
                    attribute: String::from_utf8_lossy(&one.attribute).into_owned(),
                    values: one.values.clone(),
                })
            });
            tree.modify(schema, dn, &modifications.collect::<Result<Vec<_>, String>>()?, stamps)
        }
        LdifChange::ModifyDn {
            new_rdn, new_superior, ..
        } => {
            let superior = new_superior.as_deref().map(parse).transpose()?;
            tree.rename(schema, dn, &parse(new_rdn)?, superior.as_ref(), stamps)
        }
    })
}

fn entry_of(schema: &Schema, dn: Dn, attributes: &[(Vec<u8>, Vec<u8>)]) -> Result<Entry, String> {
    let mut entry = Entry::new(dn);
    for (name, value) in attributes {
        let description = schema
            .attribute_description(name)
            .map_err(|error| format!("{}: {error}", String::from_utf8_lossy(name)))?;
        let known = entry
            .attributes
            .iter_mut()
            .find(|known| known.description == description);
        match known {
            Some(known) => known.values.push(value.clone()),
            None => entry.attributes.push(Attribute {
                description,
                values: vec![value.clone()],
            }),
        }
    }
    Ok(entry)
}
