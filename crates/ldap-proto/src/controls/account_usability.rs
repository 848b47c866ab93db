//! Account usability (Sun Directory Server): whether the password of each entry that a search finds is usable.

use ironbark_ber::{Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// The request: return this control with each entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccountUsabilityRequest;

/// The control of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountUsability {
    /// The password is usable. The number is the seconds until it expires; -1: never.
    Available(i64),
    /// The password is not usable.
    Unavailable {
        /// Locked for the time being.
        inactive: bool,
        /// Must be changed.
        reset: bool,
        /// Has expired.
        expired: bool,
        /// How often the expired password may still be used; -1: not known.
        remaining_grace: i64,
        /// Seconds until the account is unlocked; -1: not known.
        seconds_before_unlock: i64,
    },
}

impl AccountUsability {
    /// Decodes the value's content octets, as slapd sends them: with all parts.
    ///
    /// # Errors
    /// `protocolError`.
    pub fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        if reader.peek() == Some(AVAILABLE) {
            return Ok(Self::Available(reader.integer_i64(AVAILABLE)?));
        }
        let mut parts = reader.nested(UNAVAILABLE)?;
        Ok(Self::Unavailable {
            inactive: parts.boolean_of(tags::context(0))?,
            reset: parts.boolean_of(tags::context(1))?,
            expired: parts.boolean_of(tags::context(2))?,
            remaining_grace: parts.integer_i64(tags::context(3))?,
            seconds_before_unlock: parts.integer_i64(tags::context(4))?,
        })
    }
}

impl ControlValue for AccountUsabilityRequest {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for AccountUsabilityRequest {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    /// As in slapd.
    const MAY_REPEAT: bool = true;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl ControlValue for AccountUsability {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        match *self {
            Self::Available(seconds) => writer.integer_of(AVAILABLE, seconds),
            Self::Unavailable {
                inactive,
                reset,
                expired,
                remaining_grace,
                seconds_before_unlock,
            } => writer.constructed(UNAVAILABLE, |writer| {
                writer.boolean_of(tags::context(0), inactive);
                writer.boolean_of(tags::context(1), reset);
                writer.boolean_of(tags::context(2), expired);
                writer.integer_of(tags::context(3), remaining_grace);
                writer.integer_of(tags::context(4), seconds_before_unlock);
            }),
        }
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.42.2.27.9.5.8",
    name: "account usability",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: true,
    texts: texts!("account usability control"),
};

const AVAILABLE: u8 = tags::context(0);
const UNAVAILABLE: u8 = tags::context_constructed(1);
