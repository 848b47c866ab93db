//! Reading `access to <what> [by <who> <access> <control>] ...`.

use ironbark_model::{Dn, schema::ClassNumber};

use super::{AccessRule, AttributeTarget, By, Control, Grant, NameMatch, NameScope, What, Who, who};
use crate::{setting::Statement, value::parse_dn};

/// How deep the filter of a rule may nest.
const MAXIMUM_FILTER_DEPTH: usize = 100;

/// The end of every refusal of a form of slapd.access(5) that is not built.
const NOT_BUILT: &str = "belongs to the access-control part that is not built yet";

impl AccessRule {
    /// From the arguments of `access`.
    ///
    /// # Errors
    /// Malformed, or a form that is not built.
    pub(crate) fn parse(statement: &Statement<'_>) -> Result<Self, String> {
        let mut words = Words {
            rest: statement.arguments,
        };
        if !words.take_keyword("to") {
            return Err(format!("expected \"to\": access {}", statement.grammar));
        }
        let what = parse_what(statement, &mut words)?;
        let mut by = Vec::new();
        while let Some(word) = words.next() {
            if !word.eq_ignore_ascii_case("by") {
                return Err(format!("expecting \"by\" got \"{word}\""));
            }
            by.push(parse_by(statement, &mut words)?);
        }
        if by.is_empty() {
            statement.notice("access rule without by clause: nobody has access");
        }
        Ok(Self {
            what,
            by,
            location: statement.location.clone(),
        })
    }
}

/// `key[.style][=value]`, the way slapd cuts a word.
pub(super) struct Styled<'a> {
    pub(super) key: String,
    pub(super) style: Option<String>,
    pub(super) value: Option<&'a str>,
    pub(super) word: &'a str,
}

/// A regular expression that needs none.
pub(super) enum Trivial {
    /// The empty pattern: the empty name.
    Nothing,
    /// `*`.
    Star,
    /// `.*`: any name.
    Anything,
    /// `.+`: any name but the empty one.
    Something,
}

impl<'a> Styled<'a> {
    pub(super) fn cut(word: &'a str) -> Self {
        let (left, value) = word
            .split_once('=')
            .map_or((word, None), |(left, value)| (left, Some(value)));
        let (key, style) = left
            .split_once('.')
            .map_or((left, None), |(key, style)| (key, Some(style)));
        Self {
            key: key.to_ascii_lowercase(),
            style: style.map(str::to_ascii_lowercase),
            value,
            word,
        }
    }

    /// A name with one of the built styles.
    pub(super) fn name_match(&self, statement: &Statement<'_>) -> Result<NameMatch, String> {
        let style = self.style.as_deref().unwrap_or("base");
        let scope = match NameScope::style(style) {
            Some(scope) => scope,
            None if is_missing_style(style) => return Err(not_built(self.word)),
            None => return Err(format!("unknown dn style \"{style}\"")),
        };
        let value = self
            .value
            .ok_or_else(|| format!("missing \"=\" in \"{}\"", self.word))?;
        let dn = parse_dn(statement, value)?;
        Ok(NameMatch { scope, dn })
    }

    /// What a regular expression means that matches everything or next to nothing: old files are full of them.
    pub(super) fn trivial_regex(&self) -> Option<Trivial> {
        let pattern = self.value?;
        if pattern.is_empty() {
            return Some(Trivial::Nothing);
        }
        let start = pattern.strip_prefix('^').unwrap_or(pattern);
        let pattern = start.strip_suffix("$$").or(start.strip_suffix('$')).unwrap_or(start);
        match pattern {
            "*" => Some(Trivial::Star),
            ".*" => Some(Trivial::Anything),
            ".+" => Some(Trivial::Something),
            _ => None,
        }
    }

    /// Refuses a style other than those listed.
    pub(super) fn expect_style(&self, allowed: &[&str]) -> Result<(), String> {
        match self.style.as_deref() {
            Some(style) if !allowed.contains(&style) => {
                if is_missing_style(style) {
                    Err(not_built(self.word))
                } else {
                    Err(format!("inappropriate style \"{style}\" in \"{}\"", self.word))
                }
            }
            _ => Ok(()),
        }
    }
}

fn is_missing_style(style: &str) -> bool {
    // A comma brings the modifier `expand`.
    style.starts_with("level{") || style.contains(',') || matches!(style, "regex" | "expand")
}

pub(super) fn not_built(word: &str) -> String {
    format!("\"{word}\" {NOT_BUILT}")
}

/// The words of a rule, from left to right.
pub(super) struct Words<'a> {
    pub(super) rest: &'a [String],
}

impl<'a> Words<'a> {
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.rest.first().map(String::as_str)
    }

    pub(super) fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.peek().is_some_and(|word| word.eq_ignore_ascii_case(keyword));
        if found {
            self.next();
        }
        found
    }

    /// The next word, unless a `by` clause begins.
    pub(super) fn next_in_clause(&mut self) -> Option<&'a str> {
        self.peek()
            .filter(|word| !word.eq_ignore_ascii_case("by"))
            .and_then(|_| self.next())
    }
}

fn parse_what(statement: &Statement<'_>, words: &mut Words<'_>) -> Result<What, String> {
    let mut what = What::default();
    let mut is_any = false;
    let mut seen = false;
    while let Some(word) = words.next_in_clause() {
        seen = true;
        let duplicate = || {
            format!(
                "only one {} qualifier can be specified",
                word.split(['=', '.']).next().unwrap_or_default()
            )
        };
        if word == "*" {
            if what.dn.is_some() || is_any {
                return Err("dn pattern already specified in to clause".to_owned());
            }
            is_any = true;
            continue;
        }
        let styled = Styled::cut(word);
        match styled.key.as_str() {
            "dn" if what.dn.is_some() || is_any => {
                return Err("dn pattern already specified in to clause".to_owned());
            }
            "dn" if styled.value == Some("*") => is_any = true,
            "dn" if styled.style.as_deref() == Some("regex") => match styled.trivial_regex() {
                Some(Trivial::Anything | Trivial::Star) => is_any = true,
                Some(Trivial::Nothing) => {
                    what.dn = Some(NameMatch {
                        scope: NameScope::Base,
                        dn: Dn::root(),
                    });
                }
                _ => return Err(not_built(word)),
            },
            "dn" => what.dn = Some(styled.name_match(statement)?),
            "filter" if what.filter.is_some() => return Err(duplicate()),
            "filter" => what.filter = Some(parse_filter(&styled)?),
            "attrs" | "attr" if !what.attributes.is_empty() => return Err(duplicate()),
            "attrs" | "attr" => {
                if styled.key == "attr" {
                    statement.notice("\"attr\" is an old name of \"attrs\"");
                }
                // An option of an attribute may hold a period: cut at the equals sign alone.
                let list = word.split_once('=').map(|(_, list)| list);
                what.attributes = parse_attributes(statement, list.unwrap_or_default())?;
            }
            "val" | "value" | "op" | "control" => return Err(not_built(word)),
            key if key.starts_with("val/") || key.starts_with("value/") => return Err(not_built(word)),
            _ => return Err(format!("expecting <what> got \"{word}\"")),
        }
    }
    if seen {
        Ok(what)
    } else {
        Err("expecting <what> after \"to\"".to_owned())
    }
}

fn parse_filter(styled: &Styled<'_>) -> Result<String, String> {
    let text = styled.value.unwrap_or_default();
    ironbark_model::Filter::parse(text.as_bytes(), MAXIMUM_FILTER_DEPTH)
        .map_err(|_| format!("bad filter \"{text}\" in to clause"))?;
    Ok(text.to_owned())
}

fn parse_attributes(statement: &Statement<'_>, list: &str) -> Result<Vec<AttributeTarget>, String> {
    let mut attributes = Vec::new();
    for name in list.split(',') {
        attributes
            .push(parse_attribute(statement, name).ok_or_else(|| format!("unknown attr \"{name}\" in to clause"))?);
    }
    Ok(attributes)
}

fn parse_attribute(statement: &Statement<'_>, name: &str) -> Option<AttributeTarget> {
    let schema = statement.schema;
    let class = |name: &str| -> Option<ClassNumber> { Some(schema.find_object_class(name.as_bytes())?.number) };
    if let Some(name) = name.strip_prefix('@') {
        return class(name).map(AttributeTarget::Class);
    }
    if let Some(name) = name.strip_prefix('!') {
        return class(name).map(AttributeTarget::NotClass);
    }
    if name.eq_ignore_ascii_case("entry") {
        return Some(AttributeTarget::Entry);
    }
    if name.eq_ignore_ascii_case("children") {
        return Some(AttributeTarget::Children);
    }
    // slapd takes the name of a class without its mark too.
    let attribute = schema
        .attribute_description(name.as_bytes())
        .ok()
        .map(AttributeTarget::Attribute);
    attribute.or_else(|| class(name).map(AttributeTarget::Class))
}

fn parse_by(statement: &Statement<'_>, words: &mut Words<'_>) -> Result<By, String> {
    let mut conditions = Vec::new();
    while let Some(word) = words.peek() {
        match who::parse(statement, word)? {
            Some(condition) => {
                // slapd keeps one pattern for the name of the requester.
                if condition.is_name() && conditions.iter().any(Who::is_name) {
                    return Err("dn pattern already specified".to_owned());
                }
                conditions.push(condition);
            }
            None => break,
        }
        words.next();
    }
    if conditions.is_empty() {
        let got = words.peek().unwrap_or_default();
        return Err(format!("expecting <who> after \"by\" got \"{got}\""));
    }
    let mut grant = Grant::NOTHING;
    let mut control = Control::default();
    let mut word = words.next_in_clause();
    if let Some(text) = word
        && Control::parse(text).is_none()
    {
        if text
            .get(..8)
            .is_some_and(|start| start.eq_ignore_ascii_case("realself"))
        {
            return Err(not_built(text));
        }
        grant = Grant::parse(text).ok_or_else(|| format!("expecting <access> got \"{text}\""))?;
        word = words.next_in_clause();
    }
    if let Some(text) = word {
        control = Control::parse(text).ok_or_else(|| format!("expecting <control> got \"{text}\""))?;
    }
    Ok(By {
        who: conditions,
        grant,
        control,
    })
}
