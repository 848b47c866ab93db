//! Passwords in settings, and texts without them.

use std::borrow::Cow;

/// A password, never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(pub Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// What stands for a secret.
pub const MASK: &str = "***";
/// Words whose values are secrets, wherever they stand.
const NAMES: [&str; 3] = ["credentials=", "secret=", "pw="];
/// The same with options, a matching rule or another operator before the `=`, as in access rules and filters:
/// `(userPassword;x-new:octetStringMatch:=x)`, `val.regex=x`.
const BEGINNINGS: [&str; 3] = ["passw", "2.5.4.35", VALUE];
/// It counts as a whole word alone.
const VALUE: &str = "val";

/// A text without what looks like a secret in it: values of words such as `credentials=`, of `val=` in access rules,
/// hashes of passwords, and the name and password of a URL. For logs, errors, and what is given to others.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((at, length)) = next_secret(rest) {
        let (before, after) = rest.split_at(at);
        shown.push_str(before);
        shown.push_str(MASK);
        rest = after.get(length..).unwrap_or_default();
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// The begin and the length of the first secret.
fn next_secret(text: &str) -> Option<(usize, usize)> {
    let small = text.to_ascii_lowercase();
    let named = NAMES
        .iter()
        .flat_map(|name| small.match_indices(name).map(|(at, name)| at + name.len()));
    let described = BEGINNINGS.iter().flat_map(|name| {
        let found = small.match_indices(name);
        found.filter_map(|(at, name)| value_of(&small, at, name))
    });
    let named = named.chain(described).map(|at| (at, length(text, at)));
    let hashes = text.match_indices('{').filter_map(|(at, _)| hash(text, at));
    let urls = text.match_indices("://").filter_map(|(at, _)| user_info(text, at + 3));
    let all = named.chain(hashes).chain(urls);
    all.filter(|(_, length)| *length > 0).min()
}

/// Where the value begins of a description that begins so at `at`.
fn value_of(text: &str, at: usize, name: &str) -> Option<usize> {
    let (before, rest) = text.split_at_checked(at)?;
    let rest = rest.get(name.len()..)?;
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
    if name == VALUE && (before.ends_with(is_part) || rest.starts_with(is_part)) {
        return None;
    }
    let description = |one: char| is_part(one) || ";:./~<>".contains(one);
    let end = rest.find(|one| !description(one))?;
    rest.get(end..)?.starts_with('=').then_some(at + name.len() + end + 1)
}

/// The length of the word that begins here, or of the rest of one. It may be quoted, from here or from further ahead. A
/// word that is masked already has none.
fn length(text: &str, at: usize) -> usize {
    let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    if rest.starts_with(MASK) {
        return 0;
    }
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    match rest.strip_prefix('"') {
        Some(quoted) => quote_end(quoted).map_or(rest.len(), |end| end + 2),
        None if word.starts_with('"') => quote_end(rest).unwrap_or(rest.len()),
        None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
    }
}

/// The first quotation mark without a backslash before it.
fn quote_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, one)| {
        let ends = one == '"' && !is_escaped;
        is_escaped = one == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// The hash behind a `{SCHEME}` that begins here.
fn hash(text: &str, at: usize) -> Option<(usize, usize)> {
    let (scheme, _) = text.get(at + 1..)?.split_once('}')?;
    let is_scheme = scheme.starts_with(|one: char| one.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || "-_./".contains(one));
    let behind = at + scheme.len() + 2;
    // A sentence may name a scheme: `"{ROT13}" is not available`.
    let begins = |one: char| one.is_ascii_alphanumeric() || "$+/.=_*".contains(one);
    let has_hash = is_scheme && text.get(behind..).is_some_and(|rest| rest.starts_with(begins));
    has_hash.then(|| (behind, length(text, behind)))
}

/// Name and password that stand before the host of a URL, which begins at `at`. A password may have a slash that should
/// have been encoded: then what looks like a host has no port.
fn user_info(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let word = rest.split([' ', '\t', '\n', '"', '\'', ',']).next()?;
    let authority = word.split(['/', '?', '#']).next()?;
    let is_port = |port: &str| port.bytes().all(|octet| octet.is_ascii_digit());
    let is_place = authority.ends_with(']') || authority.rsplit_once(':').is_none_or(|(_, port)| is_port(port));
    let end = match authority.rfind('@') {
        Some(end) => end,
        None if is_place => return None,
        None => word.rfind('@')?,
    };
    (!rest.starts_with(MASK)).then_some((at, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_looks_like_a_secret_is_left() {
        for (value, expected) in [
            (
                "rid=1 credentials=geheim provider=ldap://x",
                "rid=1 credentials=*** provider=ldap://x",
            ),
            ("Credentials=\"ge heim\" x", "Credentials=*** x"),
            ("\"credentials=ge heim\" bindPW=y", "\"credentials=***\" bindPW=***"),
            ("credentials=\"a\\\"b c\" x", "credentials=*** x"),
            ("{SSHA}abc+/= and {CRYPT}$6$x$y", "{SSHA}*** and {CRYPT}***"),
            ("{0}to * by * read", "{0}to * by * read"),
            ("{SSHA512} {ARGON2}", "{SSHA512} {ARGON2}"),
            ("credentials= credentials=x", "credentials= credentials=***"),
            ("credentials=\"open", "credentials=***"),
            ("uid={0},secret=é", "uid={0},secret=***"),
            ("ldap://u:geheim@h:389/dc=x", "ldap://***@h:389/dc=x"),
            (
                "\"http://u:ge/h@h:1,https://geheim@h\" no",
                "\"http://***@h:1,https://***@h\" no",
            ),
            (
                "to attrs=userPassword val=geheim by x",
                "to attrs=userPassword val=*** by x",
            ),
            ("to attrs=cn val.regex=\"ge heim\" by", "to attrs=cn val.regex=*** by"),
            ("val/octetStringMatch=geheim by", "val/octetStringMatch=*** by"),
            (
                "filter=\"(userPassword;x-a:octetStringMatch:=ge)\" x",
                "filter=\"(userPassword;x-a:octetStringMatch:=*** x",
            ),
            ("(2.5.4.35>=geheim) userPasswd~=g", "(2.5.4.35>=*** userPasswd~=***"),
            (
                "unknown directive <credentials=geheim>",
                "unknown directive <credentials=***",
            ),
        ] {
            assert_eq!(masked(value), expected);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "ldap://h:389/dc=x??sub?(mail=*@x)",
            "http://[::1]:2379/ and ldap://h/cn=a@b",
            "to attrs=cn by * read",
            "interval=5 retrieval=3 val",
            "slapd.conf: line 3: unable to parse \"color\"",
            "scheme \"{ROT13}\" is not available",
        ] {
            assert!(matches!(masked(text), Cow::Borrowed(_)), "{}", masked(text));
        }
    }
}
