//! slapo-ppolicy(5): draft-behera-ldap-password-policy-10 as slapd has it.
//!
//! Binds are judged, and the results recorded, in the transaction of the database's one writer, so failures are counted
//! exactly. Time is the directory's clock.

mod bind;
mod change;
mod derived;
mod history;
mod locked;
mod names;
mod policy;
mod ppm;
mod quality;
mod rows;
mod rules;
mod settings;
mod state;
mod usability;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    access::Privileges,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, OperationError,
    overlay::{BindAttempt, BindHooks, ContentHooks, EntryControls, Execution, FoundEntry, Overlay},
};
use ironbark_ldap_proto::{
    EncodeControl,
    controls::{Control, ControlKind, ControlSet},
};
use ironbark_model::{Dn, Entry, Schema};

use crate::row::Row;

use self::state::seconds;
pub use self::{
    settings::{PolicyGroup, PolicyRule, PpolicyConfig},
    state::Ppolicy,
};

/// What there is to know of it.
pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "ppolicy",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcPPolicyConfig"],
            oid: "3.12.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<PpolicyConfig>,
        schema: "",
        introduction: "cn=Subschema shows pwdPolicy, its related classes and their attributes when the overlay, or the \
            module of its name, is loaded. Entries may have them in any case. An included ppolicy.schema of OpenLDAP \
            2.4 adds nothing; one that contradicts these definitions is refused.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
///
/// # Errors
/// The schema lacks something, or the dictionary cannot be read.
fn make(settings: &PpolicyConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let ppolicy = Arc::new(Ppolicy::new(settings, schema)?);
    Ok(Overlay {
        content: Some(Arc::clone(&ppolicy) as _),
        binds: Some(Arc::clone(&ppolicy) as _),
        derivation: Some(Arc::new(derived::PolicyNames(Arc::clone(&ppolicy)))),
        entry_controls: Some(ppolicy),
        controls: ControlSet::NONE
            .with(ControlKind::PasswordPolicy)
            .with(ControlKind::AccountUsability),
        ..Overlay::new("ppolicy")
    })
}

impl ContentHooks for Ppolicy {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        change::add(self, execution, entry)
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        change::modify(self, execution, dn, modifications)
    }
}

impl BindHooks for Ppolicy {
    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError> {
        bind::judge(self, execution, attempt)
    }

    fn restricts(&self) -> bool {
        true
    }

    fn stored_passwords(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let values = |name| entry.attribute(name).map_or(&[][..], |held| &held.values);
        let stored = values(&self.names.password).iter().cloned();
        stored.chain(history::passwords(values(&self.names.history))).collect()
    }
}

/// Account usability, only for subjects that have compare access to the password.
impl EntryControls for Ppolicy {
    fn asked_by(&self) -> ControlSet {
        ControlSet::NONE.with(ControlKind::AccountUsability)
    }

    fn control(&self, found: &FoundEntry<'_>) -> Result<Option<Box<dyn EncodeControl>>, OperationError> {
        if !found.permits(&self.names.password, Privileges::COMPARE) {
            return Ok(None);
        }
        let usability = usability::of(self, found.entries, found.entry, seconds(found.now))?;
        Ok(usability.map(|usability| Box::new(Control::optional(usability)) as _))
    }
}
