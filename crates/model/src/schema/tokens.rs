//! Tokens of schema definitions (RFC 4512 §4.1): parentheses, `$`, words and quoted strings.

use std::fmt;

/// One token, borrowed from the definition's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token<'a> {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `$`
    Dollar,
    /// Characters up to white space, a parenthesis, `$` or a quote.
    Word(&'a str),
    /// The text between two quotes, verbatim: the escapes of RFC 4512 `qdstring` are kept for printing.
    Quoted(&'a str),
}

/// What is wrong with the text of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefinitionError {
    /// Byte offset in the definition.
    pub offset: usize,
    /// The reason, without the place.
    pub reason: String,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.reason, self.offset)
    }
}

/// A cursor over the tokens of one definition.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    position: usize,
    start: usize,
}

/// Whether a text is one pair of parentheses with what is between them, and nothing else.
pub(crate) fn is_parenthesized(text: &str) -> bool {
    let mut tokens = Tokens::new(text);
    let mut depth = 0_usize;
    loop {
        match tokens.next() {
            Ok(Some(Token::Open)) => depth += 1,
            Ok(Some(Token::Close)) if depth == 1 => return matches!(tokens.next(), Ok(None)),
            Ok(Some(Token::Close)) if depth > 1 => depth -= 1,
            Ok(Some(_)) if depth > 0 => {}
            _ => return false,
        }
    }
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            start: 0,
        }
    }

    /// An error at the token read last.
    pub(crate) fn error(&self, reason: impl Into<String>) -> DefinitionError {
        DefinitionError {
            offset: self.start,
            reason: reason.into(),
        }
    }

    /// The next token, or `None` at the end of the text.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'a>>, DefinitionError> {
        let rest = self.text.get(self.position..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.start = self.position + (rest.len() - trimmed.len());
        let Some(first) = trimmed.chars().next() else {
            self.position = self.text.len();
            return Ok(None);
        };
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '$' => (Token::Dollar, 1),
            '\'' => {
                let body = trimmed.get(1..).unwrap_or_default();
                let Some(end) = body.find('\'') else {
                    return Err(self.error("missing closing quote"));
                };
                (Token::Quoted(body.get(..end).unwrap_or_default()), end + 2)
            }
            _ => {
                let end = trimmed
                    .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '$' | '\''))
                    .unwrap_or(trimmed.len());
                (Token::Word(trimmed.get(..end).unwrap_or_default()), end)
            }
        };
        self.position = self.start + length;
        Ok(Some(token))
    }

    /// The next token without taking it.
    pub(crate) fn peek(&self) -> Result<Option<Token<'a>>, DefinitionError> {
        self.clone().next()
    }

    /// The next token, which must be there.
    pub(crate) fn required(&mut self, what: &str) -> Result<Token<'a>, DefinitionError> {
        match self.next()? {
            Some(token) => Ok(token),
            None => Err(self.error(format!("unexpected end, {what} expected"))),
        }
    }

    /// The OID that begins a definition. As in slapd, a numeric OID ends where its digits end: folded LDIF may have
    /// lost the blank.
    pub(crate) fn oid(&mut self) -> Result<&'a str, DefinitionError> {
        let text = self.string("an OID")?;
        Ok(self.cut(text, end_of_digits(text)))
    }

    /// The OID of a syntax, with its bound as written. As in slapd, the next word may follow without a blank.
    pub(crate) fn bounded_oid(&mut self) -> Result<&'a str, DefinitionError> {
        let text = self.string("a syntax OID")?;
        let end = text.find('}').map(|brace| brace + 1);
        Ok(self.cut(text, end.or_else(|| end_of_digits(text))))
    }

    /// The first `end` bytes of the token read last, if it is a word; the rest is the next token.
    fn cut(&mut self, token: &'a str, end: Option<usize>) -> &'a str {
        let is_word = self.text.get(self.start..).is_some_and(|rest| rest.starts_with(token));
        match end.and_then(|end| token.get(..end)) {
            Some(first) if is_word => {
                self.position = self.start + first.len();
                first
            }
            _ => token,
        }
    }

    /// A word or a quoted string. Old files quote OIDs, and do not quote descriptors.
    pub(crate) fn string(&mut self, what: &str) -> Result<&'a str, DefinitionError> {
        match self.required(what)? {
            Token::Word(text) | Token::Quoted(text) => Ok(text),
            _ => Err(self.error(format!("{what} expected"))),
        }
    }

    /// One string, or strings in parentheses with nothing between them (`qdescrs`, `qdstrings`).
    pub(crate) fn strings(&mut self, what: &str) -> Result<Vec<Box<str>>, DefinitionError> {
        self.list(what, false)
    }

    /// One OID, or OIDs in parentheses with `$` between them (`oids`).
    pub(crate) fn oids(&mut self, what: &str) -> Result<Vec<Box<str>>, DefinitionError> {
        self.list(what, true)
    }

    fn list(&mut self, what: &str, dollars: bool) -> Result<Vec<Box<str>>, DefinitionError> {
        let mut found = Vec::new();
        match self.required(what)? {
            Token::Word(text) | Token::Quoted(text) => {
                found.push(text.into());
                return Ok(found);
            }
            Token::Open => {}
            _ => return Err(self.error(format!("{what} expected"))),
        }
        let mut separated = true;
        loop {
            match self.required(what)? {
                Token::Close if !separated || !dollars || found.is_empty() => return Ok(found),
                Token::Dollar if dollars && !separated => separated = true,
                Token::Word(text) | Token::Quoted(text) if separated || !dollars => {
                    found.push(text.into());
                    separated = false;
                }
                _ => return Err(self.error(format!("unexpected token in the list of {what}"))),
            }
        }
    }
}

/// Where a letter follows the digits and dots of a numeric OID.
fn end_of_digits(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let rest = text.get(end..)?;
    (end > 0 && rest.starts_with(char::is_alphabetic)).then_some(end)
}
