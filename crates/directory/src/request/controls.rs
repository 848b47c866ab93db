//! The controls of a write. They outlive its message on the way to the writer.

use ironbark_ldap_proto::controls::{ControlKind, ControlSet, RequestControls};
use ironbark_model::Filter;

/// The parts of its controls that a write needs.
#[derive(Debug, Default)]
pub(crate) struct OwnedControls {
    present: ControlSet,
    critical: ControlSet,
    assertion: Option<Filter<'static>>,
    pre_read: Names,
    post_read: Names,
}

/// Names of attributes, as the client sent them.
type Names = Vec<Box<[u8]>>;

impl OwnedControls {
    /// Copies the controls of a message.
    pub(crate) fn of(controls: &RequestControls<'_>) -> Self {
        let assertion = controls.assertion.as_ref();
        let names = |selection: ironbark_ldap_proto::AttributeSelection<'_>| selection.iter().map(Box::from).collect();
        Self {
            present: controls.present(),
            critical: controls.critical(),
            assertion: assertion.map(|control| control.value.0.to_owned()),
            pre_read: controls
                .pre_read
                .map(|control| names(control.value.0))
                .unwrap_or_default(),
            post_read: controls
                .post_read
                .map(|control| names(control.value.0))
                .unwrap_or_default(),
        }
    }
}

/// The controls of a write that are in effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteControls<'a> {
    all: Option<&'a OwnedControls>,
    /// Controls to ignore (`restrictop`).
    dropped: ControlSet,
}

/// The request of a read-entry control (RFC 4527).
pub(crate) struct ReadEntry<'a> {
    pub(crate) is_critical: bool,
    /// Names of attributes.
    pub(crate) names: &'a [Box<[u8]>],
}

impl<'a> WriteControls<'a> {
    /// The controls of a request, except some.
    pub(crate) fn without(all: &'a OwnedControls, dropped: ControlSet) -> Self {
        Self {
            all: Some(all),
            dropped,
        }
    }

    /// The controls, if one of this kind was sent.
    fn of(&self, kind: ControlKind) -> Option<&'a OwnedControls> {
        self.all
            .filter(|all| all.present.contains(kind) && !self.dropped.contains(kind))
    }

    /// Whether a control was sent.
    pub fn has(&self, kind: ControlKind) -> bool {
        self.of(kind).is_some()
    }

    /// Whether a control was sent and is critical.
    pub(crate) fn has_critical(&self, kind: ControlKind) -> bool {
        self.of(kind).is_some_and(|all| all.critical.contains(kind))
    }

    /// The filter of the assertion control.
    pub(crate) fn assertion(&self) -> Option<&'a Filter<'static>> {
        self.of(ControlKind::Assertion)?.assertion.as_ref()
    }

    /// The pre-read control.
    pub(crate) fn pre_read(&self) -> Option<ReadEntry<'a>> {
        self.read_entry(ControlKind::PreRead, |all| &all.pre_read)
    }

    /// The post-read control.
    pub(crate) fn post_read(&self) -> Option<ReadEntry<'a>> {
        self.read_entry(ControlKind::PostRead, |all| &all.post_read)
    }

    fn read_entry(&self, kind: ControlKind, names: fn(&OwnedControls) -> &Names) -> Option<ReadEntry<'a>> {
        let all = self.of(kind)?;
        Some(ReadEntry {
            is_critical: all.critical.contains(kind),
            names: names(all),
        })
    }
}
