//! Definitions of the old server's schema that the data needs and that are not built in.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use ironbark_model::{
    Schema, matching,
    schema::{AttributeTypeDefinition, ObjectClassDefinition},
};

use super::{
    rules::{self, Action},
    source::Source,
    survey::{Survey, base_name, each_record},
};

/// Definitions by each of their names and OIDs, in small letters.
#[derive(Default, Debug)]
pub(super) struct Candidates {
    types: BTreeMap<String, AttributeTypeDefinition>,
    classes: BTreeMap<String, ObjectClassDefinition>,
    /// Definitions that cannot be read.
    pub(super) unreadable: Vec<String>,
}

/// The definitions that are added.
#[derive(Default, Debug)]
pub(super) struct Imported {
    /// The text of imported.schema.
    pub(super) text: String,
    pub(super) types: usize,
    pub(super) classes: usize,
    /// What was changed in them.
    pub(super) changes: Vec<String>,
}

/// The longest chain of superiors that is followed. Real schemas have a handful.
const MOST_SUPERIORS: usize = 100;
/// The syntax that takes the place of one that does not exist here: Octet String, which holds any value.
const ANY_VALUE: &str = "1.3.6.1.4.1.1466.115.121.1.40";
/// Syntaxes of other servers and what serves here.
const SYNTAXES: &[(&str, &str)] = &[
    // Binary: octets.
    ("1.3.6.1.4.1.1466.115.121.1.5", ANY_VALUE),
    // OpenDJ: user passwords, JSON texts.
    ("1.3.6.1.4.1.26027.1.3.1", ANY_VALUE),
    ("1.3.6.1.4.1.36733.2.1.3.1", "1.3.6.1.4.1.1466.115.121.1.15"),
    ("1.3.6.1.4.1.36733.2.1.3.2", "1.3.6.1.4.1.1466.115.121.1.15"),
];

impl Candidates {
    /// Reads files of cn=schema, and folders of them.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, String> {
        let mut candidates = Self::default();
        for path in paths {
            if !path.is_dir() {
                if candidates.file(path)? == 0 {
                    let path = path.display();
                    return Err(format!(
                        "{path}: there are no attributeTypes and no objectClasses in it"
                    ));
                }
                continue;
            }
            let failed = |error: std::io::Error| format!("{}: {error}", path.display());
            let mut files = Vec::new();
            for entry in fs::read_dir(path).map_err(failed)? {
                files.push(entry.map_err(failed)?.path());
            }
            files.retain(|file| file.extension().is_some_and(|ending| ending == "ldif"));
            files.sort();
            if files.is_empty() {
                return Err(format!("{}: there is no file NAME.ldif in it", path.display()));
            }
            for file in files {
                candidates.file(&file)?;
            }
        }
        Ok(candidates)
    }

    /// Reads a file. Returns the number of its definitions.
    fn file(&mut self, path: &Path) -> Result<usize, String> {
        let mut definitions = 0;
        each_record(path, &mut |_, attributes, _| {
            for (name, value) in &attributes {
                let text = String::from_utf8_lossy(value);
                // cn=config of OpenLDAP numbers its values.
                let text = text.get(text.find('(').unwrap_or_default()..).unwrap_or_default();
                match base_name(name).as_str() {
                    "attributetypes" | "olcattributetypes" => self.attribute_type(text),
                    "objectclasses" | "olcobjectclasses" => self.object_class(text),
                    _ => continue,
                }
                definitions += 1;
            }
            Ok(())
        })?;
        Ok(definitions)
    }

    fn attribute_type(&mut self, text: &str) {
        match AttributeTypeDefinition::parse(text) {
            Ok(definition) => {
                let common = &definition.common;
                for name in common.names.iter().chain([&common.oid]) {
                    self.types.insert(name.to_ascii_lowercase(), definition.clone());
                }
            }
            Err(error) => self.unreadable.push(format!("{text}: {error}")),
        }
    }

    fn object_class(&mut self, text: &str) {
        match ObjectClassDefinition::parse(text) {
            Ok(definition) => {
                let common = &definition.common;
                for name in common.names.iter().chain([&common.oid]) {
                    self.classes.insert(name.to_ascii_lowercase(), definition.clone());
                }
            }
            Err(error) => self.unreadable.push(format!("{text}: {error}")),
        }
    }

    /// Chooses what the data uses and the schema lacks.
    pub(super) fn choose(&self, source: Source, survey: &Survey, schema: &Schema) -> Imported {
        let mut choice = Choice {
            candidates: self,
            schema,
            made: Imported::default(),
            done: BTreeSet::new(),
            type_depth: 0,
            class_depth: 0,
        };
        let is_dropped = |name: &String| rules::find(source, |action| action == Action::DropClass, name).is_some();
        for name in survey.classes.iter().filter(|name| !is_dropped(name)) {
            choice.class(name);
        }
        for name in survey.types.iter().filter(|name| !rules::leaves_out(source, name)) {
            choice.attribute_type(name);
        }
        choice.made
    }
}

struct Choice<'c> {
    candidates: &'c Candidates,
    schema: &'c Schema,
    made: Imported,
    /// OIDs that are written, or cannot be.
    done: BTreeSet<String>,
    /// Superiors of types, and of classes, that are being followed.
    type_depth: usize,
    class_depth: usize,
}

impl Choice<'_> {
    /// Whether the type is there, or is now.
    fn attribute_type(&mut self, name: &str) -> bool {
        if self.schema.find_attribute_type(name.as_bytes()).is_some() {
            return true;
        }
        let Some(definition) = self.candidates.types.get(&name.to_ascii_lowercase()) else {
            return false;
        };
        let oid = definition.common.oid.to_string();
        if self.schema.find_attribute_type(oid.as_bytes()).is_some() {
            return self.has_other_name("attribute type", name, &oid);
        }
        if self.type_depth == MOST_SUPERIORS {
            return self.has_too_many_superiors("attribute type", name);
        }
        if !self.done.insert(format!("type {oid}")) {
            return true;
        }
        let mut definition = definition.clone();
        self.type_depth += 1;
        self.adapt(&mut definition);
        self.type_depth -= 1;
        let text = definition.print(&|oid| oid.to_owned());
        let _ = writeln!(self.made.text, "attributetype {}\n", folded(&text));
        self.made.types += 1;
        true
    }

    fn has_other_name(&mut self, kind: &str, name: &str, oid: &str) -> bool {
        let text = format!("{kind} `{name}`: its OID {oid} has another name here, so it is not added");
        if !self.made.changes.contains(&text) {
            self.made.changes.push(text);
        }
        false
    }

    fn has_too_many_superiors(&mut self, kind: &str, name: &str) -> bool {
        let text = format!("{kind} `{name}`: more than {MOST_SUPERIORS} others are below it, so it is not added");
        self.made.changes.push(text);
        false
    }

    /// Replaces what does not exist here.
    fn adapt(&mut self, definition: &mut AttributeTypeDefinition) {
        let name = definition
            .common
            .names
            .first()
            .unwrap_or(&definition.common.oid)
            .to_string();
        if let Some(superior) = definition.superior.clone()
            && !self.attribute_type(&superior)
        {
            definition.superior = None;
            self.made
                .changes
                .push(format!("`{name}`: its superior `{superior}` is unknown and left out"));
        }
        if let Some(syntax) = definition.syntax.clone() {
            let replacement = SYNTAXES.iter().find(|(known, _)| **known == *syntax).map(|(_, to)| *to);
            let replacement = replacement.or_else(|| self.schema.find_syntax(&syntax).is_none().then_some(ANY_VALUE));
            if let Some(to) = replacement {
                self.made
                    .changes
                    .push(format!("`{name}`: syntax {syntax} becomes {to}"));
                definition.syntax = Some(to.into());
                definition.minimum_upper_bound = None;
                (definition.equality, definition.ordering, definition.substrings) = (None, None, None);
                if to == ANY_VALUE {
                    definition.equality = Some("octetStringMatch".into());
                }
            }
        } else if definition.superior.is_none() {
            definition.syntax = Some("1.3.6.1.4.1.1466.115.121.1.15".into());
            self.made
                .changes
                .push(format!("`{name}`: has no syntax, and gets that of texts"));
        }
        for rule in [
            &mut definition.equality,
            &mut definition.ordering,
            &mut definition.substrings,
        ] {
            if rule
                .as_ref()
                .is_some_and(|rule| matching::find(rule.as_bytes()).is_none())
            {
                let rule = rule.take().unwrap_or_default();
                self.made
                    .changes
                    .push(format!("`{name}`: matching rule {rule} is unknown and left out"));
            }
        }
        // cn=schema of other servers marks attributes that only they write.
        definition.no_user_modification = false;
    }

    fn class(&mut self, name: &str) -> bool {
        if self.schema.find_object_class(name.as_bytes()).is_some() {
            return true;
        }
        let Some(definition) = self.candidates.classes.get(&name.to_ascii_lowercase()) else {
            return false;
        };
        let oid = definition.common.oid.to_string();
        if self.schema.find_object_class(oid.as_bytes()).is_some() {
            return self.has_other_name("object class", name, &oid);
        }
        if self.class_depth == MOST_SUPERIORS {
            return self.has_too_many_superiors("object class", name);
        }
        if !self.done.insert(format!("class {oid}")) {
            return true;
        }
        let mut definition = definition.clone();
        self.class_depth += 1;
        definition.superiors.retain(|superior| self.class(superior));
        self.class_depth -= 1;
        for list in [&mut definition.must, &mut definition.may] {
            list.retain(|attribute| {
                let is_there = self.attribute_type(attribute);
                if !is_there {
                    let text = format!("class `{name}`: attribute `{attribute}` is unknown and left out");
                    self.made.changes.push(text);
                }
                is_there
            });
        }
        let text = definition.print(&|oid| oid.to_owned());
        let _ = writeln!(self.made.text, "objectclass {}\n", folded(&text));
        self.made.classes += 1;
        true
    }
}

/// A definition on lines of its own: each element that begins with a keyword of lists goes to a new line. A line end in
/// a description would end the statement of slapd.conf.
fn folded(text: &str) -> String {
    [" SUP ", " EQUALITY ", " SYNTAX ", " MUST ", " MAY "]
        .iter()
        .fold(text.replace(char::is_control, " "), |text, keyword| {
            text.replacen(keyword, &format!("\n {keyword}"), 1)
        })
}
