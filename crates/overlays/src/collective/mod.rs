//! Collective attributes (RFC 3671): values of a subentry that the entries of its subtree have.
//!
//! - `subentries.rs`: the subentries of a database: the facts, and what they give.

mod subentries;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor},
};
use ironbark_directory::overlay::{Derivation, Derive, Entries, Overlay, Reads};
use ironbark_model::{Schema, schema::ClassNumber};
use ironbark_store::StoreError;

use self::subentries::{Known, Subentries};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "collective",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "Collective attributes (RFC 3671): a subentry of class `collectiveAttributeSubentry` holds values \
            of collective attributes (`c-l`, `c-PostalCode`, others of collective.schema) that all entries have to \
            which its `subtreeSpecification` (RFC 3672) applies. A search for `(l=x)` finds them by `c-l` too. \
            `collectiveExclusions` of an entry names attributes that it does not get; `collectiveAttributeSubentries` \
            names the subentries that apply to it. Administrative points need no mark: a subentry is for the subtree \
            of its superior.",
    },
    make: |_, schema| make(schema),
};

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let known = Known::new(schema)?;
    Ok(Overlay {
        derivation: Some(Arc::new(Collective {
            classes: [known.class],
            known: Arc::new(known),
        })),
        ..Overlay::new("collective")
    })
}

struct Collective {
    known: Arc<Known>,
    classes: [ClassNumber; 1],
}

impl Derivation for Collective {
    fn reads(&self) -> Reads {
        Reads::AsAuthors
    }

    fn depends_on_classes(&self) -> &[ClassNumber] {
        &self.classes
    }

    fn level(&self) -> u8 {
        2
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(Subentries::read(&self.known, entries)?))
    }
}
