//! slapo-seqmod(5): changes of one entry are made one after the other. A database has only one writer here, so this is
//! always true; the overlay exists so that configurations that name it still work.

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayDescriptor};
use ironbark_directory::overlay::Overlay;

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "seqmod",
        modules: &[],
        occurrence: Occurrence::Many,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "The overlay has no settings. Changes of one entry happen one after the other here in any case.",
    },
    make: |_, _| Ok(Overlay::new("seqmod")),
};
