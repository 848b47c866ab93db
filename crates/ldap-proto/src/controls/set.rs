//! Sets of controls.

use super::ControlKind;

/// A set of controls: there is room for 128 kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ControlSet(u128);

impl ControlSet {
    /// No control.
    pub const NONE: Self = Self(0);
    /// All controls.
    pub const ALL: Self = Self(u128::MAX);

    /// This set and one more.
    #[must_use]
    pub const fn with(self, kind: ControlKind) -> Self {
        Self(self.0 | kind.bit())
    }

    /// This set without one.
    #[must_use]
    pub const fn without(self, kind: ControlKind) -> Self {
        Self(self.0 & !kind.bit())
    }

    /// This set without those of another.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// This set and another.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether some control is in both sets.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a control is in the set.
    pub const fn contains(self, kind: ControlKind) -> bool {
        self.0 & kind.bit() != 0
    }
}
