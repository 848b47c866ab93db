//! Building the entries of a virtual tree.

use ironbark_model::{Attribute, Dn, Entry, Schema};
use ironbark_runtime::WallTime;

/// Entries in order, parents first.
pub(super) struct Tree<'a> {
    schema: &'a Schema,
    suffix: &'a Dn,
    /// When the server started: the creation time of all permanent entries.
    started: WallTime,
    entries: Vec<Entry>,
}

/// An entry that is being built.
pub(super) struct Node<'a> {
    schema: &'a Schema,
    entry: Entry,
}

impl<'a> Tree<'a> {
    pub(super) fn new(schema: &'a Schema, suffix: &'a Dn, started: WallTime) -> Self {
        Self {
            schema,
            suffix,
            started,
            entries: Vec::new(),
        }
    }

    /// Adds an entry: `names` are the values of `cn` below the suffix, the leaf first. The closure adds its attributes.
    pub(super) fn add(&mut self, names: &[&str], class: &str, fill: impl FnOnce(&mut Node<'a>)) {
        let started = self.started;
        self.add_timed(names, class, started, started, fill);
    }

    /// The same with times of creation and last change.
    pub(super) fn add_timed(
        &mut self,
        names: &[&str],
        class: &str,
        created: WallTime,
        modified: WallTime,
        fill: impl FnOnce(&mut Node<'a>),
    ) {
        let mut dn = self.suffix.clone();
        for name in names.iter().rev() {
            match Dn::parse(self.schema, format!("cn={name}").as_bytes()) {
                Ok(rdn) => dn = dn.child(&rdn),
                Err(error) => {
                    tracing::error!(target: "any", "monitor: cn={name}: {error}");
                    return;
                }
            }
        }
        let mut node = Node {
            schema: self.schema,
            entry: Entry {
                dn,
                attributes: Vec::new(),
            },
        };
        node.set("objectClass", class);
        node.set("structuralObjectClass", class);
        node.set("cn", names.first().unwrap_or(&"Monitor"));
        node.set("creatorsName", "");
        node.set("modifiersName", "");
        node.set("createTimestamp", &generalized_time(created));
        node.set("modifyTimestamp", &generalized_time(modified));
        fill(&mut node);
        self.entries.push(node.entry);
    }

    /// Adds a container with its description.
    pub(super) fn container(&mut self, name: &str, description: &str, fill: impl FnOnce(&mut Node<'a>)) {
        self.add(&[name], "monitorContainer", |node| {
            node.set("description", description);
            fill(node);
        });
    }

    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries
    }
}

impl Node<'_> {
    /// Adds a value.
    pub(super) fn set(&mut self, attribute: &str, value: &str) {
        let Ok(description) = self.schema.attribute_description(attribute.as_bytes()) else {
            // The built-in schema has all attributes. If one has been removed, only this value is missing.
            tracing::debug!(target: "config", "monitor: the schema has no attribute type {attribute}");
            return;
        };
        let value = value.as_bytes().to_vec();
        match self
            .entry
            .attributes
            .iter_mut()
            .find(|known| known.description == description)
        {
            Some(known) => known.values.push(value),
            None => self.entry.attributes.push(Attribute {
                description,
                values: vec![value],
            }),
        }
    }

    /// Adds a number.
    pub(super) fn count(&mut self, attribute: &str, value: u64) {
        self.set(attribute, &value.to_string());
    }
}

/// `20261121214514Z`.
pub(super) fn generalized_time(time: WallTime) -> String {
    let utc = time.utc();
    format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}Z",
        utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second
    )
}
