//! slapo-sssvlv(5): searches read its settings themselves (`directory/src/search/sort_limits.rs`); of writes it sees
//! none.

use ironbark_directory::overlay::{Hooks, Overlay};

/// The overlay.
pub struct Sssvlv;

impl Overlay for Sssvlv {
    fn name(&self) -> &'static str {
        "sssvlv"
    }

    fn hooks(&self) -> Hooks {
        Hooks::default()
    }
}
