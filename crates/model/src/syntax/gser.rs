//! The parts of the Generic String Encoding Rules (RFC 3641) that assertions and subtree specifications use.

use std::borrow::Cow;

use super::InvalidValue;

/// A value of any type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Gser<'a> {
    /// `{ name value, ... }` or `{ value, ... }`; names are empty in the latter.
    List(Vec<(&'a str, Gser<'a>)>),
    /// `name:value`.
    Choice(&'a str, Box<Gser<'a>>),
    /// `"text"`.
    Text(Cow<'a, str>),
    /// A number, keyword, OID or `'0f'H`.
    Word(&'a str),
}

/// Greatest depth of nested braces and choices.
const MAXIMUM_DEPTH: usize = 16;

/// Greatest length of a value in bytes. The tree of one-letter words takes about twenty times the memory of its text.
const MAXIMUM_LENGTH: usize = 65_536;

impl<'a> Gser<'a> {
    /// Reads one value, with white space around it.
    pub(crate) fn parse(text: &'a str) -> Result<Self, InvalidValue> {
        super::require(text.len() <= MAXIMUM_LENGTH)?;
        let mut reader = Reader { rest: text };
        let value = reader.value(0)?;
        reader.space();
        super::require(reader.rest.is_empty())?;
        Ok(value)
    }

    /// The fields of a SEQUENCE.
    pub(crate) fn fields(&self) -> Result<&[(&'a str, Gser<'a>)], InvalidValue> {
        match self {
            Self::List(fields) => Ok(fields),
            _ => Err(InvalidValue),
        }
    }

    /// A named field.
    pub(crate) fn field(&self, name: &str) -> Result<Option<&Gser<'a>>, InvalidValue> {
        Ok(self
            .fields()?
            .iter()
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value))
    }

    pub(crate) fn word(&self) -> Result<&'a str, InvalidValue> {
        match self {
            Self::Word(word) => Ok(word),
            _ => Err(InvalidValue),
        }
    }

    pub(crate) fn text(&self) -> Result<&str, InvalidValue> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(InvalidValue),
        }
    }

    /// The value of a choice of this name.
    pub(crate) fn choice(&self, name: &str) -> Result<&Gser<'a>, InvalidValue> {
        match self {
            Self::Choice(found, value) if *found == name => Ok(value),
            _ => Err(InvalidValue),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn eat(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Gser<'a>, InvalidValue> {
        super::require(depth < MAXIMUM_DEPTH)?;
        self.space();
        if self.eat('{') {
            return self.list(depth);
        }
        if self.eat('"') {
            return self.text().map(Gser::Text);
        }
        let word = self.word()?;
        if self.eat(':') {
            return Ok(Gser::Choice(word, Box::new(self.value(depth + 1)?)));
        }
        Ok(Gser::Word(word))
    }

    fn list(&mut self, depth: usize) -> Result<Gser<'a>, InvalidValue> {
        let mut fields = Vec::new();
        self.space();
        if self.eat('}') {
            return Ok(Gser::List(fields));
        }
        loop {
            let value = self.value(depth + 1)?;
            self.space();
            match value {
                // A word is the name of a field, unless a separator follows it.
                Gser::Word(name) if !self.rest.starts_with([',', '}']) => {
                    let value = self.value(depth + 1)?;
                    fields.push((name, value));
                }
                value => fields.push(("", value)),
            }
            self.space();
            if self.eat('}') {
                return Ok(Gser::List(fields));
            }
            super::require(self.eat(','))?;
        }
    }

    fn word(&mut self) -> Result<&'a str, InvalidValue> {
        let end = match self.rest.strip_prefix('\'') {
            // 'hexadecimal'H or 'binary'B
            Some(rest) => rest.find('\'').ok_or(InvalidValue)? + 3,
            None => self
                .rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.')))
                .unwrap_or(self.rest.len()),
        };
        let (word, rest) = self.rest.split_at_checked(end).ok_or(InvalidValue)?;
        super::require(!word.is_empty())?;
        self.rest = rest;
        Ok(word)
    }

    /// The rest of a quoted text, in which a quote is doubled.
    fn text(&mut self) -> Result<Cow<'a, str>, InvalidValue> {
        let mut text = Cow::Borrowed("");
        loop {
            let end = self.rest.find('"').ok_or(InvalidValue)?;
            let (part, rest) = self.rest.split_at_checked(end).ok_or(InvalidValue)?;
            self.rest = rest.get(1..).unwrap_or_default();
            if text.is_empty() {
                text = Cow::Borrowed(part);
            } else {
                text.to_mut().push_str(part);
            }
            if !self.eat('"') {
                return Ok(text);
            }
            text.to_mut().push('"');
        }
    }
}
