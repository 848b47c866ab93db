//! One LDIF record on its way to a database: parsed, assigned to a database, checked, prepared. Runs on any thread.

use std::{borrow::Cow, sync::Arc};

use ironbark_directory::stamp::StampBlock;
use ironbark_ldif::{LdifLine, LdifRecord, LdifValue, RecordKind, RecordLines, Start};
use ironbark_model::{Dn, Entry};
use ironbark_store::{PreparedEntry, Preparer, Preparers, Unprepared};

use super::{
    draft::Draft,
    entry::{Assembler, Home, Place, Refused, Rules, Stamp, unparsable},
};
use crate::shared::chosen::{Chosen, keeps_dynamic_entries};

/// The parts of the load that the threads need.
pub(super) struct Plan {
    pub(super) chosen: Chosen,
    pub(super) rules: Rules,
    /// Records that begin before this line are skipped.
    pub(super) first_line: u64,
    /// One for each chosen database. `None`: entries go through transactions, or are not stored.
    pub(super) preparers: Vec<Option<Preparers>>,
    /// For each chosen database, whether a server adds the entries.
    pub(super) served: Vec<bool>,
    /// Whether CSNs are collected.
    pub(super) collects_csns: bool,
}

/// The result of a record.
pub(super) enum Item {
    /// An entry, ready to be stored.
    Entry(Box<Ready>),
    /// `include:`; the number is its count in the block.
    Include { url: String, line: u64, count: u32 },
    /// The record is refused.
    Refused(Refused),
}

/// An entry, ready to be stored.
pub(super) struct Ready {
    pub(super) place: Place,
    /// Position among the chosen databases.
    pub(super) target: usize,
    pub(super) content: Content,
    /// Its CSN, if those are collected.
    pub(super) csn: Option<Box<[u8]>>,
}

/// The form in which it is stored.
pub(super) enum Content {
    /// For a bulk build.
    Prepared(PreparedEntry),
    /// For a transaction.
    Plain(Entry),
}

impl Ready {
    /// The name.
    pub(super) fn dn(&self) -> &str {
        match &self.content {
            Content::Prepared(entry) => entry.dn().pretty(),
            Content::Plain(entry) => entry.dn.pretty(),
        }
    }
}

/// Makes items from records. Each thread has its own.
pub(super) struct RecordReader {
    plan: Arc<Plan>,
    assembler: Assembler,
    /// One for each chosen database that is built in bulk.
    preparers: Vec<Option<Preparer>>,
}

impl RecordReader {
    pub(super) fn new(plan: &Arc<Plan>) -> Result<Self, String> {
        let assembler = Assembler::new(Arc::clone(plan.chosen.schema()), plan.rules.clone())?;
        let own = |preparers: &Option<Preparers>| preparers.as_ref().map(Preparers::preparer);
        Ok(Self {
            plan: Arc::clone(plan),
            assembler,
            preparers: plan.preparers.iter().map(own).collect(),
        })
    }

    /// Reads the record in `lines`. Appends one item; none for a record of comments; several for an `include:`.
    pub(super) fn read(
        &mut self,
        mut lines: RecordLines<'_>,
        stamp: &StampBlock,
        count: &mut u32,
        out: &mut Vec<Item>,
    ) {
        loop {
            // Counted as in slapd: comments before the name belong to the record.
            let line = lines.line();
            *count += 1;
            match lines.start_anywhere() {
                Ok(Start::Empty) => return,
                Ok(Start::Dn(_)) if line < self.plan.first_line => return,
                Ok(Start::Dn(dn)) => {
                    out.push(match self.entry(dn, &mut lines, line, stamp, *count) {
                        Ok(ready) => Item::Entry(Box::new(ready)),
                        Err(refused) => Item::Refused(refused),
                    });
                    return;
                }
                Ok(Start::Include(include)) => {
                    let (LdifValue::Plain(url) | LdifValue::Url(url)) = include.value;
                    let url = String::from_utf8_lossy(url).into_owned();
                    if include.number >= self.plan.first_line {
                        out.push(Item::Include {
                            url,
                            line: include.number,
                            count: *count,
                        });
                    }
                }
                Err(_) if line < self.plan.first_line => return,
                Err(error) => {
                    out.push(Item::Refused(unparsable(&error.to_string(), &line)));
                    return;
                }
            }
        }
    }

    /// Reads a record of an included file.
    pub(super) fn read_included(
        &mut self,
        record: &LdifRecord,
        url: &Arc<str>,
        stamp: &StampBlock,
        count: u32,
        inner: u32,
    ) -> Item {
        let place = Place {
            line: record.line,
            url: Some(Arc::clone(url)),
        };
        let made = self
            .included(record, &place)
            .and_then(|draft| self.finish(draft, place, stamp, count, inner));
        match made {
            Ok(ready) => Item::Entry(Box::new(ready)),
            Err(refused) => Item::Refused(refused),
        }
    }

    fn included<'r>(&mut self, record: &'r LdifRecord, place: &Place) -> Result<Draft<'r>, Refused> {
        let attributes = match &record.kind {
            RecordKind::Content(attributes) => attributes,
            RecordKind::Change { .. } => {
                return Err(unparsable(
                    "<= str2entry: str2ad(changetype): attribute type undefined",
                    place,
                ));
            }
        };
        let mut draft = Draft::new(self.assembler.name(&record.dn, place)?);
        for (name, value) in attributes {
            let added = self.assembler.add(&mut draft, name, Cow::Borrowed(value), place);
            self.first_refusal(&draft, place, added)?;
        }
        Ok(draft)
    }

    fn entry(
        &mut self,
        dn: LdifLine<'_>,
        lines: &mut RecordLines<'_>,
        line: u64,
        stamp: &StampBlock,
        count: u32,
    ) -> Result<Ready, Refused> {
        let place = Place { line, url: None };
        let (LdifValue::Plain(text) | LdifValue::Url(text)) = dn.value;
        let mut draft = Draft::new(self.assembler.name(text, &place)?);
        let read = self.assembler.attributes(&mut draft, lines, &place);
        self.first_refusal(&draft, &place, read)?;
        self.finish(draft, place, stamp, count, 0)
    }

    /// Values are checked last, because most of them are normalized by then. But a wrong value is reported before other
    /// errors.
    fn first_refusal<T>(&mut self, draft: &Draft<'_>, place: &Place, result: Result<T, Refused>) -> Result<T, Refused> {
        match result {
            Err(later) => Err(self.assembler.check_values(draft, place).err().unwrap_or(later)),
            passed => passed,
        }
    }

    fn finish(
        &mut self,
        mut draft: Draft<'_>,
        place: Place,
        stamp: &StampBlock,
        count: u32,
        inner: u32,
    ) -> Result<Ready, Refused> {
        let plan = Arc::clone(&self.plan);
        let found = target(&plan, &draft.dn, &place);
        let target = self.first_refusal(&draft, &place, found)?;
        let is_bulk = matches!(self.preparers.get(target), Some(Some(_)));
        if !is_bulk || self.assembler.checks_values() {
            self.assembler.check_values(&draft, &place)?;
        }
        let settings = plan.chosen.databases().nth(target).map(|(_, settings)| settings);
        let may_be_dynamic = settings.is_some_and(keeps_dynamic_entries);
        let root = settings
            // A server stamps the entries that it adds.
            .filter(|settings| settings.last_modified && !plan.served.get(target).is_some_and(|served| *served))
            .map(|settings| settings.root_dn.as_ref().map_or("", Dn::pretty));
        let completed = self.assembler.complete(
            &mut draft,
            Home { root, may_be_dynamic },
            &Stamp {
                block: stamp,
                number: count,
                part: inner,
            },
            &place,
        );
        self.first_refusal(&draft, &place, completed)?;
        let csn = self
            .assembler
            .entry_csn(&draft)
            .filter(|_| plan.collects_csns)
            .map(Into::into);
        let content = match self.preparers.get_mut(target) {
            Some(Some(preparer)) => Content::Prepared(prepare(preparer, &self.assembler, &draft, &place)?),
            _ => Content::Plain(draft.to_entry()),
        };
        Ok(Ready {
            place,
            target,
            content,
            csn,
        })
    }
}

fn prepare(
    preparer: &mut Preparer,
    assembler: &Assembler,
    draft: &Draft<'_>,
    place: &Place,
) -> Result<PreparedEntry, Refused> {
    let attributes = draft.attributes().iter();
    let attributes = attributes.map(|found| (&found.description, found.values.iter().map(|value| &**value)));
    preparer
        .prepare(draft.dn.clone(), attributes)
        .map_err(|error| match error {
            Unprepared::Value(description) => assembler.no_normal_form(&description, place),
            Unprepared::Store(error) => Refused {
                details: String::new(),
                message: format!(
                    "could not add entry dn=\"{}\" (line={place}): {error}",
                    draft.dn.pretty()
                ),
            },
        })
}

/// The chosen database that holds a name, by its position among the chosen ones.
fn target(plan: &Plan, dn: &Dn, place: &Place) -> Result<usize, Refused> {
    let configuration = &plan.chosen.configuration;
    let refuse = |message: String| {
        Err(Refused {
            details: String::new(),
            message,
        })
    };
    let found = configuration.database_holding(dn);
    let hidden = || {
        let holds =
            |settings: &ironbark_config::DatabaseConfig| settings.suffixes.iter().any(|suffix| dn.is_within(suffix));
        plan.chosen
            .databases()
            .position(|(_, settings)| settings.hidden && holds(settings))
    };
    let position = found
        .and_then(|found| plan.chosen.positions.iter().position(|&at| at == found))
        .or_else(hidden);
    if let Some(position) = position {
        return Ok(position);
    }
    let name = |at: usize| {
        let suffix = configuration
            .databases
            .get(at)
            .and_then(|database| database.suffixes.first());
        format!("database #{} ({})", at + 1, suffix.map_or("", Dn::pretty))
    };
    let first = plan.chosen.positions.first().copied().unwrap_or_default();
    let hint = match found {
        Some(other) => format!("; did you mean to use {}?", name(other)),
        None => "; no database configured for that naming context".to_owned(),
    };
    if dn.is_root() {
        return refuse(format!(
            "line {place}: cannot add entry with empty dn=\"\"{}",
            if found.is_some() { &hint } else { "" }
        ));
    }
    refuse(format!(
        "line {place}: {} not configured to hold \"{}\"{hint}",
        name(first),
        dn.pretty()
    ))
}
