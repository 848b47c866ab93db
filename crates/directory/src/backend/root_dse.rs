//! The root DSE in the configuration.

use std::sync::Arc;

use ironbark_model::Entry;

/// An addition from a `rootDSE` file: an attribute description and its values.
pub type RootDseAddition = (String, Vec<Vec<u8>>);

/// The root DSE for connections that are offered these SASL mechanisms.
#[derive(Clone, Debug)]
pub(crate) struct RootDse {
    pub(crate) mechanisms: Vec<&'static str>,
    pub(crate) entry: Arc<[Entry]>,
}
