//! Deleting old batches, so that etcd does not become full.
//!
//! Any server may do it. What the log no longer has, a server that was away longer takes from another one.

use std::sync::Arc;

use ironbark_config::cluster::ClusterConfig;
use tokio::time::{Duration, sleep};

use crate::{
    etcd::{
        Etcd, Failure,
        json::{Compare, Operation, RangeRequest, Txn},
    },
    keys::Keys,
    log::Shared,
};

/// The time between two looks at the room that etcd takes.
const INTERVAL: Duration = Duration::from_secs(2);

/// The part of a session that deletes old batches.
pub(crate) struct Trimmer {
    pub(crate) keys: Arc<Keys>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Arc<ClusterConfig>,
    pub(crate) suffix: String,
}

impl Trimmer {
    /// Trims for ever.
    pub(crate) async fn serve(self, mut etcd: Etcd) {
        // What keys were before the last look may be forgotten.
        let mut before = None;
        loop {
            sleep(INTERVAL).await;
            if !self.shared.is_joined() {
                continue;
            }
            match self.look(&mut etcd, before).await {
                Ok(revision) => before = Some(revision),
                Err(failure) => tracing::debug!(target: "any", "cluster: {}: trimming: {failure}", self.suffix),
            }
        }
    }

    /// Deletes the older half of the log if etcd takes too much room. Returns the revision that etcd is at.
    async fn look(&self, etcd: &mut Etcd, before: Option<i64>) -> Result<i64, Failure> {
        let cut = etcd.range(&RangeRequest::one(&self.keys.cut)).await?;
        let cut = cut.kvs.into_iter().next().map(|pair| pair.value.0);
        let status = etcd.status().await?;
        let in_use = u64::try_from(status.in_use.0).unwrap_or(0);
        if in_use > self.config.room
            && let Some(before) = before
        {
            self.cut(etcd, cut).await?;
            etcd.compact(before).await?;
        }
        Ok(status.header.revision.0)
    }

    async fn cut(&self, etcd: &mut Etcd, cut: Option<Vec<u8>>) -> Result<(), Failure> {
        let first = RangeRequest::from(&self.keys.log, &self.keys.log, 1);
        let found = etcd.range(&first).await?;
        let first = found.kvs.first().and_then(|pair| self.keys.number(&pair.key.0));
        // This server has on its disk what is deleted.
        let (Some(first), last) = (first, self.shared.kept()) else {
            return Ok(());
        };
        let keep = first + last.saturating_sub(first) / 2;
        if keep <= first {
            return Ok(());
        }
        let compare = match &cut {
            None => Compare::absent(&self.keys.cut),
            Some(known) => Compare::value(&self.keys.cut, known),
        };
        let (parts, parts_end) = self.keys.parts_before(keep);
        let txn = Txn {
            compare: vec![compare],
            success: vec![
                Operation::delete_range(&self.keys.log, &self.keys.batch(keep)),
                Operation::delete_range(&parts, &parts_end),
                Operation::put(&self.keys.cut, &(keep - 1).to_string()),
            ],
            failure: Vec::new(),
        };
        if etcd.txn(&txn).await?.succeeded {
            tracing::info!(target: "any", "cluster: {}: the log in etcd begins behind change {}", self.suffix, keep - 1);
        }
        Ok(())
    }
}
