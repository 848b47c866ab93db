//! Deleting old batches, so that etcd does not become full.
//!
//! Any server may do it. What the log no longer has, a server that was away longer takes from another one.

use std::sync::Arc;

use tokio::time::{Duration, sleep};

use crate::{
    etcd::{
        Etcd, Failure,
        json::{Compare, Operation, RangeRequest, Txn},
    },
    membership::Membership,
};

/// The time between two looks at the room that etcd takes.
const INTERVAL: Duration = Duration::from_secs(2);

/// Writes after which etcd shows how much room it has, once it has forgotten something.
const SHOWN_AFTER: i64 = 8;

/// What a look leaves for the next one: revisions of etcd.
#[derive(Default)]
struct Looked {
    /// Where it was.
    revision: Option<i64>,
    /// What was before this one is forgotten.
    forgotten: i64,
    /// Where etcd was when it had forgotten that.
    at: i64,
}

/// The part of a session that deletes old batches.
pub(crate) struct Trimmer {
    pub(crate) member: Arc<Membership>,
}

impl Trimmer {
    /// Trims for ever.
    pub(crate) async fn serve(self) {
        let mut etcd = self.member.etcd();
        let mut before = Looked::default();
        loop {
            sleep(INTERVAL).await;
            if !self.member.shared.is_joined() {
                continue;
            }
            if let Err(failure) = self.look(&mut etcd, &mut before).await {
                tracing::debug!(target: "any", "cluster: {}: trimming: {failure}", self.member.suffix);
            }
        }
    }

    /// Deletes the older half of the log if etcd takes too much room, and lets etcd forget what was before the look
    /// before.
    ///
    /// What was deleted takes room until etcd has forgotten it, and shows that with some of the writes after it. Until
    /// then the log is not cut again: several servers look, and would leave nothing.
    async fn look(&self, etcd: &mut Etcd, before: &mut Looked) -> Result<(), Failure> {
        let cut = etcd.range(&RangeRequest::one(&self.member.keys.cut)).await?;
        let cut = cut.kvs.into_iter().next();
        let status = etcd.status().await?;
        let now = status.header.revision.0;
        if before.revision.is_some_and(|revision| revision > now) {
            // It is another etcd, or has lost its data.
            *before = Looked::default();
        }
        let former = before.revision.replace(now);
        let in_use = u64::try_from(status.in_use.0).unwrap_or(0);
        self.slow_down(in_use);
        let Some(former) = former.filter(|_| in_use > self.member.config.room) else {
            return Ok(());
        };
        let of_cut = cut.as_ref().map_or(0, |cut| cut.mod_revision.0);
        if of_cut <= before.forgotten && now >= before.at + SHOWN_AFTER {
            self.cut(etcd, cut.map(|pair| pair.value.0)).await?;
        }
        etcd.compact(former).await?;
        if before.forgotten < of_cut && of_cut <= former {
            (before.forgotten, before.at) = (former, now);
        }
        Ok(())
    }

    /// Lets writes wait when cutting is not enough: something else fills etcd, or it is written faster than etcd
    /// forgets. At its quota etcd would refuse everything, cuts as well.
    fn slow_down(&self, in_use: u64) {
        let room = self.member.config.room;
        let is_tight = in_use > room.saturating_add(room / 2);
        if self.member.shared.set_tight(is_tight) != is_tight {
            let (suffix, mib) = (&self.member.suffix, in_use >> 20);
            if is_tight {
                tracing::warn!(
                    target: "any",
                    "cluster: {suffix}: etcd takes {mib} MiB, and room is {} MiB: writes are slowed down",
                    room >> 20
                );
            } else {
                tracing::info!(
                    target: "any",
                    "cluster: {suffix}: etcd takes {mib} MiB: writes are no longer slowed down"
                );
            }
        }
    }

    async fn cut(&self, etcd: &mut Etcd, cut: Option<Vec<u8>>) -> Result<(), Failure> {
        let first = RangeRequest::from(&self.member.keys.log, &self.member.keys.log, 1);
        let found = etcd.range(&first).await?;
        let first = found.kvs.first().and_then(|pair| self.member.keys.number(&pair.key.0));
        // This server has on its disk what is deleted.
        let (Some(first), last) = (first, self.member.shared.kept()) else {
            return Ok(());
        };
        let keep = first + last.saturating_sub(first) / 2;
        if keep <= first {
            return Ok(());
        }
        let compare = match &cut {
            None => Compare::absent(&self.member.keys.cut),
            Some(known) => Compare::value(&self.member.keys.cut, known),
        };
        let (parts, parts_end) = self.member.keys.parts_before(keep);
        let txn = Txn {
            compare: vec![compare],
            success: vec![
                Operation::delete_range(&self.member.keys.log, &self.member.keys.batch(keep)),
                Operation::delete_range(&parts, &parts_end),
                Operation::put(&self.member.keys.cut, &(keep - 1).to_string()),
            ],
            failure: Vec::new(),
        };
        if etcd.txn(&txn).await?.succeeded {
            let (suffix, last) = (&self.member.suffix, keep - 1);
            tracing::info!(target: "any", "cluster: {suffix}: the log in etcd begins behind change {last}");
        }
        Ok(())
    }
}
