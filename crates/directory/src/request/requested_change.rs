//! Requested changes, in the form of the log.

use ironbark_model::Schema;
use ironbark_store::change::{RequestedChange, RequestedKind, RequestedModification};

use super::modification::{Modification, ModificationKind};

/// The changes of a modify operation of an entry whose name is `dn`, pretty form.
pub(crate) fn of_modifications(schema: &Schema, dn: &str, modifications: &[Modification]) -> RequestedChange {
    let requested = modifications.iter().map(|modification| RequestedModification {
        kind: match modification.kind {
            ModificationKind::Add | ModificationKind::AddIfAbsent => RequestedKind::Add,
            ModificationKind::Delete => RequestedKind::Delete,
            ModificationKind::Replace => RequestedKind::Replace,
            ModificationKind::Increment => RequestedKind::Increment,
        },
        attribute: schema.description_text(&modification.description).into(),
        values: modification.values.clone(),
    });
    RequestedChange::Modify {
        dn: dn.into(),
        modifications: requested.collect(),
    }
}
