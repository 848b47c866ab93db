//! Builds the schema from the definitions of a configuration.

use std::sync::Arc;

use ironbark_model::{
    Schema,
    attribute_options::AttributeOptions,
    schema::{SchemaBuilder, SchemaError, Source, SyntaxDefinition, file, has_text_behind},
};

use crate::{
    ConfigError,
    error::{Complain, ErrorSubject, Notice, NoticeKind},
    overlay::OverlayDescriptor,
    parts,
    reader::ConfigLine,
    registry::{Registry, schema_kind},
    schema_statement::{SchemaKind, SchemaStatement},
};

/// Separates schema definitions from other lines. A macro that is defined again with the same value is there once.
pub(crate) fn schema_statements(lines: Vec<ConfigLine>) -> (Vec<SchemaStatement>, Vec<ConfigLine>) {
    let mut definitions: Vec<SchemaStatement> = Vec::new();
    let mut statements = Vec::new();
    for line in lines {
        match schema_kind(&line.keyword) {
            Some(SchemaKind::ObjectIdentifier)
                if definitions
                    .iter()
                    .any(|known| known.kind == SchemaKind::ObjectIdentifier && known.words == line.arguments) => {}
            Some(kind) => definitions.push(SchemaStatement {
                kind,
                text: line.raw,
                words: line.arguments,
                location: line.location,
            }),
            None => statements.push(line),
        }
    }
    (definitions, statements)
}

/// Whether one of these lines loads the module after which Boolean values may have any case.
pub(crate) fn load_ciboolean(lines: &[ConfigLine]) -> bool {
    let modules = lines
        .iter()
        .filter(|line| line.keyword.eq_ignore_ascii_case("moduleload"));
    modules
        .filter_map(|line| line.arguments.first())
        .any(|name| is_ciboolean(name))
}

/// Whether it is that module, as `moduleload` names it.
pub(crate) fn is_ciboolean(name: &str) -> bool {
    parts::module_name(name) == "ciboolean"
}

/// The built-in schema and the definitions of a file. `complain` decides for each invalid definition whether building
/// continues without it.
pub(crate) fn build_schema(
    registry: &Registry,
    definitions: &[SchemaStatement],
    any_case_booleans: bool,
    complain: &mut Complain<'_>,
) -> Result<Arc<Schema>, ConfigError> {
    let mut builder = SchemaBuilder::from_schema(registry.base_schema()).any_case_booleans(any_case_booleans);
    let mut options: Option<(&Source, Vec<&str>)> = None;
    for definition in definitions {
        let SchemaStatement {
            kind,
            text,
            words,
            location,
        } = definition;
        let added = match kind {
            SchemaKind::ObjectIdentifier => builder.objectidentifier(text, location),
            SchemaKind::LdapSyntax => builder.ldapsyntax(text, location),
            SchemaKind::AttributeType => builder.attributetype(text, location),
            SchemaKind::ObjectClass => builder.objectclass(text, location),
            SchemaKind::DitContentRule => builder.ditcontentrule(text, location),
            SchemaKind::AttributeOptions => {
                let (_, all) = options.get_or_insert_with(|| (location, Vec::new()));
                all.extend(words.iter().map(String::as_str));
                Ok(())
            }
        };
        if let Err(error) = added {
            complain(schema_refusal(&error))?;
        }
    }
    if let Some((location, words)) = options {
        match AttributeOptions::new(words) {
            Ok(options) => {
                builder.attribute_options(options);
            }
            Err(error) => complain(ConfigError::of_setting(location, "attributeoptions", error.to_string()))?,
        }
    }
    let built = builder.build().map_err(|errors| match errors.0.first() {
        Some(error) => schema_refusal(error),
        None => ConfigError::Unreadable {
            path: "schema".to_owned(),
            reason: errors.to_string(),
        },
    })?;
    Ok(registry.overlays().iter().copied().fold(built, with_later))
}

/// What of a definition has no effect, for the log.
pub(crate) fn notice(definition: &SchemaStatement, schema: &Schema) -> Option<Notice> {
    let keyword = match definition.kind {
        SchemaKind::LdapSyntax => "ldapsyntax",
        SchemaKind::AttributeType => "attributetype",
        SchemaKind::ObjectClass => "objectclass",
        SchemaKind::DitContentRule => "ditcontentrule",
        SchemaKind::ObjectIdentifier | SchemaKind::AttributeOptions => return None,
    };
    let text = if has_text_behind(&definition.text) {
        "the text behind the closing parenthesis is ignored".to_owned()
    } else if definition.kind == SchemaKind::LdapSyntax {
        let oid = syntax_without_values(&definition.text, schema)?;
        format!("no value conforms to the syntax {oid}, which has no X-SUBST")
    } else {
        return None;
    };
    Some(Notice {
        location: definition.location.clone(),
        subject: ErrorSubject::Setting(keyword.to_owned()),
        text,
        kind: NoticeKind::Statement,
    })
}

/// The OID of an `ldapsyntax` of the configuration without a substitute.
fn syntax_without_values(text: &str, schema: &Schema) -> Option<Box<str>> {
    let found = SyntaxDefinition::parse(text).ok()?;
    let oid = schema
        .expand_oid_macro(&found.common.oid)
        .map_or(found.common.oid.clone(), Into::into);
    let is_new = schema
        .syntaxes()
        .iter()
        .any(|row| row.syntax.oid == &*oid && !row.built_in);
    (is_new && found.extension("X-SUBST").is_none()).then_some(oid)
}

/// Adds the definitions of an overlay that need some of the configuration, if these are there.
fn with_later(built: Arc<Schema>, overlay: &'static OverlayDescriptor) -> Arc<Schema> {
    let (_, later) = overlay.definitions();
    if later.is_empty() {
        return built;
    }
    let mut builder = SchemaBuilder::from_schema(&built).built_in();
    builder.hide();
    let read = file::read(&mut builder, later, &"built-in".into());
    read.ok().and_then(|()| builder.build().ok()).unwrap_or(built)
}

fn schema_refusal(error: &SchemaError) -> ConfigError {
    ConfigError::Definition {
        location: error.source_of.clone(),
        reason: format!("{}: {}", error.element, error.reason),
    }
}
