//! The schema of a server: an immutable set of definitions (RFC 4512 §4.1) with look-ups by name, OID and number.

use crate::{attribute_options::AttributeOptions, syntax::Syntax};

mod builder;
mod closures;
mod content_rule;
mod definition;
mod element;
pub mod entry_check;
mod error;
pub mod file;
mod name_index;
mod numbers;
mod print;
mod publish;
mod resolve;
mod sourced;
mod strict;
mod syntaxes;
mod system;
mod tokens;
mod unknown_set;
mod unknown_types;

#[cfg(test)]
mod tests;

use closures::Closures;
use name_index::NameIndex;
use unknown_set::UnknownTypes;

pub use builder::SchemaBuilder;
pub use content_rule::ContentRule;
pub use definition::{
    AttributeTypeDefinition, Common, ContentRuleDefinition, Extensions, ObjectClassDefinition, OtherDefinition,
    OtherKind, SyntaxDefinition, has_text_behind,
};
pub(crate) use definition::{is_descriptor, is_macro_name, is_numeric_oid, is_written_oid};
pub use element::{AttributeType, ClassKind, ObjectClass, OidMacro, Source, SyntaxRow, Usage};
pub use error::{SchemaError, SchemaErrors};
pub use numbers::{ClassNumber, TypeNumber};
pub use print::OidText;
pub use strict::check_form;
pub use tokens::DefinitionError;
pub(crate) use tokens::is_parenthesized;

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
    closures: Closures,
    unknown_types: UnknownTypes,
    any_case_booleans: bool,
    /// A type and a class that nothing refers to. Look-ups by a number of another schema (a fault of the caller) return
    /// them.
    stray: Box<(AttributeType, ObjectClass)>,
}

impl Schema {
    /// Whether values of the syntax Boolean may have any case (OpenLDAP's module ciboolean).
    pub fn takes_any_case_booleans(&self) -> bool {
        self.any_case_booleans
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
        let found = self.macros.iter().find(|entry| *entry.name == *name)?;
        Some(match suffix {
            Some(suffix) => format!("{}.{suffix}", found.oid),
            None => found.oid.to_string(),
        })
    }
}
