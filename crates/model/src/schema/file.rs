//! Schema text: `.schema` files in slapd.conf syntax, and the values of cn=schema entries.

use std::sync::Arc;

use super::{SchemaBuilder, SchemaError, SchemaErrors, Source};
use crate::attribute_options::AttributeOptions;

/// Reads the text of a `.schema` file: directives with continuation lines that start with white space, `#` comments,
/// keywords in any case.
///
/// # Errors
/// All directives that are not schema, and all definitions that cannot be read. The builder has the other definitions.
pub fn read(builder: &mut SchemaBuilder, text: &str, file: &Arc<str>) -> Result<(), SchemaErrors> {
    let mut errors = Vec::new();
    for (line, directive) in directives(text) {
        let source = Source {
            file: Arc::clone(file),
            line,
        };
        let (keyword, definition) = directive.split_once(char::is_whitespace).unwrap_or((&directive, ""));
        if let Err(error) = add(builder, keyword, definition.trim(), &source) {
            errors.push(error);
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(SchemaErrors(errors))
    }
}

/// Adds one schema directive of slapd.conf(5); `keyword` in any case.
///
/// # Errors
/// Not a schema directive, or a definition that cannot be read.
pub fn add(builder: &mut SchemaBuilder, keyword: &str, definition: &str, source: &Source) -> Result<(), SchemaError> {
    match keyword.to_ascii_lowercase().as_str() {
        "attributetype" | "attribute" => builder.attributetype(definition, source),
        "objectclass" => builder.objectclass(definition, source),
        "objectidentifier" => builder.objectidentifier(definition, source),
        "ditcontentrule" => builder.ditcontentrule(definition, source),
        "ldapsyntax" => builder.ldapsyntax(definition, source),
        "attributeoptions" => {
            let options = AttributeOptions::new(definition.split_whitespace()).map_err(|error| SchemaError {
                source_of: source.clone(),
                element: "attributeoptions".to_owned(),
                reason: error.to_string(),
            })?;
            builder.attribute_options(options);
            Ok(())
        }
        "ditstructurerule" | "nameform" => Err(builder.unsupported(keyword, definition, source)),
        _ => Err(SchemaError {
            source_of: source.clone(),
            element: keyword.to_owned(),
            reason: "not a schema directive".to_owned(),
        }),
    }
}

/// Adds one value of a cn=schema entry (`olcAttributeTypes: {0}( ... )`) or of a subschema subentry
/// (`attributeTypes: ( ... )`).
///
/// Returns false when the attribute holds no schema.
///
/// # Errors
/// A definition that cannot be read.
pub fn add_value(
    builder: &mut SchemaBuilder,
    attribute: &str,
    value: &str,
    source: &Source,
) -> Result<bool, SchemaError> {
    let definition = without_order_prefix(value);
    match attribute.to_ascii_lowercase().as_str() {
        "olcattributetypes" | "attributetypes" => builder.attributetype(definition, source)?,
        "olcobjectclasses" | "objectclasses" => builder.objectclass(definition, source)?,
        "olcobjectidentifier" => builder.objectidentifier(definition, source)?,
        "olcditcontentrules" | "ditcontentrules" => builder.ditcontentrule(definition, source)?,
        "olcldapsyntaxes" | "ldapsyntaxes" => builder.ldapsyntax(definition, source)?,
        "ditstructurerules" | "nameforms" => return Err(builder.unsupported(attribute, definition, source)),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The value behind the `{n}` of `X-ORDERED`.
fn without_order_prefix(value: &str) -> &str {
    let value = value.trim();
    match value.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => rest.trim_start(),
        _ => value,
    }
}

/// The directives of a text, each with the number of its first line.
fn directives(text: &str) -> Vec<(u32, String)> {
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut number = 0;
    // A comment is continued like a directive (slapd.conf(5)).
    let mut in_comment = false;
    for line in text.lines() {
        number += 1;
        let line = line.trim_end();
        if line.starts_with([' ', '\t']) {
            if !in_comment && let Some((_, directive)) = found.last_mut() {
                directive.push(' ');
                directive.push_str(line.trim_start());
            }
            continue;
        }
        in_comment = line.starts_with('#');
        if !in_comment && !line.is_empty() {
            found.push((number, line.to_owned()));
        }
    }
    found
}
