//! Definitions as written (RFC 4512 §4.1): parsed, not resolved. Reading is as tolerant as slapd's: elements in any
//! order, keywords in any case, descriptors with or without quotes, macros in place of OIDs.

use super::{
    ClassKind, Usage,
    tokens::{DefinitionError, Token, Tokens},
};

/// `X-` extensions in order, values verbatim.
pub type Extensions = Vec<(Box<str>, Vec<Box<str>>)>;

/// The elements that every kind of definition has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Common {
    /// OID, or macro with or without suffix.
    pub oid: Box<str>,
    /// NAME.
    pub names: Vec<Box<str>>,
    /// DESC, verbatim.
    pub description: Option<Box<str>>,
    /// OBSOLETE.
    pub obsolete: bool,
    /// Extensions.
    pub extensions: Extensions,
}

/// An attribute type description (RFC 4512 §4.1.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeTypeDefinition {
    /// OID, names and so on.
    pub common: Common,
    /// SUP.
    pub superior: Option<Box<str>>,
    /// EQUALITY.
    pub equality: Option<Box<str>>,
    /// ORDERING.
    pub ordering: Option<Box<str>>,
    /// SUBSTR.
    pub substrings: Option<Box<str>>,
    /// SYNTAX without its bound.
    pub syntax: Option<Box<str>>,
    /// The `{n}` of SYNTAX.
    pub minimum_upper_bound: Option<u32>,
    /// SINGLE-VALUE.
    pub single_value: bool,
    /// COLLECTIVE.
    pub collective: bool,
    /// NO-USER-MODIFICATION.
    pub no_user_modification: bool,
    /// USAGE.
    pub usage: Usage,
}

/// An object class description (RFC 4512 §4.1.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectClassDefinition {
    /// OID, names and so on.
    pub common: Common,
    /// SUP.
    pub superiors: Vec<Box<str>>,
    /// Kind; structural when the definition says nothing.
    pub kind: ClassKind,
    /// MUST.
    pub must: Vec<Box<str>>,
    /// MAY.
    pub may: Vec<Box<str>>,
}

/// A DIT content rule description (RFC 4512 §4.1.6).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContentRuleDefinition {
    /// OID of the structural class, names and so on.
    pub common: Common,
    /// AUX.
    pub auxiliary: Vec<Box<str>>,
    /// MUST.
    pub must: Vec<Box<str>>,
    /// MAY.
    pub may: Vec<Box<str>>,
    /// NOT.
    pub not: Vec<Box<str>>,
}

/// An LDAP syntax description (RFC 4512 §4.1.5).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SyntaxDefinition {
    /// OID, DESC and extensions.
    pub common: Common,
}

/// A description of a matching rule (§4.1.3), matching rule use (§4.1.4), name form (§4.1.7.2) or structure rule
/// (§4.1.7.1). This server validates it as a value; it has no effect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OtherDefinition {
    /// OID or rule identifier, names and so on.
    pub common: Common,
    /// The other elements: keyword in upper case and values.
    pub elements: Vec<(Box<str>, Vec<Box<str>>)>,
}

/// Which of the four kinds an [`OtherDefinition`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtherKind {
    /// `matchingRules`.
    MatchingRule,
    /// `matchingRuleUse`.
    MatchingRuleUse,
    /// `nameForms`.
    NameForm,
    /// `dITStructureRules`.
    StructureRule,
}

/// The most elements that one definition may have, extensions included.
const MAXIMUM_ELEMENTS: usize = 256;

/// Reads the frame `( oid ... )` and the common elements. Every other keyword goes to `element`, which returns whether
/// it knows the keyword.
fn parse<'a>(
    text: &'a str,
    mut element: impl FnMut(&str, &mut Tokens<'a>) -> Result<bool, DefinitionError>,
) -> Result<Common, DefinitionError> {
    // As in slapd, a definition may stand in double quotes, and text behind its parenthesis is no part of it.
    let mut tokens = Tokens::new(text.strip_prefix('"').unwrap_or(text));
    let mut common = Common::default();
    if tokens.next()? != Some(Token::Open) {
        return Err(tokens.error("opening parenthesis expected"));
    }
    common.oid = tokens.oid()?.into();
    if !is_oid_like(&common.oid) {
        return Err(tokens.error(format!("\"{}\" is neither an OID nor a macro", common.oid)));
    }
    let mut seen: Vec<String> = Vec::new();
    loop {
        let keyword = match tokens.required("closing parenthesis")? {
            Token::Close => return Ok(common),
            Token::Word(word) => word.to_ascii_uppercase(),
            _ => return Err(tokens.error("keyword expected")),
        };
        // slapd keeps both of two extensions with one name.
        if seen.contains(&keyword) && !keyword.starts_with("X-") {
            return Err(tokens.error(format!("{keyword} is given twice")));
        }
        if seen.len() == MAXIMUM_ELEMENTS {
            return Err(tokens.error("too many elements"));
        }
        match keyword.as_str() {
            "NAME" => {
                common.names = tokens.strings("names")?;
                if let Some(name) = common.names.iter().find(|name| !is_descriptor(name)) {
                    return Err(tokens.error(format!("invalid name \"{name}\": letters, digits and hyphens expected")));
                }
            }
            "DESC" => common.description = Some(tokens.string("description")?.into()),
            "OBSOLETE" => common.obsolete = true,
            word if word.starts_with("X-") => {
                let values = tokens.strings("extension values")?;
                common.extensions.push((keyword.as_str().into(), values));
            }
            word => {
                if !element(word, &mut tokens)? {
                    return Err(tokens.error(format!("unexpected token \"{word}\"")));
                }
            }
        }
        seen.push(keyword);
    }
}

impl AttributeTypeDefinition {
    /// Reads a definition.
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let mut found = Self {
            common: Common::default(),
            superior: None,
            equality: None,
            ordering: None,
            substrings: None,
            syntax: None,
            minimum_upper_bound: None,
            single_value: false,
            collective: false,
            no_user_modification: false,
            usage: Usage::UserApplications,
        };
        found.common = parse(text, |keyword, tokens| {
            match keyword {
                "SUP" => found.superior = Some(single_oid(tokens, "superior type")?),
                "EQUALITY" => found.equality = Some(tokens.string("matching rule")?.into()),
                "ORDERING" => found.ordering = Some(tokens.string("matching rule")?.into()),
                "SUBSTR" => found.substrings = Some(tokens.string("matching rule")?.into()),
                "SYNTAX" => {
                    let (oid, bound) = noid_length(tokens)?;
                    found.syntax = Some(oid);
                    found.minimum_upper_bound = bound;
                }
                "SINGLE-VALUE" => found.single_value = true,
                "COLLECTIVE" => found.collective = true,
                "NO-USER-MODIFICATION" => found.no_user_modification = true,
                "USAGE" => found.usage = usage(tokens)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(found)
    }
}

impl ObjectClassDefinition {
    /// Reads a definition.
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let mut kind = None;
        let mut superiors = Vec::new();
        let mut must = Vec::new();
        let mut may = Vec::new();
        let common = parse(text, |keyword, tokens| {
            let stated = match keyword {
                "SUP" => {
                    superiors = tokens.oids("superior classes")?;
                    return Ok(true);
                }
                "MUST" => {
                    must = tokens.oids("required attributes")?;
                    return Ok(true);
                }
                "MAY" => {
                    may = tokens.oids("allowed attributes")?;
                    return Ok(true);
                }
                "ABSTRACT" => ClassKind::Abstract,
                "STRUCTURAL" => ClassKind::Structural,
                "AUXILIARY" => ClassKind::Auxiliary,
                _ => return Ok(false),
            };
            if kind.replace(stated).is_some() {
                return Err(tokens.error("two kinds of class"));
            }
            Ok(true)
        })?;
        Ok(Self {
            common,
            superiors,
            kind: kind.unwrap_or(ClassKind::Structural),
            must,
            may,
        })
    }
}

impl ContentRuleDefinition {
    /// Reads a definition.
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let mut found = Self::default();
        found.common = parse(text, |keyword, tokens| {
            match keyword {
                "AUX" => found.auxiliary = tokens.oids("auxiliary classes")?,
                "MUST" => found.must = tokens.oids("required attributes")?,
                "MAY" => found.may = tokens.oids("allowed attributes")?,
                "NOT" => found.not = tokens.oids("precluded attributes")?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(found)
    }
}

impl SyntaxDefinition {
    /// Reads a definition.
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let common = parse(text, |_, _| Ok(false))?;
        Ok(Self { common })
    }

    /// The first value of an extension.
    pub fn extension(&self, name: &str) -> Option<&str> {
        let (_, values) = self.common.extensions.iter().find(|(found, _)| &**found == name)?;
        values.first().map(|value| &**value)
    }
}

impl OtherDefinition {
    /// Reads a definition of one of the four kinds.
    pub fn parse(text: &str, kind: OtherKind) -> Result<Self, DefinitionError> {
        let mut elements: Vec<(Box<str>, Vec<Box<str>>)> = Vec::new();
        let common = parse(text, |keyword, tokens| {
            let values = match (kind, keyword) {
                (OtherKind::MatchingRule, "SYNTAX") => vec![noid_length(tokens)?.0],
                (OtherKind::MatchingRuleUse, "APPLIES") => tokens.oids("attribute types")?,
                (OtherKind::NameForm, "OC") | (OtherKind::StructureRule, "FORM") => {
                    vec![tokens.string("an OID")?.into()]
                }
                (OtherKind::NameForm, "MUST" | "MAY") => tokens.oids("attribute types")?,
                (OtherKind::StructureRule, "SUP") => tokens.strings("rule identifiers")?,
                _ => return Ok(false),
            };
            elements.push((keyword.into(), values));
            Ok(true)
        })?;
        let required: &[&str] = match kind {
            OtherKind::MatchingRule => &["SYNTAX"],
            OtherKind::MatchingRuleUse => &["APPLIES"],
            OtherKind::NameForm => &["OC", "MUST"],
            OtherKind::StructureRule => &["FORM"],
        };
        for keyword in required {
            if !elements.iter().any(|(found, _)| &**found == *keyword) {
                return Err(Tokens::new(text).error(format!("{keyword} is missing")));
            }
        }
        if kind == OtherKind::StructureRule && !common.oid.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Tokens::new(text).error("rule identifier expected"));
        }
        Ok(Self { common, elements })
    }
}

/// `SUP` of an attribute type takes one OID; old files put it in parentheses.
fn single_oid(tokens: &mut Tokens<'_>, what: &str) -> Result<Box<str>, DefinitionError> {
    let mut oids = tokens.oids(what)?;
    match (oids.pop(), oids.is_empty()) {
        (Some(oid), true) => Ok(oid),
        _ => Err(tokens.error(format!("one {what} expected"))),
    }
}

/// `numericoid [ { len } ]`.
fn noid_length(tokens: &mut Tokens<'_>) -> Result<(Box<str>, Option<u32>), DefinitionError> {
    let text = tokens.bounded_oid()?;
    let (oid, bound) = match text.split_once('{') {
        None => match tokens.peek()? {
            // White space before the bound.
            Some(Token::Word(next)) if next.starts_with('{') => (text, tokens.bounded_oid()?.get(1..)),
            _ => (text, None),
        },
        Some((oid, bound)) => (oid, Some(bound)),
    };
    let Some(bound) = bound else {
        return Ok((oid.into(), None));
    };
    match bound.strip_suffix('}') {
        Some("") => Ok((oid.into(), None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok((oid.into(), Some(digits.parse().unwrap_or(u32::MAX))))
        }
        _ => Err(tokens.error("bad length bound of SYNTAX")),
    }
}

fn usage(tokens: &mut Tokens<'_>) -> Result<Usage, DefinitionError> {
    let word = tokens.string("usage")?;
    Ok(match word.to_ascii_lowercase().as_str() {
        "userapplications" => Usage::UserApplications,
        "directoryoperation" => Usage::DirectoryOperation,
        "distributedoperation" => Usage::DistributedOperation,
        "dsaoperation" => Usage::DsaOperation,
        _ => return Err(tokens.error(format!("unknown usage \"{word}\""))),
    })
}

/// `descr` of RFC 4512 §1.4.
pub(crate) fn is_descriptor(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// `numericoid` of RFC 4512 §1.4. As in slapd, one number alone is one too.
pub(crate) fn is_numeric_oid(text: &[u8]) -> bool {
    let mut arcs = text.split(|byte| *byte == b'.');
    arcs.all(|arc| match arc {
        [] | [b'0', _, ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    })
}

/// An OID as slapd takes it from a definition: numbers with dots between them. Schema files in use have OIDs of one
/// arc, with a first arc over 2, and with leading zeros.
pub(crate) fn is_written_oid(text: &[u8]) -> bool {
    let mut arcs = text.split(|byte| *byte == b'.');
    arcs.all(|arc| !arc.is_empty() && arc.iter().all(u8::is_ascii_digit))
}

/// The name of an `objectidentifier` macro: any word that is no number, has no colon, and is no more than one token of
/// a definition.
pub(crate) fn is_macro_name(text: &str) -> bool {
    let ends_a_word = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '$' | '\'' | '"' | '{' | ':');
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && !text.contains(ends_a_word)
}

/// A numeric OID, a macro, or a macro with a suffix. As in slapd, a suffix is any text: some files have names there.
fn is_oid_like(text: &str) -> bool {
    match text.split_once(':') {
        Some((name, _)) => is_macro_name(name),
        None => is_macro_name(text) || is_written_oid(text.as_bytes()),
    }
}

/// Whether text stands behind the parenthesis that closes a definition. As slapd, this server ignores it.
pub fn has_text_behind(definition: &str) -> bool {
    let mut tokens = Tokens::new(definition.trim_matches('"'));
    let mut depth = 0_usize;
    while let Ok(Some(token)) = tokens.next() {
        match token {
            Token::Open => depth += 1,
            Token::Close if depth <= 1 => return !matches!(tokens.next(), Ok(None)),
            Token::Close => depth -= 1,
            _ => {}
        }
    }
    false
}
