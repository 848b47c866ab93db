//! Search filters on the wire (RFC 4511 §4.5.1.7, absolute filters: RFC 4526).

use std::borrow::Cow;

use ironbark_ber::{Mark, Reader, Writer, tags};
use ironbark_model::{
    Filter,
    filter::{Assertion, FilterStep},
};
use smallvec::SmallVec;

use crate::{DecodeLimits, Fault};

/// Decodes one filter.
///
/// An unrecognized choice evaluates to Undefined (RFC 4511 §4.5.1.7), and so do substrings in an order that §4.5.1.7.2
/// forbids, as in slapd: they become the presence of the attribute with the empty name, which no schema knows.
///
/// # Errors
/// [`Fault::FILTER_TOO_DEEP`], [`Fault::FILTER_TOO_BIG`], or `error decoding filter`.
pub fn decode<'a>(reader: &mut Reader<'a>, limits: &DecodeLimits) -> Result<Filter<'a>, Fault> {
    let depth = limits.filter_depth.min(DecodeLimits::MAX_FILTER_DEPTH);
    // The open composite filters, outermost first. This is a loop, because the depth limit may exceed what a stack can
    // hold.
    let mut open: SmallVec<[Open<'a>; 4]> = SmallVec::new();
    let mut elements = Budget(limits.filter_elements);
    loop {
        let source = open.last_mut().map_or(&mut *reader, |composite| &mut composite.content);
        let (identifier, content) = source.nested_any().map_err(malformed)?;
        elements.take()?;
        let mut complete = match identifier {
            AND | OR | NOT => {
                if open.len() >= depth {
                    return Err(Fault::FILTER_TOO_DEEP);
                }
                let composite = Open {
                    identifier,
                    content,
                    children: Vec::new(),
                };
                if identifier == NOT || !content.is_empty() {
                    open.push(composite);
                    continue;
                }
                composite.close()?
            }
            _ => leaf(identifier, content, &mut elements)?,
        };
        // Closes every composite filter that is now complete.
        loop {
            let Some(mut composite) = open.pop() else {
                return Ok(complete);
            };
            composite.children.push(complete);
            if !composite.content.is_empty() {
                open.push(composite);
                break;
            }
            complete = composite.close()?;
        }
    }
}

/// A composite filter whose content has not been read to its end.
struct Open<'a> {
    identifier: u8,
    content: Reader<'a>,
    children: Vec<Filter<'a>>,
}

impl<'a> Open<'a> {
    fn close(mut self) -> Result<Filter<'a>, Fault> {
        match self.identifier {
            AND => Ok(Filter::And(self.children)),
            OR => Ok(Filter::Or(self.children)),
            _ => match (self.children.pop(), self.children.is_empty()) {
                (Some(child), true) => Ok(Filter::Not(Box::new(child))),
                _ => Err(ERROR),
            },
        }
    }
}

/// The number of further elements that a message may have.
pub(crate) struct Budget(pub(crate) usize);

impl Budget {
    pub(crate) fn take(&mut self) -> Result<(), Fault> {
        self.0 = self.0.checked_sub(1).ok_or(Fault::FILTER_TOO_BIG)?;
        Ok(())
    }
}

/// Decodes the content of a filter that holds no other filter.
pub(crate) fn leaf<'a>(identifier: u8, mut content: Reader<'a>, elements: &mut Budget) -> Result<Filter<'a>, Fault> {
    Ok(match identifier {
        EQUALITY => Filter::Equality(assertion(content)?),
        GREATER_OR_EQUAL => Filter::GreaterOrEqual(assertion(content)?),
        LESS_OR_EQUAL => Filter::LessOrEqual(assertion(content)?),
        APPROX => Filter::Approx(assertion(content)?),
        PRESENT => Filter::Present(Cow::Borrowed(content.remaining())),
        SUBSTRINGS => substrings(content, elements)?,
        EXTENSIBLE => {
            let rule = content.optional(RULE).map_err(malformed)?;
            let attribute = content.optional(TYPE).map_err(malformed)?;
            if content.peek() != Some(VALUE) {
                return Err(Fault::malformed("Missing value in matching rule assertion"));
            }
            let value = content.element(VALUE).map_err(malformed)?;
            let dn_attributes =
                content.peek() == Some(DN_ATTRIBUTES) && content.boolean_of(DN_ATTRIBUTES).map_err(malformed)?;
            Filter::Extensible {
                rule: rule.map(Cow::Borrowed),
                attribute: attribute.map(Cow::Borrowed),
                value: Cow::Borrowed(value),
                dn_attributes,
            }
        }
        _ => UNDEFINED,
    })
}

fn assertion(mut content: Reader<'_>) -> Result<Assertion<'_>, Fault> {
    let attribute = content.octet_string().map_err(malformed)?;
    let value = content.octet_string().map_err(malformed)?;
    content.finish().map_err(malformed)?;
    Ok(Assertion {
        attribute: Cow::Borrowed(attribute),
        value: Cow::Borrowed(value),
    })
}

fn substrings<'a>(mut content: Reader<'a>, elements: &mut Budget) -> Result<Filter<'a>, Fault> {
    let attribute = Cow::Borrowed(content.octet_string().map_err(malformed)?);
    let mut parts = content.sequence().map_err(malformed)?;
    let (mut initial, mut any, mut r#final) = (None, Vec::new(), None);
    let mut is_undefined = parts.is_empty();
    while !parts.is_empty() {
        elements.take()?;
        let (identifier, part) = parts.nested_any().map_err(malformed)?;
        let part = Cow::Borrowed(part.remaining());
        match identifier {
            // Only the first part may be initial. Only the last part may be final.
            INITIAL if initial.is_none() && any.is_empty() && r#final.is_none() => initial = Some(part),
            ANY if r#final.is_none() => any.push(part),
            FINAL if r#final.is_none() => r#final = Some(part),
            _ => is_undefined = true,
        }
    }
    if is_undefined {
        return Ok(UNDEFINED);
    }
    Ok(Filter::Substrings {
        attribute,
        initial,
        any,
        r#final,
    })
}

fn malformed(error: ironbark_ber::BerError) -> Fault {
    Fault::from(error).worded(ERROR.diagnostic)
}

/// Appends a filter. This is a loop, as in decoding.
pub fn write(filter: &Filter<'_>, writer: &mut Writer<'_>) {
    let mut open: SmallVec<[Mark; 4]> = SmallVec::new();
    for step in filter.steps() {
        match step {
            FilterStep::Enter(Filter::And(_)) => open.push(writer.begin(AND)),
            FilterStep::Enter(Filter::Or(_)) => open.push(writer.begin(OR)),
            FilterStep::Enter(Filter::Not(_)) => open.push(writer.begin(NOT)),
            FilterStep::Enter(item) => write_item(item, writer),
            FilterStep::Leave(_) => {
                if let Some(mark) = open.pop() {
                    writer.end(mark);
                }
            }
        }
    }
}

/// Appends a filter that holds no other filter.
fn write_item(item: &Filter<'_>, writer: &mut Writer<'_>) {
    match item {
        Filter::And(_) | Filter::Or(_) | Filter::Not(_) => {}
        Filter::Equality(assertion) => write_assertion(EQUALITY, assertion, writer),
        Filter::GreaterOrEqual(assertion) => write_assertion(GREATER_OR_EQUAL, assertion, writer),
        Filter::LessOrEqual(assertion) => write_assertion(LESS_OR_EQUAL, assertion, writer),
        Filter::Approx(assertion) => write_assertion(APPROX, assertion, writer),
        Filter::Present(attribute) => writer.element(PRESENT, attribute),
        Filter::Substrings {
            attribute,
            initial,
            any,
            r#final,
        } => writer.constructed(SUBSTRINGS, |writer| {
            writer.octet_string(attribute);
            writer.constructed(tags::SEQUENCE, |writer| {
                let parts = [
                    (INITIAL, initial.as_slice()),
                    (ANY, any.as_slice()),
                    (FINAL, r#final.as_slice()),
                ];
                for (identifier, parts) in parts {
                    for part in parts {
                        writer.element(identifier, part);
                    }
                }
            });
        }),
        Filter::Extensible {
            rule,
            attribute,
            value,
            dn_attributes,
        } => writer.constructed(EXTENSIBLE, |writer| {
            if let Some(rule) = rule {
                writer.element(RULE, rule);
            }
            if let Some(attribute) = attribute {
                writer.element(TYPE, attribute);
            }
            writer.element(VALUE, value);
            if *dn_attributes {
                writer.boolean_of(DN_ATTRIBUTES, true);
            }
        }),
    }
}

fn write_assertion(identifier: u8, assertion: &Assertion<'_>, writer: &mut Writer<'_>) {
    writer.constructed(identifier, |writer| {
        writer.octet_string(&assertion.attribute);
        writer.octet_string(&assertion.value);
    });
}

/// No schema has an attribute without a name.
const UNDEFINED: Filter<'static> = Filter::Present(Cow::Borrowed(&[]));

const ERROR: Fault = Fault::malformed("error decoding filter");

pub(crate) const AND: u8 = tags::context_constructed(0);
const OR: u8 = tags::context_constructed(1);
const NOT: u8 = tags::context_constructed(2);
pub(crate) const EQUALITY: u8 = tags::context_constructed(3);
const SUBSTRINGS: u8 = tags::context_constructed(4);
const GREATER_OR_EQUAL: u8 = tags::context_constructed(5);
const LESS_OR_EQUAL: u8 = tags::context_constructed(6);
const PRESENT: u8 = tags::context(7);
const APPROX: u8 = tags::context_constructed(8);
pub(crate) const EXTENSIBLE: u8 = tags::context_constructed(9);

const INITIAL: u8 = tags::context(0);
const ANY: u8 = tags::context(1);
const FINAL: u8 = tags::context(2);

const RULE: u8 = tags::context(1);
const TYPE: u8 = tags::context(2);
const VALUE: u8 = tags::context(3);
const DN_ATTRIBUTES: u8 = tags::context(4);
