//! From the lexer's tokens to the two forms of a name.

use smallvec::SmallVec;

use super::{
    Dn, InvalidDn, MAX_LENGTH, escape,
    lexer::{Lexer, RawValue, Separator},
    name_and_uid,
};
use crate::{Schema, schema::AttributeType, syntax::NameForm};

/// How many levels of DNs may be values inside DNs (`seeAlso=cn\=a\,dc\=b`).
const MAX_NESTING: u32 = 4;

struct Assertion<'s, 'a> {
    /// `None`: the schema accepts a type of this name without a definition.
    attribute: Option<&'s AttributeType>,
    name: &'a [u8],
    value: RawValue<'a>,
}

impl Assertion<'_, '_> {
    fn printed_name(&self) -> SmallVec<[u8; 32]> {
        match self.attribute {
            Some(attribute) => SmallVec::from_slice(attribute.name().as_bytes()),
            None => self.name.iter().map(u8::to_ascii_uppercase).collect(),
        }
    }
}

/// Appends the RDNs of `text` to `dn`.
pub(super) fn parse(dn: &mut Dn, schema: &Schema, text: &[u8], nesting: u32) -> Result<(), InvalidDn> {
    if text.len() > MAX_LENGTH || nesting > MAX_NESTING {
        return Err(InvalidDn);
    }
    let mut lexer = Lexer::new(text);
    let mut assertions: SmallVec<[Assertion<'_, '_>; 4]> = SmallVec::new();
    while let Some(ava) = lexer.next_ava()? {
        let attribute = schema.find_attribute_type(ava.name);
        if attribute.is_none() && !schema.takes_unknown_type(ava.name) {
            return Err(InvalidDn);
        }
        assertions.push(Assertion {
            attribute,
            name: ava.name,
            value: ava.value,
        });
        if ava.separator == Separator::Assertion {
            continue;
        }
        sort(&mut assertions)?;
        let start = dn.begin_rdn()?;
        for (index, assertion) in assertions.drain(..).enumerate() {
            let value = assertion.value.decode()?;
            match assertion.attribute {
                Some(attribute) => push_assertion(dn, schema, index, attribute, &value, nesting)?,
                None => push_unknown(dn, index, assertion.name, &value)?,
            }
        }
        dn.end_rdn(start)?;
    }
    Ok(())
}

/// Sorts the assertions of one RDN by type; a type may be there once (RFC 4512 §2.3.1).
fn sort(assertions: &mut [Assertion<'_, '_>]) -> Result<(), InvalidDn> {
    if assertions.len() < 2 {
        return Ok(());
    }
    assertions.sort_unstable_by(|a, b| match (a.attribute, b.attribute) {
        (Some(a), Some(b)) => a.name().cmp(b.name()),
        _ => a.printed_name().cmp(&b.printed_name()),
    });
    let twice = assertions
        .iter()
        .zip(assertions.iter().skip(1))
        .any(|(a, b)| match (a.attribute, b.attribute) {
            (Some(a), Some(b)) => a.number == b.number,
            (None, None) => a.name.eq_ignore_ascii_case(b.name),
            _ => false,
        });
    if twice { Err(InvalidDn) } else { Ok(()) }
}

/// Appends `type=value` to both forms.
pub(super) fn push_assertion(
    dn: &mut Dn,
    schema: &Schema,
    index: usize,
    attribute: &AttributeType,
    value: &[u8],
    nesting: u32,
) -> Result<(), InvalidDn> {
    let text = std::str::from_utf8(value).map_err(|_| InvalidDn)?;
    // The `{n}` of ordered values is not part of the value, so such a type cannot name an entry.
    if value.is_empty() || attribute.has_ordered_values() {
        return Err(InvalidDn);
    }
    push_type(dn, index, attribute.name());
    let start = dn.normalized.len();
    match attribute.syntax.name_form {
        NameForm::Name => push_name(dn, schema, value, None, nesting)?,
        NameForm::NameAndUid => {
            let (name, uid) = name_and_uid::split(value);
            push_name(dn, schema, name, uid, nesting)?;
        }
        form => {
            (attribute.syntax.validate)(schema, value).map_err(|_| InvalidDn)?;
            push_value(dn, schema, attribute, form, text)?;
        }
    }
    escape::escape_tail(&mut dn.normalized, start);
    Ok(())
}

/// Appends `type=` to both forms.
fn push_type(dn: &mut Dn, index: usize, name: &str) {
    if index > 0 {
        dn.pretty.push('+');
        dn.normalized.push(b'+');
    }
    dn.pretty.push_str(name);
    dn.pretty.push('=');
    let start = dn.normalized.len();
    dn.normalized.extend_from_slice(name.as_bytes());
    if let Some(written) = dn.normalized.get_mut(start..) {
        written.make_ascii_lowercase();
    }
    dn.normalized.push(b'=');
}

/// Appends an assertion whose type has no definition. Its values are compared octet by octet, as in slapd.
fn push_unknown(dn: &mut Dn, index: usize, name: &[u8], value: &[u8]) -> Result<(), InvalidDn> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| InvalidDn);
    if value.is_empty() {
        return Err(InvalidDn);
    }
    push_type(dn, index, &text(name)?.to_ascii_uppercase());
    escape::push_pretty(&mut dn.pretty, text(value)?);
    let start = dn.normalized.len();
    dn.normalized.extend_from_slice(value);
    escape::escape_tail(&mut dn.normalized, start);
    Ok(())
}

/// A value that is no name, in both forms.
fn push_value(
    dn: &mut Dn,
    schema: &Schema,
    attribute: &AttributeType,
    form: NameForm,
    text: &str,
) -> Result<(), InvalidDn> {
    let class = match form {
        NameForm::ObjectIdentifier if &*attribute.oid == OBJECT_CLASS => schema.find_object_class(text.as_bytes()),
        _ => None,
    };
    match class {
        Some(class) => escape::push_pretty(&mut dn.pretty, class.name()),
        None if form == NameForm::Uuid => escape::push_pretty(&mut dn.pretty, &text.to_ascii_lowercase()),
        None => escape::push_pretty(&mut dn.pretty, text),
    }
    match attribute.equality {
        _ if matches!(form, NameForm::Text | NameForm::Uuid) => {
            dn.normalized.extend(text.bytes().map(|byte| byte.to_ascii_lowercase()));
        }
        Some(rule) => {
            (rule.normalize_value)(schema, text.as_bytes(), &mut dn.normalized).map_err(|_| InvalidDn)?;
        }
        None => dn.normalized.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

/// A value that is itself a name: both its forms, escaped once more.
fn push_name(dn: &mut Dn, schema: &Schema, name: &[u8], uid: Option<&[u8]>, nesting: u32) -> Result<(), InvalidDn> {
    let mut inner = Dn::default();
    parse(&mut inner, schema, name, nesting + 1)?;
    let mut pretty = inner.pretty;
    dn.normalized.extend_from_slice(&inner.normalized);
    if let Some(uid) = uid {
        name_and_uid::push(&mut dn.normalized, uid);
        pretty.push('#');
        pretty.push_str(std::str::from_utf8(uid).map_err(|_| InvalidDn)?);
    }
    escape::push_pretty(&mut dn.pretty, &pretty);
    Ok(())
}

const OBJECT_CLASS: &str = "2.5.4.0";
