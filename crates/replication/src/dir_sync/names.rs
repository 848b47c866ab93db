//! Names with the GUID of their entry: `<GUID=...>;<SID=...>;CN=...`.
//!
//! Active Directory keeps GUIDs and shows names. So a value has the name that its entry has at the provider now, while
//! the entry may have its former name here until its own change comes. And Samba shows some names as they were when
//! they were written, with the GUID in another form. The GUID tells the entry in any case.

use std::collections::HashMap;

use ironbark_client::SearchEntry;
use ironbark_directory::ReplicaMapping;
use ironbark_model::Dn;
use ironbark_store::{Location, StoreError, View};
use uuid::Uuid;

/// Different names of a comparison that may be outdated.
const MOST_DOUBTFUL: usize = 10_000;
/// How an extended name begins.
const GUID: &[u8] = b"<GUID=";

/// A name, with what the provider has put before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExtendedName<'v> {
    pub(crate) uuid: Option<[u8; 16]>,
    /// Whether it is shown as it was written. The provider was asked for GUIDs in hexadecimal octets.
    pub(crate) is_doubtful: bool,
    pub(crate) name: &'v [u8],
}

impl<'v> ExtendedName<'v> {
    pub(crate) fn of(value: &'v [u8]) -> Self {
        let mut extended = Self {
            uuid: None,
            is_doubtful: false,
            name: value,
        };
        while let Some((part, rest)) = first_part(extended.name) {
            extended.name = rest;
            if let Some(guid) = part.strip_prefix(GUID) {
                extended.is_doubtful = guid.contains(&b'-');
                let uuid = Uuid::try_parse_ascii(guid).ok();
                // In groups, the first three have their octets the other way round.
                extended.uuid = uuid.map(|uuid| {
                    if extended.is_doubtful {
                        uuid.to_bytes_le()
                    } else {
                        uuid.into_bytes()
                    }
                });
            }
        }
        extended
    }
}

/// The part in angle brackets without the closing one, and what follows it.
fn first_part(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = name.windows(2).position(|pair| pair == b">;")?;
    let (part, rest) = name.split_at_checked(end)?;
    Some((part, rest.get(2..)?)).filter(|(part, _)| part.starts_with(b"<"))
}

/// A name without what the provider has put before it.
pub(crate) fn plain_name(name: &str) -> &str {
    let plain = ExtendedName::of(name.as_bytes()).name;
    name.get(name.len() - plain.len()..).unwrap_or(name)
}

/// Whether a value of the entry is a name with a GUID.
pub(crate) fn has_guid(entry: &SearchEntry) -> bool {
    let mut values = entry.attributes.iter().flat_map(|(_, values)| values);
    values.any(|value| value.starts_with(GUID))
}

/// Finds out the names that entries have now.
pub(crate) trait Names {
    /// The name of the entry at the provider.
    fn now(&mut self, name: &ExtendedName<'_>, given: &Dn) -> Name;
}

/// What is known of a name.
pub(crate) enum Name {
    /// It is as given.
    AsGiven,
    /// It is this one.
    Is(Dn),
    /// Another entry has the name here, and will give it away: the value must come again.
    Later,
}

/// Names as they are here, as those at the provider.
pub(crate) struct Held<'v> {
    pub(crate) view: View<'v>,
    pub(crate) mapping: &'v ReplicaMapping,
    /// Whether values may be left out until they come again.
    pub(crate) defers: bool,
    /// Whether values were left out.
    pub(crate) has_deferred: bool,
}

impl Held<'_> {
    fn name_of(&self, uuid: [u8; 16]) -> Result<Option<Dn>, StoreError> {
        let Some(id) = self.view.entry_of_uuid(&uuid)? else {
            return Ok(None);
        };
        let mapping = self.mapping;
        Ok(self.view.dn(id)?.rebase(&mapping.local_base, &mapping.remote_base))
    }

    /// Whether an entry has a name of the provider here.
    fn has_holder(&self, name: &Dn) -> Result<bool, StoreError> {
        let mapping = self.mapping;
        let Some(local) = name.rebase(&mapping.remote_base, &mapping.local_base) else {
            return Ok(false);
        };
        Ok(match self.view.locate(&local)? {
            Location::Entry(id) => self.view.record(id)?.is_some_and(|record| !record.is_glue()),
            Location::Missing { .. } => false,
        })
    }
}

impl Names for Held<'_> {
    fn now(&mut self, name: &ExtendedName<'_>, given: &Dn) -> Name {
        let Some(uuid) = name.uuid else {
            return Name::AsGiven;
        };
        match self.name_of(uuid) {
            Ok(Some(name)) => Name::Is(name),
            Ok(None) if self.defers && self.has_holder(given).unwrap_or(false) => {
                self.has_deferred = true;
                Name::Later
            }
            _ => Name::AsGiven,
        }
    }
}

/// Names that may be outdated. In a comparison all entries get the names that the provider shows, so other names are as
/// given.
#[derive(Debug, Default)]
pub(crate) struct Doubtful {
    names: HashMap<[u8; 16], Dn>,
    /// There were others that are not remembered.
    is_full: bool,
}

impl Doubtful {
    /// Whether one of them is outdated, as its entry has another name here.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn is_outdated(&self, held: &Held<'_>) -> Result<bool, StoreError> {
        for (uuid, given) in &self.names {
            if held.name_of(*uuid)?.is_some_and(|name| name != *given) {
                return Ok(true);
            }
        }
        Ok(self.is_full)
    }
}

impl Names for Doubtful {
    fn now(&mut self, name: &ExtendedName<'_>, given: &Dn) -> Name {
        let Some(uuid) = name.uuid.filter(|_| name.is_doubtful) else {
            return Name::AsGiven;
        };
        match self.names.get(&uuid) {
            Some(known) if known == given => {}
            None if self.names.len() < MOST_DOUBTFUL => {
                self.names.insert(uuid, given.clone());
            }
            // Two names of one entry: one of them is outdated.
            _ => self.is_full = true,
        }
        Name::AsGiven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guid_of_a_name_is_read_in_either_form() {
        let octets = 0x096b_dca2_3160_594b_9c93_3b74_0f16_cfb3_u128.to_be_bytes();
        for (value, uuid, is_doubtful) in [
            (
                &b"<GUID=096bdca23160594b9c933b740f16cfb3>;<SID=0105>;CN=a"[..],
                Some(octets),
                false,
            ),
            (
                b"<GUID=a2dc6b09-6031-4b59-9c93-3b740f16cfb3>;<SID=S-1-5>;CN=a",
                Some(octets),
                true,
            ),
            (b"CN=a", None, false),
            (b"<GUID=nothing>;CN=a", None, false),
            (b"<SID=0105>;CN=a", None, false),
        ] {
            let name = &b"CN=a"[..];
            let read = ExtendedName {
                uuid,
                is_doubtful,
                name,
            };
            assert_eq!(ExtendedName::of(value), read, "{value:?}");
        }
        for plain in ["CN=<a>;b", "<GUID=12", "", "CN=a>;b"] {
            assert_eq!(plain_name(plain), plain);
        }
        assert_eq!(plain_name("<GUID=00>;CN=\u{e4}"), "CN=\u{e4}");
    }
}
