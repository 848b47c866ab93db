//! The root DSE as the configuration holds it.

use std::sync::Arc;

use ironbark_model::Entry;

/// What the `rootDSE` files add to the root DSE: an attribute description and values.
pub type RootDseAddition = (String, Vec<Vec<u8>>);

/// The root DSE as it is seen by those who are offered certain SASL mechanisms.
#[derive(Clone, Debug)]
pub(crate) struct RootDse {
    pub(crate) mechanisms: Vec<&'static str>,
    pub(crate) entry: Arc<[Entry]>,
}
