//! Class of Service: attributes of many entries that are stored once, as Sun and 389 Directory Server have it.
//!
//! - `attribute.rs`, `expression.rs`: what a definition says of an attribute.
//! - `definition.rs`: the definitions and templates of a database: the facts.
//! - `offers.rs`: what they give to an entry. `candidates.rs`: which entries they may give a value to.

mod attribute;
mod candidates;
mod definition;
mod expression;
mod offers;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor, OverlaySettings},
};
use ironbark_directory::overlay::{Derivation, Derive, Entries, Overlay, Reads};
use ironbark_model::{AttributeDescription, Schema, schema::ClassNumber};
use ironbark_store::StoreError;

use self::definition::{Definitions, Known};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "cos",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<CosConfig>,
        schema: include_str!("../sun.schema"),
        introduction: "Class of Service: what many entries have in common is stored once, in a template, and a definition \
            says who gets it. Definitions and templates are entries, as those of Sun and 389 Directory Server: \
            `cosPointerDefinition`, `cosClassicDefinition`, `cosIndirectDefinition`, `cosTemplate`. \
            `cosComputedDefinition` is Ironbark's own: values that are made of others. Filters, compares, sorting and \
            access rules treat the values as if they were stored. See docs/virtual.md.",
    },
    make: |_, schema| make(schema),
};

/// There are no settings: the directory has the definitions.
#[derive(Clone, PartialEq, Debug, Default)]
struct CosConfig;

impl OverlaySettings for CosConfig {}

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let known = Known::new(schema)?;
    Ok(Overlay {
        derivation: Some(Arc::new(Cos {
            classes: known.classes(),
            known: Arc::new(known),
        })),
        ..Overlay::new("cos")
    })
}

struct Cos {
    known: Arc<Known>,
    /// Those of definitions and templates.
    classes: Vec<ClassNumber>,
}

impl Derivation for Cos {
    fn reads(&self) -> Reads {
        Reads::AsAuthors
    }

    fn depends_on(&self) -> &[AttributeDescription] {
        &[]
    }

    fn depends_on_classes(&self) -> &[ClassNumber] {
        &self.classes
    }

    /// It sees roles, and memberOf that is computed.
    fn level(&self) -> u8 {
        2
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(Definitions::read(&self.known, entries)?))
    }
}
