//! Settings of slapo-sssvlv(5).

use ironbark_config::overlay::OverlaySettings;

/// How much sorting a database, or the whole server, does at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SssvlvConfig {
    /// `sssvlv-max`: sorted searches of all connections; 0: half as many as there are `threads`.
    pub max: u32,
    /// `sssvlv-maxkeys`: keys of one search.
    pub max_keys: u32,
    /// `sssvlv-maxperconn`: sorted searches of one connection, including those that wait for their next page.
    pub max_per_connection: u32,
}

impl Default for SssvlvConfig {
    fn default() -> Self {
        Self {
            max: 0,
            max_keys: 5,
            max_per_connection: 5,
        }
    }
}

impl OverlaySettings for SssvlvConfig {
    fn needs_entries(&self) -> bool {
        false
    }
}
