//! One LDIF record on its way to a database: parsed, placed, checked, prepared. Runs on any thread.

use std::sync::Arc;

use ironbark_ldif::{Line, Record, RecordKind, RecordLines, Start, Value};
use ironbark_model::{Dn, Entry};
use ironbark_store::{PreparedEntry, Preparer, Preparers};

use super::{
    entry::{Assembler, Refused, Rules, unparsable},
    stamp::BlockStamp,
};
use crate::tool::chosen::{Chosen, database_of};

/// What threads need to know of the load.
pub(super) struct Plan {
    pub(super) chosen: Chosen,
    pub(super) rules: Rules,
    /// Records that begin before this line are passed over.
    pub(super) first_line: u64,
    /// One for each chosen database; `None` where entries go through transactions, or nowhere.
    pub(super) preparers: Vec<Option<Preparers>>,
    /// Whether CSNs are collected.
    pub(super) collects_csns: bool,
}

/// What became of a record.
pub(super) enum Item {
    /// An entry, ready to be stored.
    Entry(Box<Ready>),
    /// `include:`; the number is its count in the block.
    Include { url: String, line: u64, count: u32 },
    /// It is refused.
    Refused(Refused),
}

/// An entry, ready to be stored.
pub(super) struct Ready {
    /// Line as it is printed.
    pub(super) line: String,
    pub(super) dn: Box<str>,
    /// Position among the chosen databases.
    pub(super) target: usize,
    pub(super) content: Content,
    /// Its CSN, if those are collected.
    pub(super) csn: Option<Box<[u8]>>,
}

/// In which form it is stored.
pub(super) enum Content {
    /// For a bulk build.
    Prepared(PreparedEntry),
    /// For a transaction.
    Plain(Entry),
}

/// Makes items of records. Each thread has its own.
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

    /// The record that `lines` holds. Appends one item, none for a record of comments, more around an `include:`.
    pub(super) fn read(
        &mut self,
        mut lines: RecordLines<'_>,
        stamp: &BlockStamp,
        count: &mut u32,
        out: &mut Vec<Item>,
    ) {
        loop {
            // As slapd counts: comments before the name belong to the record.
            let line = lines.line();
            *count += 1;
            match lines.start() {
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
                    let (Value::Plain(url) | Value::Url(url)) = include.value;
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
                    out.push(Item::Refused(unparsable(&error.to_string(), &line.to_string())));
                    return;
                }
            }
        }
    }

    /// A record of an included file.
    pub(super) fn read_included(
        &mut self,
        record: &Record,
        url: &str,
        stamp: &BlockStamp,
        count: u32,
        inner: u32,
    ) -> Item {
        let line = format!("{} of {url}", record.line);
        let made = self
            .included(record, &line)
            .and_then(|entry| self.finish(entry, line, stamp, count, inner));
        match made {
            Ok(ready) => Item::Entry(Box::new(ready)),
            Err(refused) => Item::Refused(refused),
        }
    }

    fn included(&mut self, record: &Record, line: &str) -> Result<Entry, Refused> {
        let attributes = match &record.kind {
            RecordKind::Content(attributes) => attributes,
            RecordKind::Change { .. } => {
                return Err(unparsable(
                    "<= str2entry: str2ad(changetype): attribute type undefined",
                    line,
                ));
            }
        };
        let mut entry = Entry::new(self.assembler.name(&record.dn, line)?);
        for (name, value) in attributes {
            self.assembler.add(&mut entry, name, value, line)?;
        }
        Ok(entry)
    }

    fn entry(
        &mut self,
        dn: Line<'_>,
        lines: &mut RecordLines<'_>,
        line: u64,
        stamp: &BlockStamp,
        count: u32,
    ) -> Result<Ready, Refused> {
        let line = line.to_string();
        let (Value::Plain(text) | Value::Url(text)) = dn.value;
        let name = self.assembler.name(text, &line)?;
        let entry = self.assembler.attributes(name, lines, &line)?;
        self.finish(entry, line, stamp, count, 0)
    }

    fn finish(
        &mut self,
        mut entry: Entry,
        line: String,
        stamp: &BlockStamp,
        count: u32,
        inner: u32,
    ) -> Result<Ready, Refused> {
        let plan = Arc::clone(&self.plan);
        let target = place(&plan, &entry.dn, &line)?;
        let settings = plan.chosen.databases().nth(target).map(|(_, settings)| settings);
        let root = settings
            .filter(|settings| settings.last_modified)
            .map(|settings| settings.root_dn.as_ref().map_or("", Dn::pretty));
        self.assembler
            .complete(&mut entry, root, &stamp.of(count, inner), &line)?;
        let csn = self
            .assembler
            .entry_csn(&entry)
            .filter(|_| plan.collects_csns)
            .map(Into::into);
        let dn = entry.dn.pretty().into();
        let content = match self.preparers.get_mut(target) {
            Some(Some(preparer)) => {
                let ready = preparer.prepare(&entry).map_err(|error| Refused {
                    details: String::new(),
                    message: format!(
                        "could not add entry dn=\"{}\" (line={line}): {error}",
                        entry.dn.pretty()
                    ),
                })?;
                Content::Prepared(ready)
            }
            _ => Content::Plain(entry),
        };
        Ok(Ready {
            line,
            dn,
            target,
            content,
            csn,
        })
    }
}

/// The chosen database that holds a name, as its position among the chosen ones.
fn place(plan: &Plan, dn: &Dn, line: &str) -> Result<usize, Refused> {
    let configuration = &plan.chosen.configuration;
    let refuse = |message: String| {
        Err(Refused {
            details: String::new(),
            message,
        })
    };
    let found = database_of(configuration, dn);
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
            "line {line}: cannot add entry with empty dn=\"\"{}",
            if found.is_some() { &hint } else { "" }
        ));
    }
    refuse(format!(
        "line {line}: {} not configured to hold \"{}\"{hint}",
        name(first),
        dn.pretty()
    ))
}
