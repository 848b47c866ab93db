//! Requests as the program reads them: slapd-sock(5), byte for byte.
//!
//! Invariant: whatever a client sends, a request is the lines that are written here, and no other. slapd writes names
//! and passwords as they are; here one that would break its line or end it early is written in base64 behind `::`, as
//! LDIF does.

use std::io::Write as _;

use ironbark_directory::{
    ExternalAsker, ExternalOperation, ExternalSearch, Modification, ModificationKind, TreeChange, overlay::SentResult,
};
use ironbark_ldif::{LdifWriter, Wrap};
use ironbark_model::{Dn, Entry, Schema};

use super::settings::SockExtensions;

/// What begins every request of one database or overlay.
#[derive(Clone, Debug)]
pub struct Preamble {
    /// What is told of the client.
    pub extensions: SockExtensions,
    /// The suffixes of the database, in pretty form.
    pub suffixes: Vec<String>,
}

impl Preamble {
    /// A request, to its last blank line.
    pub fn request(&self, schema: &Schema, asker: &ExternalAsker, operation: &ExternalOperation) -> Vec<u8> {
        let mut text = Vec::new();
        match operation {
            ExternalOperation::Bind { dn, password } => {
                self.begin(&mut text, "BIND", asker);
                name(&mut text, "dn", dn);
                number(&mut text, "method", SIMPLE);
                number(&mut text, "credlen", password.len());
                line(&mut text, "cred", password);
                text.push(b'\n');
            }
            ExternalOperation::Search(search) => {
                self.begin(&mut text, "SEARCH", asker);
                write_search(&mut text, search);
            }
            ExternalOperation::Compare { dn, attribute, value } => {
                self.begin(&mut text, "COMPARE", asker);
                name(&mut text, "dn", dn);
                UNFOLDED.attribute(&mut text, attribute.as_bytes(), value);
                text.push(b'\n');
            }
            ExternalOperation::Write(change) => self.write(&mut text, schema, asker, change),
            ExternalOperation::Extended { oid, value } => {
                self.begin(&mut text, "EXTENDED", asker);
                line(&mut text, "oid", oid.as_bytes());
                if let Some(value) = value {
                    line(&mut text, "value", ironbark_ldif::base64(value).as_bytes());
                }
                text.push(b'\n');
            }
        }
        text
    }

    /// The result of a request, without suffixes.
    pub fn result(&self, asker: &ExternalAsker, result: &SentResult<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        self.begin(&mut text, "RESULT", asker);
        number(&mut text, "code", result.code.0);
        if !result.matched_dn.is_empty() {
            line(&mut text, "matched", result.matched_dn.as_bytes());
        }
        if !result.text.is_empty() {
            line(&mut text, "info", result.text.as_bytes());
        }
        text.push(b'\n');
        text
    }

    /// An entry that a search sends, without suffixes.
    pub fn entry(&self, schema: &Schema, asker: &ExternalAsker, entry: &Entry) -> Vec<u8> {
        let mut text = Vec::new();
        self.begin(&mut text, "ENTRY", asker);
        LdifWriter::default().entry(&mut text, schema, entry);
        text
    }

    /// A client has sent an Unbind request.
    pub fn unbind(&self, asker: &ExternalAsker) -> Vec<u8> {
        let mut text = Vec::new();
        self.begin(&mut text, "UNBIND", asker);
        text.push(b'\n');
        text
    }

    fn write(&self, text: &mut Vec<u8>, schema: &Schema, asker: &ExternalAsker, change: &TreeChange) {
        match change {
            TreeChange::Add(entry) => {
                self.begin(text, "ADD", asker);
                LdifWriter::default().entry(text, schema, entry);
            }
            TreeChange::Modify { dn, modifications } => {
                self.begin(text, "MODIFY", asker);
                name(text, "dn", dn);
                for modification in modifications {
                    write_modification(text, schema, modification);
                }
                text.push(b'\n');
            }
            TreeChange::Delete { dn } => {
                self.begin(text, "DELETE", asker);
                name(text, "dn", dn);
                text.push(b'\n');
            }
            TreeChange::ModifyDn {
                dn,
                new_rdn,
                delete_old_rdn,
                new_superior,
            } => {
                self.begin(text, "MODRDN", asker);
                name(text, "dn", dn);
                name(text, "newrdn", new_rdn);
                number(text, "deleteoldrdn", u8::from(*delete_old_rdn));
                if let Some(superior) = new_superior {
                    name(text, "newSuperior", superior);
                }
                text.push(b'\n');
            }
        }
    }

    fn begin(&self, text: &mut Vec<u8>, command: &str, asker: &ExternalAsker) {
        text.extend_from_slice(command.as_bytes());
        text.push(b'\n');
        number(text, "msgid", asker.message_id);
        if self.extensions.bind_dn {
            line(text, "binddn", asker.dn.as_bytes());
        }
        if self.extensions.peer_name {
            line(text, "peername", asker.peer.as_bytes());
        }
        if self.extensions.ssf {
            number(text, "ssf", asker.ssf);
        }
        if self.extensions.connection {
            number(text, "connid", asker.connection);
        }
        for suffix in &self.suffixes {
            line(text, "suffix", suffix.as_bytes());
        }
    }
}

fn write_search(text: &mut Vec<u8>, search: &ExternalSearch) {
    let limit = |limit: Option<u32>| limit.map_or(-1, i64::from);
    name(text, "base", &search.base);
    number(text, "scope", search.scope);
    number(text, "deref", search.dereference);
    number(text, "sizelimit", limit(search.size_limit));
    number(text, "timelimit", limit(search.time_limit));
    line(text, "filter", search.filter.as_bytes());
    number(text, "attrsonly", u8::from(search.types_only));
    text.extend_from_slice(b"attrs:");
    if search.attributes.is_empty() {
        text.extend_from_slice(b" all");
    }
    // What no attribute can be called names none.
    for attribute in search.attributes.iter().filter(|attribute| is_name(attribute)) {
        text.push(b' ');
        text.extend_from_slice(attribute);
    }
    text.extend_from_slice(b"\n\n");
}

fn write_modification(text: &mut Vec<u8>, schema: &Schema, modification: &Modification) {
    let kind = match modification.kind {
        ModificationKind::Add | ModificationKind::AddIfAbsent => "add",
        ModificationKind::Delete => "delete",
        ModificationKind::Replace => "replace",
        ModificationKind::Increment => "increment",
    };
    let attribute = schema.description_text(&modification.description);
    line(text, kind, attribute.as_bytes());
    for value in &modification.values {
        UNFOLDED.attribute(text, attribute.as_bytes(), value);
    }
    text.extend_from_slice(b"-\n");
}

fn name(text: &mut Vec<u8>, key: &str, dn: &Dn) {
    line(text, key, dn.pretty().as_bytes());
}

fn number(text: &mut Vec<u8>, key: &str, value: impl std::fmt::Display) {
    // Writing to memory cannot fail.
    let _ = writeln!(text, "{key}: {value}");
}

/// `key: value`, or `key:: ` and base64 where the value would not stay on its line.
fn line(text: &mut Vec<u8>, key: &str, value: &[u8]) {
    text.extend_from_slice(key.as_bytes());
    let breaks = value.iter().any(|octet| matches!(octet, b'\n' | b'\r' | 0));
    if breaks {
        text.extend_from_slice(b":: ");
        text.extend_from_slice(ironbark_ldif::base64(value).as_bytes());
    } else {
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
    }
    text.push(b'\n');
}

/// Whether octets can be the name of an attribute in a list: they have a word of their own, on the same line.
fn is_name(attribute: &[u8]) -> bool {
    !attribute.is_empty() && attribute.iter().all(u8::is_ascii_graphic)
}

/// `LDAP_AUTH_SIMPLE`.
const SIMPLE: u32 = 128;
/// Values on one line, however long.
const UNFOLDED: LdifWriter = LdifWriter { wrap: Wrap::No };
