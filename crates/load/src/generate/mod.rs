//! `ironbark generate`: LDIF data sets of any size, the same bytes for the same seed, for tests and load tests.
//!
//! An entry depends on the seed, its number and the suffix alone, so that a load generator can name the entries of a
//! data set without reading it ([`DataSet::name`]). The password of a person is the person's `uid`.

mod directorymark;
mod groups;
mod ldif;
mod names;
mod password;
pub(crate) mod random;
mod suffix;
mod telco;
mod university;
mod words;
mod ycsb;
mod zimbra;

use self::ldif::Ldif;
use self::suffix::Suffix;
use crate::word::UnknownWord;
use ironbark_ldif::{LdifReader, LdifRecord, NoFiles, RecordKind};
use std::io::{self, Write};
use std::str::FromStr;

pub use self::groups::MEMBERS_OF_SMALLEST;
pub use self::password::PasswordStorage;
pub(crate) use self::ycsb::{FIELDS, push_field};

/// A kind of data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSetKind {
    /// Mail accounts of about 2 KB in ten domains, most of it defaults that repeat; needs `zimbra.schema`.
    Zimbra,
    /// Mobile subscribers of about 600 bytes under six units; needs `telco.schema`.
    Telco,
    /// People of about 1.2 KB in departments, and groups; needs `eduperson.schema` and `nis.schema`.
    University,
    /// The people of the DirectoryMark benchmark of about 900 bytes in five units.
    DirectoryMark,
    /// Key-value records of 4,000 bytes, ten fields each, as YCSB has them.
    Ycsb,
    /// Groups of 1,000, 10,000, ... members, up to the given number, who have no entries.
    Groups,
}

impl DataSetKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Zimbra,
        Self::Telco,
        Self::University,
        Self::DirectoryMark,
        Self::Ycsb,
        Self::Groups,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zimbra => "zimbra",
            Self::Telco => "telco",
            Self::University => "university",
            Self::DirectoryMark => "directorymark",
            Self::Ycsb => "ycsb",
            Self::Groups => "groups",
        }
    }
}

impl FromStr for DataSetKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            UnknownWord::new("data set", text, known.join(", "))
        })
    }
}

/// A data set of any size.
#[derive(Debug)]
pub struct DataSet {
    kind: DataSetKind,
    seed: u64,
    suffix: Suffix,
    passwords: PasswordStorage,
    /// Lines that many entries repeat.
    common: Vec<Vec<u8>>,
}

/// The name of an entry of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// The distinguished name.
    pub dn: String,
    /// The uid, the IMSI of a subscriber, or the cn of a group. It is also the password, if the entry has one.
    pub login: String,
}

/// An entry of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedEntry {
    /// The distinguished name.
    pub dn: Vec<u8>,
    /// Attributes with their values, in order; each attribute once.
    pub attributes: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
}

impl DataSet {
    /// The data set of a seed below a naming context.
    ///
    /// # Errors
    /// `InvalidInput` when the suffix does not begin with dc, o, ou, c or l.
    pub fn new(kind: DataSetKind, seed: u64, suffix: &str, passwords: PasswordStorage) -> io::Result<Self> {
        let common = match kind {
            DataSetKind::Zimbra => zimbra::common(seed),
            DataSetKind::Telco => telco::common(),
            DataSetKind::University | DataSetKind::DirectoryMark | DataSetKind::Ycsb | DataSetKind::Groups => {
                Vec::new()
            }
        };
        Ok(Self {
            kind,
            seed,
            suffix: Suffix::new(suffix)?,
            passwords,
            common,
        })
    }

    /// Which kind it is.
    pub fn kind(&self) -> DataSetKind {
        self.kind
    }

    /// The naming context.
    pub fn suffix(&self) -> &str {
        &self.suffix.dn
    }

    /// Writes the suffix entry, its containers and `count` people, subscribers or records, parents first. The
    /// university also has a group for each fifty people. [`DataSetKind::Groups`] has only groups; the largest has
    /// `count` members. `progress` is called with the number of entries written so far.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, count: u64, out: &mut impl Write, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
        let mut ldif = Ldif::new(out, self.passwords, progress);
        self.suffix.write(&mut ldif)?;
        match self.kind {
            DataSetKind::Zimbra => zimbra::write(&mut ldif, &self.suffix, count, self.seed)?,
            DataSetKind::Telco => telco::write(&mut ldif, &self.suffix, count, self.seed)?,
            DataSetKind::University => university::write(&mut ldif, &self.suffix, count, self.seed)?,
            DataSetKind::DirectoryMark => directorymark::write(&mut ldif, &self.suffix, count, self.seed)?,
            DataSetKind::Ycsb => ycsb::write(&mut ldif, &self.suffix, count, self.seed)?,
            DataSetKind::Groups => groups::write(&mut ldif, &self.suffix, count)?,
        }
        ldif.finish()
    }

    /// The name of entry `number`, without making the data set. Numbers start at 0; containers and groups of the
    /// university are not counted.
    pub fn name(&self, number: u64) -> EntryName {
        let (dn, login) = match self.kind {
            DataSetKind::Zimbra => zimbra::name(&self.suffix, number, self.seed),
            DataSetKind::Telco => telco::name(&self.suffix, number),
            DataSetKind::University => university::name(&self.suffix, number, self.seed),
            DataSetKind::DirectoryMark => directorymark::name(&self.suffix, number, self.seed),
            DataSetKind::Ycsb => ycsb::name(&self.suffix, number),
            DataSetKind::Groups => groups::name(&self.suffix, number),
        };
        EntryName { dn, login }
    }

    /// Entry `number`, as [`DataSet::write`] writes it, without making the data set.
    ///
    /// # Errors
    /// None from outside: the text is our own.
    pub fn entry(&self, number: u64) -> io::Result<GeneratedEntry> {
        let mut text = Vec::new();
        let mut ignore = |_| {};
        let mut ldif = Ldif::new(&mut text, self.passwords, &mut ignore);
        match self.kind {
            DataSetKind::Zimbra => zimbra::write_entry(&mut ldif, &self.suffix, number, self.seed, &self.common)?,
            DataSetKind::Telco => telco::write_entry(&mut ldif, &self.suffix, number, self.seed, &self.common)?,
            DataSetKind::University => university::write_entry(&mut ldif, &self.suffix, number, self.seed)?,
            DataSetKind::DirectoryMark => directorymark::write_entry(&mut ldif, &self.suffix, number, self.seed)?,
            DataSetKind::Ycsb => ycsb::write_entry(&mut ldif, &self.suffix, number, self.seed)?,
            DataSetKind::Groups => groups::write_entry(&mut ldif, &self.suffix, number)?,
        }
        ldif.finish()?;
        GeneratedEntry::read(&text)
    }
}

impl GeneratedEntry {
    fn read(text: &[u8]) -> io::Result<Self> {
        let record = LdifReader::new(text, NoFiles).read().map_err(io::Error::other)?;
        let Some(LdifRecord {
            dn,
            kind: RecordKind::Content(pairs),
            ..
        }) = record
        else {
            return Err(io::Error::other("not an entry"));
        };
        Ok(Self::from_pairs(dn, pairs))
    }

    /// An entry from attributes with one value each, as LDIF has them.
    pub fn from_pairs(dn: Vec<u8>, pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        let mut entry = Self {
            dn,
            attributes: Vec::new(),
        };
        for (attribute, value) in pairs {
            match entry.attributes.iter_mut().find(|(known, _)| *known == attribute) {
                Some((_, values)) => values.push(value),
                None => entry.attributes.push((attribute, vec![value])),
            }
        }
        entry
    }

    /// The values of an attribute.
    pub fn values(&self, attribute: &str) -> &[Vec<u8>] {
        let found = self.attributes.iter().find(|(name, _)| name == attribute.as_bytes());
        found.map_or(&[], |(_, values)| values)
    }
}

#[cfg(test)]
mod tests;
