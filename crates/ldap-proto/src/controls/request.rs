//! The controls of one request, decoded into typed options.

use ironbark_model::ResultCode;

use super::{
    Control, ControlKind, ControlRow, ControlSet, Criticality, Descriptor, OverlayRow, RequestControl, RequestControls,
    lookup,
};
use crate::{DecodeLimits, Fault, RawControl, RawControls, Request};

/// What the configuration says about controls.
#[derive(Clone, Copy, Debug)]
pub struct ControlPolicy<'p> {
    /// The controls of the table that exist under this configuration. Others are not recognized.
    pub available: ControlSet,
    /// The controls beside the table, which overlays of this configuration bring.
    pub of_overlays: &'p [OverlayRow],
    /// The controls with [`Criticality::ShouldBeTrue`] whose criticality FALSE is refused.
    pub must_be_critical: ControlSet,
}

impl Default for ControlPolicy<'_> {
    fn default() -> Self {
        Self {
            available: ControlSet::ALL,
            of_overlays: &[],
            must_be_critical: ControlSet::NONE,
        }
    }
}

impl<'a> RequestControls<'a> {
    /// Decodes the controls that came with `request`.
    ///
    /// An unknown or inappropriate control is ignored. If it is critical, it is refused with
    /// `unavailableCriticalExtension` (RFC 4511 §4.1.11). The criticality of an unbind request's controls has no
    /// meaning.
    ///
    /// # Errors
    /// `unavailableCriticalExtension`; `protocolError` for duplicates and malformed values; `adminLimitExceeded`.
    pub fn decode(
        controls: &RawControls<'a>,
        request: &Request<'_>,
        policy: &ControlPolicy<'_>,
        limits: &DecodeLimits,
    ) -> Result<Self, Fault> {
        let mut decoded = Self::default();
        if controls.is_empty() || matches!(request, Request::Unbind) {
            return Ok(decoded);
        }
        let extended = match request {
            Request::Extended(request) => Some(request.name),
            _ => None,
        };
        for control in controls {
            if control.oid.is_empty() {
                return Err(Fault::protocol("OID field is empty"));
            }
            match policy.find(control.oid) {
                Some(known) if known.descriptor().applies_to(request.operation(), extended) => {
                    check_criticality(known, control.critical, policy)?;
                    match known {
                        Known::InTable(row) => decoded.put(row.kind, control, limits)?,
                        Known::ByOverlay(row) => decoded.put_sent(row, control, limits)?,
                    }
                }
                Some(_) if control.critical => return Err(unavailable("critical extension is unavailable")),
                None if control.critical => return Err(unavailable("critical extension is not recognized")),
                _ => {}
            }
        }
        search_options_and_domain_scope(&decoded)?;
        Ok(decoded)
    }

    /// The controls of the request.
    pub fn present(&self) -> ControlSet {
        self.those(|_| true)
    }

    /// The critical controls of the request.
    pub fn critical(&self) -> ControlSet {
        self.those(|is_critical| is_critical)
    }
}

/// Decodes a control into its place.
pub(super) fn put<'a, T: RequestControl<'a>>(
    slot: &mut Option<Control<T>>,
    control: RawControl<'a>,
    limits: &DecodeLimits,
) -> Result<(), Fault> {
    let row = T::DESCRIPTOR;
    if slot.is_some() && !T::MAY_REPEAT {
        return Err(Fault::protocol(row.texts.duplicate));
    }
    let value = T::decode(row.checked_value(control.value)?, limits)?;
    *slot = Some(Control {
        critical: control.critical,
        value,
    });
    Ok(())
}

/// A control that exists, by who describes it.
#[derive(Clone, Copy)]
enum Known {
    InTable(&'static ControlRow),
    ByOverlay(OverlayRow),
}

impl Known {
    const fn kind(self) -> ControlKind {
        match self {
            Self::InTable(row) => row.kind,
            Self::ByOverlay(row) => row.kind,
        }
    }

    const fn descriptor(self) -> &'static Descriptor {
        match self {
            Self::InTable(row) => row.descriptor,
            Self::ByOverlay(row) => row.control.descriptor,
        }
    }
}

impl ControlPolicy<'_> {
    /// The control with this OID, if it exists.
    fn find(&self, oid: &[u8]) -> Option<Known> {
        if let Some(row) = lookup(oid) {
            let is_available = self.available.contains(row.kind);
            return is_available.then_some(Known::InTable(row));
        }
        let mut rows = self.of_overlays.iter();
        let row = rows.find(|row| row.control.descriptor.oid.as_bytes() == oid);
        row.copied().map(Known::ByOverlay)
    }
}

fn check_criticality(known: Known, critical: bool, policy: &ControlPolicy<'_>) -> Result<(), Fault> {
    match (known.descriptor().criticality, critical) {
        (Criticality::ShouldBeTrue { refusal }, false) if policy.must_be_critical.contains(known.kind()) => {
            Err(Fault::protocol(refusal))
        }
        (Criticality::MustBeTrue { refusal }, false) | (Criticality::MustBeFalse { refusal }, true) => {
            Err(Fault::protocol(refusal))
        }
        _ => Ok(()),
    }
}

/// The domain scope flag of the search options is a second form of the domain scope control. Unknown flags are refused
/// when the control is critical.
fn search_options_and_domain_scope(decoded: &RequestControls<'_>) -> Result<(), Fault> {
    let Some(options) = decoded.search_options else {
        return Ok(());
    };
    if options.critical && options.value.has_unknown_flags() {
        return Err(Fault::refused(
            ResultCode::UNWILLING_TO_PERFORM,
            "searchOptions contained unrecognized flag",
        ));
    }
    if options.value.domain_scope() && decoded.domain_scope.is_some() {
        return Err(Fault::protocol(
            "searchOptions control specified multiple times or with domainScope control",
        ));
    }
    Ok(())
}

const fn unavailable(text: &'static str) -> Fault {
    Fault::refused(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, text)
}
