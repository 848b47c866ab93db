//! Parts of each configuration that the directory cannot make itself: overlays, trees in memory, additions to the root
//! DSE.

use std::sync::Arc;

use ironbark_config::{DatabaseConfig, GlobalConfig, OverlayConfig, SettingError};
use ironbark_model::Schema;

use crate::{
    backend::{external::ExternalDatabase, in_memory::InMemoryTree, root_dse::RootDseAddition},
    overlay::Overlay,
};

/// Makes an overlay from its configuration.
pub type OverlayFactory = dyn Fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError> + Send + Sync;

/// Makes what serves a database whose entries are elsewhere.
pub type ExternalFactory =
    dyn Fn(&DatabaseConfig, &Arc<Schema>) -> Result<Arc<dyn ExternalDatabase>, SettingError> + Send + Sync;

/// Makes the tree of cn=config or of a `database monitor`. `None`: it is not served.
pub type TreeFactory = dyn Fn(&DatabaseConfig) -> Option<Arc<dyn InMemoryTree>> + Send + Sync;

/// Reads the additions of the `rootDSE` files to the root DSE: attribute descriptions and values.
pub type RootDseFactory = dyn Fn(&GlobalConfig) -> Result<Vec<RootDseAddition>, SettingError> + Send + Sync;

/// Chooses the `serverID` of this server from a configuration and the number in force, if there is one. Fails with the
/// reason if the configuration cannot be put into force.
pub type ServerIdFactory = dyn Fn(&GlobalConfig, Option<u16>) -> Result<u16, SettingError> + Send + Sync;

/// Whether a URL is one of this server.
pub type OwnUrl = dyn Fn(&str) -> bool + Send + Sync;

/// Makes the parts that a configuration names and the directory cannot make itself. Used whenever a configuration is
/// prepared. The configuration may never come into force, so making a part must have no effect on the current one.
#[derive(Clone)]
pub struct Factories {
    /// Makes overlays. They are made again when their settings or the schema have changed.
    pub overlays: Arc<OverlayFactory>,
    /// Makes what serves databases whose entries are elsewhere, anew when their settings or the schema have changed.
    pub external: Arc<ExternalFactory>,
    /// Makes the trees of cn=config and cn=Monitor, once each.
    pub trees: Arc<TreeFactory>,
    /// The additions of the `rootDSE` files.
    pub root_dse: Arc<RootDseFactory>,
    /// `serverID`.
    pub server_id: Arc<ServerIdFactory>,
    /// Whether a URL is one of this server.
    pub own_url: Arc<OwnUrl>,
}

impl Default for Factories {
    /// Neither overlays nor trees nor additions, and `serverID` 0.
    fn default() -> Self {
        Self {
            overlays: Arc::new(|_, _| Err("overlays are not served here".into())),
            external: Arc::new(|settings, _| {
                Err(format!("{} databases are not served here", settings.kind.name).into())
            }),
            trees: Arc::new(|_| None),
            root_dse: Arc::new(|_| Ok(Vec::new())),
            server_id: Arc::new(|_, _| Ok(0)),
            own_url: Arc::new(|_| false),
        }
    }
}
