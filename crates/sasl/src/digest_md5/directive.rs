//! Lists of directives, of which challenges and responses consist (RFC 2831 §7.1).

use super::DigestError;

/// The text of a message of at most `limit` octets.
pub(super) fn text_of(message: &[u8], limit: usize) -> Result<&str, DigestError> {
    let short = Some(message).filter(|message| message.len() <= limit);
    let text = short.and_then(|message| std::str::from_utf8(message).ok());
    text.ok_or(DigestError::NoText)
}

/// Hands each directive of a list to `take`, in order, with its name in lower case and its value without quotes.
pub(super) fn each(
    text: &str,
    mut take: impl FnMut(&str, String) -> Result<(), DigestError>,
) -> Result<(), DigestError> {
    let mut rest = next(text);
    while !rest.is_empty() {
        let (name, value, after) = directive(rest).ok_or(DigestError::Directive)?;
        take(&name.to_ascii_lowercase(), value)?;
        rest = after;
    }
    Ok(())
}

pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The first directive of a comma-separated list that is not empty, and what follows it. `None`: it is malformed.
fn directive(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let Some(inner) = rest.trim_start().strip_prefix('"') else {
        let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
        return Some((name.trim(), value.trim().to_owned(), next(after)));
    };
    let (mut value, mut characters) = (String::new(), inner.chars());
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => value.push(characters.next()?),
            other => value.push(other),
        }
    }
    let after = characters.as_str().trim_start();
    let is_end = after.is_empty() || after.starts_with(',');
    is_end.then(|| (name.trim(), value, next(after)))
}

/// The list from its next directive on.
fn next(text: &str) -> &str {
    text.trim_start_matches([',', ' ', '\t', '\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_value_is_read_as_it_was() {
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
        let mut found = Vec::new();
        let list = format!(" , NAME = {} ,, b=c d ", quoted("a\"b\\c,=\u{e9}"));
        each(&list, |name, value| {
            found.push(format!("{name}:{value}"));
            Ok(())
        })
        .unwrap();
        assert_eq!(found, ["name:a\"b\\c,=\u{e9}", "b:c d"]);
    }
}
