//! The schema of a server: an immutable set of definitions (RFC 4512 §4.1) with look-ups by name, OID and number.

use std::sync::{Arc, LazyLock};

use crate::{attribute_description::AttributeOptions, matching::MatchingRule, syntax::Syntax};

mod builder;
mod content_rule;
mod definition;
pub mod entry_check;
mod error;
pub mod file;
mod name_index;
mod print;
mod publish;
mod resolve;
mod syntaxes;
mod system;
mod tokens;
mod unknown_types;

#[cfg(test)]
mod tests;

use name_index::NameIndex;
use unknown_types::UnknownTypes;

pub use builder::SchemaBuilder;
pub use content_rule::ContentRule;
pub use definition::{
    AttributeTypeDefinition, Common, ContentRuleDefinition, Extensions, ObjectClassDefinition, OtherDefinition,
    OtherKind, SyntaxDefinition,
};
pub(crate) use definition::{is_descriptor, is_numeric_oid};
pub use error::{SchemaError, SchemaErrors};
pub use print::OidText;
pub use syntaxes::SyntaxRow;
pub use tokens::DefinitionError;

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
#[allow(clippy::struct_excessive_bools, reason = "each is a keyword of the definition")]
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
    /// The definition with its macros, as cn=config shows it.
    pub unexpanded_definition: Box<str>,
    /// Kept out of the subschema subentry: slapd's internal types.
    pub hidden: bool,
    /// Part of the system schema.
    pub built_in: bool,
}

impl AttributeType {
    /// What it is called in answers: the first NAME, or the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }

    /// Whether it is operational (RFC 4512 §3.4): every usage but `userApplications`.
    pub fn is_operational(&self) -> bool {
        self.usage != Usage::UserApplications
    }

    /// Why no entry may be named by it; `relax` as of the relax rules control.
    pub fn naming_fault(&self, relax: bool) -> Option<&'static str> {
        if self.is_operational() {
            Some("is operational")
        } else if self.collective {
            Some("is collective")
        } else if self.obsolete && !relax {
            Some("is obsolete")
        } else if self.equality.is_none() {
            Some("has no equality matching rule")
        } else {
            None
        }
    }

    /// The first value of an extension, such as `X-ORDERED`.
    pub fn extension(&self, name: &str) -> Option<&str> {
        let (_, values) = self.extensions.iter().find(|(found, _)| &**found == name)?;
        values.first().map(|value| &**value)
    }
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
    /// The definition with its macros, as cn=config shows it.
    pub unexpanded_definition: Box<str>,
    /// Kept out of the subschema subentry: slapd's internal classes.
    pub hidden: bool,
    /// Part of the system schema.
    pub built_in: bool,
}

impl ObjectClass {
    /// What it is called in answers: the first NAME, or the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }
}

/// Where a definition came from: shown in every refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name or the DN of a cn=schema entry; `built-in` for the system schema.
    pub file: Arc<str>,
    /// Line, from 1; 0 when there is none.
    pub line: u32,
}

/// An `objectidentifier` macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidMacro {
    /// Name.
    pub name: Box<str>,
    /// As written: an OID or another macro with a suffix.
    pub value: Box<str>,
    /// Expanded.
    pub oid: Box<str>,
}

/// The definitions a server knows. Immutable; cheap to share (`Arc<Schema>`).
#[derive(Debug, Clone)]
pub struct Schema {
    attribute_types: Vec<AttributeType>,
    object_classes: Vec<ObjectClass>,
    content_rules: Vec<ContentRule>,
    syntaxes: Vec<SyntaxRow>,
    macros: Vec<OidMacro>,
    options: AttributeOptions,
    type_names: NameIndex,
    class_names: NameIndex,
    closures: resolve::Closures,
    unknown_types: UnknownTypes,
    /// What a number of another schema yields (a fault of the caller): a type and a class that nothing refers to.
    stray: Box<(AttributeType, ObjectClass)>,
}

impl Schema {
    /// The built-in system schema alone (RFC 4512 §4, RFC 4517, RFC 4519 core names that slapd has built in).
    pub fn system() -> Arc<Schema> {
        static SYSTEM: LazyLock<Arc<Schema>> = LazyLock::new(system::build);
        Arc::clone(&SYSTEM)
    }

    /// All attribute types by number.
    pub fn attribute_types(&self) -> &[AttributeType] {
        &self.attribute_types
    }

    /// All object classes by number.
    pub fn object_classes(&self) -> &[ObjectClass] {
        &self.object_classes
    }

    /// All DIT content rules in order of definition.
    pub fn content_rules(&self) -> &[ContentRule] {
        &self.content_rules
    }

    /// The `objectidentifier` macros in order of definition, built-in ones first.
    pub fn oid_macros(&self) -> &[OidMacro] {
        &self.macros
    }

    /// The tagging options and prefixes in force (`attributeoptions`).
    pub fn attribute_options(&self) -> &AttributeOptions {
        &self.options
    }

    /// An attribute type by number. The number must come from this schema.
    pub fn attribute_type(&self, number: TypeNumber) -> &AttributeType {
        let found = self.attribute_types.get(number.0 as usize);
        debug_assert!(found.is_some(), "an attribute type number of another schema");
        found.unwrap_or(&self.stray.0)
    }

    /// An object class by number. The number must come from this schema.
    pub fn object_class(&self, number: ClassNumber) -> &ObjectClass {
        let found = self.object_classes.get(number.0 as usize);
        debug_assert!(found.is_some(), "an object class number of another schema");
        found.unwrap_or(&self.stray.1)
    }

    /// An attribute type by NAME (any case) or OID.
    pub fn find_attribute_type(&self, name: &[u8]) -> Option<&AttributeType> {
        let number = self.type_names.find(name)?;
        self.attribute_types.get(number as usize)
    }

    /// An object class by NAME (any case) or OID.
    pub fn find_object_class(&self, name: &[u8]) -> Option<&ObjectClass> {
        let number = self.class_names.find(name)?;
        self.object_classes.get(number as usize)
    }

    /// Whether `a` is `b` or a (transitive) subtype of `b`.
    pub fn is_subtype(&self, a: TypeNumber, b: TypeNumber) -> bool {
        a == b || self.closures.is_subtype(a, b)
    }

    /// The type and all its (transitive) supertypes, itself last.
    pub fn supertypes(&self, number: TypeNumber) -> &[TypeNumber] {
        self.closures.supertypes(number)
    }

    /// The type and all its (transitive) subtypes, itself first.
    pub fn subtypes(&self, number: TypeNumber) -> &[TypeNumber] {
        self.closures.subtypes(number)
    }

    /// The class and all its superclasses, itself first.
    pub fn superclasses(&self, class: ClassNumber) -> &[ClassNumber] {
        self.closures.superclasses(class)
    }

    /// The class and all its (transitive) subclasses, itself first.
    pub fn subclasses(&self, class: ClassNumber) -> &[ClassNumber] {
        self.closures.subclasses(class)
    }

    /// Whether `a` is `b` or a (transitive) subclass of `b`.
    pub fn is_subclass(&self, a: ClassNumber, b: ClassNumber) -> bool {
        self.superclasses(a).contains(&b)
    }

    /// MUST of the class and its superclasses, sorted.
    pub fn required_types(&self, class: ClassNumber) -> &[TypeNumber] {
        self.closures.required(class)
    }

    /// MUST and MAY of the class and its superclasses, sorted.
    pub fn allowed_types(&self, class: ClassNumber) -> &[TypeNumber] {
        self.closures.allowed(class)
    }

    /// The DIT content rule that governs entries of a structural class (RFC 4512 §4.1.6).
    pub fn content_rule(&self, class: ClassNumber) -> Option<&ContentRule> {
        self.content_rules.iter().find(|rule| rule.structural_class == class)
    }

    /// A syntax by OID: built in, or defined by `ldapsyntax`.
    pub fn find_syntax(&self, oid: &str) -> Option<&'static Syntax> {
        Some(self.syntaxes.iter().find(|row| row.syntax.oid == oid)?.syntax)
    }

    /// All syntaxes in order of publication.
    pub fn syntaxes(&self) -> &[SyntaxRow] {
        &self.syntaxes
    }

    /// The OID that a macro, with or without suffix, stands for; `None` when it is no macro.
    pub fn expand_oid_macro(&self, text: &str) -> Option<String> {
        let (name, suffix) = match text.split_once(':') {
            Some((name, suffix)) => (name, Some(suffix)),
            None => (text, None),
        };
        let found = self.macros.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))?;
        Some(match suffix {
            Some(suffix) => format!("{}.{suffix}", found.oid),
            None => found.oid.to_string(),
        })
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
    /// `;binary` on a type whose syntax has no binary transfer encoding.
    #[error("option \"binary\" not supported with type")]
    BinaryNotSupported,
    /// More options than an attribute description may have here (128).
    #[error("too many tagging options")]
    TooManyOptions,
}
