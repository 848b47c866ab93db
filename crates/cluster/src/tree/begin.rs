//! The configuration of one server becomes that of all: after the loss of etcd's data, or to go back.

use std::sync::Arc;

use ironbark_config::cluster::ClusterConfig;
use ironbark_store::ClusterLogPlace;
use tokio::task::LocalSet;

use super::put::put_once;
use crate::{ClusterError, Overview, etcd::Etcd, keys::Keys, place::with_generation};

/// Puts a tree behind all others of the cluster, for the naming context with this normalized suffix. `place` is that of
/// the server it comes from. One that is there is replaced only if `replaces`. It blocks.
///
/// # Errors
/// There is one; another was put meanwhile; etcd does not answer.
pub fn put_tree(
    config: &ClusterConfig,
    suffix: &str,
    place: ClusterLogPlace,
    text: &[u8],
    replaces: bool,
) -> Result<ClusterLogPlace, ClusterError> {
    let former = Overview::end(config, suffix)?;
    if former.is_some() && !replaces {
        return Err(ClusterError::HasTree);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let keys = Keys::of(&config.prefix, suffix);
        let mut etcd = Etcd::new(Arc::new(config.clone()));
        // Servers take what has a greater number, and is of the cluster that they know.
        let mut before = former.filter(|_| place.is_empty()).unwrap_or(place);
        let of_former = former.map_or(0, |former| former.position.sequence);
        before.position.sequence = before.position.sequence.max(of_former);
        let before = with_generation(before)?;
        let behind = before.behind(text, before.position.sequence + 1);
        let mut mark = [0; 16];
        getrandom::fill(&mut mark).map_err(|error| ClusterError::System(error.to_string()))?;
        let mut last = String::new();
        for _ in &config.endpoints {
            match put_once(&keys, &mut etcd, former, behind, mark, text).await {
                Ok(None) => return Ok(behind),
                Ok(Some(_)) => return Err(ClusterError::TreeChanged),
                Err(failure) if failure.was_sent => return Err(failure.into()),
                Err(failure) => last = failure.to_string(),
            }
        }
        Err(ClusterError::NoAnswer(last))
    })
}
