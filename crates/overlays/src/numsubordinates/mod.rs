//! The number of immediate subordinates of an entry (draft-ietf-boreham-numsubordinates), counted when it is asked for.

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor},
};
use ironbark_directory::overlay::{Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads};
use ironbark_model::{AttributeDescription, Schema};
use ironbark_store::{Derived, DerivedCandidates, FilterItem, StoreError, Wanted};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "numsubordinates",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "attributetype ( 1.3.6.1.4.1.453.16.2.103 NAME 'numSubordinates' DESC 'number of immediate subordinates' \
                 EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE \
                 NO-USER-MODIFICATION USAGE directoryOperation )\n",
        introduction: "`numSubordinates` of an entry is the number of its immediate subordinates, as other servers and \
            many browsers of directories know it: 0 for a leaf. It is counted when it is asked for. Subordinates that \
            a client may not see count too: who may read the attribute learns how many there are. The overlay has no \
            settings.",
    },
    make: |_, schema| make(schema),
};

/// Subordinates that are counted in one step.
const PER_STEP: u64 = 16;

struct Count(AttributeDescription);

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = schema.attribute_description(b"numSubordinates");
    let attribute = described.map_err(|error| format!("numSubordinates: {error}"))?;
    Ok(Overlay {
        derivation: Some(Arc::new(Counted(Arc::new(Count(attribute))))),
        ..Overlay::new("numsubordinates")
    })
}

struct Counted(Arc<Count>);

impl Derivation for Counted {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

impl Derive for Count {
    fn attributes(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.0)
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let view = entry.look.view;
        let mut count = 0u64;
        for child in view.children(entry.record.id)? {
            child?;
            count += 1;
            if count.is_multiple_of(PER_STEP) && !view.spend(1) {
                // The search ends for want of steps: no wrong number is sent.
                return Ok(());
            }
        }
        found.replace(&self.0, vec![count.to_string().into_bytes()]);
        Ok(())
    }

    /// Every entry has a value.
    fn candidates(&self, _: &DerivingLook<'_>, _: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        Ok(DerivedCandidates::Everything)
    }
}
