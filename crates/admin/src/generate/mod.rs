//! `ironbark generate`: LDIF data sets of any size, the same bytes for the same seed, for tests and load tests.
//!
//! An entry depends on the seed, its number and the suffix alone, so that a load generator can name the entries of a
//! data set without reading it ([`entry_name`]). The password of a person is the person's `uid`.

mod directorymark;
mod ldif;
mod names;
mod password;
mod random;
mod suffix;
mod telco;
mod university;
mod words;
mod zimbra;

use self::ldif::Ldif;
use self::suffix::Suffix;
use std::io::{self, Write};
use std::str::FromStr;

/// A kind of data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Mail accounts of about 2 KB in ten domains, most of it defaults that repeat; needs `zimbra.schema`.
    Zimbra,
    /// Mobile subscribers of about 600 bytes under six units; needs `telco.schema`.
    Telco,
    /// People of about 1.2 KB in departments, and groups; needs `eduperson.schema` and `nis.schema`.
    University,
    /// The people of the DirectoryMark benchmark of about 900 bytes in five units.
    DirectoryMark,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Zimbra, Self::Telco, Self::University, Self::DirectoryMark];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zimbra => "zimbra",
            Self::Telco => "telco",
            Self::University => "university",
            Self::DirectoryMark => "directorymark",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("unknown data set `{text}`; known are {}", known.join(", "))
        })
    }
}

/// Writes the suffix entry, its containers and `count` people or subscribers (and, for the university, a group for
/// each fifty people), parents first; `progress` hears the number of entries written so far.
///
/// # Errors
/// Errors of `out`; `InvalidInput` when the suffix does not begin with dc, o, ou, c or l.
pub fn write(
    kind: Kind,
    count: u64,
    seed: u64,
    suffix: &str,
    out: &mut impl Write,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let suffix = Suffix::new(suffix)?;
    let mut ldif = Ldif::new(out, progress);
    suffix.write(&mut ldif)?;
    match kind {
        Kind::Zimbra => zimbra::write(&mut ldif, &suffix, count, seed)?,
        Kind::Telco => telco::write(&mut ldif, &suffix, count, seed)?,
        Kind::University => university::write(&mut ldif, &suffix, count, seed)?,
        Kind::DirectoryMark => directorymark::write(&mut ldif, &suffix, count, seed)?,
    }
    ldif.finish()
}

/// How an entry of a data set is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// The distinguished name.
    pub dn: String,
    /// The uid (which is also the password), or the IMSI of a subscriber, who has no password.
    pub login: String,
}

/// The name of person or subscriber `number` (from 0) of a data set, without making the data set.
///
/// # Errors
/// `InvalidInput` when the suffix does not begin with dc, o, ou, c or l.
pub fn entry_name(kind: Kind, number: u64, seed: u64, suffix: &str) -> io::Result<EntryName> {
    let suffix = Suffix::new(suffix)?;
    let (dn, login) = match kind {
        Kind::Zimbra => zimbra::name(&suffix, number, seed),
        Kind::Telco => telco::name(&suffix, number),
        Kind::University => university::name(&suffix, number, seed),
        Kind::DirectoryMark => directorymark::name(&suffix, number, seed),
    };
    Ok(EntryName { dn, login })
}

#[cfg(test)]
mod tests;
