//! Roles, as Sun and 389 Directory Server have them: `nsRole` of an entry names the roles that it has.
//!
//! - `definition.rs`: the roles of a database: the facts.
//! - `members.rs`: which entries have them.

mod definition;
mod members;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor, OverlaySettings},
};
use ironbark_directory::overlay::{Derivation, Derive, Entries, Overlay, Reads};
use ironbark_model::{Schema, schema::ClassNumber};
use ironbark_store::StoreError;

use self::definition::{Known, Roles};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "roles",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<RolesConfig>,
        schema: include_str!("../sun.schema"),
        introduction: "Roles: `nsRole` of an entry names the roles that it has. Roles are entries, as those of Sun and \
            389 Directory Server: `nsManagedRoleDefinition` (an entry has it that names it in `nsRoleDN`), \
            `nsFilteredRoleDefinition` (an entry that matches `nsRoleFilter`), `nsNestedRoleDefinition` (an entry that \
            has one of the roles in `nsRoleDN`). With `overlay cos`, `cosSpecifier: nsRole` gives values by role. See \
            docs/virtual.md.",
    },
    make: |_, schema| make(schema),
};

/// There are no settings: the directory has the roles.
#[derive(Clone, PartialEq, Debug, Default)]
struct RolesConfig;

impl OverlaySettings for RolesConfig {}

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let known = Known::new(schema)?;
    Ok(Overlay {
        derivation: Some(Arc::new(AllRoles {
            classes: known.classes(),
            known: Arc::new(known),
        })),
        ..Overlay::new("roles")
    })
}

struct AllRoles {
    known: Arc<Known>,
    classes: Vec<ClassNumber>,
}

impl Derivation for AllRoles {
    fn reads(&self) -> Reads {
        Reads::AsAuthors
    }

    fn depends_on_classes(&self) -> &[ClassNumber] {
        &self.classes
    }

    fn level(&self) -> u8 {
        1
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(Roles::read(&self.known, entries)?))
    }
}
