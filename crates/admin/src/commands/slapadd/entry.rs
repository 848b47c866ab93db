//! Makes an entry for the store from an LDIF record: names resolved, schema checked, operational attributes added.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt::{self, Display},
    sync::Arc,
};

use ironbark_directory::stamp::StampBlock;
use ironbark_ldif::{FileResolver, Item, LdifValue, RecordLines, Resolver as _};
use ironbark_model::{
    AttributeDescription, Dn, Schema,
    schema::entry_check::{
        CheckedAttribute, EntryCheck, EntryError, allows_collective, check_naming_attribute, check_naming_types,
        former_class_of, naming_value_conflict, structural_class_of,
    },
};
use ironbark_runtime::{Randomness, RandomnessError};
use smallvec::smallvec;

use super::draft::{Draft, DraftAttribute};
use crate::shared::context_csn::sid_of;

/// How entries are checked and completed.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// `-s` and `-o schema-check=`.
    pub(super) schema_check: bool,
    /// `-o value-check=`.
    pub(super) value_check: bool,
    /// `-o remove-sids=`: the CSNs of these servers are replaced.
    pub(super) removed_sids: Vec<u16>,
}

/// A refused record, with slapd's text.
#[derive(Debug)]
pub(super) struct Refused {
    /// Further lines, printed before `message`.
    pub(super) details: String,
    /// The text after `slapadd: `.
    pub(super) message: String,
}

/// The stamp of an entry without CSN and times. CSNs rise in the order of the file, whichever thread makes them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'b> {
    pub(super) block: &'b StampBlock,
    /// Number of the record in the block.
    pub(super) number: u32,
    /// Number within the files that the record includes.
    pub(super) part: u32,
}

impl Stamp<'_> {
    fn csn(&self) -> String {
        self.block.csn(self.number, self.part)
    }
}

/// What the database of an entry says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home<'a> {
    /// The rootdn; `None` for `lastmod off`.
    pub(super) root: Option<&'a str>,
    /// Overlay dds deletes dynamic entries in time. Without it there may be none.
    pub(super) may_be_dynamic: bool,
}

/// The place of a record, as it is printed.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) line: u64,
    /// The URL of the included file.
    pub(super) url: Option<Arc<str>>,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.url {
            None => write!(f, "{}", self.line),
            Some(url) => write!(f, "{} of {url}", self.line),
        }
    }
}

/// Makes entries from records. Each thread has its own.
pub(super) struct Assembler {
    schema: Arc<Schema>,
    known: Known,
    rules: Rules,
    randomness: Randomness,
    descriptions: Descriptions,
    scratch: Vec<u8>,
}

/// Descriptions by their text, because they recur.
#[derive(Default)]
struct Descriptions {
    all: Vec<Described>,
    positions: HashMap<Box<[u8]>, usize>,
    /// The position of the last one that was found.
    last: usize,
}

/// A description.
struct Described {
    text: Box<[u8]>,
    description: AttributeDescription,
    /// Computed for each answer, and therefore not stored.
    computed: bool,
    /// The position of the one that came behind it: most entries have their attributes in one order.
    next: usize,
}

impl Descriptions {
    fn find(&mut self, text: &[u8]) -> Option<&Described> {
        let is_at = |position: usize| self.all.get(position).is_some_and(|one| *one.text == *text);
        let next = self.all.get(self.last)?.next;
        let position = if is_at(self.last) {
            self.last
        } else if is_at(next) {
            next
        } else {
            *self.positions.get(text)?
        };
        if position != self.last
            && let Some(last) = self.all.get_mut(self.last)
        {
            last.next = position;
        }
        self.last = position;
        self.all.get(position)
    }

    fn remember(&mut self, described: Described) {
        if self.all.len() < MAX_DESCRIPTIONS {
            self.positions.insert(described.text.clone(), self.all.len());
            self.all.push(described);
        }
    }
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
    /// Computed for each answer, and therefore not stored.
    computed: Vec<AttributeDescription>,
}

/// The most descriptions that are remembered: LDIF may hold any number of them.
const MAX_DESCRIPTIONS: usize = 4096;

impl Assembler {
    pub(super) fn new(schema: Arc<Schema>, rules: Rules) -> Result<Self, String> {
        let known = Known::of(&schema).ok_or("the schema lacks the built-in definitions")?;
        let (randomness, descriptions, scratch) = (Randomness::system(), Descriptions::default(), Vec::new());
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
    pub(super) fn name(&self, text: &[u8], place: &Place) -> Result<Dn, Refused> {
        Dn::parse(&self.schema, text).map_err(|_| {
            let shown = String::from_utf8_lossy(text);
            unparsable(&format!("str2entry: entry -1 has invalid DN \"{shown}\""), place)
        })
    }

    /// The attributes of a record whose `dn:` has been read.
    pub(super) fn attributes<'b>(
        &mut self,
        draft: &mut Draft<'b>,
        lines: &mut RecordLines<'b>,
        place: &Place,
    ) -> Result<(), Refused> {
        loop {
            let item = lines
                .next_item()
                .map_err(|error| unparsable(&error.to_string(), place))?;
            let found = match item {
                None => return Ok(()),
                Some(Item::Line(found)) => found,
                Some(Item::Separator) => return Err(unparsable("<= str2entry: a line with a dash alone", place)),
            };
            let value = match found.value {
                LdifValue::Plain(value) => Cow::Borrowed(value),
                LdifValue::Url(url) => {
                    let value = FileResolver::default().value(&String::from_utf8_lossy(url));
                    Cow::Owned(value.map_err(|reason| {
                        unparsable(
                            &format!("<= str2entry: {}: {reason}", String::from_utf8_lossy(url)),
                            place,
                        )
                    })?)
                }
            };
            self.add(draft, found.name, value, place)?;
        }
    }

    /// Adds one value as written.
    pub(super) fn add<'b>(
        &mut self,
        draft: &mut Draft<'b>,
        name: &[u8],
        value: Cow<'b, [u8]>,
        place: &Place,
    ) -> Result<(), Refused> {
        if let Some(found) = self.descriptions.find(name) {
            if !found.computed {
                draft.push(&found.description, value);
            }
            return Ok(());
        }
        let found = self.describe(name).map_err(|reason| {
            unparsable(
                &format!("<= str2entry: str2ad({}): {reason}", String::from_utf8_lossy(name)),
                place,
            )
        })?;
        if !found.computed {
            draft.push(&found.description, value);
        }
        self.descriptions.remember(found);
        Ok(())
    }

    fn describe(&self, name: &[u8]) -> Result<Described, &'static str> {
        let description = self
            .schema
            .attribute_description(name)
            .map_err(|_| "attribute type undefined")?;
        if !self.schema.is_storable(&description) {
            return Err("attribute description cannot be stored");
        }
        Ok(Described {
            text: name.into(),
            computed: self.known.computed.contains(&description),
            description,
            next: 0,
        })
    }

    /// Whether values are checked more than storing an entry requires.
    pub(super) fn checks_values(&self) -> bool {
        self.rules.value_check
    }

    /// As in slapd, a value must have a normal form where slapd makes one. Its syntax is checked only on request.
    pub(super) fn check_values(&mut self, draft: &Draft<'_>, place: &Place) -> Result<(), Refused> {
        for attribute in draft.attributes() {
            let attribute_type = self.schema.attribute_type(attribute.description.attribute_type);
            for value in &attribute.values {
                if self.rules.value_check && (attribute_type.syntax.validate)(&self.schema, value).is_err() {
                    let what = format!("invalid value of {}", attribute_type.name());
                    return Err(unparsable(&format!("<= str2entry NULL ({what} 21)"), place));
                }
                self.scratch.clear();
                let is_loaded = match attribute_type.equality {
                    None => true,
                    Some(rule) if value.is_empty() => rule.loads_empty_value(),
                    Some(rule) => {
                        (rule.normalize_value)(&self.schema, value, &mut self.scratch).is_ok() || rule.loads_any_value()
                    }
                };
                if !is_loaded {
                    return Err(self.no_normal_form(&attribute.description, place));
                }
            }
        }
        Ok(())
    }

    /// The refusal of a value that its equality rule does not accept.
    pub(super) fn no_normal_form(&self, description: &AttributeDescription, place: &Place) -> Refused {
        let name = self.schema.attribute_type(description.attribute_type).name();
        unparsable(&format!("<= str2entry NULL (smr_normalize {name} 21)"), place)
    }

    /// Checks the whole entry and adds its missing attributes.
    pub(super) fn complete(
        &mut self,
        draft: &mut Draft<'_>,
        home: Home<'_>,
        stamp: &Stamp<'_>,
        place: &Place,
    ) -> Result<(), Refused> {
        let named = |dn: &Dn, text: &dyn Display| Refused {
            details: String::new(),
            message: format!("dn=\"{}\" (line={place}): {text}", dn.pretty()),
        };
        if draft.values(&self.known.object_class).is_none() {
            return Err(named(&draft.dn, &"no objectClass attribute"));
        }
        if self.rules.value_check
            && let Some(name) = self.repeated_value(draft)
        {
            let text = format!("(20) {name}: value provided more than once");
            return Err(named(&draft.dn, &text));
        }
        if self.rules.schema_check {
            self.check_schema(draft, home)
                .map_err(|error| named(&draft.dn, &format!("({}) {error}", error.result_code.0)))?;
        }
        self.renew_csns(draft, stamp);
        if let Some(root) = home.root {
            self.add_operational(draft, root, stamp)
                .map_err(|error| named(&draft.dn, &error))?;
        }
        Ok(())
    }

    /// Checks the structural class, the values of the RDN, and RFC 4512's rules, in slapd's order. What the entry lacks
    /// of its name is added.
    fn check_schema(&self, draft: &mut Draft<'_>, home: Home<'_>) -> Result<(), EntryError> {
        let (schema, known) = (&*self.schema, &self.known);
        let structural = structural_class_of(schema, bytes(draft.values(&known.object_class)))?;
        let former_class = bytes(draft.values(&known.structural_object_class)).next();
        let former_class = former_class.map(|name| former_class_of(schema, name)).transpose()?;
        if former_class.is_none() {
            let name = schema.object_class(structural).name().as_bytes().to_vec();
            draft.set(&known.structural_object_class, smallvec![Cow::Owned(name)]);
        }
        check_naming_types(schema, &draft.dn)?;
        for (description, value) in draft.dn.leaf_assertions(schema) {
            check_naming_attribute(schema, &description, false)?;
            if draft.has(schema, &description, &value) {
                continue;
            }
            if draft.values(&description).is_some() && schema.attribute_type(description.attribute_type).single_value {
                return Err(naming_value_conflict(schema, &description));
            }
            draft.push(&description, Cow::Owned(value));
        }
        let attributes: Vec<_> = draft
            .attributes()
            .iter()
            .map(|attribute| CheckedAttribute {
                description: &attribute.description,
                value_count: attribute.values.len(),
            })
            .collect();
        let classes = || bytes(draft.values(&known.object_class));
        let check = EntryCheck {
            former_class,
            collective_allowed: allows_collective(schema, classes()),
            relax: false,
            may_be_dynamic: home.may_be_dynamic,
        };
        check.check_places(schema, &classes(), &attributes)?;
        check.check(schema, classes(), &attributes)?;
        Ok(())
    }

    /// The name of an attribute that has the same value twice.
    fn repeated_value(&self, draft: &Draft<'_>) -> Option<String> {
        draft.attributes().iter().find_map(|attribute: &DraftAttribute<'_>| {
            let rule = self
                .schema
                .attribute_type(attribute.description.attribute_type)
                .equality?;
            let mut seen = HashSet::new();
            let repeated = attribute.values.iter().any(|value| {
                let mut normal = Vec::new();
                (rule.normalize_value)(&self.schema, value, &mut normal).is_ok() && !seen.insert(normal)
            });
            repeated.then(|| self.schema.description_text(&attribute.description))
        })
    }

    /// `-o remove-sids=`.
    fn renew_csns(&self, draft: &mut Draft<'_>, stamp: &Stamp<'_>) {
        if self.rules.removed_sids.is_empty() {
            return;
        }
        let removed = |value: &[u8]| sid_of(value).is_some_and(|sid| self.rules.removed_sids.contains(&sid));
        if bytes(draft.values(&self.known.entry_csn)).any(removed) {
            draft.set(&self.known.entry_csn, smallvec![Cow::Owned(stamp.csn().into_bytes())]);
        }
        let Some(name) = &self.known.context_csn else { return };
        if let Some(values) = draft.values(name) {
            let kept = values.iter().filter(|value| !removed(value)).cloned().collect();
            draft.set(name, kept);
        }
    }

    fn add_operational(&self, draft: &mut Draft<'_>, root: &str, stamp: &Stamp<'_>) -> Result<(), RandomnessError> {
        let known = &self.known;
        let mut add = |description: &AttributeDescription,
                       value: &mut dyn FnMut() -> Result<String, RandomnessError>| {
            if draft.values(description).is_none() {
                draft.push(description, Cow::Owned(value()?.into_bytes()));
            }
            Ok::<(), RandomnessError>(())
        };
        add(&known.entry_uuid, &mut || {
            let uuid = self.randomness.uuid_v4()?;
            Ok(uuid.hyphenated().to_string())
        })?;
        add(&known.creators_name, &mut || Ok(root.to_owned()))?;
        add(&known.create_timestamp, &mut || Ok(stamp.block.time().to_owned()))?;
        add(&known.entry_csn, &mut || Ok(stamp.csn()))?;
        add(&known.modifiers_name, &mut || Ok(root.to_owned()))?;
        add(&known.modify_timestamp, &mut || Ok(stamp.block.time().to_owned()))
    }

    /// The entry's CSN.
    pub(super) fn entry_csn<'e>(&self, draft: &'e Draft<'_>) -> Option<&'e [u8]> {
        bytes(draft.values(&self.known.entry_csn)).next()
    }
}

/// The values of an attribute that may be missing.
fn bytes<'v>(values: Option<&'v [Cow<'_, [u8]>]>) -> impl Iterator<Item = &'v [u8]> + Clone {
    values.unwrap_or_default().iter().map(|value| &**value)
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
        })
    }
}

/// The refusal of a record that is not an entry.
pub(super) fn unparsable(details: &str, place: &dyn Display) -> Refused {
    Refused {
        details: details.to_owned(),
        message: format!("could not parse entry (line={place})"),
    }
}
