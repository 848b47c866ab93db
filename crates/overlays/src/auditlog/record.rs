//! One operation in the form of the audit log: a comment, an LDIF change record, a comment.

use std::borrow::Cow;

use ironbark_ldif::LdifWriter;
use ironbark_store::{
    ChangeRecord, Effect,
    change::{RequestedChange, RequestedKind, RequestedModification, TextAttribute},
};

/// The text of a change in an audit log: one record for each of its operations.
pub(super) fn text(record: &ChangeRecord, suffix: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for requested in &record.requested {
        if let Some(requested) = resolved(record, requested) {
            write(record, &requested, suffix, &mut out);
        }
    }
    out
}

/// The mark of a place where changes are missing: comments, which programs that read LDIF pass over.
pub(super) fn gap(seconds: i64, suffix: &str) -> Vec<u8> {
    let mut out = Vec::new();
    comment(&mut out, &format!("gap {seconds} {}", shown(suffix)));
    comment(
        &mut out,
        "changes may be missing here: a tool made them without the log of changes, or this file could not be written \
         for so long that the log no longer has them",
    );
    comment(&mut out, &format!("end gap {seconds}"));
    out.push(b'\n');
    out
}

fn shown(suffix: &str) -> &str {
    if suffix.is_empty() { "global" } else { suffix }
}

/// The requested change, with the effect that it refers to filled in.
fn resolved<'r>(record: &'r ChangeRecord, requested: &'r RequestedChange) -> Option<Cow<'r, RequestedChange>> {
    let RequestedChange::AsApplied(number) = requested else {
        return Some(Cow::Borrowed(requested));
    };
    match &record.effects.get(*number)?.effect {
        Effect::Add { dn, attributes } => Some(Cow::Owned(RequestedChange::Add {
            dn: dn.clone(),
            attributes: attributes.clone(),
        })),
        Effect::Delete { dn } => Some(Cow::Owned(RequestedChange::Delete { dn: dn.clone() })),
        Effect::Modify { .. } | Effect::Rename { .. } => None,
    }
}

/// Appends the record of an operation.
fn write(record: &ChangeRecord, requested: &RequestedChange, suffix: &str, out: &mut Vec<u8>) {
    let (what, dn) = match requested {
        RequestedChange::Add { dn, .. } => ("add", dn),
        RequestedChange::Modify { dn, .. } => ("modify", dn),
        RequestedChange::ModifyDn { dn, .. } => ("modrdn", dn),
        RequestedChange::Delete { dn } => ("delete", dn),
        RequestedChange::AsApplied(_) | RequestedChange::Former { .. } => return,
    };
    let recorded = recorded_author(requested);
    let who = recorded.as_deref().unwrap_or(&record.author);
    let suffix = shown(suffix);
    let seconds = record.unix_micros.div_euclid(1_000_000);
    let (peer, connection) = record
        .request
        .as_ref()
        .map_or(("", 0), |request| (&*request.peer_name, request.connection));
    comment(
        out,
        &format!("{what} {seconds} {suffix} {who} {peer} conn={connection}"),
    );
    if !record.authenticated.is_empty() && !record.authenticated.eq_ignore_ascii_case(who) {
        comment(out, &format!("realdn: {}", record.authenticated));
    }
    name(out, "dn", dn);
    line(out, &format!("changetype: {what}"));
    match requested {
        RequestedChange::Add { attributes, .. } => put_attributes(attributes, out),
        RequestedChange::Modify { modifications, .. } => {
            for change in modifications {
                modification(change, out);
            }
        }
        RequestedChange::ModifyDn {
            new_rdn,
            delete_old_rdn,
            new_superior,
            ..
        } => {
            name(out, "newrdn", new_rdn);
            line(
                out,
                if *delete_old_rdn {
                    "deleteoldrdn: 1"
                } else {
                    "deleteoldrdn: 0"
                },
            );
            if let Some(superior) = new_superior {
                name(out, "newsuperior", superior);
            }
        }
        RequestedChange::Delete { .. } | RequestedChange::AsApplied(_) | RequestedChange::Former { .. } => {}
    }
    comment(out, &format!("end {what} {seconds}"));
    line(out, "");
}

/// The modifiersName after the operation. Under relaxed rules it may differ from the client's name.
fn recorded_author(requested: &RequestedChange) -> Option<String> {
    let is_it = |name: &str| name.eq_ignore_ascii_case("modifiersName");
    let values = match requested {
        RequestedChange::Add { attributes, .. } => &attributes.iter().find(|(name, _)| is_it(name))?.1,
        RequestedChange::Modify { modifications, .. } => {
            let sets = |change: &&RequestedModification| {
                is_it(&change.attribute) && matches!(change.kind, RequestedKind::Add | RequestedKind::Replace)
            };
            &modifications.iter().find(sets)?.values
        }
        _ => return None,
    };
    Some(String::from_utf8_lossy(values.first()?).into_owned())
}

fn put_attributes(attributes: &[TextAttribute], out: &mut Vec<u8>) {
    let writer = LdifWriter::default();
    for (name, values) in attributes {
        for value in values {
            writer.attribute(out, name.as_bytes(), value);
        }
    }
}

fn modification(change: &RequestedModification, out: &mut Vec<u8>) {
    let what = match change.kind {
        RequestedKind::Add => "add",
        RequestedKind::Delete => "delete",
        RequestedKind::Replace => "replace",
        RequestedKind::Increment => "increment",
    };
    let name = &change.attribute;
    line(out, &format!("{what}: {name}"));
    for value in &change.values {
        LdifWriter::default().attribute(out, name.as_bytes(), value);
    }
    line(out, "-");
}

/// A name is written like a value: a line end in it must not start a new line.
fn name(out: &mut Vec<u8>, attribute: &str, dn: &str) {
    LdifWriter::default().attribute(out, attribute.as_bytes(), dn.as_bytes());
}

/// Names in comments are for people: unprintable characters are escaped as in a name (RFC 4514 §2.4).
fn comment(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"# ");
    for character in text.chars() {
        let is_plain = !character.is_control() && !matches!(character, '\u{2028}' | '\u{2029}');
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            if is_plain {
                out.push(byte);
            } else {
                out.extend_from_slice(format!("\\{byte:02X}").as_bytes());
            }
        }
    }
    out.push(b'\n');
}

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}
