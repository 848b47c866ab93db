//! What servers hold: entries as a client reads them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use ironbark_client::{
    Client, ClientError, Search, SearchEntry,
    proto::{Filter, Scope},
};

use super::client::connect;
use crate::replication::OWN;

pub(super) const SUFFIX: &str = "dc=example,dc=com";

/// The values of each attribute, by its name in lower case.
pub(super) type Attributes = BTreeMap<String, BTreeSet<Vec<u8>>>;

/// One entry, without what each server computes for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) dn: String,
    pub(super) attributes: Attributes,
}

impl Held {
    pub(super) fn of(entry: &SearchEntry) -> Self {
        let mut attributes = Attributes::new();
        for (name, values) in &entry.attributes {
            if !OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                attributes.insert(name.to_lowercase(), values.iter().cloned().collect());
            }
        }
        Self {
            dn: entry.dn.clone(),
            attributes,
        }
    }

    /// The first value of an attribute.
    pub(super) fn text(&self, attribute: &str) -> String {
        let values = self.attributes.get(attribute);
        let first = values.and_then(BTreeSet::first);
        first.map_or_else(String::new, |value| String::from_utf8_lossy(value).into_owned())
    }

    pub(super) fn uuid(&self) -> String {
        self.text("entryuuid")
    }

    pub(super) fn csn(&self) -> String {
        self.text("entrycsn")
    }

    pub(super) fn rdn(&self) -> &str {
        rdn_of(&self.dn)
    }

    pub(super) fn superior(&self) -> &str {
        superior_of(&self.dn)
    }

    /// The attributes that differ from those of another state of the entry.
    pub(super) fn differs_in(&self, other: &Attributes) -> Vec<String> {
        let names: BTreeSet<&String> = self.attributes.keys().chain(other.keys()).collect();
        let unlike = |name: &&&String| self.attributes.get(**name) != other.get(**name);
        names.iter().filter(unlike).map(|name| (*name).clone()).collect()
    }

    /// Name, version, and values, those of many values shortened.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("\"{}\" {} {}", self.dn, self.uuid(), self.csn());
        for (name, values) in &self.attributes {
            if ["cn", "ou", "description", "l", "telephonenumber", "member"].contains(&name.as_str()) {
                let shown: Vec<_> = values
                    .iter()
                    .take(6)
                    .map(|value| String::from_utf8_lossy(value))
                    .collect();
                let _ = write!(text, " {name}({})={}", values.len(), shown.join("|"));
            }
        }
        text
    }
}

/// The first RDN of a name. No name of a storm has an escaped comma.
pub(super) fn rdn_of(dn: &str) -> &str {
    dn.split_once(',').map_or(dn, |(rdn, _)| rdn)
}

/// The name without its first RDN.
pub(super) fn superior_of(dn: &str) -> &str {
    dn.split_once(',').map_or("", |(_, superior)| superior)
}

/// The whole content of a server. Glue is not shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Image {
    /// By name, in lower case.
    pub(super) entries: BTreeMap<String, Held>,
}

impl Image {
    pub(super) fn by_uuid(&self) -> BTreeMap<String, &Held> {
        self.entries.values().map(|held| (held.uuid(), held)).collect()
    }

    /// The UUID of the entry of this name.
    pub(super) fn uuid_at(&self, dn: &str) -> Option<String> {
        self.entries.get(&dn.to_lowercase()).map(Held::uuid)
    }

    /// The entries alone.
    pub(super) fn without_vector(&self) -> Self {
        let mut image = self.clone();
        if let Some(suffix) = image.entries.get_mut(SUFFIX) {
            suffix.attributes.remove("contextcsn");
        }
        image
    }

    /// All values, for comparison by eye.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for held in self.entries.values() {
            let _ = writeln!(text, "dn: {}", held.dn);
            for (name, values) in &held.attributes {
                for value in values {
                    let _ = writeln!(text, "{name}: {}", String::from_utf8_lossy(value));
                }
            }
            text.push('\n');
        }
        text
    }
}

/// Reads entries with all attributes.
pub(super) async fn find(client: &Client, base: &str, scope: Scope, filter: &str) -> Result<Vec<Held>, ClientError> {
    find_with(client, base, scope, filter, &["*", "+"]).await
}

/// Reads these attributes of entries.
pub(super) async fn find_with(
    client: &Client,
    base: &str,
    scope: Scope,
    filter: &str,
    attributes: &[&str],
) -> Result<Vec<Held>, ClientError> {
    let filter = Filter::parse(filter.as_bytes(), 10).unwrap();
    let search = Search::new(base, scope, filter).with_attributes(attributes);
    let found = client.search(&search, &[])?.collect().await?;
    Ok(found.entries.iter().map(Held::of).collect())
}

/// Reads everything from each server.
pub(super) async fn images(addresses: &[String]) -> Result<Vec<Image>, ClientError> {
    let mut images = Vec::new();
    for address in addresses {
        let client = connect(address).await?;
        let found = find(&client, SUFFIX, Scope::WholeSubtree, "(objectClass=*)").await?;
        let entries = found.into_iter().map(|held| (held.dn.to_lowercase(), held)).collect();
        images.push(Image { entries });
    }
    Ok(images)
}
