//! Definitions as text, in the form and order of elements that slapd publishes.

use std::fmt::Write as _;

use super::{
    ClassKind, Usage,
    definition::{
        AttributeTypeDefinition, Common, ContentRuleDefinition, ObjectClassDefinition, OtherDefinition,
        SyntaxDefinition,
    },
};

/// Turns an OID as written into the printed OID. cn=config prints it unchanged; the subschema subentry expands macros.
pub type OidText<'a> = &'a dyn Fn(&str) -> String;

impl AttributeTypeDefinition {
    /// The text. OIDs go through `oid_text`.
    pub fn print(&self, oid_text: OidText<'_>) -> String {
        let mut out = head(&self.common, oid_text);
        for (keyword, value) in [
            (" SUP ", &self.superior),
            (" EQUALITY ", &self.equality),
            (" ORDERING ", &self.ordering),
            (" SUBSTR ", &self.substrings),
        ] {
            if let Some(value) = value {
                out.push_str(keyword);
                out.push_str(value);
            }
        }
        if let Some(syntax) = &self.syntax {
            out.push_str(" SYNTAX ");
            out.push_str(&oid_text(syntax));
            if let Some(bound) = self.minimum_upper_bound {
                let _ = write!(out, "{{{bound}}}");
            }
        }
        for (stated, keyword) in [
            (self.single_value, " SINGLE-VALUE"),
            (self.collective, " COLLECTIVE"),
            (self.no_user_modification, " NO-USER-MODIFICATION"),
        ] {
            if stated {
                out.push_str(keyword);
            }
        }
        out.push_str(match self.usage {
            Usage::UserApplications => "",
            Usage::DirectoryOperation => " USAGE directoryOperation",
            Usage::DistributedOperation => " USAGE distributedOperation",
            Usage::DsaOperation => " USAGE dSAOperation",
        });
        tail(out, &self.common)
    }
}

impl ObjectClassDefinition {
    /// The text. OIDs go through `oid_text`.
    pub fn print(&self, oid_text: OidText<'_>) -> String {
        let mut out = head(&self.common, oid_text);
        oids(&mut out, " SUP ", &self.superiors);
        out.push_str(match self.kind {
            ClassKind::Abstract => " ABSTRACT",
            ClassKind::Structural => " STRUCTURAL",
            ClassKind::Auxiliary => " AUXILIARY",
        });
        oids(&mut out, " MUST ", &self.must);
        oids(&mut out, " MAY ", &self.may);
        tail(out, &self.common)
    }
}

impl ContentRuleDefinition {
    /// The text. OIDs go through `oid_text`.
    pub fn print(&self, oid_text: OidText<'_>) -> String {
        let mut out = head(&self.common, oid_text);
        oids(&mut out, " AUX ", &self.auxiliary);
        oids(&mut out, " MUST ", &self.must);
        oids(&mut out, " MAY ", &self.may);
        oids(&mut out, " NOT ", &self.not);
        tail(out, &self.common)
    }
}

impl SyntaxDefinition {
    /// The text. OIDs go through `oid_text`.
    pub fn print(&self, oid_text: OidText<'_>) -> String {
        // RFC 4512 §4.1.5 has no NAME here; slapd reads one and does not print it.
        let named = Common {
            names: Vec::new(),
            ..self.common.clone()
        };
        tail(head(&named, oid_text), &named)
    }
}

impl OtherDefinition {
    /// The text. OIDs go through `oid_text`.
    pub fn print(&self, oid_text: OidText<'_>) -> String {
        let mut out = head(&self.common, oid_text);
        for (keyword, values) in &self.elements {
            oids(&mut out, &format!(" {keyword} "), values);
        }
        tail(out, &self.common)
    }
}

fn head(common: &Common, oid_text: OidText<'_>) -> String {
    let mut out = String::from("( ");
    out.push_str(&oid_text(&common.oid));
    if !common.names.is_empty() {
        out.push_str(" NAME ");
        quoted(&mut out, &common.names);
    }
    if let Some(description) = &common.description {
        let _ = write!(out, " DESC '{description}'");
    }
    if common.obsolete {
        out.push_str(" OBSOLETE");
    }
    out
}

fn tail(mut out: String, common: &Common) -> String {
    for (name, values) in &common.extensions {
        let _ = write!(out, " {name} ");
        quoted(&mut out, values);
    }
    out.push_str(" )");
    out
}

fn quoted(out: &mut String, values: &[Box<str>]) {
    if let [value] = values {
        let _ = write!(out, "'{value}'");
        return;
    }
    out.push('(');
    for value in values {
        let _ = write!(out, " '{value}'");
    }
    out.push_str(" )");
}

/// Nothing for an empty list, the bare OID for one, otherwise `( a $ b )`.
pub(crate) fn oids(out: &mut String, keyword: &str, values: &[impl AsRef<str>]) {
    let Some((first, more)) = values.split_first() else {
        return;
    };
    out.push_str(keyword);
    if more.is_empty() {
        out.push_str(first.as_ref());
        return;
    }
    let _ = write!(out, "( {}", first.as_ref());
    for value in more {
        let _ = write!(out, " $ {}", value.as_ref());
    }
    out.push_str(" )");
}
