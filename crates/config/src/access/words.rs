//! The words of an access rule, and how slapd splits one.

use super::{NameMatch, NameScope};
use crate::{SettingError, statement::Statement, value::parse_dn};

/// `key[.style[,modifier]][=value]`, split as slapd does.
pub(super) struct Styled<'a> {
    pub(super) key: String,
    /// Without `{n}`.
    pub(super) style: Option<String>,
    /// `{n}` of the style `level`.
    pub(super) level: Option<i32>,
    /// `,expand`.
    pub(super) expands: bool,
    pub(super) value: Option<&'a str>,
    pub(super) word: &'a str,
}

impl<'a> Styled<'a> {
    pub(super) fn cut(word: &'a str) -> Result<Self, SettingError> {
        let (left, value) = word
            .split_once('=')
            .map_or((word, None), |(left, value)| (left, Some(value)));
        let (key, style) = left
            .split_once('.')
            .map_or((left, None), |(key, style)| (key, Some(style)));
        let (style, modifier) = match style.map(|style| {
            style
                .split_once(',')
                .map_or((style, None), |(style, modifier)| (style, Some(modifier)))
        }) {
            Some((style, modifier)) => (Some(style.to_ascii_lowercase()), modifier),
            None => (None, None),
        };
        let (style, level) = match style {
            Some(style) if style.starts_with("level") => (Some("level".to_owned()), Some(level(&style)?)),
            style => (style, None),
        };
        Ok(Self {
            key: key.to_ascii_lowercase(),
            style,
            level,
            expands: modifier.is_some_and(|modifier| modifier.eq_ignore_ascii_case("expand")),
            value,
            word,
        })
    }

    /// A scope by its style.
    pub(super) fn scope(&self) -> Result<NameScope, SettingError> {
        let style = self.style.as_deref().unwrap_or("base");
        match (style, self.level) {
            ("level", Some(level)) => {
                let level =
                    u32::try_from(level).map_err(|_| format!("bad negative level \"{level}\" in by DN clause"))?;
                Ok(NameScope::Level(level))
            }
            ("", _) => Ok(NameScope::Base),
            _ => NameScope::style(style).ok_or_else(|| format!("unknown dn style \"{style}\"").into()),
        }
    }

    /// A name with its scope.
    pub(super) fn name_match(&self, statement: &Statement<'_>) -> Result<NameMatch, SettingError> {
        let scope = self.scope()?;
        let value = self.value.ok_or_else(|| self.missing())?;
        let dn = parse_dn(statement, value)?;
        Ok(NameMatch { scope, dn })
    }

    /// The value, which must not be empty.
    pub(super) fn some_value(&self) -> Result<&'a str, SettingError> {
        let value = self.value.filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("missing \"=\" in (or value after) \"{}\" in by clause", self.word).into())
    }

    pub(super) fn missing(&self) -> String {
        format!("missing \"=\" in \"{}\"", self.word)
    }

    pub(super) fn inappropriate(&self) -> SettingError {
        let style = self.style.as_deref().unwrap_or_default();
        format!("inappropriate style \"{style}\" in \"{}\"", self.word).into()
    }

    /// Refuses a style other than those listed.
    pub(super) fn expect_style(&self, allowed: &[&str]) -> Result<(), SettingError> {
        match self.style.as_deref() {
            Some(style) if !allowed.contains(&style) => Err(self.inappropriate()),
            _ => Ok(()),
        }
    }
}

/// The number of `level{n}`.
fn level(style: &str) -> Result<i32, SettingError> {
    let digits = style.strip_prefix("level{").and_then(|rest| rest.strip_suffix('}'));
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| "unable to parse level in \"level{n}\"".into())
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

    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
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
