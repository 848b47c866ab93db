//! Search options (Microsoft, MS-ADTS §3.1.1.3.4.1.12).

use ironbark_ber::{Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// A set of flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchOptions {
    /// The flags as they came in.
    pub flags: i32,
}

impl SearchOptions {
    /// The flag of [`SearchOptions::domain_scope`].
    pub const DOMAIN_SCOPE: i32 = 1;

    /// Whether the client wants no continuation references. A set with unknown flags is ignored as a whole.
    pub const fn domain_scope(self) -> bool {
        self.flags == Self::DOMAIN_SCOPE
    }

    /// Whether there are unknown flags.
    pub const fn has_unknown_flags(self) -> bool {
        self.flags & !Self::DOMAIN_SCOPE != 0
    }
}

impl ControlValue for SearchOptions {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| writer.integer(i64::from(self.flags)));
    }
}

impl RequestControl<'_> for SearchOptions {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Reader::new(value)
            .sequence()
            .and_then(|mut content| content.integer())
            .map(|flags| Self { flags })
            .map_err(|_| DESCRIPTOR.malformed())
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.840.113556.1.4.1340",
    name: "search options",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: false,
    texts: texts!("searchOptions control"),
};
