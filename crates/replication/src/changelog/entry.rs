//! Entries of the log: the change that one tells of.

use ironbark_directory::{LoggedChange, LoggedOperation, ReplicatedEntry};
use ironbark_ldif::{LdifChange, LdifReader, ModSpec, ModifyKind, NoFiles, RecordKind};
use ironbark_model::{Dn, Schema};
use ironbark_store::change::{RequestedKind, RequestedModification, TextAttribute};

use super::{Kept, text, uuid_of, values};
use crate::{LogEntry, Violation};

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
    Make(Box<LogEntry>),
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
        let is_rename = matches!(kind.as_str(), "modrdn" | "moddn");
        let from = within.place(dn);
        let to = if is_rename {
            self.new_place(within, &from)?
        } else {
            from.clone()
        };
        match (&from, &to) {
            (Place::Unreadable, _) => return Err(self.malformed("targetDN")),
            (Place::Here, Place::Unreadable) => return Err(self.malformed("newRDN")),
            (Place::Here, Place::Here) => {}
            // Everything goes with it.
            (Place::Outside(name), _) if is_rename && within.base.is_within(name) => return Ok(self.moves(dn)),
            (Place::Elsewhere | Place::Outside(_), Place::Elsewhere | Place::Outside(_)) => {
                return Ok(Meaning::Elsewhere);
            }
            _ => return Ok(self.moves(dn)),
        }
        let operation = match kind.as_str() {
            "add" => {
                let entry = self.added(within, dn)?;
                return Ok(Meaning::Make(Box::new(LogEntry::Add(entry))));
            }
            "delete" => LoggedOperation::Delete,
            "modify" => LoggedOperation::Modify(self.modifications(within)?),
            _ if is_rename => LoggedOperation::ModifyDn {
                new_rdn: self.new_rdn()?.into(),
                delete_old_rdn: self.deletes_old_rdn(),
                new_superior: self.new_superior().map(Into::into),
                modifications: self.modifications(within)?,
                place: None,
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
            base: None,
        };
        Ok(Meaning::Make(Box::new(LogEntry::Change(change))))
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

    /// Where a rename brings the entry.
    fn new_place(&self, within: &Within<'_>, from: &Place) -> Result<Place, Violation> {
        let rdn = self.new_rdn()?;
        let superior = match (self.new_superior(), from) {
            (Some(superior), _) => superior.to_owned(),
            // It stays where it is.
            (None, Place::Here | Place::Outside(_)) => {
                return Ok(within.below_its_superior(text(&self.attributes, "targetDN"), rdn));
            }
            (None, _) => return Ok(from.clone()),
        };
        Ok(within.place(&format!("{rdn},{superior}")))
    }

    fn moves(&self, dn: &str) -> Meaning {
        Meaning::Unclear(format!(
            "change {} moves \"{dn}\" across the border of the base",
            self.number
        ))
    }

    /// The change in `changes`, read as one of this type.
    fn read(&self, kind: &str) -> Result<Option<LdifChange>, Violation> {
        let Some(changes) = values(&self.attributes, "changes").first() else {
            return Ok(None);
        };
        // 389 Directory Server ends the text with a zero.
        let changes = changes.strip_suffix(&[0]).unwrap_or(changes);
        let record = [format!("dn: cn=x\nchangetype: {kind}\n").as_bytes(), changes].concat();
        let read = LdifReader::new(&record[..], NoFiles).read();
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
        let Some(LdifChange::Add(lines)) = self.read("add")? else {
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
            Some(LdifChange::Modify(specs)) => specs,
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

/// Where a name is.
#[derive(Clone)]
enum Place {
    /// In the base.
    Here,
    /// In the base, but with an attribute type that is not known here, or a wrong value.
    Unreadable,
    /// Outside of the base.
    Outside(Dn),
    /// Outside of the base, and it cannot be read.
    Elsewhere,
}

impl Within<'_> {
    fn name(&self, text: &str) -> Option<Dn> {
        Dn::parse(self.schema, text.as_bytes()).ok()
    }

    fn place(&self, text: &str) -> Place {
        if let Some(name) = self.name(text) {
            return if name.is_within(self.base) {
                Place::Here
            } else {
                Place::Outside(name)
            };
        }
        // Whatever the first RDNs are: what is below the base ends with it.
        let commas = text.match_indices(',').map(|(position, _)| position);
        let superiors = commas.filter_map(|position| self.name(text.get(position + 1..)?));
        let mut closest = superiors.take(1);
        match closest.next() {
            Some(superior) if superior.is_within(self.base) => Place::Unreadable,
            _ => Place::Elsewhere,
        }
    }

    /// The place of an entry of the base that gets another RDN.
    fn below_its_superior(&self, dn: Option<&str>, rdn: &str) -> Place {
        let superior = dn.and_then(|dn| self.name(dn)?.parent()).unwrap_or_default();
        self.place(&format!("{rdn},{}", superior.pretty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "773a34aa-e8f911f1-b864abb9-35d2792c";

    fn entry(lines: &[(&str, &str)]) -> ChangeEntry {
        let all = [("changeNumber", "7"), ("targetUniqueId", ID)].into_iter();
        let lines = all.chain(lines.iter().copied());
        let attributes = lines.map(|(name, value)| (name.into(), vec![value.as_bytes().to_vec()]));
        ChangeEntry::of(attributes.collect()).unwrap()
    }

    fn meaning(lines: &[(&str, &str)]) -> Result<Meaning, Violation> {
        let schema = Schema::system();
        let base = Dn::parse(&schema, b"cn=ex,cn=org").unwrap();
        let kept = Kept::of(["( 1 NAME 'aci' USAGE directoryOperation )"], &[]);
        let within = Within {
            schema: &schema,
            base: &base,
            kept: &kept,
        };
        entry(lines).meaning(&within)
    }

    fn made(lines: &[(&str, &str)]) -> LogEntry {
        match meaning(lines) {
            Ok(Meaning::Make(made)) => *made,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_add_has_the_uuid_of_the_unique_id_and_what_is_kept() {
        let changes = "objectClass: domain\nobjectClass: top\ndc: ex\naci: x\nentryUUID: 1\ndescription:: w6Q=\n";
        let LogEntry::Add(added) = made(&[
            ("changeType", "ADD"),
            ("targetDN", "cn=ex,cn=org"),
            ("changes", changes),
        ]) else {
            panic!("no add")
        };
        assert_eq!(added.uuid, 0x773a_34aa_e8f9_11f1_b864_abb9_35d2_792c_u128.to_be_bytes());
        let names: Vec<&str> = added.attributes.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["objectClass", "dc", "description"]);
        assert_eq!(added.attributes[2].1, ["ä".as_bytes()]);
    }

    #[test]
    fn the_text_of_a_modify_may_end_with_a_zero() {
        let changes = "replace: cn\ncn: a\n-\ndelete: sn\n-\nadd: aci\naci: x\n-\n\0";
        let LogEntry::Change(change) = made(&[
            ("changeType", "modify"),
            ("targetDN", "cn=a,cn=ex,cn=org"),
            ("changes", changes),
        ]) else {
            panic!("no change")
        };
        let LoggedOperation::Modify(all) = change.operation else {
            panic!("no modify")
        };
        let parts: Vec<_> = all
            .iter()
            .map(|one| (one.kind, &*one.attribute, one.values.len()))
            .collect();
        assert_eq!(
            parts,
            [(RequestedKind::Replace, "cn", 1), (RequestedKind::Delete, "sn", 0)]
        );
    }

    #[test]
    fn only_moves_within_the_base_can_be_made() {
        let moved = |from: &str, to: Option<&str>| {
            let mut lines = vec![
                ("changeType", "modrdn"),
                ("targetDN", from),
                ("newRDN", "cn=b"),
                ("deleteOldRDN", "TRUE"),
            ];
            lines.extend(to.map(|to| ("newSuperior", to)));
            meaning(&lines)
        };
        let Ok(Meaning::Make(made)) = moved("cn=a,cn=ex,cn=org", None) else {
            panic!("not made")
        };
        let LogEntry::Change(change) = *made else {
            panic!("no change")
        };
        let expected = LoggedOperation::ModifyDn {
            new_rdn: "cn=b".into(),
            delete_old_rdn: true,
            new_superior: None,
            modifications: Vec::new(),
            place: None,
        };
        assert_eq!(change.operation, expected);
        assert_eq!(moved("cn=a,cn=org", Some("cn=y,cn=org")), Ok(Meaning::Elsewhere));
        for (from, to) in [
            ("cn=a,cn=ex,cn=org", Some("cn=org")),
            ("cn=a,cn=org", Some("cn=ex,cn=org")),
            ("cn=org", Some("cn=com")),
        ] {
            assert!(matches!(moved(from, to), Ok(Meaning::Unclear(_))), "{from} {to:?}");
        }
    }

    #[test]
    fn what_is_elsewhere_is_passed_and_what_cannot_be_made_twice_is_compared() {
        for name in ["cn=config", "unknown=x,cn=org", "unknown=x+cn=y,unknown=z", "nothing"] {
            let elsewhere = [("changeType", "delete"), ("targetDN", name)];
            assert_eq!(meaning(&elsewhere), Ok(Meaning::Elsewhere), "{name}");
        }
        for (kind, changes) in [("modify", "increment: uidNumber\nuidNumber: 1\n-\n"), ("other", "")] {
            let lines = [("changeType", kind), ("targetDN", "cn=ex,cn=org"), ("changes", changes)];
            assert!(matches!(meaning(&lines), Ok(Meaning::Unclear(_))), "{kind}");
        }
        for lines in [
            &[("changeType", "delete")][..],
            &[("targetDN", "cn=ex,cn=org")],
            &[("changeType", "delete"), ("targetDN", "unknown=x,cn=ex,cn=org")],
            &[("changeType", "add"), ("targetDN", "cn=ex,cn=org")],
            &[("changeType", "modrdn"), ("targetDN", "cn=ex,cn=org")],
            &[
                ("changeType", "modify"),
                ("targetDN", "cn=ex,cn=org"),
                ("changes", "nonsense"),
            ],
        ] {
            assert!(meaning(lines).is_err(), "{lines:?}");
        }
        assert!(uuid_of(b"773a34aa").is_err());
    }
}
