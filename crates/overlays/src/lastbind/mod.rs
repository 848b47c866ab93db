//! slapo-lastbind(5): records in the entry when its password was last verified.
//!
//! It is recorded in the transaction that ends the bind. If the stored time is recent enough, nothing is written.

use std::sync::Arc;

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{BindAttempt, BindHooks, Execution, Overlay},
    stamp::generalized_time,
};
use ironbark_model::{AttributeDescription, Schema};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "lastbind",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcLastBindConfig"],
            oid: "4.5.1",
        }),
        settings: ROWS,
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "attributetype ( 1.3.6.1.4.1.453.16.2.188 NAME 'authTimestamp' DESC 'last successful authentication using any method/mech' \
                 EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.24 SINGLE-VALUE \
                 NO-USER-MODIFICATION USAGE dSAOperation )\n",
        introduction: "The overlay writes the time of the last successful bind to the attribute authTimestamp of the \
            entry. `lastbind-precision` of the database says how old the value must be before it is written again. The \
            setting `lastbind` of a database does the same with pwdLastSuccess, without an overlay.",
    },
    make: |_, schema| make(schema),
};

const LASTBIND: SettingLevel = SettingLevel::Overlay("lastbind");

const ROWS: &[Setting] = &[
    Setting::new(LASTBIND, &["lastbind_forward_updates"], &["olcLastBindForwardUpdates"])
        .olc("5.2", Form::Boolean)
        .takes("on|off", "FALSE")
        .does("Says whether a replica sends the time to the server that it replicates from.")
        .since("2.4")
        .meaningless("each server keeps the times of the binds that it answers; they are not sent to a provider"),
];

struct LastBind(AttributeDescription);

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let description = schema.attribute_description(b"authTimestamp");
    let description = description.map_err(|error| format!("authTimestamp: {error}"))?;
    Ok(Overlay {
        binds: Some(Arc::new(LastBind(description))),
        ..Overlay::new("lastbind")
    })
}

impl BindHooks for LastBind {
    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError> {
        if attempt.verdict.is_err() {
            return Ok(());
        }
        let now_s = execution.directory.clock().now().unix_micros().div_euclid(1_000_000);
        let former = attempt.entry.attribute(&self.0).and_then(|held| held.values.first());
        let former = former.and_then(|value| generalized_time::seconds(value));
        let precision = i64::from(execution.last_bind_precision_s());
        if former.is_some_and(|former| now_s < former.saturating_add(precision)) {
            return Ok(());
        }
        attempt.modifications.push(Modification::internal(
            execution.schema(),
            ModificationKind::Replace,
            &self.0,
            vec![generalized_time::text(now_s).into_bytes()],
        ));
        Ok(())
    }

    fn only_records(&self) -> bool {
        true
    }
}
