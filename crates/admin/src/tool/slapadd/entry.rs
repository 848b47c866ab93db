//! From an LDIF record to an entry that can be stored: names resolved, schema checked, operational attributes added.

use std::sync::Arc;

use ironbark_ldif::{FileResolver, Item, RecordLines, Resolver as _, Value};
use ironbark_model::{
    Attribute, AttributeDescription, Dn, Entry, Schema,
    schema::{
        ClassNumber,
        entry_check::{CheckedAttribute, EntryCheck, structural_class_of},
    },
};
use ironbark_runtime::Randomness;
use rustc_hash::FxHashMap;

use super::stamp::Stamp;
use crate::tool::context_csn::sid_of;

/// How entries are checked and completed.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// `-s` and `-o schema-check=`.
    pub(super) schema_check: bool,
    /// `-o value-check=`.
    pub(super) value_check: bool,
    /// `-o remove-sids=`: CSNs of these servers are replaced.
    pub(super) removed_sids: Vec<u16>,
}

/// A refused record, in slapd's words.
#[derive(Debug)]
pub(super) struct Refused {
    /// Lines that say more, printed before `message`.
    pub(super) details: String,
    /// What is printed behind `slapadd: `.
    pub(super) message: String,
}

/// Makes entries of records. Each thread has its own.
pub(super) struct Assembler {
    schema: Arc<Schema>,
    known: Known,
    rules: Rules,
    randomness: Randomness,
    /// Descriptions by their text, as they come again and again.
    descriptions: FxHashMap<Box<[u8]>, AttributeDescription>,
    scratch: Vec<u8>,
}

/// Descriptions of the system schema that are needed by name.
struct Known {
    object_class: AttributeDescription,
    structural_object_class: AttributeDescription,
    entry_uuid: AttributeDescription,
    entry_csn: AttributeDescription,
    context_csn: Option<AttributeDescription>,
    creators_name: AttributeDescription,
    create_timestamp: AttributeDescription,
    modifiers_name: AttributeDescription,
    modify_timestamp: AttributeDescription,
    /// Computed for each answer, and so not stored.
    computed: Vec<AttributeDescription>,
    collective_subentry: Option<ClassNumber>,
}

/// Descriptions that are remembered at most: LDIF may hold any number of them.
const MAX_DESCRIPTIONS: usize = 4096;

impl Assembler {
    pub(super) fn new(schema: Arc<Schema>, rules: Rules) -> Result<Self, String> {
        let known = Known::of(&schema).ok_or("the schema lacks the built-in definitions")?;
        let (randomness, descriptions, scratch) = (Randomness::system(), FxHashMap::default(), Vec::new());
        Ok(Self {
            schema,
            known,
            rules,
            randomness,
            descriptions,
            scratch,
        })
    }

    /// The name of a record.
    pub(super) fn name(&self, text: &[u8], line: &str) -> Result<Dn, Refused> {
        Dn::parse(&self.schema, text).map_err(|_| {
            let shown = String::from_utf8_lossy(text);
            unparsable(&format!("str2entry: entry -1 has invalid DN \"{shown}\""), line)
        })
    }

    /// The attributes of a record whose `dn:` has been read.
    pub(super) fn attributes(&mut self, dn: Dn, lines: &mut RecordLines<'_>, line: &str) -> Result<Entry, Refused> {
        let mut entry = Entry::new(dn);
        loop {
            let item = lines
                .next_item()
                .map_err(|error| unparsable(&error.to_string(), line))?;
            let found = match item {
                None => return Ok(entry),
                Some(Item::Line(found)) => found,
                Some(Item::Separator) => return Err(unparsable("<= str2entry: a line with a dash alone", line)),
            };
            match found.value {
                Value::Plain(value) => self.add(&mut entry, found.name, value, line)?,
                Value::Url(url) => {
                    let value = FileResolver::default().value(&String::from_utf8_lossy(url));
                    let value = value.map_err(|reason| {
                        unparsable(
                            &format!("<= str2entry: {}: {reason}", String::from_utf8_lossy(url)),
                            line,
                        )
                    })?;
                    self.add(&mut entry, found.name, &value, line)?;
                }
            }
        }
    }

    /// Adds one value as it was written.
    pub(super) fn add(&mut self, entry: &mut Entry, name: &[u8], value: &[u8], line: &str) -> Result<(), Refused> {
        let description = self.description(name).map_err(|reason| {
            unparsable(
                &format!("<= str2entry: str2ad({}): {reason}", String::from_utf8_lossy(name)),
                line,
            )
        })?;
        if self.known.computed.contains(&description) {
            return Ok(());
        }
        self.check_value(&description, value, line)?;
        match entry
            .attributes
            .iter_mut()
            .find(|attribute| attribute.description == description)
        {
            Some(attribute) => attribute.values.push(value.to_vec()),
            None => entry.attributes.push(Attribute {
                description,
                values: vec![value.to_vec()],
            }),
        }
        Ok(())
    }

    fn description(&mut self, name: &[u8]) -> Result<AttributeDescription, &'static str> {
        if let Some(description) = self.descriptions.get(name) {
            return Ok(description.clone());
        }
        let description = self
            .schema
            .attribute_description(name)
            .map_err(|_| "attribute type undefined")?;
        if !self.schema.is_storable(&description) {
            return Err("attribute description cannot be stored");
        }
        if self.descriptions.len() < MAX_DESCRIPTIONS {
            self.descriptions.insert(name.into(), description.clone());
        }
        Ok(description)
    }

    /// As slapd: a value must have a normal form; its syntax is checked only if that is asked for.
    fn check_value(&mut self, description: &AttributeDescription, value: &[u8], line: &str) -> Result<(), Refused> {
        let attribute_type = self.schema.attribute_type(description.attribute_type);
        let refused = |what: &str| {
            Err(unparsable(
                &format!("<= str2entry NULL ({what} {} 21)", attribute_type.name()),
                line,
            ))
        };
        if self.rules.value_check && (attribute_type.syntax.validate)(&self.schema, value).is_err() {
            return refused("invalid value of");
        }
        let Some(rule) = attribute_type.equality.filter(|_| !value.is_empty()) else {
            return Ok(());
        };
        self.scratch.clear();
        if (rule.normalize_value)(&self.schema, value, &mut self.scratch).is_err() {
            return refused("smr_normalize");
        }
        Ok(())
    }

    /// Checks the whole entry and adds what is missing of it. `root` is the database's rootdn; `None` for `lastmod off`.
    pub(super) fn complete(
        &mut self,
        entry: &mut Entry,
        root: Option<&str>,
        stamp: &Stamp<'_>,
        line: &str,
    ) -> Result<(), Refused> {
        let named = |text: String| Refused {
            details: String::new(),
            message: format!("dn=\"{}\" (line={line}): {text}", entry.dn.pretty()),
        };
        if entry.attribute(&self.known.object_class).is_none() {
            return Err(named("no objectClass attribute".to_owned()));
        }
        if self.rules.value_check
            && let Some(name) = self.repeated_value(entry)
        {
            return Err(named(format!("(20) {name}: value provided more than once")));
        }
        if self.rules.schema_check {
            let dn = entry.dn.pretty().to_owned();
            self.check_schema(entry).map_err(|(code, text)| Refused {
                details: String::new(),
                message: format!("dn=\"{dn}\" (line={line}): ({code}) {text}"),
            })?;
        }
        self.renew_csns(entry, stamp);
        if let Some(root) = root {
            self.add_operational(entry, root, stamp).map_err(|error| Refused {
                details: String::new(),
                message: format!("dn=\"{}\" (line={line}): {error}", entry.dn.pretty()),
            })?;
        }
        Ok(())
    }

    /// The structural class, the values of the RDN, and RFC 4512's rules.
    fn check_schema(&self, entry: &mut Entry) -> Result<(), (u32, String)> {
        let known = &self.known;
        let classes = |entry: &Entry| {
            entry
                .attribute(&known.object_class)
                .map(|found| found.values.clone())
                .unwrap_or_default()
        };
        let values = classes(entry);
        let class_values = || values.iter().map(Vec::as_slice);
        let refused =
            |error: ironbark_model::schema::entry_check::EntryError| (error.result_code.0, error.diagnostic_message);
        let structural = structural_class_of(&self.schema, class_values()).map_err(refused)?;
        let former = entry
            .attribute(&known.structural_object_class)
            .and_then(|found| found.values.first());
        let former_class = former
            .and_then(|name| self.schema.find_object_class(name))
            .map(|class| class.number);
        if former.is_none() {
            let name = self.schema.object_class(structural).name().as_bytes().to_vec();
            entry.set_values(&known.structural_object_class, vec![name]);
        }
        for (description, value) in entry.dn.leaf_assertions(&self.schema) {
            entry.add_value(&self.schema, &description, &value);
        }
        let attributes: Vec<_> = entry
            .attributes
            .iter()
            .map(|attribute| CheckedAttribute {
                description: &attribute.description,
                value_count: attribute.values.len(),
            })
            .collect();
        let collective_allowed = known
            .collective_subentry
            .is_some_and(|class| entry.is_of_class(&self.schema, class));
        let check = EntryCheck {
            former_class,
            collective_allowed,
            relax: false,
        };
        check
            .check(&self.schema, class_values(), &attributes)
            .map_err(refused)?;
        Ok(())
    }

    /// The name of an attribute with the same value twice.
    fn repeated_value(&self, entry: &Entry) -> Option<String> {
        entry.attributes.iter().find_map(|attribute| {
            let rule = self
                .schema
                .attribute_type(attribute.description.attribute_type)
                .equality?;
            let mut seen = rustc_hash::FxHashSet::default();
            let repeated = attribute.values.iter().any(|value| {
                let mut normal = Vec::new();
                (rule.normalize_value)(&self.schema, value, &mut normal).is_ok() && !seen.insert(normal)
            });
            repeated.then(|| self.schema.description_text(&attribute.description))
        })
    }

    /// `-o remove-sids=`.
    fn renew_csns(&self, entry: &mut Entry, stamp: &Stamp<'_>) {
        if self.rules.removed_sids.is_empty() {
            return;
        }
        let removed = |value: &Vec<u8>| sid_of(value).is_some_and(|sid| self.rules.removed_sids.contains(&sid));
        if let Some(found) = entry
            .attribute_mut(&self.known.entry_csn)
            .filter(|found| found.values.iter().any(removed))
        {
            found.values = vec![stamp.csn().into_bytes()];
        }
        if let Some(found) = self.known.context_csn.as_ref().and_then(|name| entry.attribute(name)) {
            let kept = found.values.iter().filter(|value| !removed(value)).cloned().collect();
            let name = found.description.clone();
            entry.set_values(&name, kept);
        }
    }

    fn add_operational(&self, entry: &mut Entry, root: &str, stamp: &Stamp<'_>) -> Result<(), String> {
        let known = &self.known;
        let mut add = |description: &AttributeDescription, value: &mut dyn FnMut() -> Result<String, String>| {
            if entry.attribute(description).is_none() {
                entry.set_values(description, vec![value()?.into_bytes()]);
            }
            Ok::<(), String>(())
        };
        let uuid = || self.randomness.uuid_v4().map(|uuid| uuid.hyphenated().to_string());
        add(&known.entry_uuid, &mut || uuid().map_err(|error| error.to_string()))?;
        add(&known.creators_name, &mut || Ok(root.to_owned()))?;
        add(&known.create_timestamp, &mut || Ok(stamp.time.to_owned()))?;
        add(&known.entry_csn, &mut || Ok(stamp.csn()))?;
        add(&known.modifiers_name, &mut || Ok(root.to_owned()))?;
        add(&known.modify_timestamp, &mut || Ok(stamp.time.to_owned()))
    }

    /// The entry's CSN.
    pub(super) fn entry_csn<'e>(&self, entry: &'e Entry) -> Option<&'e [u8]> {
        entry
            .attribute(&self.known.entry_csn)?
            .values
            .first()
            .map(Vec::as_slice)
    }
}

impl Known {
    fn of(schema: &Schema) -> Option<Self> {
        let name = |text: &str| schema.attribute_description(text.as_bytes()).ok();
        Some(Self {
            object_class: name("objectClass")?,
            structural_object_class: name("structuralObjectClass")?,
            entry_uuid: name("entryUUID")?,
            entry_csn: name("entryCSN")?,
            context_csn: name("contextCSN"),
            creators_name: name("creatorsName")?,
            create_timestamp: name("createTimestamp")?,
            modifiers_name: name("modifiersName")?,
            modify_timestamp: name("modifyTimestamp")?,
            computed: ["entryDN", "subschemaSubentry", "hasSubordinates"]
                .into_iter()
                .filter_map(name)
                .collect(),
            collective_subentry: schema
                .find_object_class(b"collectiveAttributeSubentry")
                .map(|class| class.number),
        })
    }
}

/// A record that is no entry.
pub(super) fn unparsable(details: &str, line: &str) -> Refused {
    Refused {
        details: details.to_owned(),
        message: format!("could not parse entry (line={line})"),
    }
}
