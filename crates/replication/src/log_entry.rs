//! Entries of a provider's access log (slapo-accesslog(5)): the change that one tells of.

use ironbark_directory::{
    LOGGED_BASE_ATTRIBUTE, LOGGED_PLACE_ATTRIBUTE, LOGGED_REVISION_ATTRIBUTE, LoggedChange, LoggedOperation,
    PLACE_ATTRIBUTE, ReplicatedEntry, revision_of,
};
use ironbark_store::{
    Csn,
    change::{RequestedKind, RequestedModification, TextAttribute},
};
use uuid::Uuid;

use crate::Violation;

/// The attributes that a consumer asks for.
pub(crate) const ATTRIBUTES: [&str; 14] = [
    "reqDN",
    "reqType",
    "reqMod",
    "reqNewRDN",
    "reqDeleteOldRDN",
    "reqNewSuperior",
    "reqEntryUUID",
    "reqResult",
    "objectClass",
    "entryCSN",
    "reqNewDN",
    LOGGED_PLACE_ATTRIBUTE,
    LOGGED_REVISION_ATTRIBUTE,
    LOGGED_BASE_ATTRIBUTE,
];

/// A change from a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogEntry {
    /// An entry was added.
    Add(ReplicatedEntry),
    /// An entry was changed or deleted.
    Change(LoggedChange),
}

/// Reads the change of a log entry, and its CSN. `None`: the entry tells of something else, such as a bind or a refused
/// change.
///
/// # Errors
/// [`Violation::Malformed`].
pub(crate) fn read(attributes: &[TextAttribute]) -> Result<Option<(LogEntry, Csn)>, Violation> {
    let malformed = |what: &str| Violation::Malformed(format!("an entry of the log has no valid {what}"));
    let Some(kind) = text(attributes, "reqType") else {
        return Ok(None);
    };
    if text(attributes, "reqResult").is_some_and(|result| result != "0") {
        return Ok(None);
    }
    let kind = kind.to_ascii_lowercase();
    if !matches!(kind.as_str(), "add" | "delete" | "modify" | "modrdn") {
        return Ok(None);
    }
    let dn: Box<str> = text(attributes, "reqDN").ok_or_else(|| malformed("reqDN"))?.into();
    let csn = values(attributes, "entryCSN").first().and_then(|csn| Csn::parse(csn));
    let csn = csn.ok_or_else(|| malformed("entryCSN"))?;
    let uuid = uuid_of(attributes, "reqEntryUUID");
    let modifications = || modifications(values(attributes, "reqMod")).ok_or_else(|| malformed("reqMod"));
    let place = values(attributes, LOGGED_PLACE_ATTRIBUTE).first().cloned();
    let revision = values(attributes, LOGGED_REVISION_ATTRIBUTE).first();
    if let (Some(revision), Some(place)) = (revision, &place) {
        let (revision, name) = revision_of(revision).ok_or_else(|| malformed(LOGGED_REVISION_ATTRIBUTE))?;
        let place = place.as_slice().into();
        let change = LoggedChange {
            dn: name.into(),
            uuid,
            operation: LoggedOperation::Settle { revision, place },
            base: None,
        };
        return Ok(Some((LogEntry::Change(change), csn)));
    }
    let operation = match kind.as_str() {
        "add" => {
            let mut entry = added(dn, modifications()?).ok_or_else(|| malformed("reqMod"))?;
            entry
                .attributes
                .extend(place.map(|place| (PLACE_ATTRIBUTE.into(), vec![place])));
            let base = values(attributes, LOGGED_BASE_ATTRIBUTE);
            if !base.is_empty() {
                entry.attributes.push((LOGGED_BASE_ATTRIBUTE.into(), base.to_vec()));
            }
            return Ok(Some((LogEntry::Add(entry), csn)));
        }
        "delete" => LoggedOperation::Delete,
        "modify" => LoggedOperation::Modify(modifications()?),
        _ => LoggedOperation::ModifyDn {
            new_rdn: text(attributes, "reqNewRDN")
                .ok_or_else(|| malformed("reqNewRDN"))?
                .into(),
            delete_old_rdn: text(attributes, "reqDeleteOldRDN").is_some_and(|truth| truth == "TRUE"),
            new_superior: text(attributes, "reqNewSuperior").map(Into::into),
            modifications: modifications()?,
            place: text(attributes, "reqNewDN")
                .zip(place)
                .map(|(name, place)| (name.into(), place.into())),
        },
    };
    let change = LoggedChange {
        dn,
        uuid,
        operation,
        base: values(attributes, LOGGED_BASE_ATTRIBUTE).first().cloned(),
    };
    Ok(Some((LogEntry::Change(change), csn)))
}

fn values<'a>(attributes: &'a [TextAttribute], name: &str) -> &'a [Vec<u8>] {
    let found = attributes.iter().find(|(held, _)| held.eq_ignore_ascii_case(name));
    found.map_or(&[], |(_, values)| values)
}

fn text(attributes: &[TextAttribute], name: &str) -> Option<String> {
    let value = values(attributes, name).first()?;
    String::from_utf8(value.clone()).ok()
}

fn uuid_of(attributes: &[TextAttribute], name: &str) -> Option<[u8; 16]> {
    let text = values(attributes, name).first()?;
    Uuid::try_parse_ascii(text).ok().map(Uuid::into_bytes)
}

/// `reqMod`: `attribute:sign value`, where the sign is `+`, `-`, `=` or `#`. Values of one change follow each other. A
/// lone colon stands between two changes of the same kind and attribute.
fn modifications(lines: &[Vec<u8>]) -> Option<Vec<RequestedModification>> {
    let mut all: Vec<RequestedModification> = Vec::new();
    let mut is_new = true;
    for line in lines {
        if line == b":" {
            is_new = true;
            continue;
        }
        let colon = line.iter().position(|octet| *octet == b':')?;
        let (attribute, rest) = line.split_at(colon);
        let attribute = std::str::from_utf8(attribute).ok().filter(|name| !name.is_empty())?;
        let kind = match rest.get(1)? {
            b'+' => RequestedKind::Add,
            b'-' => RequestedKind::Delete,
            b'=' => RequestedKind::Replace,
            b'#' => RequestedKind::Increment,
            _ => return None,
        };
        let value = match rest.get(2..) {
            None | Some([]) => None,
            Some([b' ', value @ ..]) => Some(value.to_vec()),
            Some(_) => return None,
        };
        match all.last_mut() {
            Some(last) if !is_new && last.kind == kind && *last.attribute == *attribute => last.values.extend(value),
            _ => all.push(RequestedModification {
                kind,
                attribute: attribute.into(),
                values: value.into_iter().collect(),
            }),
        }
        is_new = false;
    }
    Some(all)
}

/// The entry of an add.
fn added(dn: Box<str>, modifications: Vec<RequestedModification>) -> Option<ReplicatedEntry> {
    let mut attributes: Vec<TextAttribute> = Vec::with_capacity(modifications.len());
    for RequestedModification { attribute, values, .. } in modifications {
        match attributes.iter_mut().find(|(name, _)| *name == attribute) {
            Some((_, held)) => held.extend(values),
            None => attributes.push((attribute, values)),
        }
    }
    let uuid = uuid_of(&attributes, "entryUUID")?;
    Some(ReplicatedEntry { uuid, dn, attributes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSN: &str = "20260101000000.000001Z#000000#001#000000";

    fn logged(lines: &str) -> Result<Option<(LogEntry, Csn)>, Violation> {
        let mut attributes: Vec<TextAttribute> = vec![("entryCSN".into(), vec![CSN.as_bytes().to_vec()])];
        for line in lines.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            match attributes.iter_mut().find(|(held, _)| **held == *name) {
                Some((_, values)) => values.push(value.as_bytes().to_vec()),
                None => attributes.push((name.into(), vec![value.as_bytes().to_vec()])),
            }
        }
        read(&attributes)
    }

    fn changed(lines: &str) -> LoggedOperation {
        match logged(lines) {
            Ok(Some((LogEntry::Change(change), csn))) => {
                assert_eq!((&*change.dn, csn.text().as_str()), ("cn=a", CSN));
                change.operation
            }
            other => panic!("{other:?}"),
        }
    }

    fn modification(kind: RequestedKind, attribute: &str, values: &[&str]) -> RequestedModification {
        RequestedModification {
            kind,
            attribute: attribute.into(),
            values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
        }
    }

    #[test]
    fn values_of_one_change_stand_together_and_a_colon_parts_two() {
        let text = "reqType: modify\nreqDN: cn=a\nreqMod: sn:+ a\nreqMod: sn:+ b: c\nreqMod: :\nreqMod: sn:+ d\n\
                    reqMod: mail:-\nreqMod: cn;lang-de:- x\nreqMod: title:=\nreqMod: uidNumber:# -1\nreqMod: sn:+ ";
        let expected = vec![
            modification(RequestedKind::Add, "sn", &["a", "b: c"]),
            modification(RequestedKind::Add, "sn", &["d"]),
            modification(RequestedKind::Delete, "mail", &[]),
            modification(RequestedKind::Delete, "cn;lang-de", &["x"]),
            modification(RequestedKind::Replace, "title", &[]),
            modification(RequestedKind::Increment, "uidNumber", &["-1"]),
            modification(RequestedKind::Add, "sn", &[""]),
        ];
        assert_eq!(changed(text), LoggedOperation::Modify(expected));
    }

    #[test]
    fn an_add_has_its_uuid_and_all_values() {
        let text = "reqType: add\nreqDN: cn=a\nreqMod: cn:+ a\nreqMod: sn:+ s\nreqMod: cn:+ b\n\
                    reqMod: entryUUID:+ 00000000-0000-0000-0000-0000000000ff";
        let Ok(Some((LogEntry::Add(entry), _))) = logged(text) else {
            panic!("no add")
        };
        assert_eq!(entry.uuid, 255u128.to_be_bytes());
        assert_eq!(entry.attributes[0], ("cn".into(), vec![b"a".to_vec(), b"b".to_vec()]));
        assert!(logged("reqType: add\nreqDN: cn=a\nreqMod: cn:+ a").is_err());
    }

    #[test]
    fn a_rename_has_its_parts() {
        let text = "reqType: modrdn\nreqDN: cn=a\nreqNewRDN: cn=b\nreqDeleteOldRDN: TRUE\nreqNewSuperior: ou=x";
        let expected = LoggedOperation::ModifyDn {
            new_rdn: "cn=b".into(),
            delete_old_rdn: true,
            new_superior: Some("ou=x".into()),
            modifications: Vec::new(),
            place: None,
        };
        assert_eq!(changed(text), expected);
        assert!(logged("reqType: modrdn\nreqDN: cn=a").is_err());
    }

    #[test]
    fn a_place_comes_with_its_name_and_a_revision_is_nothing_else() {
        let rename = "reqType: modrdn\nreqDN: cn=a\nreqNewRDN: cn=b\nreqDeleteOldRDN: TRUE\nreqNewDN: cn=b,ou=x\n\
                      ironbarkReqPlace: 1 -";
        let LoggedOperation::ModifyDn { place, .. } = changed(rename) else {
            panic!("a rename")
        };
        assert_eq!(place, Some(("cn=b,ou=x".into(), b"1 -"[..].into())));
        let settled = |revision: &str| {
            logged(&format!(
                "reqType: modify\nreqDN: cn=a\nreqMod: entryCSN:= {CSN}\nironbarkReqPlace: 2 -\n\
                 ironbarkReqRevision: {revision}"
            ))
        };
        let Ok(Some((LogEntry::Change(change), _))) = settled(&format!("{CSN} cn=c, ou=y")) else {
            panic!("a revision")
        };
        let expected = LoggedOperation::Settle {
            revision: Csn::parse(CSN.as_bytes()).unwrap(),
            place: b"2 -"[..].into(),
        };
        assert_eq!((&*change.dn, change.operation), ("cn=c, ou=y", expected));
        for nonsense in ["", "cn=c", CSN] {
            assert!(settled(nonsense).is_err(), "{nonsense}");
        }
        let add = "reqType: add\nreqDN: cn=a\nreqMod: entryUUID:+ 00000000-0000-0000-0000-0000000000ff\n\
                   ironbarkReqPlace: 1 -";
        let Ok(Some((LogEntry::Add(entry), _))) = logged(add) else {
            panic!("an add")
        };
        assert_eq!(
            entry.attributes.last(),
            Some(&("ironbarkPlace".into(), vec![b"1 -".to_vec()]))
        );
    }

    #[test]
    fn what_came_as_a_whole_says_so() {
        let add = "reqType: add\nreqDN: cn=a\nreqMod: entryUUID:+ 00000000-0000-0000-0000-0000000000ff\n\
                   ironbarkReqBase: - -";
        let Ok(Some((LogEntry::Add(entry), _))) = logged(add) else {
            panic!("an add")
        };
        let base = ("ironbarkReqBase".into(), vec![b"- -".to_vec()]);
        assert_eq!(entry.attributes.last(), Some(&base));
        let modify = "reqType: modify\nreqDN: cn=a\nreqMod: sn:= s\nironbarkReqBase: - -";
        let Ok(Some((LogEntry::Change(change), _))) = logged(modify) else {
            panic!("a change")
        };
        assert_eq!(change.base.as_deref(), Some(&b"- -"[..]));
    }

    #[test]
    fn what_is_no_change_is_passed_over_and_nonsense_is_refused() {
        for text in [
            "reqType: bind\nreqDN: cn=a",
            "reqDN: cn=a",
            "reqType: delete\nreqDN: cn=a\nreqResult: 32",
        ] {
            assert_eq!(logged(text), Ok(None), "{text}");
        }
        for text in [
            "reqType: modify",
            "reqType: modify\nreqDN: cn=a\nreqMod: nothing",
            "reqType: modify\nreqDN: cn=a\nreqMod: sn:?",
            "reqType: modify\nreqDN: cn=a\nreqMod: sn:+x",
        ] {
            assert!(logged(text).is_err(), "{text}");
        }
        assert!(
            read(&[
                ("reqType".into(), vec![b"delete".to_vec()]),
                ("reqDN".into(), vec![b"cn=a".to_vec()])
            ])
            .is_err()
        );
    }
}
