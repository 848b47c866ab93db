//! Schema definitions of slapd.conf, in order, and the resulting schema.

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
