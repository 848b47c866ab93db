//! The whole tree as LDIF: for the journal of a configuration directory, and for a cluster.

use std::borrow::Cow;

use ironbark_ldif::{LdifError, LdifReader, LdifWriter, NoFiles, RecordKind};
use ironbark_model::{Dn, schema::Source};

use super::{
    folder::node_of,
    tree::{OlcNode, Tree, path_of},
};
use crate::registry::Registry;

/// Why a text is no tree of cn=config.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TreeTextError {
    /// It is no LDIF.
    #[error(transparent)]
    Ldif(#[from] LdifError),
    /// A record that has no place in the tree.
    #[error("line {line}: {reason}")]
    Record {
        /// The first line of the record, from 1.
        line: u64,
        /// What is wrong with it.
        reason: Cow<'static, str>,
    },
    /// There is no record.
    #[error("is empty")]
    Empty,
}

impl Tree {
    /// All entries with all their attributes, superiors first.
    pub fn to_ldif(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (dn, node) in self.walk() {
            write_record(&mut text, &dn, node);
            text.push(b'\n');
        }
        text
    }

    /// Reads such a text. `name` is for messages. Whether the tree is a valid configuration is not checked.
    ///
    /// # Errors
    /// [`TreeTextError`].
    pub fn of_ldif(text: &[u8], name: &str, registry: &Registry) -> Result<Self, TreeTextError> {
        let schema = registry.base_schema();
        let mut tree: Option<Self> = None;
        let mut reader = LdifReader::new(text, NoFiles);
        while let Some(record) = reader.read()? {
            let line = record.line;
            let wrong = |reason| TreeTextError::Record { line, reason };
            let RecordKind::Content(attributes) = record.kind else {
                return Err(wrong("not an entry".into()));
            };
            let dn = Dn::parse(schema, &record.dn).map_err(|_| wrong("invalid DN".into()))?;
            let location = Source {
                file: name.into(),
                line: u32::try_from(record.line).unwrap_or(u32::MAX),
            };
            let path = path_of(schema, &dn).ok_or_else(|| wrong("not below cn=config".into()))?;
            let (naming, name) = match path.last() {
                Some((naming, name)) => (naming.as_str(), name.as_str()),
                None => ("cn", "config"),
            };
            let node = node_of(naming, name, attributes, location);
            match &mut tree {
                None if path.is_empty() => {
                    tree = Some(Self {
                        root: node,
                        registry: registry.clone(),
                    });
                }
                None => return Err(wrong("cn=config must come first".into())),
                Some(tree) => tree
                    .place_stored(&path, node)
                    .map_err(|error| wrong(error.to_string().into()))?,
            }
        }
        tree.ok_or(TreeTextError::Empty)
    }
}

fn write_record(out: &mut Vec<u8>, dn: &str, node: &OlcNode) {
    let writer = LdifWriter::default();
    writer.dn(out, dn.as_bytes());
    for (name, values) in &node.attributes {
        for value in values {
            writer.attribute(out, name.as_bytes(), value);
        }
    }
}
