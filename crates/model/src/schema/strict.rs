//! The form that slapd asks of definitions, which is narrower than what files of other servers have and this server
//! reads. What a client adds to cn=config must have it: slapd would not read the directory otherwise.

use super::tokens::{DefinitionError, Token, Tokens};

/// Whether a value of a keyword stands in quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Needed,
    Refused,
    Either,
}

/// Checks words and quotes of a definition that can be read. `is_class`: it is that of an object class.
///
/// # Errors
/// The first word that slapd refuses.
pub fn check_form(definition: &str, is_class: bool) -> Result<(), DefinitionError> {
    let mut tokens = Tokens::new(definition.strip_prefix('"').unwrap_or(definition));
    tokens.next()?;
    if let Some(Token::Quoted(oid)) = tokens.peek()? {
        tokens.next()?;
        return Err(tokens.error(format!("\"{oid}\" must stand without quotes")));
    }
    tokens.oid()?;
    loop {
        let Some(Token::Word(keyword)) = tokens.next()? else {
            return Ok(());
        };
        match keyword.to_ascii_uppercase().as_str() {
            "NAME" => values(&mut tokens, Quotes::Needed, Quotes::Needed)?,
            "DESC" => one(&mut tokens, Quotes::Needed)?,
            "EQUALITY" | "ORDERING" | "SUBSTR" | "USAGE" => one(&mut tokens, Quotes::Refused)?,
            "SYNTAX" => {
                one(&mut tokens, Quotes::Either)?;
                if let Some(Token::Word(word)) = tokens.peek()?
                    && word.starts_with('{')
                {
                    return Err(tokens.error("the bound of SYNTAX stands behind a blank"));
                }
            }
            "SUP" if is_class => values(&mut tokens, Quotes::Either, Quotes::Either)?,
            "SUP" => one(&mut tokens, Quotes::Refused)?,
            "MUST" | "MAY" | "AUX" | "NOT" => values(&mut tokens, Quotes::Refused, Quotes::Refused)?,
            word if word.starts_with("X-") => {
                if !keyword.starts_with("X-") {
                    return Err(tokens.error(format!("unexpected token \"{keyword}\"")));
                }
                values(&mut tokens, Quotes::Needed, Quotes::Needed)?;
            }
            _ => {}
        }
    }
}

/// One value, or several in parentheses.
fn values(tokens: &mut Tokens<'_>, alone: Quotes, listed: Quotes) -> Result<(), DefinitionError> {
    if tokens.peek()? != Some(Token::Open) {
        return one(tokens, alone);
    }
    tokens.next()?;
    loop {
        match tokens.peek()? {
            Some(Token::Word(_) | Token::Quoted(_)) => one(tokens, listed)?,
            Some(Token::Dollar) => drop(tokens.next()?),
            _ => {
                tokens.next()?;
                return Ok(());
            }
        }
    }
}

fn one(tokens: &mut Tokens<'_>, quotes: Quotes) -> Result<(), DefinitionError> {
    match (tokens.next()?, quotes) {
        (Some(Token::Word(word)), Quotes::Needed) => Err(tokens.error(format!("\"{word}\" must stand in quotes"))),
        (Some(Token::Quoted(word)), Quotes::Refused) => {
            Err(tokens.error(format!("\"{word}\" must stand without quotes")))
        }
        (Some(Token::Open), _) => Err(tokens.error("one value without parentheses expected")),
        _ => Ok(()),
    }
}
