//! The schema of a server: an immutable set of definitions (RFC 4512 §4.1) with look-ups by name, OID and number.

use std::sync::Arc;

use crate::{AttributeDescription, matching::MatchingRule, syntax::Syntax};

/// Index of an attribute type in its [`Schema`]. Only meaningful together with that schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TypeNumber(pub u32);

/// Index of an object class in its [`Schema`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassNumber(pub u32);

/// `usage` of an attribute type (RFC 4512 §4.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// A user attribute.
    UserApplications,
    /// Operational, of the directory.
    DirectoryOperation,
    /// Operational, shared by servers.
    DistributedOperation,
    /// Operational, of this server.
    DsaOperation,
}

/// `kind` of an object class (RFC 4512 §2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassKind {
    /// Superclass only.
    Abstract,
    /// The kind every entry has exactly one chain of.
    Structural,
    /// Additional attributes.
    Auxiliary,
}

/// An attribute type with everything inherited from its superiors resolved.
#[derive(Clone, Debug)]
pub struct AttributeType {
    /// Position in the schema.
    pub number: TypeNumber,
    /// Dotted-decimal OID.
    pub oid: Box<str>,
    /// NAMEs in order; the first is the one printed. Empty when the definition has none (then the OID is printed).
    pub names: Vec<Box<str>>,
    /// DESC.
    pub description: Option<Box<str>>,
    /// OBSOLETE.
    pub obsolete: bool,
    /// SUP.
    pub superior: Option<TypeNumber>,
    /// EQUALITY, own or inherited.
    pub equality: Option<&'static MatchingRule>,
    /// ORDERING, own or inherited.
    pub ordering: Option<&'static MatchingRule>,
    /// SUBSTR, own or inherited.
    pub substrings: Option<&'static MatchingRule>,
    /// SYNTAX, own or inherited.
    pub syntax: &'static Syntax,
    /// The `{n}` of SYNTAX. Advisory, never enforced (RFC 4512 §4.1.2).
    pub minimum_upper_bound: Option<u32>,
    /// SINGLE-VALUE.
    pub single_value: bool,
    /// COLLECTIVE.
    pub collective: bool,
    /// NO-USER-MODIFICATION.
    pub no_user_modification: bool,
    /// USAGE.
    pub usage: Usage,
    /// `X-` extensions in order, values as written.
    pub extensions: Vec<(Box<str>, Vec<Box<str>>)>,
    /// The definition as the subschema subentry publishes it.
    pub definition: Box<str>,
}

/// An object class.
#[derive(Clone, Debug)]
pub struct ObjectClass {
    /// Position in the schema.
    pub number: ClassNumber,
    /// Dotted-decimal OID.
    pub oid: Box<str>,
    /// NAMEs in order.
    pub names: Vec<Box<str>>,
    /// DESC.
    pub description: Option<Box<str>>,
    /// OBSOLETE.
    pub obsolete: bool,
    /// SUPs, direct.
    pub superiors: Vec<ClassNumber>,
    /// Kind.
    pub kind: ClassKind,
    /// MUST, own only; see [`Schema::superclasses`] for the closure.
    pub must: Vec<TypeNumber>,
    /// MAY, own only.
    pub may: Vec<TypeNumber>,
    /// `X-` extensions.
    pub extensions: Vec<(Box<str>, Vec<Box<str>>)>,
    /// The definition as published.
    pub definition: Box<str>,
}

/// Where a definition came from: shown in every refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name or the DN of a cn=schema entry; `built-in` for the system schema.
    pub file: Arc<str>,
    /// Line, from 1; 0 when there is none.
    pub line: u32,
}

/// The definitions a server knows. Immutable; cheap to share (`Arc<Schema>`).
#[derive(Debug)]
pub struct Schema {
    _private: (),
}

impl Schema {
    /// The built-in system schema alone (RFC 4512 §4, RFC 4517, RFC 4519 core names that slapd has built in).
    pub fn system() -> Arc<Schema> {
        todo!()
    }
    /// All attribute types by number.
    pub fn attribute_types(&self) -> &[AttributeType] {
        todo!()
    }
    /// All object classes by number.
    pub fn object_classes(&self) -> &[ObjectClass] {
        todo!()
    }
    /// An attribute type by number. The number must come from this schema.
    pub fn attribute_type(&self, number: TypeNumber) -> &AttributeType {
        let _ = number;
        todo!()
    }
    /// An attribute type by NAME (any case) or OID.
    pub fn find_attribute_type(&self, name: &[u8]) -> Option<&AttributeType> {
        let _ = name;
        todo!()
    }
    /// An object class by NAME (any case) or OID.
    pub fn find_object_class(&self, name: &[u8]) -> Option<&ObjectClass> {
        let _ = name;
        todo!()
    }
    /// Resolves `type;option;...`. Allocates only when there are options.
    pub fn attribute_description(&self, text: &[u8]) -> Result<AttributeDescription, DescriptionError> {
        let _ = text;
        todo!()
    }
    /// The text of a description: first NAME (or OID), then the options.
    pub fn description_text(&self, description: &AttributeDescription) -> String {
        let _ = description;
        todo!()
    }
    /// Whether `a` is `b` or a (transitive) subtype of `b`.
    pub fn is_subtype(&self, a: TypeNumber, b: TypeNumber) -> bool {
        let _ = (a, b);
        todo!()
    }
    /// The class and all its superclasses.
    pub fn superclasses(&self, class: ClassNumber) -> &[ClassNumber] {
        let _ = class;
        todo!()
    }
}

/// Why a text is no attribute description of this schema; each maps to `undefinedAttributeType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The syntax of RFC 4512 §2.5 is not met.
    #[error("AttributeDescription contains inappropriate characters")]
    Malformed,
    /// No such attribute type.
    #[error("attribute type undefined")]
    UndefinedType,
    /// An option that is neither `binary` nor allowed by `attributeoptions`.
    #[error("unrecognized option")]
    UnknownOption,
}
