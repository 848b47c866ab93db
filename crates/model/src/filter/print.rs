//! The text form of a filter (RFC 4515), with the escapes that slapd's log lines have.

use std::fmt::{self, Display, Formatter, Write};

use super::{Filter, FilterStep};

impl Display for Filter<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for step in self.steps() {
            match step {
                FilterStep::Enter(filter) => enter(filter, f)?,
                FilterStep::Leave(_) => f.write_char(')')?,
            }
        }
        Ok(())
    }
}

fn enter(filter: &Filter<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    match filter {
        Filter::And(_) => f.write_str("(&"),
        Filter::Or(_) => f.write_str("(|"),
        Filter::Not(_) => f.write_str("(!"),
        item => {
            f.write_char('(')?;
            write_item(item, f)?;
            f.write_char(')')
        }
    }
}

/// Writes an item without its parentheses.
pub(super) fn write_item(item: &Filter<'_>, f: &mut dyn Write) -> fmt::Result {
    match item {
        Filter::Equality(a) => write_assertion(&a.attribute, "=", &a.value, f),
        Filter::GreaterOrEqual(a) => write_assertion(&a.attribute, ">=", &a.value, f),
        Filter::LessOrEqual(a) => write_assertion(&a.attribute, "<=", &a.value, f),
        Filter::Approx(a) => write_assertion(&a.attribute, "~=", &a.value, f),
        Filter::Present(attribute) => {
            write_raw(attribute, f)?;
            f.write_str("=*")
        }
        Filter::Substrings {
            attribute,
            initial,
            any,
            r#final,
        } => {
            write_raw(attribute, f)?;
            f.write_char('=')?;
            write_escaped(initial.as_deref().unwrap_or_default(), f)?;
            f.write_char('*')?;
            for part in any {
                write_escaped(part, f)?;
                f.write_char('*')?;
            }
            write_escaped(r#final.as_deref().unwrap_or_default(), f)
        }
        Filter::Extensible {
            rule,
            attribute,
            value,
            dn_attributes,
        } => {
            write_raw(attribute.as_deref().unwrap_or_default(), f)?;
            if *dn_attributes {
                f.write_str(":dn")?;
            }
            if let Some(rule) = rule {
                f.write_char(':')?;
                write_raw(rule, f)?;
            }
            f.write_str(":=")?;
            write_escaped(value, f)
        }
        Filter::And(_) | Filter::Or(_) | Filter::Not(_) => Ok(()),
    }
}

fn write_assertion(attribute: &[u8], operator: &str, value: &[u8], f: &mut dyn Write) -> fmt::Result {
    write_raw(attribute, f)?;
    f.write_str(operator)?;
    write_escaped(value, f)
}

/// Writes an attribute description or rule. In a well-formed filter it is ASCII. In any other case it must not break a
/// log line.
pub(super) fn write_raw<W: Write + ?Sized>(name: &[u8], f: &mut W) -> fmt::Result {
    write_escaped(name, f)
}

/// Writes a value: `*`, `(`, `)`, `\` and all that is not printable ASCII as `\XX`.
pub(super) fn write_escaped<W: Write + ?Sized>(value: &[u8], f: &mut W) -> fmt::Result {
    let mut rest = value;
    loop {
        let plain = rest.iter().position(|&byte| needs_escape(byte)).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(plain);
        f.write_str(std::str::from_utf8(head).unwrap_or_default())?;
        let Some((&byte, tail)) = tail.split_first() else {
            return Ok(());
        };
        let digit = |nibble: u8| char::from(HEX.get(usize::from(nibble)).copied().unwrap_or_default());
        f.write_char('\\')?;
        f.write_char(digit(byte >> 4))?;
        f.write_char(digit(byte & 0xf))?;
        rest = tail;
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn needs_escape(byte: u8) -> bool {
    !matches!(byte, b' '..=b'~') || matches!(byte, b'*' | b'(' | b')' | b'\\')
}
