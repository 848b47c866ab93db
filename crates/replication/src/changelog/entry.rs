//! Entries of the log: the change that one tells of.

use ironbark_directory::{LoggedChange, LoggedOperation, ReplicatedEntry};
use ironbark_ldif::{Change, ModSpec, ModifyKind, NoFiles, Reader, RecordKind};
use ironbark_model::{Dn, Schema};
use ironbark_store::change::{RequestedKind, RequestedModification, TextAttribute};

use super::{Kept, text, uuid_of, values};
use crate::{Logged, Violation};

/// The attributes of the log's entries that are asked for.
pub(super) const ATTRIBUTES: [&str; 9] = [
    "changeNumber",
    "changeType",
    "changeTime",
    "targetDN",
    "targetUniqueId",
    "changes",
    "newRDN",
    "deleteOldRDN",
    "newSuperior",
];

/// An entry of the log.
#[derive(Debug)]
pub(crate) struct ChangeEntry {
    pub(crate) number: u64,
    attributes: Vec<TextAttribute>,
}

/// What a change means to the consumer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is to be made here.
    Make(Box<Logged>),
    /// It is about entries outside of the base.
    Elsewhere,
    /// Its effect is not known: the content must be compared.
    Unclear(String),
}

/// What is looked at.
pub(crate) struct Within<'a> {
    /// The schema here.
    pub(crate) schema: &'a Schema,
    /// `searchbase`.
    pub(crate) base: &'a Dn,
    pub(crate) kept: &'a Kept,
}

impl ChangeEntry {
    /// # Errors
    /// It has no number.
    pub(super) fn of(attributes: Vec<TextAttribute>) -> Result<Self, Violation> {
        let number = text(&attributes, "changeNumber").and_then(|number| number.trim().parse().ok());
        let number =
            number.ok_or_else(|| Violation::Malformed("an entry of the log has no changeNumber".to_owned()))?;
        Ok(Self { number, attributes })
    }

    /// What tells it from the change of the same number in another log.
    pub(crate) fn mark(&self, content: &str) -> Vec<u8> {
        let part = |name| text(&self.attributes, name).unwrap_or_default();
        let (time, kind, target) = (part("changeTime"), part("changeType"), part("targetDN"));
        format!("{content} {time} {kind} {target}").into_bytes()
    }

    /// What it means.
    ///
    /// # Errors
    /// [`Violation::Malformed`].
    pub(crate) fn meaning(&self, within: &Within<'_>) -> Result<Meaning, Violation> {
        let dn = text(&self.attributes, "targetDN").ok_or_else(|| self.malformed("targetDN"))?;
        let kind = text(&self.attributes, "changeType").ok_or_else(|| self.malformed("changeType"))?;
        let kind = kind.to_ascii_lowercase();
        let target = within.name(dn).ok_or_else(|| self.malformed("targetDN"))?;
        let is_rename = matches!(kind.as_str(), "modrdn" | "moddn");
        let is_here = target.is_within(within.base);
        let to = if is_rename {
            Some(self.new_name(within, &target)?)
        } else {
            None
        };
        let comes = to.as_ref().is_some_and(|to| to.is_within(within.base));
        let leaves = is_here && to.is_some() && !comes;
        if leaves || !is_here && (comes || is_rename && within.base.is_within(&target)) {
            let number = self.number;
            return Ok(Meaning::Unclear(format!(
                "change {number} moves \"{dn}\" across the border of the base"
            )));
        }
        if !is_here {
            return Ok(Meaning::Elsewhere);
        }
        let operation = match kind.as_str() {
            "add" => {
                let entry = self.added(within, dn)?;
                return Ok(Meaning::Make(Box::new(Logged::Add(entry))));
            }
            "delete" => LoggedOperation::Delete,
            "modify" => LoggedOperation::Modify(self.modifications(within)?),
            _ if is_rename => LoggedOperation::ModifyDn {
                new_rdn: self.new_rdn()?.into(),
                delete_old_rdn: self.deletes_old_rdn(),
                new_superior: self.new_superior().map(Into::into),
                modifications: self.modifications(within)?,
            },
            other => {
                return Ok(Meaning::Unclear(format!(
                    "change {} is of the unknown type {other}",
                    self.number
                )));
            }
        };
        let increments = match &operation {
            LoggedOperation::Modify(all) => all.iter().any(|change| change.kind == RequestedKind::Increment),
            _ => false,
        };
        if increments {
            // It cannot be made twice, which may be necessary after a refresh.
            return Ok(Meaning::Unclear(format!("change {} increments a value", self.number)));
        }
        let change = LoggedChange {
            dn: dn.into(),
            uuid: Some(self.uuid()?),
            operation,
        };
        Ok(Meaning::Make(Box::new(Logged::Change(change))))
    }

    fn malformed(&self, what: &str) -> Violation {
        Violation::Malformed(format!("change {} of the log has no valid {what}", self.number))
    }

    fn uuid(&self) -> Result<[u8; 16], Violation> {
        let Some(id) = values(&self.attributes, "targetUniqueId").first() else {
            let number = self.number;
            return Err(Violation::Malformed(format!(
                "change {number} of the log has no targetUniqueId: the Retro Changelog Plugin of the provider needs \
                 \"nsslapd-attribute: nsuniqueid:targetUniqueId\""
            )));
        };
        uuid_of(id)
    }

    fn new_rdn(&self) -> Result<&str, Violation> {
        text(&self.attributes, "newRDN").ok_or_else(|| self.malformed("newRDN"))
    }

    fn deletes_old_rdn(&self) -> bool {
        text(&self.attributes, "deleteOldRDN").is_some_and(|truth| truth.eq_ignore_ascii_case("TRUE") || truth == "1")
    }

    fn new_superior(&self) -> Option<&str> {
        text(&self.attributes, "newSuperior")
    }

    fn new_name(&self, within: &Within<'_>, target: &Dn) -> Result<Dn, Violation> {
        let rdn = within.name(self.new_rdn()?).ok_or_else(|| self.malformed("newRDN"))?;
        let superior = match self.new_superior() {
            Some(superior) => within.name(superior).ok_or_else(|| self.malformed("newSuperior"))?,
            None => target.parent().unwrap_or_default(),
        };
        Ok(superior.child(&rdn))
    }

    /// The change in `changes`, read as one of this type.
    fn read(&self, kind: &str) -> Result<Option<Change>, Violation> {
        let Some(changes) = values(&self.attributes, "changes").first() else {
            return Ok(None);
        };
        // 389 Directory Server ends the text with a zero.
        let changes = changes.strip_suffix(&[0]).unwrap_or(changes);
        let record = [format!("dn: cn=x\nchangetype: {kind}\n").as_bytes(), changes].concat();
        let read = Reader::new(&record[..], NoFiles).read();
        match read {
            Ok(Some(record)) => match record.kind {
                RecordKind::Change { change, .. } => Ok(Some(change)),
                RecordKind::Content(_) => Err(self.malformed("changes")),
            },
            Ok(None) => Ok(None),
            Err(error) => Err(Violation::Malformed(format!(
                "change {} of the log: {error}",
                self.number
            ))),
        }
    }

    fn added(&self, within: &Within<'_>, dn: &str) -> Result<ReplicatedEntry, Violation> {
        let Some(Change::Add(lines)) = self.read("add")? else {
            return Err(self.malformed("changes"));
        };
        let mut attributes: Vec<TextAttribute> = Vec::new();
        for (name, value) in lines {
            let name = String::from_utf8(name).map_err(|_| self.malformed("changes"))?;
            if !within.kept.takes(&name) {
                continue;
            }
            match attributes.iter_mut().find(|(held, _)| held.eq_ignore_ascii_case(&name)) {
                Some((_, values)) => values.push(value),
                None => attributes.push((name.into(), vec![value])),
            }
        }
        Ok(ReplicatedEntry {
            uuid: self.uuid()?,
            dn: dn.into(),
            attributes,
        })
    }

    fn modifications(&self, within: &Within<'_>) -> Result<Vec<RequestedModification>, Violation> {
        let specs = match self.read("modify")? {
            Some(Change::Modify(specs)) => specs,
            None => Vec::new(),
            Some(_) => return Err(self.malformed("changes")),
        };
        let read = specs.into_iter().map(|spec: ModSpec| {
            let attribute = String::from_utf8(spec.attribute).map_err(|_| self.malformed("changes"))?;
            let kind = match spec.kind {
                ModifyKind::Add => RequestedKind::Add,
                ModifyKind::Delete => RequestedKind::Delete,
                ModifyKind::Replace => RequestedKind::Replace,
                ModifyKind::Increment => RequestedKind::Increment,
            };
            Ok(RequestedModification {
                kind,
                attribute: attribute.into(),
                values: spec.values,
            })
        });
        let all: Result<Vec<_>, Violation> = read.collect();
        Ok(all?
            .into_iter()
            .filter(|change| within.kept.takes(&change.attribute))
            .collect())
    }
}

impl Within<'_> {
    fn name(&self, text: &str) -> Option<Dn> {
        Dn::parse(self.schema, text.as_bytes()).ok()
    }
}
