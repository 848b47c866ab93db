//! slapo-dynlist(5): groups and lists whose members and values are found by LDAP URLs.
//!
//! - `sets.rs`: what the configuration says.
//! - `lists.rs`: the entries with URLs that a database has: the facts.
//! - `expand.rs`: what the URLs of an entry give.
//! - `groups.rs`: from members to their groups. `members.rs`: from groups to their members.

mod expand;
mod groups;
mod lists;
mod members;
mod rows;
mod sets;
mod settings;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::overlay::{Derivation, Derive, Entries, Overlay, Reads};
use ironbark_model::{AttributeDescription, Schema};
use ironbark_store::StoreError;

use self::{lists::Lists, sets::Sets, settings::DynlistConfig};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "dynlist",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcDynListConfig", "olcDynamicList"],
            oid: "3.8.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<DynlistConfig>,
        schema: "",
        introduction: "Groups whose members are found by a search, and lists that gather values of other entries. Nothing \
            is stored. Filters by one member or one group use indexes: that on objectClass finds the groups, those on \
            the attributes of a group's filter its members.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

fn make(settings: &DynlistConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    if settings.sets.is_empty() {
        return Ok(Overlay::new("dynlist"));
    }
    Ok(Overlay {
        derivation: Some(Arc::new(Dynlist(Arc::new(Sets::new(settings, schema)?)))),
        ..Overlay::new("dynlist")
    })
}

struct Dynlist(Arc<Sets>);

impl Derivation for Dynlist {
    fn reads(&self) -> Reads {
        // The identity of a group is bound by the rights of its authors.
        if self.0.identity.is_some() {
            Reads::AsAuthors
        } else {
            Reads::AsAsker
        }
    }

    fn depends_on(&self) -> &[AttributeDescription] {
        &self.0.url_attributes
    }

    fn level(&self) -> u8 {
        3
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(Lists::read(&self.0, entries)?))
    }
}
