//! From text to octets.

use super::{APPLICATION, CONTEXT, NAMES, Tag};

/// The octets of each element, or run of octets, at the outermost level: a message each.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn messages(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut reader = Reader { rest: text };
    let mut messages = Vec::new();
    while let Some(octets) = reader.item()? {
        messages.push(octets);
    }
    if reader.rest.is_empty() {
        return Ok(messages);
    }
    Err(format!("unexpected: {}", reader.start()))
}

struct Reader<'a> {
    rest: &'a str,
}

/// How a length is written.
enum Length {
    Definite,
    /// In so many octets behind the first.
    Long(usize),
    Indefinite,
}

impl<'a> Reader<'a> {
    /// The octets of the next item; `None` at the end or before a closing brace.
    fn item(&mut self) -> Result<Option<Vec<u8>>, String> {
        self.skip();
        match self.rest.chars().next() {
            None | Some('}') => Ok(None),
            Some('"') => self.text().map(Some),
            Some('`') => self.hexadecimal().map(Some),
            Some('[') => {
                let (inside, rest) = self.rest.split_once(']').ok_or("a bracket is open")?;
                self.rest = rest;
                self.element(bracketed(inside.strip_prefix('[').unwrap_or_default())?)
                    .map(Some)
            }
            Some('-' | '0'..='9') => {
                let word = self.word();
                let number = word.parse().map_err(|_| format!("no number: {word}"))?;
                Ok(Some(integer(number)))
            }
            Some(_) => match self.word() {
                "TRUE" => Ok(Some(vec![0xff])),
                "FALSE" => Ok(Some(vec![0])),
                word => match NAMES.iter().find(|(name, _)| *name == word) {
                    Some((_, tag)) => self.element(*tag).map(Some),
                    None => Err(format!("unknown word: {word}{}", self.start())),
                },
            },
        }
    }

    /// What follows a tag.
    fn element(&mut self, tag: Tag) -> Result<Vec<u8>, String> {
        self.skip();
        let length = match self.word() {
            "" => Length::Definite,
            "indefinite" => Length::Indefinite,
            word => {
                let octets = word.strip_prefix("long-form:").and_then(|octets| octets.parse().ok());
                Length::Long(octets.ok_or_else(|| format!("no way to write a length: {word}"))?)
            }
        };
        self.skip();
        self.rest = self
            .rest
            .strip_prefix('{')
            .ok_or_else(|| format!("`{{` is missing: {}", self.start()))?;
        let mut content = Vec::new();
        while let Some(octets) = self.item()? {
            content.extend(octets);
        }
        self.rest = self.rest.strip_prefix('}').ok_or("a brace is open")?;
        Ok(encoded(tag, &length, &content))
    }

    fn text(&mut self) -> Result<Vec<u8>, String> {
        let mut octets = Vec::new();
        let mut characters = self.rest.chars();
        characters.next();
        while let Some(character) = characters.next() {
            match character {
                '"' => {
                    self.rest = characters.as_str();
                    return Ok(octets);
                }
                '\\' => match characters.next() {
                    Some('n') => octets.push(b'\n'),
                    Some('x') => {
                        let (digits, rest) = characters
                            .as_str()
                            .split_at_checked(2)
                            .ok_or("`\\x` needs two digits")?;
                        octets.push(u8::from_str_radix(digits, 16).map_err(|_| format!("no octet: {digits}"))?);
                        characters = rest.chars();
                    }
                    Some(escaped) => octets.extend(escaped.to_string().bytes()),
                    None => break,
                },
                other => octets.extend(other.to_string().bytes()),
            }
        }
        Err("a quote is open".to_owned())
    }

    fn hexadecimal(&mut self) -> Result<Vec<u8>, String> {
        let (digits, rest) = self
            .rest
            .strip_prefix('`')
            .unwrap_or_default()
            .split_once('`')
            .ok_or("a quote is open")?;
        self.rest = rest;
        let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
        let octet = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).unwrap_or_default();
            u8::from_str_radix(pair, 16).ok().filter(|_| pair.len() == 2)
        };
        let octets = digits.chunks(2).map(octet).collect::<Option<_>>();
        octets.ok_or_else(|| "no octets between the quotes".to_owned())
    }

    fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Blanks and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let Some(comment) = self.rest.strip_prefix('#') else {
                return;
            };
            self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        }
    }

    fn start(&self) -> &'a str {
        self.rest.lines().next().unwrap_or_default()
    }
}

/// The tag between brackets.
fn bracketed(inside: &str) -> Result<Tag, String> {
    let mut words = inside.split_whitespace().peekable();
    let class = match words.next_if_eq(&"APPLICATION") {
        Some(_) => APPLICATION,
        None => CONTEXT,
    };
    let number = words
        .next()
        .and_then(|word| word.parse().ok())
        .filter(|number| *number <= 30);
    let is_constructed = words.next_if_eq(&"PRIMITIVE").is_none();
    match (number, words.next()) {
        (Some(number), None) => Ok(Tag {
            class,
            is_constructed,
            number,
        }),
        _ => Err(format!("no tag: [{inside}]")),
    }
}

fn encoded(tag: Tag, length: &Length, content: &[u8]) -> Vec<u8> {
    let mut octets = vec![tag.octet()];
    let written = content.len().to_be_bytes();
    let mut long = |count: usize| {
        octets.push(0x80 | u8::try_from(count).unwrap_or(0x7f));
        octets.extend(std::iter::repeat_n(0, count.saturating_sub(written.len())));
        octets.extend(written.iter().skip(written.len().saturating_sub(count)));
    };
    match length {
        Length::Definite => match u8::try_from(content.len()) {
            Ok(short) if short < 0x80 => octets.push(short),
            _ => long(written.iter().skip_while(|octet| **octet == 0).count()),
        },
        Length::Long(count) => long(*count),
        Length::Indefinite => octets.push(0x80),
    }
    octets.extend(content);
    if matches!(length, Length::Indefinite) {
        octets.extend([0, 0]);
    }
    octets
}

/// As few octets as possible, in two's complement.
fn integer(number: i64) -> Vec<u8> {
    let octets = number.to_be_bytes();
    let is_spare = |pair: &&[u8]| matches!(pair, [0, 0..=0x7f] | [0xff, 0x80..=0xff]);
    let spare = octets.windows(2).take_while(is_spare).count();
    octets.into_iter().skip(spare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Vec<u8> {
        let mut messages = messages(text).unwrap();
        assert_eq!(messages.len(), 1, "{text}");
        messages.remove(0)
    }

    #[test]
    fn elements_are_encoded() {
        assert_eq!(
            one("SEQUENCE { INTEGER { 1 } [APPLICATION 10 PRIMITIVE] { \"a=\\x41\" } }"),
            [0x30, 8, 2, 1, 1, 0x4a, 3, b'a', b'=', b'A']
        );
        assert_eq!(one("[0] { BOOLEAN { TRUE } } # a comment"), [0xa0, 3, 1, 1, 0xff]);
        assert_eq!(one("SET indefinite { NULL {} }"), [0x31, 0x80, 5, 0, 0, 0]);
        assert_eq!(one("NULL long-form:2 {}"), [5, 0x82, 0, 0]);
        assert_eq!(one("`0 0\nff`"), [0, 0xff]);
        let long = one(&format!("OCTET_STRING {{ \"{}\" }}", "x".repeat(200)));
        assert_eq!((long.len(), &long[..3]), (203, &[4, 0x81, 200][..]));
    }

    #[test]
    fn numbers_need_as_few_octets_as_possible() {
        for (number, octets) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-1, &[0xff]),
            (-129, &[0xff, 0x7f]),
            (i64::from(i32::MAX), &[0x7f, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(integer(number), octets, "{number}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for wrong in [
            "SEQUENCE { ",
            "SEQUENCE",
            "}",
            "[x] {}",
            "[31] {}",
            "\"a",
            "`0`",
            "nonsense",
            "NULL short {}",
        ] {
            assert!(messages(wrong).is_err(), "{wrong}");
        }
    }
}
