//! The registry: all that there is to be configured. The server's and the databases' own settings stand in this crate;
//! overlays, and databases whose entries are elsewhere, are told by the crates that have them.

mod classes;
mod lookup;

use std::{fmt, sync::Arc};

use ironbark_model::{Schema, schema::SchemaErrors};

use crate::{
    database::DatabaseDescriptor,
    kinds::KINDS,
    olc_schema::{
        base,
        classes::{ClassRow, all},
    },
    overlay::OverlayDescriptor,
    parts::PartList,
    rows,
    schema_statement::SchemaKind,
    setting::{Fate, Handler, Setting},
};

pub(crate) use lookup::Place;

/// The settings, overlays and parts that a configuration may name, and the schema of cn=config that follows from them.
/// An immutable value that is cheap to clone.
#[derive(Clone)]
pub struct Registry(Arc<Contents>);

struct Contents {
    overlays: Vec<&'static OverlayDescriptor>,
    databases: Vec<&'static DatabaseDescriptor>,
    parts: PartList,
    classes: Vec<ClassRow>,
    base_schema: Arc<Schema>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.overlays.iter().map(|overlay| overlay.name);
        formatter.debug_list().entries(names).finish()
    }
}

/// Two registries are the same if one is a clone of the other.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Without overlays and types of databases of other crates.
impl Default for Registry {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new()).unwrap_or_else(|_| {
            // A test holds that there is no such error; should there be one, cn=config alone cannot be served.
            Self::with_schema(Vec::new(), KINDS.to_vec(), Schema::system())
        })
    }
}

impl Registry {
    /// With these overlays and types of databases of other crates, in the order of the reference page.
    ///
    /// # Errors
    /// OIDs, names or schema definitions are wrong, or those of another part.
    pub fn new(
        overlays: Vec<&'static OverlayDescriptor>,
        databases: Vec<&'static DatabaseDescriptor>,
    ) -> Result<Self, SchemaErrors> {
        let databases: Vec<_> = KINDS.iter().copied().chain(databases).collect();
        let base_schema = base::build(&overlays, &databases)?;
        Ok(Self::with_schema(overlays, databases, base_schema))
    }

    fn with_schema(
        overlays: Vec<&'static OverlayDescriptor>,
        databases: Vec<&'static DatabaseDescriptor>,
        base_schema: Arc<Schema>,
    ) -> Self {
        let of_overlays = overlays.iter().map(|overlay| (overlay.name, overlay.modules));
        let of_databases = databases
            .iter()
            .flat_map(|database| database.names().map(|name| (name, database.modules)));
        Self(Arc::new(Contents {
            parts: PartList::new(of_overlays, of_databases),
            classes: all(&overlays, &databases),
            overlays,
            databases,
            base_schema,
        }))
    }

    /// Every row, in the order of the reference page.
    pub fn settings(&self) -> impl Iterator<Item = &'static Setting> + use<'_> {
        let overlays = self.0.overlays.iter().flat_map(|overlay| overlay.settings);
        let databases = self
            .0
            .databases
            .iter()
            .flat_map(|database| database.settings)
            .copied()
            .flatten();
        own_settings().chain(databases).chain(overlays)
    }

    /// The types of databases that are built: first those of this crate, in slapd's order.
    pub fn databases(&self) -> &[&'static DatabaseDescriptor] {
        &self.0.databases
    }

    /// A type of database that is built, by any of its names in `database`.
    pub fn database(&self, name: &str) -> Option<&'static DatabaseDescriptor> {
        let is_named = |kind: &&&DatabaseDescriptor| kind.names().any(|known| known.eq_ignore_ascii_case(name));
        self.databases().iter().find(is_named).copied()
    }

    /// The overlays that are built.
    pub fn overlays(&self) -> &[&'static OverlayDescriptor] {
        &self.0.overlays
    }

    /// An overlay that is built, by its name.
    pub fn overlay(&self, name: &str) -> Option<&'static OverlayDescriptor> {
        let mut overlays = self.0.overlays.iter();
        overlays
            .find(|overlay| overlay.name.eq_ignore_ascii_case(name))
            .copied()
    }

    /// The number of a control of requests that only an overlay knows, among those of all overlays that are built.
    pub fn overlay_control(&self, oid: &str) -> Option<usize> {
        let mut controls = self.0.overlays.iter().flat_map(|overlay| overlay.controls);
        controls.position(|known| *known == oid)
    }

    /// The parts of OpenLDAP that a configuration may name, built or not.
    pub fn parts(&self) -> &PartList {
        &self.0.parts
    }

    /// The built-in schema: the system schema, that of cn=config and those of overlays. Every schema of a configuration
    /// begins with it, so the numbers of its elements are the same in all.
    pub fn base_schema(&self) -> &Arc<Schema> {
        &self.0.base_schema
    }

    /// The object classes of cn=config.
    pub(crate) fn classes(&self) -> &[ClassRow] {
        &self.0.classes
    }
}

/// The rows of the server, and those of databases of more than one type.
fn own_settings() -> impl Iterator<Item = &'static Setting> {
    let groups = rows::global::ROWS.iter().chain(rows::database::ROWS);
    groups.copied().flatten()
}

/// The kind of schema definition that a keyword begins, if any. The arguments of definitions are not quoted words.
pub(crate) fn schema_kind(keyword: &str) -> Option<SchemaKind> {
    own_settings().find_map(|row| match row.fate {
        Fate::Obeyed(Handler::Schema(kind)) if row.has_keyword(keyword) => Some(kind),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
