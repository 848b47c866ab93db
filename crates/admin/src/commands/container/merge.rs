//! A change of the wanted configuration, applied to the one that is there: what others have changed stays.
//!
//! Three trees: what was wanted, what is wanted, and what is. An attribute that is wanted as before is left as it is.

use ironbark_config::olc::{self, AttributeChange, AttributeChangeKind, Folder, OlcKind, OlcNode, Tree};
use ironbark_model::{Attribute, Dn, Entry, Schema};
use ironbark_overlays::registry;
use ironbark_server::{new_stamps, stamp};

use super::layout::Layout;

/// What was wanted and what is wanted. Both may have words in place of secrets; `real` is `wanted` with the secrets.
pub(super) struct Wish<'t> {
    pub(super) former: &'t Tree,
    pub(super) wanted: &'t Tree,
    pub(super) real: &'t Tree,
}

/// Applies a wish to the configuration directory. Returns what was changed, for the log.
///
/// # Errors
/// The change that the configuration refuses, or the file that cannot be written. Nothing is changed then.
pub(super) fn apply(wish: &Wish<'_>, layout: &Layout) -> Result<Vec<String>, String> {
    let folder = Folder::new(&layout.config, &registry());
    folder.claim().map_err(|error| error.to_string())?;
    let (stored, _) = folder.read().map_err(|error| error.to_string())?;
    let mut tree = stored.clone();
    tree.complete();
    let schema = olc::load(&tree).map_err(|error| error.to_string())?.schema;
    stamp(&mut tree, &schema).map_err(|error| error.to_string())?;
    let mut changes = Changes {
        tree,
        schema: &schema,
        done: Vec::new(),
    };
    changes.all(wish)?;
    olc::load(&changes.tree).map_err(|error| error.to_string())?;
    if let Some(error) = folder
        .write(Some(&stored), &changes.tree)
        .map_err(|error| error.to_string())?
    {
        return Err(error.to_string());
    }
    Ok(changes.done)
}

/// A node, found in any of the trees by what it is rather than by its number.
struct Keyed<'t> {
    key: String,
    dn: String,
    node: &'t OlcNode,
}

/// The nodes that variables are about.
fn keyed(tree: &Tree) -> Vec<Keyed<'_>> {
    let mut found: Vec<Keyed<'_>> = Vec::new();
    for (dn, node) in tree.walk() {
        let above = || dn.split_once(',').map(|(_, above)| above);
        let key = match node.kind() {
            Some(OlcKind::Global) => Some("config".to_owned()),
            Some(OlcKind::Database) => {
                let suffix = node.texts("olcSuffix").next().unwrap_or_default();
                Some(format!(
                    "{}:{}",
                    unnumbered(&node.name),
                    suffix.to_ascii_lowercase().replace(", ", ",")
                ))
            }
            Some(OlcKind::Overlay) => {
                let database = above().and_then(|above| found.iter().find(|one| one.dn == above));
                database.map(|database| format!("{}/{}", database.key, unnumbered(&node.name)))
            }
            _ => None,
        };
        if let Some(key) = key {
            found.push(Keyed { key, dn, node });
        }
    }
    found
}

fn unnumbered(name: &str) -> &str {
    match name.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((digits, rest)) if digits.parse::<i64>().is_ok() => rest,
        _ => name,
    }
}

struct Changes<'s> {
    tree: Tree,
    schema: &'s Schema,
    done: Vec<String>,
}

impl Changes<'_> {
    fn all(&mut self, wish: &Wish<'_>) -> Result<(), String> {
        let (former, wanted, real) = (keyed(wish.former), keyed(wish.wanted), keyed(wish.real));
        for (one, real) in wanted.iter().zip(&real) {
            match former.iter().find(|other| other.key == one.key) {
                Some(former) => self.modify(former, one, real)?,
                None => self.add(real)?,
            }
        }
        // A database stays, because its entries would go with it.
        let gone = |one: &&Keyed<'_>| {
            one.node.kind() == Some(OlcKind::Overlay) && !wanted.iter().any(|other| other.key == one.key)
        };
        for one in former.iter().filter(gone) {
            self.delete(one)?;
        }
        Ok(())
    }

    /// Name and node of what is there.
    fn find(&self, key: &str) -> Option<(String, OlcNode)> {
        let nodes = keyed(&self.tree);
        let found = nodes.into_iter().find(|one| one.key == key)?;
        Some((found.dn, found.node.clone()))
    }

    fn dn(&self, text: &str) -> Result<Dn, String> {
        Dn::parse(self.schema, text.as_bytes()).map_err(|_| format!("{text}: invalid name"))
    }

    fn modify(&mut self, former: &Keyed<'_>, wanted: &Keyed<'_>, real: &Keyed<'_>) -> Result<(), String> {
        let Some((dn, current)) = self.find(&wanted.key) else {
            return Ok(());
        };
        let mut changes = Vec::new();
        for name in attribute_names(former.node, wanted.node) {
            let (was, wants) = (former.node.values(name), wanted.node.values(name));
            if was == wants {
                continue;
            }
            let held = current.values(name);
            let values = merged(name, was, wants, real.node.values(name), held);
            if values != plain(held) {
                self.done.push(format!("{name} of {dn}"));
                changes.push(AttributeChange {
                    kind: AttributeChangeKind::Replace,
                    attribute: name.to_owned(),
                    values,
                });
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        let stamps = new_stamps("cn=config").map_err(|error| error.to_string())?;
        let modified = self.tree.modify(self.schema, &self.dn(&dn)?, &changes, &stamps);
        self.tree = modified.map_err(|error| format!("{dn}: {error}"))?;
        Ok(())
    }

    fn add(&mut self, real: &Keyed<'_>) -> Result<(), String> {
        if self.find(&real.key).is_some() {
            return Ok(());
        }
        let above = match real.key.rsplit_once('/') {
            Some((database, _)) => self.find(database).map(|(dn, _)| dn),
            None => Some("cn=config".to_owned()),
        };
        let Some(above) = above else { return Ok(()) };
        let name = unnumbered(&real.node.name);
        let dn = format!("{}={name},{above}", real.node.naming);
        let mut entry = Entry::new(self.dn(&dn)?);
        for (attribute, values) in &real.node.attributes {
            if OPERATIONAL.contains(&attribute.as_str()) {
                continue;
            }
            let values = if *attribute == real.node.naming {
                vec![name.as_bytes().to_vec()]
            } else {
                values.clone()
            };
            let description = self.schema.attribute_description(attribute.as_bytes());
            let description = description.map_err(|error| format!("{attribute}: {error}"))?;
            entry.attributes.push(Attribute { description, values });
        }
        let added = self.tree.add(
            self.schema,
            &entry,
            &new_stamps("cn=config").map_err(|error| error.to_string())?,
        );
        self.tree = added.map_err(|error| format!("{dn}: {error}"))?;
        self.done.push(dn);
        Ok(())
    }

    fn delete(&mut self, former: &Keyed<'_>) -> Result<(), String> {
        let Some((dn, _)) = self.find(&former.key) else {
            return Ok(());
        };
        let deleted = self.tree.delete(self.schema, &self.dn(&dn)?);
        self.tree = deleted.map_err(|error| format!("{dn}: {error}"))?;
        self.done.push(dn);
        Ok(())
    }
}

/// Attributes that no variable is about.
const OPERATIONAL: &[&str] = &[
    "structuralObjectClass",
    "entryUUID",
    "creatorsName",
    "createTimestamp",
    "entryCSN",
    "modifiersName",
    "modifyTimestamp",
];

/// The attributes of two nodes that can be compared.
fn attribute_names<'n>(one: &'n OlcNode, other: &'n OlcNode) -> Vec<&'n str> {
    let is_compared = |node: &OlcNode, name: &str| {
        !OPERATIONAL.contains(&name)
            && !matches!(name, "objectClass" | "olcConfigDir" | "olcConfigFile")
            && name != node.naming
    };
    let mut names: Vec<&str> = Vec::new();
    for node in [one, other] {
        for (name, _) in &node.attributes {
            if is_compared(node, name) && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// Values without their numbers.
fn plain(values: &[Vec<u8>]) -> Vec<Vec<u8>> {
    values.iter().map(|value| without_number(value).to_vec()).collect()
}

fn without_number(value: &[u8]) -> &[u8] {
    std::str::from_utf8(value).map_or(value, |text| unnumbered(text).as_bytes())
}

/// What makes two values versions of one: the number of a consumer, otherwise all of it.
fn identity<'v>(attribute: &str, value: &'v [u8]) -> &'v [u8] {
    let value = without_number(value);
    if !attribute.eq_ignore_ascii_case("olcSyncrepl") {
        return value;
    }
    let mut words = value.split(u8::is_ascii_whitespace);
    words.find(|word| word.starts_with(b"rid=")).unwrap_or(value)
}

/// The values that an attribute gets: those that are wanted anew take the place of those no longer wanted, and what
/// others have added stays.
fn merged(name: &str, was: &[Vec<u8>], wants: &[Vec<u8>], real: &[Vec<u8>], held: &[Vec<u8>]) -> Vec<Vec<u8>> {
    if was.len() <= 1 && wants.len() <= 1 && held.len() <= 1 {
        return plain(real);
    }
    let lacks =
        |values: &[Vec<u8>], value: &[u8]| !values.iter().any(|one| without_number(one) == without_number(value));
    let mut new: std::collections::VecDeque<Vec<u8>> = wants
        .iter()
        .zip(real)
        .filter(|(wants, _)| lacks(was, wants))
        .map(|(_, real)| without_number(real).to_vec())
        .collect();
    let is_old = |value: &[u8]| {
        let mut gone = was.iter().filter(|one| lacks(wants, one));
        gone.any(|one| identity(name, one) == identity(name, value))
            || new_identities(name, was, wants).any(|one| one == identity(name, value))
    };
    let mut values: Vec<Vec<u8>> = Vec::new();
    for value in held {
        if !is_old(value) {
            values.push(without_number(value).to_vec());
        } else if let Some(next) = new.pop_front() {
            values.push(next);
        }
    }
    for value in new {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// The identities of values that are wanted anew; one that is held is replaced rather than doubled.
fn new_identities<'v>(name: &'v str, was: &'v [Vec<u8>], wants: &'v [Vec<u8>]) -> impl Iterator<Item = &'v [u8]> {
    let is_new = move |value: &&Vec<u8>| !was.iter().any(|one| without_number(one) == without_number(value));
    wants.iter().filter(is_new).map(move |value| identity(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Vec<Vec<u8>> {
        values.iter().map(|value| value.as_bytes().to_vec()).collect()
    }

    #[test]
    fn new_values_take_the_place_of_old_ones_and_foreign_ones_stay() {
        let merge = |was: &[&str], wants: &[&str], held: &[&str]| {
            let values = merged("olcAccess", &of(was), &of(wants), &of(wants), &of(held));
            values
                .into_iter()
                .map(|value| String::from_utf8(value).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            merge(&["{0}a", "{1}b"], &["{0}c", "{1}b"], &["{0}x", "{1}a", "{2}b"]),
            ["x", "c", "b"]
        );
        assert_eq!(
            merge(&["{0}a", "{1}b"], &["{0}a"], &["{0}a", "{1}x", "{2}b"]),
            ["a", "x"]
        );
        // Done before, and interrupted then.
        assert_eq!(
            merge(&["{0}a", "{1}b"], &["{0}c", "{1}b"], &["{0}c", "{1}b"]),
            ["c", "b"]
        );
        assert_eq!(merge(&["a"], &["b"], &["x"]), ["b"]);
        assert_eq!(merge(&["a"], &[], &["a"]), [""; 0]);
        assert_eq!(merge(&["a"], &["b"], &["a", "x"]), ["b", "x"]);
    }

    #[test]
    fn a_consumer_is_known_by_its_number() {
        let (was, wants) = (of(&["{0}rid=001 credentials=old"]), of(&["{0}rid=001 credentials=new"]));
        let real = of(&["{0}rid=001 credentials=secret"]);
        let held = of(&["{0}rid=001 credentials=former", "{1}rid=007 provider=other"]);
        let values = merged("olcSyncrepl", &was, &wants, &real, &held);
        assert_eq!(values, of(&["rid=001 credentials=secret", "rid=007 provider=other"]));
    }
}
