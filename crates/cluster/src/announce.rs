//! What each server tells the others of itself: who it is, and where it is in the log. For people, and for servers that
//! would let a log begin ([`crate::known`]).

use std::sync::Arc;

use ironbark_runtime::Clock;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, sleep};

use crate::{
    etcd::{
        Etcd, Failure,
        json::{Octets, Operation, RangeRequest, Txn},
    },
    membership::{Membership, own_name},
    place,
};

/// How often a server looks whether it has something to tell.
const INTERVAL: Duration = Duration::from_secs(2);
/// How often it tells it in any case, in seconds.
const AT_LEAST_S: u64 = 10;
/// What was told this long ago is deleted, in seconds.
const FORGOTTEN_S: i64 = 24 * 3600;

/// A server, as it tells it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Announced {
    pub(crate) name: String,
    pub(crate) position: u64,
    /// The chain there, in hexadecimal: a digest of all changes.
    pub(crate) chain: String,
    pub(crate) is_ready: bool,
    /// Whether it has changes of a log, of this one or of one that is gone. `None`: a former version does not say.
    pub(crate) is_of_log: Option<bool>,
    /// Octets of a copy that have come, and about how many there are.
    pub(crate) copied: Option<(u64, u64)>,
    /// Seconds since 1970.
    pub(crate) at: i64,
}

impl Announced {
    /// Whether it has changes of a log, as far as it says. Without a word they may be.
    pub(crate) fn has_changes(&self) -> bool {
        self.is_of_log.unwrap_or(self.position > 0)
    }

    /// Whether it is to be told, after this.
    fn is_due(&self, told: &Self) -> bool {
        let told_of = |one: &Self| (one.position, one.is_ready, one.is_of_log, one.copied);
        let is_news = told_of(self) != told_of(told);
        // The clock may have been set back.
        is_news || self.at.abs_diff(told.at) >= AT_LEAST_S
    }
}

/// The part of a session that tells. It also wakes a writer that is behind.
pub(crate) struct Announcer {
    pub(crate) member: Arc<Membership>,
}

impl Announcer {
    /// Tells for ever.
    pub(crate) async fn serve(self) {
        let mut etcd = self.member.etcd();
        let clock = Clock::system();
        let mut told = Announced::default();
        loop {
            let (status, place) = (self.member.shared.status(""), self.member.shared.place());
            let now = Announced {
                name: own_name(),
                position: place.position.sequence,
                chain: place::chain_text(&place),
                is_ready: status.is_ready,
                is_of_log: Some(!place.is_empty() && self.member.shared.is_of_log()),
                copied: status.copied,
                at: clock.now().unix_seconds(),
            };
            if status.position < status.end {
                // What could not be applied, because the disk was full, may be by now.
                self.member.seat.call();
            }
            // An etcd that does not answer is told of by others.
            if now.is_due(&told) && self.tell(&mut etcd, &now, told.at == 0).await.is_ok() {
                told = now;
            }
            sleep(INTERVAL).await;
        }
    }

    async fn tell(&self, etcd: &mut Etcd, now: &Announced, is_first: bool) -> Result<(), Failure> {
        let text = serde_json::to_vec(now).unwrap_or_default();
        let mut success = vec![Operation::put(
            &self.member.keys.node(self.member.shared.id),
            Octets(text),
        )];
        if is_first {
            let all = etcd
                .range(&RangeRequest::from(&self.member.keys.node, &self.member.keys.node, 0))
                .await?;
            let is_old = |value: &[u8]| {
                serde_json::from_slice(value).is_ok_and(|other: Announced| now.at - other.at > FORGOTTEN_S)
            };
            let old = all.kvs.iter().filter(|pair| is_old(&pair.value.0));
            success.extend(old.map(|pair| Operation::delete(&String::from_utf8_lossy(&pair.key.0))));
        }
        let txn = Txn {
            success,
            ..Txn::default()
        };
        etcd.txn(&txn).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_whose_clock_was_set_back_goes_on_telling() {
        let told = Announced {
            at: 1_000_000,
            ..Announced::default()
        };
        let is_due = |at| Announced { at, ..told.clone() }.is_due(&told);
        assert!(!is_due(1_000_009));
        assert!(is_due(1_000_010));
        assert!(is_due(900_000));
    }
}
