//! What each server tells the others of itself: who it is, and where it is in the log. For people, and for servers that
//! would let a log begin ([`crate::known`]).

use std::sync::Arc;

use ironbark_runtime::Clock;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, sleep, timeout};

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
/// How long a server that ends tries to say so.
const FAREWELL: Duration = Duration::from_secs(1);

/// A server, as it tells it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Announced {
    pub(crate) name: String,
    /// Its host, and the folder of its entries there: what tells of the same one is of an earlier process, or of the
    /// database before a copy came. Empty: a former version does not say.
    pub(crate) place: String,
    pub(crate) position: u64,
    /// The chain there, in hexadecimal: a digest of all changes.
    pub(crate) chain: String,
    pub(crate) is_ready: bool,
    /// Whether it has changes of a log, of this one or of one that is gone. `None`: a former version does not say.
    pub(crate) is_of_log: Option<bool>,
    /// Octets of a copy that have come, and about how many there are.
    pub(crate) copied: Option<(u64, u64)>,
    /// Whether it has ended, in good order.
    pub(crate) has_ended: bool,
    /// Seconds since 1970.
    pub(crate) at: i64,
}

impl Announced {
    /// Whether it has changes of a log, as far as it says. Without a word they may be.
    pub(crate) fn has_changes(&self) -> bool {
        self.is_of_log.unwrap_or(self.position > 0)
    }

    /// That of a server now.
    fn of(member: &Membership, clock: &Clock) -> Self {
        let (status, place) = (member.shared.status(""), member.shared.place());
        Self {
            name: own_name(),
            place: member.place.clone(),
            position: place.position.sequence,
            chain: place::chain_text(&place),
            is_ready: status.is_ready,
            is_of_log: Some(!place.is_empty() && member.shared.is_of_log()),
            copied: status.copied,
            has_ended: false,
            at: clock.now().unix_seconds(),
        }
    }

    /// Whether another word is one of long ago, or of this server itself before. One that tells of changes is a trace
    /// of a log ([`crate::known`]): it stays until this server has changes as well.
    fn replaces(&self, other: &Self) -> bool {
        let is_own = !self.place.is_empty() && self.place == other.place;
        self.at.saturating_sub(other.at) > FORGOTTEN_S || is_own && (self.has_changes() || !other.has_changes())
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
            let now = Announced::of(&self.member, &clock);
            let status = self.member.shared.status("");
            if status.position < status.end {
                // What could not be applied, because the disk was full, may be by now.
                self.member.seat.call();
            }
            // An etcd that does not answer is told of by others.
            let is_first = told.at == 0 || now.has_changes() != told.has_changes();
            if now.is_due(&told) && tell(&self.member, &mut etcd, &now, is_first).await.is_ok() {
                told = now;
            }
            sleep(INTERVAL).await;
        }
    }
}

/// Tells it. `cleans`: what it replaces is deleted.
async fn tell(member: &Membership, etcd: &mut Etcd, now: &Announced, cleans: bool) -> Result<(), Failure> {
    let (keys, own) = (&member.keys, member.keys.node(member.shared.id));
    let text = serde_json::to_vec(now).unwrap_or_default();
    let mut success = vec![Operation::put(&own, Octets(text))];
    if cleans {
        let all = etcd.range(&RangeRequest::from(&keys.node, &keys.node, 0)).await?;
        let is_old = |value: &[u8]| serde_json::from_slice(value).is_ok_and(|other: Announced| now.replaces(&other));
        let others = all.kvs.iter().filter(|pair| pair.key.0 != own.as_bytes());
        let old = others.filter(|pair| is_old(&pair.value.0));
        success.extend(old.map(|pair| Operation::delete(&String::from_utf8_lossy(&pair.key.0))));
    }
    let txn = Txn {
        success,
        ..Txn::default()
    };
    etcd.txn(&txn).await.map(|_| ())
}

/// Tells that the server ends. Whether that reaches etcd matters to nobody but who looks at the cluster.
pub(crate) async fn farewell(member: &Membership) {
    let now = Announced {
        is_ready: false,
        copied: None,
        has_ended: true,
        ..Announced::of(member, &Clock::system())
    };
    let mut etcd = member.impatient_etcd();
    let _ = timeout(FAREWELL, tell(member, &mut etcd, &now, false)).await;
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

    #[test]
    fn a_servers_former_words_are_replaced_and_traces_of_a_log_only_by_its_changes() {
        let word = |place: &str, position, at| Announced {
            place: place.to_owned(),
            is_of_log: Some(position > 0),
            position,
            at,
            ..Announced::default()
        };
        let now = word("a:/db", 7, 1_000_000);
        assert!(now.replaces(&word("a:/db", 5, 999_999)) && now.replaces(&word("a:/db", 0, 999_999)));
        assert!(!now.replaces(&word("b:/db", 5, 999_999)) && !now.replaces(&word("", 5, 999_999)));
        assert!(now.replaces(&word("b:/db", 5, 900_000)), "it is of more than a day ago");
        let emptied = word("a:/db", 0, 1_000_000);
        assert!(!emptied.replaces(&word("a:/db", 5, 999_999)) && emptied.replaces(&word("a:/db", 0, 999_999)));
        assert!(
            !word("", 7, 1_000_000).replaces(&word("", 5, 999_999)),
            "a former version"
        );
    }
}
