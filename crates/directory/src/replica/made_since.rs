//! What a server has made itself since it was restored from a copy: entries that it stamped, and ends of entries.
//!
//! Its clock may have been behind, and it did not know its own last CSNs: others may have greater ones, and take these
//! changes for known. So they are made again when it has heard from all of its peers.

use std::collections::BTreeSet;

use ironbark_store::Effect;

use super::place::Aftermath;
use crate::{OperationError, overlay::Execution};

/// The changes of the server's own in the log, which began with the restored state.
///
/// # Errors
/// The storage failed.
pub(super) fn made_since_restored(execution: &mut Execution<'_, '_>) -> Result<Aftermath, OperationError> {
    execution.show_changes()?;
    let view = execution.view();
    let (mut buried, mut made) = (BTreeSet::new(), BTreeSet::new());
    // The log may begin in this transaction.
    for record in view.changes(view.log_state()?.first.unwrap_or(1))? {
        let record = record?;
        if record.via != 0 {
            continue;
        }
        buried.extend(record.buried.iter().copied());
        let told = record
            .effects
            .iter()
            .filter(|recorded| !recorded.marks.internal && !recorded.marks.silent && !recorded.effect.is_glue());
        for recorded in told {
            let uuid = recorded.before.entry_uuid;
            match recorded.effect {
                Effect::Delete { .. } => buried.insert(uuid),
                Effect::Add { .. } | Effect::Modify { .. } | Effect::Rename { .. } => made.insert(uuid),
            };
        }
    }
    // Glue has no UUID.
    for uuids in [&mut buried, &mut made] {
        uuids.remove(&[0; 16]);
    }
    Ok(Aftermath {
        buried: buried.into_iter().collect(),
        made: made.into_iter().collect(),
        ..Aftermath::default()
    })
}
