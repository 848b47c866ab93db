//! Filters as slapd's stats log prints them: attributes by their first name, assertion values in normal form, and `?`
//! before items that are Undefined.

use std::{
    borrow::Cow,
    fmt::{self, Display, Formatter, Write},
};

use super::{
    Assertion, CompiledFilter, Filter, FilterNode, FilterStep,
    compiled::Compiler,
    print::{write_escaped, write_item, write_raw},
};
use crate::{AttributeDescription, Schema, matching::MatchingRule, schema::AttributeType};

/// A filter to be printed as slapd 2.5 logs it.
#[derive(Clone, Copy, Debug)]
pub struct LogFilter<'p, 'a> {
    schema: &'p Schema,
    filter: &'p Filter<'a>,
    /// Neither cut nor without what is asserted of passwords.
    is_whole: bool,
}

impl<'p, 'a> LogFilter<'p, 'a> {
    /// Prints `filter` as resolved against `schema`.
    pub fn new(schema: &'p Schema, filter: &'p Filter<'a>) -> Self {
        Self {
            schema,
            filter,
            is_whole: false,
        }
    }

    /// The same with all that it asserts, however long: for whoever is to evaluate it, not for a log.
    pub fn whole(schema: &'p Schema, filter: &'p Filter<'a>) -> Self {
        Self {
            schema,
            filter,
            is_whole: true,
        }
    }
}

/// The most steps of a [`crate::Budget`] that printing takes. Text after some 60,000 octets is left out (slapd's lines
/// end after 4,096).
const MOST_STEPS: u64 = 2_000;

/// Memory for printing filters. Once it has grown, printing a filter allocates nothing.
#[derive(Default, Debug)]
pub struct PrintMemory {
    item: CompiledFilter,
    normal: Vec<u8>,
}

impl PrintMemory {
    /// Gives back most memory after a filter with long values.
    fn shrink(&mut self) {
        self.item.bytes.shrink_to(MOST_KEPT_OCTETS);
        self.normal.shrink_to(MOST_KEPT_OCTETS);
    }
}

impl Display for LogFilter<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, &mut PrintMemory::default())
    }
}

impl LogFilter<'_, '_> {
    /// Writes the text, with memory that may serve for other filters, too.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn write<W: Write>(&self, f: &mut W, memory: &mut PrintMemory) -> fmt::Result {
        let mut steps = 0;
        for step in self.filter.steps() {
            if let FilterStep::Enter(item) = step {
                steps += item.cost();
                if steps > MOST_STEPS && !self.is_whole {
                    return f.write_str("...");
                }
            }
            match step {
                FilterStep::Enter(Filter::And(children)) if children.is_empty() => f.write_str("(?=true")?,
                FilterStep::Enter(Filter::Or(children)) if children.is_empty() => f.write_str("(?=false")?,
                FilterStep::Enter(Filter::And(_)) => f.write_str("(&")?,
                FilterStep::Enter(Filter::Or(_)) => f.write_str("(|")?,
                FilterStep::Enter(Filter::Not(_)) => f.write_str("(!")?,
                FilterStep::Enter(item) => {
                    f.write_char('(')?;
                    self.item(item, memory, f)?;
                    f.write_char(')')?;
                }
                FilterStep::Leave(_) => f.write_char(')')?,
            }
        }
        memory.shrink();
        Ok(())
    }

    fn item<W: Write>(&self, item: &Filter<'_>, memory: &mut PrintMemory, f: &mut W) -> fmt::Result {
        memory.item.clear();
        let node = Compiler::new(&mut memory.item, self.schema).item(item);
        let attribute = Attribute::of(self.schema, item);
        if !self.is_whole && !matches!(item, Filter::Present(_)) && attribute.is_secret() {
            f.write_str(if node.is_none() { "?" } else { "" })?;
            attribute.write(f)?;
            return f.write_str("=***");
        }
        match (node, item) {
            (None, Filter::Extensible { .. }) => f.write_str("?=undefined"),
            (None, item) => {
                f.write_char('?')?;
                self.undefined(item, f)
            }
            (Some(node), item) => self.defined(item, &attribute, &node, memory, f),
        }
    }

    /// The item as it came in, but with the attribute's first name if there is such an attribute.
    fn undefined(&self, item: &Filter<'_>, f: &mut dyn Write) -> fmt::Result {
        let named = |attribute: &[u8]| Cow::Owned(self.name(attribute));
        let assertion = |a: &Assertion<'_>| Assertion {
            attribute: named(&a.attribute),
            value: a.value.to_vec().into(),
        };
        let renamed = match item {
            Filter::Equality(a) => Filter::Equality(assertion(a)),
            Filter::GreaterOrEqual(a) => Filter::GreaterOrEqual(assertion(a)),
            Filter::LessOrEqual(a) => Filter::LessOrEqual(assertion(a)),
            Filter::Approx(a) => Filter::Approx(assertion(a)),
            Filter::Present(attribute) => Filter::Present(named(attribute)),
            Filter::Substrings {
                attribute,
                initial,
                any,
                r#final,
            } => Filter::Substrings {
                attribute: named(attribute),
                initial: initial.clone(),
                any: any.clone(),
                r#final: r#final.clone(),
            },
            other => return write_item(other, f),
        };
        write_item(&renamed, f)
    }

    /// The text of a description by its first name. An unknown description stays as it is.
    fn name(&self, attribute: &[u8]) -> Vec<u8> {
        match self.schema.attribute_description(attribute) {
            Ok(description) => self.schema.description_text(&description).into_bytes(),
            Err(_) => attribute.to_vec(),
        }
    }

    fn defined<W: Write>(
        &self,
        item: &Filter<'_>,
        attribute: &Attribute<'_>,
        node: &FilterNode,
        memory: &mut PrintMemory,
        f: &mut W,
    ) -> fmt::Result {
        let PrintMemory { item: working, normal } = memory;
        attribute.write(f)?;
        match item {
            Filter::Equality(a) => {
                f.write_str("=")?;
                let equality = attribute.found.and_then(|found| found.equality);
                match node {
                    FilterNode::Equality { rule, value, .. } if equality == Some(*rule) => {
                        write_normal(rule, &a.value, Some(working.value(value)), f)
                    }
                    _ => self.assertion(attribute, &a.value, normal, f),
                }
            }
            Filter::Approx(a) => {
                f.write_str("~=")?;
                self.assertion(attribute, &a.value, normal, f)
            }
            Filter::GreaterOrEqual(a) => {
                f.write_str(">=")?;
                self.assertion(attribute, &a.value, normal, f)
            }
            Filter::LessOrEqual(a) => {
                f.write_str("<=")?;
                self.assertion(attribute, &a.value, normal, f)
            }
            Filter::Present(_) => f.write_str("=*"),
            Filter::Substrings { .. } => {
                f.write_char('=')?;
                write_substrings(node, working, f)
            }
            Filter::Extensible {
                rule,
                value,
                dn_attributes,
                ..
            } => {
                if *dn_attributes {
                    f.write_str(":dn")?;
                }
                if let Some(rule) = rule {
                    f.write_char(':')?;
                    write_raw(rule, f)?;
                }
                f.write_str(":=")?;
                match node {
                    FilterNode::Equality { rule, .. } | FilterNode::AnyAttribute { rule, .. } => {
                        self.value(rule, value, normal, f)
                    }
                    _ => write_escaped(value, f),
                }
            }
            Filter::And(_) | Filter::Or(_) | Filter::Not(_) => Ok(()),
        }
    }

    /// An asserted value: an object class by its first name, other values in the form of the equality rule.
    fn assertion<W: Write>(
        &self,
        attribute: &Attribute<'_>,
        value: &[u8],
        normal: &mut Vec<u8>,
        f: &mut W,
    ) -> fmt::Result {
        let is_object_class = attribute.found.is_some_and(|found| &*found.oid == OBJECT_CLASS);
        let class = is_object_class.then(|| self.schema.find_object_class(value)).flatten();
        if let Some(class) = class {
            return write_escaped(class.name().as_bytes(), f);
        }
        match attribute.found.and_then(|found| found.equality) {
            Some(rule) => self.value(rule, value, normal, f),
            None => write_escaped(value, f),
        }
    }

    fn value<W: Write>(
        &self,
        rule: &'static MatchingRule,
        value: &[u8],
        normal: &mut Vec<u8>,
        f: &mut W,
    ) -> fmt::Result {
        normal.clear();
        let is_valid = rule.assertion(self.schema, value, normal).is_ok();
        write_normal(rule, value, is_valid.then_some(normal.as_slice()), f)
    }
}

/// The attribute of an item.
struct Attribute<'i> {
    schema: &'i Schema,
    /// As it came in; nothing for items without an attribute.
    text: &'i [u8],
    description: Option<AttributeDescription>,
    /// Its type, if there is one.
    found: Option<&'i AttributeType>,
}

impl<'i> Attribute<'i> {
    fn of(schema: &'i Schema, item: &'i Filter<'_>) -> Self {
        let text: &[u8] = match item {
            Filter::Equality(a) | Filter::GreaterOrEqual(a) | Filter::LessOrEqual(a) | Filter::Approx(a) => {
                &a.attribute
            }
            Filter::Substrings { attribute, .. } | Filter::Present(attribute) => attribute,
            Filter::Extensible { attribute, .. } => attribute.as_deref().unwrap_or_default(),
            Filter::And(_) | Filter::Or(_) | Filter::Not(_) => b"",
        };
        let description = schema.attribute_description(text).ok();
        Self {
            schema,
            text,
            found: description
                .as_ref()
                .map(|found| schema.attribute_type(found.attribute_type)),
            description,
        }
    }

    /// Writes the description by the attribute's first name. An unknown description stays as it is.
    fn write<W: Write>(&self, f: &mut W) -> fmt::Result {
        match (&self.description, self.found) {
            (Some(description), Some(found)) if description.options.is_empty() => f.write_str(found.name()),
            (Some(description), _) => write_raw(self.schema.description_text(description).as_bytes(), f),
            (None, _) => write_raw(self.text, f),
        }
    }

    /// Whether it holds passwords. The assertion value may be one, then.
    fn is_secret(&self) -> bool {
        let known = self.found.map(|found| found.name().as_bytes());
        let name = known.or_else(|| self.text.split(|octet| *octet == b';').next());
        name.is_some_and(|name| {
            SECRETS
                .iter()
                .any(|secret| name.eq_ignore_ascii_case(secret.as_bytes()))
        })
    }
}

fn write_substrings<W: Write>(node: &FilterNode, working: &CompiledFilter, f: &mut W) -> fmt::Result {
    let FilterNode::Substrings {
        initial, any, r#final, ..
    } = node
    else {
        return Ok(());
    };
    write_escaped(initial.as_ref().map_or(b"", |range| working.value(range)), f)?;
    f.write_char('*')?;
    for part in working.part_values(any) {
        write_escaped(part, f)?;
        f.write_char('*')?;
    }
    write_escaped(r#final.as_ref().map_or(b"", |range| working.value(range)), f)
}

/// Writes the normal form where it is text. For rules with a binary normal form, the value as it came in.
fn write_normal<W: Write>(rule: &MatchingRule, value: &[u8], normal: Option<&[u8]>, f: &mut W) -> fmt::Result {
    let is_text = |normal: &&[u8]| !BINARY_NORMAL_FORMS.contains(&rule.assertion_syntax) && is_text(normal);
    match normal.filter(is_text) {
        Some(normal) => write_escaped(normal, f),
        None if rule.assertion_syntax == UUID => write_escaped(&value.to_ascii_lowercase(), f),
        None => write_escaped(value, f),
    }
}

fn is_text(octets: &[u8]) -> bool {
    let is_plain = octets.iter().all(|octet| matches!(octet, b' '..=b'~'));
    is_plain || std::str::from_utf8(octets).is_ok_and(|text| !text.chars().any(char::is_control))
}

/// Memory that stays after a filter with long values.
const MOST_KEPT_OCTETS: usize = 4096;
const OBJECT_CLASS: &str = "2.5.4.0";
/// Attributes that hold passwords or other secrets. They come from our schema files and from schema files that sites
/// use.
const SECRETS: [&str; 11] = [
    "userPassword",
    "olcRootPW",
    "pwdHistory",
    "authPassword",
    "sambaNTPassword",
    "sambaLMPassword",
    "sambaClearTextPassword",
    "oathSecret",
    "sambaPasswordHistory",
    "krbPrincipalKey",
    "unicodePwd",
];
const UUID: &str = "1.3.6.1.1.16.1";
/// Assertion syntaxes whose rules may have a binary normal form, made for ordering.
const BINARY_NORMAL_FORMS: [&str; 6] = [
    UUID,
    // Integer, Generalized Time, UTC Time, Boolean
    "1.3.6.1.4.1.1466.115.121.1.27",
    "1.3.6.1.4.1.1466.115.121.1.24",
    "1.3.6.1.4.1.1466.115.121.1.53",
    "1.3.6.1.4.1.1466.115.121.1.7",
    // CSN
    "1.3.6.1.4.1.4203.666.11.2.1",
];
