//! The place of an entry's file, from slapd's normal form of its name. That form differs from ours in the case of
//! attribute types, in the order of an RDN's parts, and where our normal form is not text.

use std::{borrow::Cow, ffi::OsString, path::PathBuf};

use ironbark_config::entry_files::file_name;
use ironbark_model::{Dn, Schema};

/// The name of a naming context's file and folder. `None` for the root: its files lie in the directory itself.
pub(super) fn of_suffix(schema: &Schema, suffix: &Dn) -> Option<OsString> {
    if suffix.is_root() {
        return None;
    }
    let mut name = Vec::new();
    for level in 0..suffix.depth() {
        if level > 0 {
            name.push(b',');
        }
        name.extend(rdn(schema, suffix, level));
    }
    Some(file_name(&name))
}

/// The folder of an entry's subordinates, relative to the directory. The entry's file has the same name plus `.ldif`.
/// `dn` must be within `suffix`.
pub(super) fn folder(schema: &Schema, suffix: &Dn, dn: &Dn) -> PathBuf {
    let mut folder: PathBuf = of_suffix(schema, suffix).into_iter().collect();
    for level in (0..dn.depth().saturating_sub(suffix.depth())).rev() {
        folder.push(file_name(&rdn(schema, dn, level)));
    }
    folder
}

/// An RDN in slapd's normal form.
fn rdn(schema: &Schema, dn: &Dn, level: usize) -> Vec<u8> {
    let Some((pretty, normalized)) = dn.rdn(level) else {
        return Vec::new();
    };
    let mut parts: Vec<(Cow<'_, [u8]>, &[u8])> = parts(normalized)
        .map(|(name, value)| {
            let value = if is_text(value) {
                value
            } else {
                pretty_value(schema, pretty, name).unwrap_or(value)
            };
            (type_name(schema, name), value)
        })
        .collect();
    parts.sort();
    let mut text = Vec::new();
    for (name, value) in parts {
        if !text.is_empty() {
            text.push(b'+');
        }
        text.extend_from_slice(&name);
        text.push(b'=');
        text.extend_from_slice(value);
    }
    text
}

/// The types and values of an RDN in either form. Both forms escape `+` and `=` within values.
fn parts(rdn: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    rdn.split(|&byte| byte == b'+').filter_map(|part| {
        let at = part.iter().position(|&byte| byte == b'=')?;
        Some((part.get(..at)?, part.get(at + 1..)?))
    })
}

/// The usual name of an attribute type, in its usual case.
fn type_name<'n>(schema: &Schema, name: &'n [u8]) -> Cow<'n, [u8]> {
    match schema.attribute_description(name) {
        Ok(description) => Cow::Owned(schema.description_text(&description).into_bytes()),
        Err(_) => Cow::Borrowed(name),
    }
}

fn pretty_value<'p>(schema: &Schema, pretty: &'p [u8], name: &[u8]) -> Option<&'p [u8]> {
    let wanted = type_name(schema, name);
    parts(pretty)
        .find(|(name, _)| type_name(schema, name) == wanted)
        .map(|(_, value)| value)
}

fn is_text(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| !text.chars().any(char::is_control))
}
