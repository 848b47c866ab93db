//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use crate::{
    CompiledFilter, Dn, Entry, Filter, PosixRegex, Schema,
    dn::name_and_uid,
    entry::EntrySource,
    filter::log::LogFilter,
    ldap_url::LdapUrl,
    matching::{self, SubstringPart},
    schema::{
        AttributeTypeDefinition, ContentRuleDefinition, ObjectClassDefinition, SchemaBuilder, Source, SyntaxDefinition,
        file,
    },
    syntax,
};

/// Parses `data` as a filter, prints, compiles and evaluates it.
///
/// # Panics
/// When a printed filter does not parse to the same filter: that is the property under test.
pub fn filter(data: &[u8]) {
    let Ok(filter) = Filter::parse(data, 50) else {
        return;
    };
    let text = filter.to_string();
    assert_eq!(
        Filter::parse(text.as_bytes(), 50),
        Ok(filter.clone()),
        "a filter came back changed"
    );
    let schema = Schema::system();
    let _ = LogFilter::new(&schema, &filter).to_string();
    let mut compiled = CompiledFilter::default();
    compiled.compile(&schema, &filter);
    let entry = Entry::new(Dn::root());
    let source = EntrySource::new(&schema, &compiled, &entry);
    let _ = compiled.evaluate(&schema, &source, &mut Vec::new());
}

/// Parses `data` as a DN, as a name with an optional UID, and as the DER of a certificate's issuer.
///
/// # Panics
/// When the pretty form does not parse to an equal name: that is the property under test.
pub fn dn(data: &[u8]) {
    let schema = Schema::system();
    if let Ok(dn) = Dn::parse(&schema, data) {
        if dn.pretty().len() <= crate::dn::MAX_LENGTH {
            let again = Dn::parse(&schema, dn.pretty().as_bytes());
            assert_eq!(again.as_ref(), Ok(&dn), "a name came back changed");
        }
        let _ = dn.leaf_assertions(&schema);
    }
    let _ = name_and_uid::parse(&schema, data);
    let _ = Dn::from_rdn_sequence(&schema, data);
}

/// Parses `data` as an LDAP URL and prints it.
///
/// # Panics
/// When a printed URL does not parse to an equal one: that is the property under test.
pub fn ldap_url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(url) = LdapUrl::parse(text) {
        let _ = url.socket_mode();
        assert_eq!(LdapUrl::parse(&url.to_string()), Ok(url), "a URL came back changed");
    }
}

/// Reads `data` as a schema file, and as one definition of each kind, which is printed.
///
/// # Panics
/// When a printed definition does not read as the same definition: that is the property under test.
pub fn schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let source = Source {
        file: "fuzz".into(),
        line: 0,
    };
    let mut builder = SchemaBuilder::new();
    let _ = file::read(&mut builder, text, &source.file);
    let _ = builder.build();
    let as_written: &dyn Fn(&str) -> String = &str::to_owned;
    if let Ok(definition) = AttributeTypeDefinition::parse(text) {
        let again = AttributeTypeDefinition::parse(&definition.print(as_written));
        assert_eq!(again, Ok(definition), "an attribute type came back changed");
    }
    if let Ok(definition) = ObjectClassDefinition::parse(text) {
        let again = ObjectClassDefinition::parse(&definition.print(as_written));
        assert_eq!(again, Ok(definition), "an object class came back changed");
    }
    if let Ok(definition) = ContentRuleDefinition::parse(text) {
        let again = ContentRuleDefinition::parse(&definition.print(as_written));
        assert_eq!(again, Ok(definition), "a content rule came back changed");
    }
    if let Ok(definition) = SyntaxDefinition::parse(text) {
        let _ = definition.print(as_written);
    }
}

/// Validates and normalizes by one syntax or matching rule: `data` is its OID or name, and on the next two lines a
/// value and an assertion.
///
/// # Panics
/// When a rule leaves something in the buffer that it refuses to fill: that is the property under test.
pub fn value(data: &[u8]) {
    let schema = Schema::system();
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (name, value, assertion) = (line(), line(), line());
    if let Some(syntax) = std::str::from_utf8(name).ok().and_then(syntax::find) {
        let _ = (syntax.validate)(&schema, value);
        let _ = (syntax.validate)(&schema, assertion);
    }
    let Some(rule) = matching::find(name) else {
        return;
    };
    let normal = |normalize: &dyn Fn(&mut Vec<u8>) -> Result<(), syntax::InvalidValue>| {
        let mut out = b"before".to_vec();
        let result = normalize(&mut out);
        let rest = out.strip_prefix(b"before").map(<[u8]>::to_vec);
        assert!(
            result.is_ok() || rest.as_ref().is_some_and(Vec::is_empty),
            "{rule:?} left something behind"
        );
        rest.filter(|_| result.is_ok())
    };
    let stored = normal(&|out| (rule.normalize_value)(&schema, value, out));
    let asserted = normal(&|out| rule.assertion(&schema, assertion, out));
    if let (Some(evaluate), Some(stored), Some(asserted)) = (rule.evaluate, stored, asserted) {
        let _ = evaluate(&schema, &stored, &asserted);
    }
    for place in [SubstringPart::Initial, SubstringPart::Any, SubstringPart::Final] {
        let _ = normal(&|out| rule.part(&schema, None, assertion, place, out));
    }
    let mut codes = Vec::new();
    matching::approx::codes(value, &mut codes);
    let _ = matching::approx::matches(&codes, &codes);
}

/// Compiles the first line of `data` as a POSIX expression and matches the rest with it.
///
/// # Panics
/// When a match is found by one way and not by the other, or lies outside the text: that is the property under test.
pub fn posix_regex(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let (pattern, text) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let Some(regex) = std::str::from_utf8(pattern)
        .ok()
        .and_then(|pattern| PosixRegex::new(pattern).ok())
    else {
        return;
    };
    let found = regex.find(text);
    assert_eq!(found.is_some(), regex.is_match(text), "a match is one or is none");
    if found.is_some() {
        let ends = (0..=text.len().min(32)).filter_map(|end| text.get(..end));
        for beginning in ends {
            assert!(regex.may_match_after(beginning), "what matches is not ruled out");
        }
    }
    for (start, end) in found.unwrap_or_default().into_iter().flatten() {
        assert!(text.get(start..end).is_some(), "a submatch lies in the text");
    }
}
