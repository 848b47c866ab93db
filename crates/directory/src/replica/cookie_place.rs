//! How far a consumer has come at a provider that gives cookies of its own (DirSync of Active Directory). It is written
//! in the transaction of the last change that the cookie covers.

use ironbark_store::{StoreError, View};

use crate::NamingContext;

/// Name of the notes in the store. A database has one such consumer at most.
pub(super) const NOTES: &str = "dirsync";

/// A place that a provider's cookie tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CookiePlace {
    /// The cookie, as the provider gave it.
    pub cookie: Vec<u8>,
    /// What the content depends on. With another one the cookie means nothing.
    pub content: Vec<u8>,
    /// Attribute types that were left out because the schema here lacks them, in lower case and in order. When it has
    /// one of them, its values are missing.
    pub left_out: Vec<Box<str>>,
}

impl CookiePlace {
    /// The place of a database's consumer. `None`: no refresh has come to its end.
    ///
    /// # Errors
    /// The storage failed.
    pub fn of_database(context: &NamingContext) -> Result<Option<Self>, StoreError> {
        match context.database() {
            Some(database) => Self::of(database.snapshot()?.view()),
            None => Ok(None),
        }
    }

    fn of(view: View<'_>) -> Result<Option<Self>, StoreError> {
        Ok(view.source(NOTES)?.and_then(|notes| Self::decode(&notes)))
    }

    /// Length of the cookie and the cookie, length of `content` and `content` (lengths in four octets, the most
    /// significant one first), then the names, each with a line feed behind it.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut notes = Vec::new();
        for part in [&self.cookie, &self.content] {
            notes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
            notes.extend(part);
        }
        for name in &self.left_out {
            notes.extend(name.as_bytes());
            notes.push(b'\n');
        }
        notes
    }

    fn decode(notes: &[u8]) -> Option<Self> {
        let (cookie, rest) = part(notes)?;
        let (content, names) = part(rest)?;
        let names = std::str::from_utf8(names).ok()?;
        Some(Self {
            cookie: cookie.to_vec(),
            content: content.to_vec(),
            left_out: names.lines().map(Into::into).collect(),
        })
    }
}

fn part(notes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = notes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for (cookie, content, names) in [
            (&b""[..], &b""[..], &[][..]),
            (b"\0\xff\n", b"\"dc=ex\"\n", &["objectsid", "ntsecuritydescriptor"]),
        ] {
            let place = CookiePlace {
                cookie: cookie.to_vec(),
                content: content.to_vec(),
                left_out: names.iter().map(|name| Box::from(*name)).collect(),
            };
            assert_eq!(CookiePlace::decode(&place.encode()), Some(place));
        }
        assert_eq!(CookiePlace::decode(b"\0\0\0\x05cook"), None);
    }
}
