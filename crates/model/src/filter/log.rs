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
use crate::{Schema, matching::MatchingRule};

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

impl Display for LogFilter<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut working = CompiledFilter::default();
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
                    self.item(item, &mut working, f)?;
                    f.write_char(')')?;
                }
                FilterStep::Leave(_) => f.write_char(')')?,
            }
        }
        Ok(())
    }
}

impl LogFilter<'_, '_> {
    fn item(&self, item: &Filter<'_>, working: &mut CompiledFilter, f: &mut Formatter<'_>) -> fmt::Result {
        working.clear();
        let node = Compiler::new(working, self.schema).item(item);
        if let Some(name) = self.secret(item).filter(|_| !self.is_whole) {
            f.write_str(if node.is_none() { "?" } else { "" })?;
            write_raw(&name, f)?;
            return f.write_str("=***");
        }
        match (node, item) {
            (None, Filter::Extensible { .. }) => f.write_str("?=undefined"),
            (None, item) => {
                f.write_char('?')?;
                self.undefined(item, f)
            }
            (Some(node), item) => self.defined(item, &node, working, f),
        }
    }

    /// The attribute of an item about a password attribute. Its assertion value may be a password.
    fn secret(&self, item: &Filter<'_>) -> Option<Vec<u8>> {
        let attribute = match item {
            Filter::Equality(a) | Filter::GreaterOrEqual(a) | Filter::LessOrEqual(a) | Filter::Approx(a) => {
                &a.attribute
            }
            Filter::Substrings { attribute, .. } => attribute,
            Filter::Extensible { attribute, .. } => attribute.as_ref()?,
            Filter::Present(_) | Filter::And(_) | Filter::Or(_) | Filter::Not(_) => return None,
        };
        let name = self.name(attribute);
        let base = name.split(|byte| *byte == b';').next().unwrap_or_default();
        let is_secret = SECRETS
            .iter()
            .any(|secret| base.eq_ignore_ascii_case(secret.as_bytes()));
        is_secret.then_some(name)
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

    fn defined(
        &self,
        item: &Filter<'_>,
        node: &FilterNode,
        working: &CompiledFilter,
        f: &mut Formatter<'_>,
    ) -> fmt::Result {
        match item {
            Filter::Equality(a) => self.assertion(a, "=", f),
            Filter::Approx(a) => self.assertion(a, "~=", f),
            Filter::GreaterOrEqual(a) => self.assertion(a, ">=", f),
            Filter::LessOrEqual(a) => self.assertion(a, "<=", f),
            Filter::Present(attribute) => {
                write_raw(&self.name(attribute), f)?;
                f.write_str("=*")
            }
            Filter::Substrings { attribute, .. } => {
                write_raw(&self.name(attribute), f)?;
                f.write_char('=')?;
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
            Filter::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => {
                write_raw(&attribute.as_deref().map(|a| self.name(a)).unwrap_or_default(), f)?;
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
                        self.value(rule, value, f)
                    }
                    _ => write_escaped(value, f),
                }
            }
            Filter::And(_) | Filter::Or(_) | Filter::Not(_) => Ok(()),
        }
    }

    fn assertion(&self, assertion: &Assertion<'_>, operator: &str, f: &mut dyn Write) -> fmt::Result {
        let Assertion { attribute, value } = assertion;
        write_raw(&self.name(attribute), f)?;
        f.write_str(operator)?;
        let description = self.schema.attribute_description(attribute).ok();
        let class = description.as_ref().and_then(|d| {
            let is_object_class = &*self.schema.attribute_type(d.attribute_type).oid == "2.5.4.0";
            self.schema.find_object_class(value).filter(|_| is_object_class)
        });
        if let Some(class) = class {
            return write_escaped(class.names.first().unwrap_or(&class.oid).as_bytes(), f);
        }
        match description.and_then(|d| self.schema.attribute_type(d.attribute_type).equality) {
            Some(rule) => self.value(rule, value, f),
            None => write_escaped(value, f),
        }
    }

    /// The normal form where it is text. For rules with a binary normal form, the value as it came in.
    fn value(&self, rule: &'static MatchingRule, value: &[u8], f: &mut dyn Write) -> fmt::Result {
        let mut normal = Vec::new();
        let text = rule.assertion(self.schema, value, &mut normal).is_ok()
            && !BINARY_NORMAL_FORMS.contains(&rule.assertion_syntax)
            && std::str::from_utf8(&normal).is_ok_and(|text| !text.chars().any(char::is_control));
        match rule.assertion_syntax {
            _ if text => write_escaped(&normal, f),
            UUID => write_escaped(&value.to_ascii_lowercase(), f),
            _ => write_escaped(value, f),
        }
    }
}

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
