//! Controls of requests that only an overlay knows. They are no rows of the table: the overlay describes them beside
//! its code, and the configuration says which of them exist. A request carries such a control with its octets; the
//! overlay decodes them.

use super::{Control, ControlKind, Descriptor, RequestControl, RequestControls};
use crate::{DecodeLimits, Fault, RawControl};

/// A control of requests that an overlay brings.
#[derive(Clone, Copy, Debug)]
pub struct OverlayControl {
    /// The description.
    pub descriptor: &'static Descriptor,
    may_repeat: bool,
    check: fn(&[u8], &DecodeLimits) -> Result<(), Fault>,
}

impl OverlayControl {
    /// The control with this type of value.
    pub const fn of<T>() -> Self
    where
        T: for<'a> RequestControl<'a>,
    {
        Self {
            descriptor: <T as RequestControl<'static>>::DESCRIPTOR,
            may_repeat: <T as RequestControl<'static>>::MAY_REPEAT,
            check: |value, limits| T::decode(value, limits).map(|_| ()),
        }
    }
}

/// A control that an overlay brings, and its kind in this process.
#[derive(Clone, Copy, Debug)]
pub struct OverlayRow {
    /// The kind.
    pub kind: ControlKind,
    /// The control.
    pub control: &'static OverlayControl,
}

/// The number of a control that an overlay brings, among all that the overlays of this program bring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OverlayNumber(u8);

impl OverlayNumber {
    /// There are fewer numbers than this.
    pub const END: u8 = 64;

    /// `None`: the number is too big.
    pub fn new(number: usize) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| *number < Self::END).map(Self)
    }

    /// The number.
    pub(super) const fn value(self) -> u8 {
        self.0
    }
}

/// A control that an overlay brings, as a request carries it. Its value is well formed.
#[derive(Clone, Copy, Debug)]
pub struct SentControl<'a> {
    /// Which one.
    pub row: OverlayRow,
    /// Whether the operation must fail where the control cannot be obeyed.
    pub critical: bool,
    value: &'a [u8],
    limits: DecodeLimits,
}

/// The same control with the same octets.
impl PartialEq for SentControl<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.row.kind, self.critical, self.value) == (other.row.kind, other.critical, other.value)
    }
}

impl<'a> RequestControls<'a> {
    /// A control that an overlay brings, if the request has it.
    pub fn sent(&self, descriptor: &Descriptor) -> Option<&SentControl<'a>> {
        let mut sent = self.of_overlays.iter();
        sent.find(|sent| sent.row.control.descriptor.oid == descriptor.oid)
    }

    /// The same, decoded.
    pub fn decoded<T: RequestControl<'a>>(&self) -> Option<Control<T>> {
        let sent = self.sent(T::DESCRIPTOR)?;
        // The value was checked when the request was decoded.
        let value = T::decode(sent.value, &sent.limits).ok()?;
        Some(Control {
            critical: sent.critical,
            value,
        })
    }

    /// Takes up a control that an overlay brings.
    pub(super) fn put_sent(
        &mut self,
        row: OverlayRow,
        control: RawControl<'a>,
        limits: &DecodeLimits,
    ) -> Result<(), Fault> {
        let OverlayControl {
            descriptor,
            may_repeat,
            check,
        } = *row.control;
        if self.sent(descriptor).is_some() && !may_repeat {
            return Err(Fault::protocol(descriptor.texts.duplicate));
        }
        let value = descriptor.checked_value(control.value)?;
        check(value, limits)?;
        self.of_overlays.retain(|sent| sent.row.kind != row.kind);
        self.of_overlays.push(SentControl {
            row,
            critical: control.critical,
            value,
            limits: *limits,
        });
        Ok(())
    }
}
