//! The overlay noopsrch: searches that count.

mod control;

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayDescriptor};
use ironbark_directory::{
    ResponseControl,
    overlay::{Counted, CountingHooks, Overlay},
};
use ironbark_ldap_proto::controls::{Descriptor, OverlayControl};

use crate::Row;

pub use control::{DESCRIPTOR, NoOpSearch, NoOpSearchResponse};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "noopsrch",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[DESCRIPTOR.oid],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "With the control 1.3.6.1.4.1.4203.666.5.18 a search sends neither entries nor references, but \
            their numbers, in a control of its result: a sequence of the integers result code, entries, references. \
            What the client may not see is not counted. All limits apply as if entries were sent: the search ends at \
            its size limit with sizeLimitExceeded, where slapd goes on counting. A page of a paged search is counted \
            by itself. With content synchronization, and in databases without the overlay, the control is not \
            available. The overlay has no settings.",
    },
    make: |_, _| {
        Ok(Overlay {
            own_controls: const { &[OverlayControl::of::<NoOpSearch>()] },
            counting: Some(Arc::new(Noopsrch)),
            ..Overlay::new("noopsrch")
        })
    },
};

/// The overlay. All limits apply as if entries were sent.
struct Noopsrch;

impl CountingHooks for Noopsrch {
    fn asked_by(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn report(&self, counted: Counted) -> ResponseControl {
        ResponseControl::new(&NoOpSearchResponse {
            code: counted.code,
            entries: counted.entries,
            references: counted.references,
        })
    }
}
