//! What the steps of a start share: what was read, and what is told.

use ironbark_runtime::{
    SignalFlag,
    process::{full_host_name, host_name},
};

use super::{environment::Given, layout::Layout, settings::Settings, state::Facts, variables::Image};

/// A start after its variables were read.
pub(super) struct Start {
    pub(super) image: Image,
    pub(super) given: Given,
    pub(super) facts: Facts,
    pub(super) settings: Settings,
    pub(super) layout: Layout,
    pub(super) stop: SignalFlag,
}

/// A line for the administrator.
pub(super) fn warn(text: &str) {
    eprintln!("ironbark container: warning: {text}");
}

/// A line that says what was done.
pub(super) fn tell(text: &str) {
    eprintln!("ironbark container: {text}");
}

/// The names of this host.
pub(super) fn own_names(given: &Given) -> Vec<String> {
    match given.value("HOSTNAME") {
        Some(name) => vec![name.to_owned()],
        None => vec![host_name(), full_host_name()],
    }
}
