//! A new log for a database that has been part of one: after the loss of etcd's data, or to go back to a backup.

use std::sync::Arc;

use ironbark_config::cluster::ClusterConfig;
use ironbark_store::ClusterLogPlace;
use tokio::task::LocalSet;

use crate::{
    ClusterError, Overview,
    etcd::{
        Etcd, Failure,
        json::{Compare, Operation, RangeRequest, Txn},
    },
    keys::{FORMAT, Keys},
    place,
};

/// A server that has told something within so many seconds may be running.
const HEARD_S: i64 = 30;

/// What `/tail` is compared with, and what is put with it.
pub(crate) fn beginning(keys: &Keys, place: &ClusterLogPlace) -> Result<[Operation; 2], Failure> {
    Ok([
        Operation::put(&keys.tail, &place::text(&place::with_generation(*place)?)),
        Operation::put(&keys.format, FORMAT),
    ])
}

/// Lets the log of the database with this normalized suffix begin at `place`. A log that is there is replaced only if
/// `replaces`, and if no server follows it. `now`: seconds since 1970. It blocks.
///
/// # Errors
/// There is a log; a server follows it; etcd does not answer.
pub fn begin(
    config: &ClusterConfig,
    suffix: &str,
    place: &ClusterLogPlace,
    replaces: bool,
    now: i64,
) -> Result<(), ClusterError> {
    let overview = Overview::of(config, suffix)?;
    if overview.end.is_some() {
        if !replaces {
            return Err(ClusterError::HasLog);
        }
        let was_heard = |server: &&crate::ClusterNode| now - server.at <= HEARD_S;
        if let Some(server) = overview.servers.iter().find(was_heard) {
            return Err(ClusterError::IsFollowed {
                name: server.name.clone(),
                heard_s: now - server.at,
                wait_s: HEARD_S,
            });
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = LocalSet::new().block_on(&runtime, replace(config, suffix, place, overview.end));
    match done {
        Ok(true) => Ok(()),
        Ok(false) => Err(ClusterError::LogChanged),
        Err(failure) => Err(failure.into()),
    }
}

async fn replace(
    config: &ClusterConfig,
    suffix: &str,
    place: &ClusterLogPlace,
    former: Option<ClusterLogPlace>,
) -> Result<bool, Failure> {
    let keys = Keys::of(&config.prefix, suffix);
    let mut etcd = Etcd::new(Arc::new(config.clone()));
    // The first attempt finds a member that answers.
    for _ in &config.endpoints {
        if etcd.range(&RangeRequest::one(&keys.tail)).await.is_ok() {
            break;
        }
    }
    let compare = match former {
        None => Compare::absent(&keys.tail),
        Some(former) => Compare::value(&keys.tail, &place::text(&former)),
    };
    let mut success = vec![
        Operation::delete_all(&keys.log),
        Operation::delete_all(&keys.part),
        Operation::delete_all(&keys.want),
        Operation::delete(&keys.cut),
        Operation::delete(&keys.lost),
    ];
    success.extend(beginning(&keys, place)?);
    let txn = Txn {
        compare: vec![compare],
        success,
        failure: Vec::new(),
    };
    Ok(etcd.txn(&txn).await?.succeeded)
}
