//! Schema definitions of slapd.conf, in order, and the resulting schema.

use std::borrow::Cow;

use ironbark_model::schema::Source;

/// One definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaStatement {
    /// What it defines.
    pub kind: SchemaKind,
    /// The text behind the keyword, exactly as written.
    pub text: String,
    /// Its words, for kinds that are no RFC 4512 definition.
    pub words: Vec<String>,
    /// Where it stands.
    pub location: Source,
}

/// What a schema statement defines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SchemaKind {
    /// `objectidentifier name oid`.
    ObjectIdentifier,
    /// `ldapsyntax ( ... )`.
    LdapSyntax,
    /// `attributetype ( ... )`.
    AttributeType,
    /// `objectclass ( ... )`.
    ObjectClass,
    /// `ditcontentrule ( ... )`.
    DitContentRule,
    /// `attributeoptions option ...`; replaces the predefined `lang-`.
    AttributeOptions,
}

/// The text of a definition. Old files have Latin-1 in descriptions: each byte that is not UTF-8 is read as such.
pub(crate) fn definition_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().copied().map(char::from));
    }
    Cow::Owned(text)
}
