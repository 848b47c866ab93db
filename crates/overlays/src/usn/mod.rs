//! The overlay usn: a number in each entry that says when it was changed, as Active Directory has it.
//!
//! The last number is kept in a note of the database, and changes in the transaction of the write that it counts: no
//! number is given twice, also after a crash.

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError, edit,
    overlay::{
        AppliedEffect, Derivation, Derive, DerivingEntry, DerivingLook, EffectHooks, Entries, Execution, Overlay, Reads,
    },
};
use ironbark_model::{AttributeDescription, Dn, Schema};
use ironbark_store::{Derived, DerivedCandidates, Effect, EntryId, FilterItem, Location, StoreError, View, Wanted};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "usn",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "attributetype ( 1.2.840.113556.1.2.19 NAME 'uSNCreated' DESC 'number of the change that added the entry' \
                 EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE \
                 NO-USER-MODIFICATION USAGE dSAOperation )\n\
                 attributetype ( 1.2.840.113556.1.2.120 NAME 'uSNChanged' DESC 'number of the last change of the entry' \
                 EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE \
                 NO-USER-MODIFICATION USAGE dSAOperation )\n",
        introduction: "Each write to the database has a number, one higher than the last. `uSNCreated` of an entry is \
            the number of the write that added it, `uSNChanged` that of its last add, modify or rename. The entry of \
            the suffix shows the number of the last write in `uSNChanged`, deletes included. The numbers are those of \
            this server: those of a provider are ignored; the servers of a cluster have the same. Unlike in slapd the \
            attributes are operational and have the syntax Integer with its matching rules, so no other schema is \
            needed and filters like `(uSNChanged>=7)` match; and no number is given twice after a crash. The overlay \
            has no settings.",
    },
    make: |_, schema| make(schema),
};

/// The note with the last number.
const NOTE: &str = "usn";

struct Usn {
    changed: [AttributeDescription; 1],
    both: [AttributeDescription; 2],
}

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| format!("{name}: {error}"))
    };
    let (created, changed) = (described("uSNCreated")?, described("uSNChanged")?);
    let usn = Arc::new(Usn {
        both: [created, changed.clone()],
        changed: [changed],
    });
    Ok(Overlay {
        effects: Some(Arc::clone(&usn) as _),
        derivation: Some(Arc::new(OfSuffix(usn))),
        ..Overlay::new("usn")
    })
}

/// The last number that was given.
fn last(view: View<'_>) -> Result<u64, StoreError> {
    let note = view.source(NOTE)?;
    let octets = note.and_then(|note| note.try_into().ok());
    Ok(octets.map_or(0, u64::from_be_bytes))
}

impl EffectHooks for Usn {
    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        let number = last(execution.view())?.saturating_add(1);
        execution.put_note(NOTE, &number.to_be_bytes())?;
        let (dn, set): (_, &[AttributeDescription]) = match applied.effect {
            Effect::Add { dn, .. } => (dn, &self.both),
            Effect::Modify { dn, .. } => (dn, &self.changed),
            Effect::Rename { new_dn, .. } => (new_dn, &self.changed),
            Effect::Delete { .. } => return Ok(()),
        };
        let schema = execution.schema();
        let Ok(dn) = Dn::parse(schema, dn.as_bytes()) else {
            return Ok(());
        };
        let value = number.to_string().into_bytes();
        let changes: Vec<Modification> = set
            .iter()
            .map(|description| {
                Modification::internal(schema, ModificationKind::Replace, description, vec![value.clone()])
            })
            .collect();
        match edit::modify_internally(execution, &dn, &changes)? {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }

    fn maintained(&self) -> &[AttributeDescription] {
        &self.both
    }
}

/// Shows the last number in the entry of the suffix.
struct OfSuffix(Arc<Usn>);

impl Derivation for OfSuffix {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

impl Derive for Usn {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.changed
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let [changed] = &self.changed;
        if suffix(&entry.look)? == Some(entry.record.id) {
            let number = last(entry.look.view)?;
            found.replace(changed, vec![number.to_string().into_bytes()]);
        }
        Ok(())
    }

    fn candidates(&self, look: &DerivingLook<'_>, _: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        Ok(DerivedCandidates::one(suffix(look)?))
    }
}

/// The entry of the first suffix.
fn suffix(look: &DerivingLook<'_>) -> Result<Option<EntryId>, StoreError> {
    let entries = look.entries();
    let Some(dn) = entries.context().suffixes().first() else {
        return Ok(None);
    };
    Ok(match look.view.locate(dn)? {
        Location::Entry(id) => Some(id),
        Location::Missing { .. } => None,
    })
}
