//! The overlay denyop: operations that a database does not answer.

use std::sync::Arc;

use ironbark_config::{
    Form, Operations, Setting, SettingError, SettingLevel, Statement,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_handler,
};
use ironbark_directory::{
    OperationResult,
    overlay::{Decision, IncomingRequest, Overlay, RequestHooks},
};
use ironbark_model::ResultCode;

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "denyop",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcDenyOpConfig"],
            oid: "+40",
        }),
        settings: ROWS,
        controls: &[],
        fresh: AnySettings::of::<DenyOpConfig>,
        schema: "",
        introduction: "The overlay refuses kinds of operations before they begin, with unwillingToPerform, to everybody, \
            the rootdn too. What other overlays and replication change is not refused. In slapd it can only be \
            configured in slapd.conf; here also in cn=config. `restrict` of a database does the same without an \
            overlay, and can name extended operations.",
    },
    make: |config, _| {
        let settings: &DenyOpConfig = config.settings()?;
        let is_used = settings.denied != Operations::default();
        Ok(Overlay {
            requests: is_used.then(|| Arc::new(DenyOp(settings.denied)) as _),
            ..Overlay::new("denyop")
        })
    },
};

#[derive(Clone, PartialEq, Debug, Default)]
struct DenyOpConfig {
    denied: Operations,
    /// It changes nothing.
    names_unbind: bool,
}

impl OverlaySettings for DenyOpConfig {
    fn needs_entries(&self) -> bool {
        false
    }
}

const NAMES: [(&str, Operations); 8] = [
    ("add", Operations::ADD),
    ("bind", Operations::BIND),
    ("compare", Operations::COMPARE),
    ("delete", Operations::DELETE),
    ("extended", Operations::EXTENDED),
    ("modify", Operations::MODIFY),
    ("modrdn", Operations::MODRDN),
    ("search", Operations::SEARCH),
];

const ROWS: &[Setting] = &[
    Setting::new(SettingLevel::Overlay("denyop"), &["denyop"], &["olcDenyOp"])
        .olc("+101", Form::Texts)
        .takes("<operation>[,<operation>...]", "")
        .does(
            "Names operations that are refused: `add`, `bind`, `compare`, `delete`, `extended`, `modify`, `modrdn`, \
             `search`. `unbind` is accepted and changes nothing: an unbind has no answer that could refuse it. May be \
             given more than once.",
        )
        .since("2.3")
        .like(&["add,delete", "search"])
        .obeyed(overlay_handler!(DenyOpConfig, add, |settings, _| {
            let denied = NAMES
                .iter()
                .filter(|(_, operation)| settings.denied.contains(*operation));
            let mut names: Vec<_> = denied.map(|(name, _)| (*name).to_owned()).collect();
            names.extend(settings.names_unbind.then(|| UNBIND.to_owned()));
            names
        })),
];

const UNBIND: &str = "unbind";

fn add(settings: &mut DenyOpConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for word in statement.one()?.split(',') {
        if word == UNBIND {
            statement.notice("unbind has no answer that could refuse it".to_owned());
            settings.names_unbind = true;
            continue;
        }
        let known = NAMES.iter().find(|(name, _)| *name == word);
        let (_, operation) = known.ok_or_else(|| format!("unknown operation \"{word}\""))?;
        settings.denied = settings.denied.with(*operation);
    }
    Ok(())
}

struct DenyOp(Operations);

impl RequestHooks for DenyOp {
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision {
        if !self.0.contains(request.kind()) {
            return Decision::Continue;
        }
        let text = "operation not allowed within namingContext";
        let result = OperationResult::new(ResultCode::UNWILLING_TO_PERFORM, text);
        Decision::Answer(Box::new(result.into()))
    }
}
