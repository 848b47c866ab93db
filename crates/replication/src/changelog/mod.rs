//! The change log of Sun's servers and of 389 Directory Server (draft-good-ldap-changelog): entries below cn=changelog
//! that have numbers. There are no cookies and no CSNs; the number of the last change is kept with it.

mod entry;
mod kept;
mod provider;

pub(crate) use self::{
    entry::{ChangeEntry, Meaning, Within},
    kept::{Kept, STAMPS, UNIQUE_ID},
    provider::Provider,
};

use crate::Violation;

/// Attributes of an entry, as the provider has sent them.
type Attributes = [(Box<str>, Vec<Vec<u8>>)];

/// What a line `syncrepl` with `syncdata=changelog` says besides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changelog {
    /// `logbase`.
    pub base: String,
    /// `attrs`: these are taken. Empty: all user attributes.
    pub chosen: Vec<String>,
    /// What the content depends on. If it has changed, the content is compared again.
    pub content: String,
}

/// `nsUniqueId`, as octets: four groups of eight hexadecimal digits.
///
/// # Errors
/// [`Violation::Malformed`].
pub(crate) fn uuid_of(unique_id: &[u8]) -> Result<[u8; 16], Violation> {
    let digits: Vec<u8> = unique_id.iter().copied().filter(|octet| *octet != b'-').collect();
    let is_valid = digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(&digits).ok().filter(|_| is_valid);
    let number = text.and_then(|text| u128::from_str_radix(text, 16).ok());
    let text = String::from_utf8_lossy(unique_id);
    number
        .map(u128::to_be_bytes)
        .ok_or_else(|| Violation::Malformed(format!("\"{text}\" is no unique ID")))
}

fn values<'a>(attributes: &'a Attributes, name: &str) -> &'a [Vec<u8>] {
    let found = attributes.iter().find(|(held, _)| held.eq_ignore_ascii_case(name));
    found.map_or(&[], |(_, values)| values)
}

fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    std::str::from_utf8(values(attributes, name).first()?).ok()
}
