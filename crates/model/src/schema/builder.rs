//! Collecting definitions into a new [`Schema`].

use std::sync::Arc;

use super::{
    AttributeTypeDefinition, ContentRuleDefinition, DefinitionError, ObjectClassDefinition, Schema, SchemaError,
    SchemaErrors, Source, SyntaxDefinition, is_macro_name, resolve,
    sourced::{MacroDefinition, Sourced},
};
use crate::attribute_options::AttributeOptions;

/// A batch of definitions, added to a schema in one step.
///
/// The order inside a batch does not matter: [`SchemaBuilder::build`] resolves references, and reports all wrong ones.
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    pub(super) base: Schema,
    pub(super) macros: Vec<Sourced<MacroDefinition>>,
    pub(super) syntaxes: Vec<Sourced<SyntaxDefinition>>,
    pub(super) attribute_types: Vec<Sourced<AttributeTypeDefinition>>,
    pub(super) object_classes: Vec<Sourced<ObjectClassDefinition>>,
    pub(super) content_rules: Vec<Sourced<ContentRuleDefinition>>,
    /// Whether the definitions belong to the system schema.
    pub(super) built_in: bool,
    /// Whether the definitions added from now on are kept out of the subschema subentry.
    pub(super) hidden: bool,
}

impl Default for SchemaBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl SchemaBuilder {
    /// Starts from the system schema.
    pub fn new() -> Self {
        Self::from_schema(&Schema::system())
    }

    /// Marks the definitions as the server's own. A configuration may repeat them.
    #[must_use]
    pub fn built_in(mut self) -> Self {
        self.built_in = true;
        self
    }

    /// Lets values of the syntax Boolean have any case.
    #[must_use]
    pub fn any_case_booleans(mut self, may: bool) -> Self {
        self.base.any_case_booleans = may;
        self
    }

    /// Keeps the definitions added from now on out of the subschema subentry, until [`Schema::revealing`] shows them.
    pub fn hide(&mut self) {
        self.hidden = true;
    }

    /// Starts from a schema. Its numbers stay valid in the new schema.
    pub fn from_schema(schema: &Schema) -> Self {
        Self {
            base: schema.clone(),
            macros: Vec::new(),
            syntaxes: Vec::new(),
            attribute_types: Vec::new(),
            object_classes: Vec::new(),
            content_rules: Vec::new(),
            built_in: false,
            hidden: false,
        }
    }

    /// An `attributetype` (RFC 4512 §4.1.2).
    pub fn attributetype(&mut self, text: &str, source: &Source) -> Result<(), SchemaError> {
        let definition =
            AttributeTypeDefinition::parse(text).map_err(|error| refusal("attribute type", text, &error, source))?;
        let sourced = self.sourced(definition, source);
        self.attribute_types.push(sourced);
        Ok(())
    }

    /// An `objectclass` (RFC 4512 §4.1.1).
    pub fn objectclass(&mut self, text: &str, source: &Source) -> Result<(), SchemaError> {
        let definition =
            ObjectClassDefinition::parse(text).map_err(|error| refusal("object class", text, &error, source))?;
        let sourced = self.sourced(definition, source);
        self.object_classes.push(sourced);
        Ok(())
    }

    /// A `ditcontentrule` (RFC 4512 §4.1.6).
    pub fn ditcontentrule(&mut self, text: &str, source: &Source) -> Result<(), SchemaError> {
        let definition =
            ContentRuleDefinition::parse(text).map_err(|error| refusal("DIT content rule", text, &error, source))?;
        let sourced = self.sourced(definition, source);
        self.content_rules.push(sourced);
        Ok(())
    }

    /// An `ldapsyntax` (RFC 4512 §4.1.5); without `X-SUBST`, no value conforms to it.
    pub fn ldapsyntax(&mut self, text: &str, source: &Source) -> Result<(), SchemaError> {
        let definition = SyntaxDefinition::parse(text).map_err(|error| refusal("LDAP syntax", text, &error, source))?;
        let sourced = self.sourced(definition, source);
        self.syntaxes.push(sourced);
        Ok(())
    }

    /// An `objectidentifier` macro: `name oid` or `name macro:suffix`.
    pub fn objectidentifier(&mut self, text: &str, source: &Source) -> Result<(), SchemaError> {
        let mut words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let (Some(name), Some(value), None) = (words.next(), words.next(), words.next()) else {
            return Err(SchemaError {
                source_of: source.clone(),
                element: format!("object identifier \"{}\"", shortened(text)),
                reason: "a name and an OID expected".to_owned(),
            });
        };
        if !is_macro_name(name) {
            return Err(SchemaError {
                source_of: source.clone(),
                element: format!("object identifier {name}"),
                reason: "a macro name begins with no digit, and has no colon, parenthesis, dollar or quote".to_owned(),
            });
        }
        let definition = MacroDefinition {
            name: name.into(),
            value: value.into(),
        };
        let sourced = self.sourced(definition, source);
        self.macros.push(sourced);
        Ok(())
    }

    /// Refuses a DIT structure rule or name form. slapd does not enforce these either; a refusal avoids false trust in
    /// them.
    pub fn unsupported(&self, keyword: &str, text: &str, source: &Source) -> SchemaError {
        SchemaError {
            source_of: source.clone(),
            element: format!("{keyword} \"{}\"", shortened(text)),
            reason: "name forms and DIT structure rules are not enforced by this server".to_owned(),
        }
    }

    /// Replaces the tagging options and prefixes (`attributeoptions`).
    pub fn attribute_options(&mut self, options: AttributeOptions) {
        self.base.options = options;
    }

    fn sourced<T>(&self, definition: T, source: &Source) -> Sourced<T> {
        Sourced {
            definition,
            source: source.clone(),
            hidden: self.hidden,
        }
    }

    /// The new schema.
    ///
    /// # Errors
    /// Every definition that contradicts another one or refers to an unknown element.
    pub fn build(self) -> Result<Arc<Schema>, SchemaErrors> {
        resolve::resolve(self).map(Arc::new)
    }
}

fn refusal(kind: &str, text: &str, error: &DefinitionError, source: &Source) -> SchemaError {
    SchemaError {
        source_of: source.clone(),
        element: format!("{kind} \"{}\"", shortened(text)),
        reason: error.to_string(),
    }
}

/// The beginning of a definition, long enough to find it.
fn shortened(text: &str) -> String {
    let mut words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(60) {
        words.truncate(end);
        words.push_str("...");
    }
    words
}
