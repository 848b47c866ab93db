//! Rows of global settings.

mod features;
mod files;
mod log;
mod metrics;
mod network;
mod obsolete;
mod sasl;
mod schema;
mod server_id;
mod sources;
mod tls;

use crate::setting::Setting;

/// All rows of this module's struct, and of the global settings that fill no field.
pub(crate) const ROWS: &[&[Setting]] = &[
    files::ROWS,
    log::ROWS,
    metrics::ROWS,
    features::ROWS,
    network::ROWS,
    sources::ROWS,
    schema::ROWS,
    server_id::ROWS,
    sasl::ROWS,
    tls::ROWS,
    obsolete::ROWS,
];
