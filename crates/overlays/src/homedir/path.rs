//! From a value of homeDirectory to a place in the file system: `homedir-regexp`.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use ironbark_model::{PosixRegex, RegexError};

/// An expression, and the path that it makes of what it matches.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PathRule {
    expression: PosixRegex,
    replacement: String,
    pieces: Vec<Piece>,
    /// The names of the directories from `/` to the one that all paths are below. There is at least one.
    root: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Debug)]
enum Piece {
    Text(Vec<u8>),
    Group(usize),
}

/// The place of a home directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Home {
    /// Names from `/` on. None of them is empty, `.` or `..`, and none holds a slash or a NUL.
    names: Vec<Vec<u8>>,
    /// How many of them belong to the directory that all work happens below. There are more names than that.
    fixed: usize,
}

/// Why a rule is refused. The replacement stands as it was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum PathRuleError {
    #[error("invalid regexp \"{expression}\": {error}")]
    Expression { expression: String, error: RegexError },
    #[error("\"{0}\" does not begin with a directory that all home directories are below")]
    NoRoot(String),
    #[error("\"{0}\" ends too early")]
    EndsEarly(String),
    #[error("invalid term expansion in \"{0}\"")]
    Term(String),
}

/// Octets of a path, as in slapd.
const LONGEST: usize = 1_023;
/// Octets of a name.
const LONGEST_NAME: usize = 255;
/// Names of our own begin with this, and no home directory has such a name in its path.
pub(super) const OWN: &str = ".ironbark-";

impl PathRule {
    /// # Errors
    /// The expression is malformed, or the path is: it does not name a directory that all homes are below.
    pub(super) fn new(expression: &str, replacement: &str) -> Result<Self, PathRuleError> {
        let compiled = PosixRegex::case_sensitive(expression);
        let compiled = compiled.map_err(|error| PathRuleError::Expression {
            expression: expression.to_owned(),
            error,
        })?;
        let pieces = pieces(replacement, compiled.groups())?;
        let root = root(&compiled, &pieces).ok_or_else(|| PathRuleError::NoRoot(replacement.to_owned()))?;
        Ok(Self {
            expression: compiled,
            replacement: replacement.to_owned(),
            pieces,
            root,
        })
    }

    /// As it was written.
    pub(super) fn words(&self) -> (&str, &str) {
        (self.expression.as_str(), &self.replacement)
    }

    /// The place for a value; `None`: it does not match.
    ///
    /// # Errors
    /// The value leads outside of the fixed directory, or is no path.
    pub(super) fn home(&self, value: &[u8]) -> Option<Result<Home, &'static str>> {
        let groups = self.expression.find(value)?;
        let mut path = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => path.extend_from_slice(text),
                Piece::Group(number) => {
                    let (start, end) = (*groups.get(*number)?)?;
                    path.extend_from_slice(value.get(start..end)?);
                }
            }
        }
        Some(self.place(&path))
    }

    fn place(&self, path: &[u8]) -> Result<Home, &'static str> {
        if path.len() > LONGEST {
            return Err("the path is too long");
        }
        let names = names(path).ok_or("the path has a name that cannot be")?;
        if !names.starts_with(&self.root) || names.len() <= self.root.len() {
            return Err("the path leads outside");
        }
        if names.iter().any(|name| name.starts_with(OWN.as_bytes())) {
            return Err("the path has a name that is reserved");
        }
        Ok(Home {
            names,
            fixed: self.root.len(),
        })
    }
}

impl Home {
    /// The directory that all work happens below. Links in its path are followed.
    pub(super) fn root(&self) -> Vec<u8> {
        joined(self.names.get(..self.fixed).unwrap_or_default())
    }

    /// The names of the directories between, and its own.
    pub(super) fn below(&self) -> (&[Vec<u8>], &OsStr) {
        let below = self.names.get(self.fixed..).unwrap_or_default();
        match below.split_last() {
            Some((own, between)) => (between, OsStr::from_bytes(own)),
            None => (&[], OsStr::new("")),
        }
    }

    /// Its path without the first slash, as archives have it.
    pub(super) fn archived(&self) -> Vec<u8> {
        self.names.join(&b'/')
    }

    /// For messages.
    pub(super) fn text(&self) -> String {
        shown(&joined(&self.names))
    }
}

/// A path in quotes, for messages: users choose names, so all but printable ASCII is escaped.
pub(super) fn shown(path: &[u8]) -> String {
    format!("\"{}\"", path.escape_ascii())
}

fn joined(names: &[Vec<u8>]) -> Vec<u8> {
    names.iter().flat_map(|name| [b"/", name.as_slice()].concat()).collect()
}

/// The names of an absolute path.
fn names(path: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_name = |name: &[u8]| name != b"." && name != b".." && name.len() <= LONGEST_NAME && !name.contains(&0);
    let path = path.strip_prefix(b"/")?;
    let names: Vec<_> = path
        .split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
        .collect();
    let all_are = names.iter().all(|name| is_name(name));
    all_are.then(|| names.into_iter().map(<[u8]>::to_vec).collect())
}

/// The texts and groups of a replacement.
fn pieces(replacement: &str, groups: usize) -> Result<Vec<Piece>, PathRuleError> {
    let (mut pieces, mut text) = (Vec::new(), Vec::new());
    let mut rest = replacement.bytes();
    while let Some(byte) = rest.next() {
        let next = match byte {
            b'$' | b'\\' => rest
                .next()
                .ok_or_else(|| PathRuleError::EndsEarly(replacement.to_owned()))?,
            other => {
                text.push(other);
                continue;
            }
        };
        if byte == b'\\' {
            text.push(next);
            continue;
        }
        let number = next.is_ascii_digit().then(|| usize::from(next - b'0'));
        let number = number.filter(|number| *number <= groups);
        let number = number.ok_or_else(|| PathRuleError::Term(replacement.to_owned()))?;
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(Piece::Group(number));
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// The directory that all paths of a rule are below.
fn root(expression: &PosixRegex, pieces: &[Piece]) -> Option<Vec<Vec<u8>>> {
    let mut fixed = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => fixed.extend_from_slice(text),
            Piece::Group(number) => {
                fixed.extend(expression.beginning_of_group(*number));
                break;
            }
        }
    }
    let end = fixed.iter().rposition(|&byte| byte == b'/')?;
    names(fixed.get(..end)?).filter(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_of(expression: &str, replacement: &str) -> Option<String> {
        let rule = PathRule::new(expression, replacement).ok()?;
        Some(String::from_utf8(joined(&rule.root)).unwrap())
    }

    #[test]
    fn the_fixed_directory_is_found_in_the_path_and_in_its_first_group() {
        for (expression, replacement, root) in [
            ("^(/homes/[-_/a-z0-9]+)$", "$1", Some("/homes")),
            ("^(/homes/[-_/a-z0-9]+)$", "/export$1", Some("/export/homes")),
            ("^(/homes/[-_/a-z0-9]+)$", "/run//t/$1", Some("/run/t/homes")),
            ("^(/homes/[-_/a-z0-9]+)$", "$0", Some("/homes")),
            ("^/homes/([a-z]+)$", "/srv/homes/$1", Some("/srv/homes")),
            ("^/homes/([a-z]+)$", "/srv/homes$1", Some("/srv")),
            ("^((/homes/staff|/homes/students)/[a-z]+)$", "$1", Some("/homes")),
            ("^(/homes?/[a-z]+)$", "$1", None),
            ("^(/homes/|/srv/)[a-z]+$", "$1x", None),
            ("^(/.+)$", "$1", None),
            ("^(.+)$", "/$1", None),
            ("^(.+)$", "home/$1", None),
            ("^(.+)$", "/homes/../$1", None),
            ("^(.+)$", "/homes/./$1", None),
            ("^/x$", "/homes/ann", Some("/homes")),
            ("^(.+)$", "/homes/$2", None),
            ("^(.+)$", "/homes/$x", None),
            ("^(.+)$", "/homes/$", None),
            ("^(.+)$", "/homes/\\", None),
            ("^(.+)$", "/sr\\v/\\$/$1", Some("/srv/$")),
            ("(", "/homes/$1", None),
        ] {
            assert_eq!(
                root_of(expression, replacement).as_deref(),
                root,
                "{expression} {replacement}"
            );
        }
    }

    #[test]
    fn nothing_leads_outside() {
        let rule = PathRule::new("^/homes/(.+)$", "/srv/$1").unwrap();
        let place = |value: &[u8]| rule.home(value).map(|home| home.map(|home| home.text()));
        assert_eq!(place(b"/homes/ann"), Some(Ok("\"/srv/ann\"".to_owned())));
        assert_eq!(place(b"/homes//a//ann/"), Some(Ok("\"/srv/a/ann\"".to_owned())));
        assert_eq!(place(b"/srv/ann"), None);
        let long = [b"/homes/".as_slice(), &[b'a'; 256]].concat();
        let longer = b"/homes/"
            .iter()
            .copied()
            .chain(b"ab/".iter().copied().cycle().take(1_100));
        let longer: Vec<u8> = longer.collect();
        for value in [
            b"/homes/..".as_slice(),
            b"/homes/../etc",
            b"/homes/ann/../../etc",
            b"/homes/.",
            b"/homes/a/./b",
            b"/homes//",
            b"/homes/a\0b",
            b"/homes/.ironbark-x",
            b"/homes/.ironbark-x/y",
            &long,
            &longer,
        ] {
            assert!(matches!(place(value), Some(Err(_))), "{value:?}");
        }
    }
}
