//! Reading the newest tree, and putting another one in its place.

use std::sync::Arc;

use ironbark_directory::{Append, Closed, CommonTree};
use ironbark_runtime::Clock;
use ironbark_store::ClusterLogPlace;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Duration, sleep},
};

use super::log::{Newest, Order, PutOrder};
use crate::{
    deliver::{Stop, gather, malformed},
    entry::{self, Content, PART},
    etcd::{
        Etcd, Failure,
        json::{Compare, KeyValue, Octets, Operation, RangeRequest, Txn, TxnResponse},
    },
    keys::{FORMAT, Keys},
    known::{mark_lost, refuse_if_known},
    membership::Membership,
    place,
};

/// The wait before a request is repeated.
const AGAIN: Duration = Duration::from_millis(100);

/// Reads the newest tree, unless it is the one that was read before. Returns the revision of etcd at which it was read.
pub(super) async fn read(keys: &Keys, newest: &Newest, etcd: &mut Etcd) -> Result<(CommonTree, i64), Stop> {
    // Before etcd is asked: the tree goes on, and may be behind what is read here.
    let mine = newest.shared.place();
    let found = etcd.range(&RangeRequest::one(&keys.tail)).await?;
    let revision = found.header.revision.0;
    let tail = match found.kvs.first() {
        None if !mine.is_empty() => {
            mark_lost(keys, etcd, &mine).await?;
            return Err(lost());
        }
        None => {
            refuse_if_known(keys, etcd).await?;
            return Ok((CommonTree::Absent, revision));
        }
        Some(pair) => place::read(&pair.value.0).ok_or_else(|| malformed(&keys.tail))?,
    };
    check(&mine, &tail)?;
    if newest.place() == Some(tail) {
        return Ok((newest.read_last(), revision));
    }
    let one = |key: &str| Operation::Range(RangeRequest::one(key));
    let txn = Txn {
        success: vec![one(&keys.tail), one(&keys.tree), one(&keys.format)],
        ..Txn::default()
    };
    let found = etcd.txn(&txn).await?;
    let format = found.range(2).first().map(|pair| pair.value.0.as_slice());
    if let Some(other) = format.filter(|format| *format != FORMAT.as_bytes()) {
        let other = String::from_utf8_lossy(other);
        let why = format!("cn=config has version {other}, and this program knows {FORMAT} alone: upgrade it");
        return Err(Stop::Closed(Closed::Newer, why));
    }
    let revision = found.header.revision.0;
    let tree = taken(keys, etcd, found.range(0), found.range(1)).await?;
    Ok((admitted(&mine, tree)?, revision))
}

/// The tree, if this server may take it.
fn admitted(mine: &ClusterLogPlace, tree: CommonTree) -> Result<CommonTree, Stop> {
    match &tree {
        CommonTree::At(place, _) => check(mine, place)?,
        CommonTree::Absent if !mine.is_empty() => return Err(lost()),
        CommonTree::Absent | CommonTree::Closed(_) => {}
    }
    Ok(tree)
}

fn lost() -> Stop {
    diverged(
        "etcd has no configuration, though this server has one of a cluster: etcd has lost its data; `ironbark cluster \
         begin` puts that of this server there",
    )
}

fn diverged(why: &str) -> Stop {
    Stop::Closed(Closed::Diverged, why.to_owned())
}

/// Whether the configuration of this server can be an earlier one of the cluster's.
fn check(mine: &ClusterLogPlace, theirs: &ClusterLogPlace) -> Result<(), Stop> {
    if mine.is_empty() {
        return Ok(());
    }
    let (here, there) = (mine.position, theirs.position);
    if here.generation != there.generation {
        return Err(diverged(
            "the configuration is that of another cluster: remove its line `cluster` first, and then add it again",
        ));
    }
    if here.sequence > there.sequence || (here.sequence == there.sequence && mine.chain != theirs.chain) {
        return Err(diverged(
            "the configuration of this server is not an earlier one of the cluster's: etcd has lost changes; `ironbark \
             cluster begin --replace-log` puts that of this server there",
        ));
    }
    Ok(())
}

/// The tree of these two keys.
async fn taken(keys: &Keys, etcd: &mut Etcd, tail: &[KeyValue], tree: &[KeyValue]) -> Result<CommonTree, Stop> {
    let Some(tail) = tail.first() else {
        return Ok(CommonTree::Absent);
    };
    let place = place::read(&tail.value.0).ok_or_else(|| malformed(&keys.tail))?;
    let value = tree.first().map(|pair| pair.value.0.as_slice());
    let read = value.and_then(entry::read).filter(|(chain, _)| *chain == place.chain);
    let (_, content) = read.ok_or_else(|| malformed(&keys.tree))?;
    let text = match content {
        Content::Whole(text) => text.to_vec(),
        Content::Parts(mark, count) => {
            let gathered = gather(keys, etcd, place.position.sequence, mark, count).await;
            // They are deleted with the next change: then the newest tree is another one.
            gathered.map_err(|_| Failure {
                was_sent: true,
                why: "parts of the tree are missing".to_owned(),
            })?
        }
    };
    Ok(CommonTree::At(place, text.into()))
}

/// The part of a session that the tree in memory gives orders to.
pub(super) struct Putter {
    pub(super) member: Arc<Membership>,
    pub(super) newest: Arc<Newest>,
    pub(super) etcd: Etcd,
    pub(super) clock: Clock,
}

/// What has become of one attempt.
enum Attempt {
    Ended(Append),
    Again(Failure),
}

impl Putter {
    /// Serves until nobody gives orders.
    pub(super) async fn serve(mut self, mut orders: UnboundedReceiver<Order>) {
        while let Some(order) = orders.recv().await {
            // The other side may have given up.
            match order {
                Order::Ask { reply } => _ = reply.send(self.ask().await),
                Order::Put(mut order) => {
                    let put = self.put(&mut order).await;
                    self.newest.shared.count(put.0);
                    _ = order.reply.send(put);
                }
            }
        }
    }

    /// The newest tree, as a majority of etcd has it.
    async fn ask(&mut self) -> CommonTree {
        let begun = self.clock.monotonic();
        loop {
            if let Some(closed) = self.newest.shared.closed() {
                return CommonTree::Closed(closed);
            }
            let failure = match read(&self.member.keys, &self.newest, &mut self.etcd).await {
                Ok((tree, _)) => {
                    self.newest.set(tree.clone());
                    return tree;
                }
                // The session sees it too, and says so.
                Err(Stop::Closed(closed, _)) => return CommonTree::Closed(closed),
                Err(Stop::TooOld(..)) => return CommonTree::Closed(Closed::Diverged),
                Err(Stop::Failure(failure)) => failure,
            };
            if !self.may_go_on(begun, &failure).await {
                return CommonTree::Closed(Closed::Late);
            }
        }
    }

    /// Whether there is time for another attempt; it waits for that.
    async fn may_go_on(&self, begun: ironbark_runtime::MonotonicTime, failure: &Failure) -> bool {
        self.newest.shared.count_failure();
        let waited = self.clock.monotonic().saturating_since(begun);
        if waited + AGAIN > self.newest.shared.patience() {
            tracing::warn!(target: "any", "cluster: cn=config: {failure}");
            return false;
        }
        sleep(AGAIN).await;
        true
    }

    /// Puts a tree until it is known what has become of it, or time is up. The comparison takes it once.
    async fn put(&mut self, order: &mut PutOrder) -> (Append, ClusterLogPlace) {
        let Ok(before) = place::with_generation(order.place) else {
            return (Append::Away, order.place);
        };
        // A comment that no other tree has: two servers may put the same at the same time.
        let mark = u128::from_be_bytes(self.newest.shared.mark());
        order.text.splice(0..0, format!("# {mark:032x}\n").into_bytes());
        let behind = before.behind(&order.text, before.position.sequence + 1);
        let (begun, mut was_sent) = (self.clock.monotonic(), false);
        loop {
            let failure = match self.attempt(order, behind, was_sent).await {
                Attempt::Ended(end) => return (end, behind),
                Attempt::Again(failure) => failure,
            };
            was_sent |= failure.was_sent;
            if !self.may_go_on(begun, &failure).await {
                let end = if was_sent { Append::Unknown } else { Append::Away };
                return (end, behind);
            }
        }
    }

    async fn attempt(&mut self, order: &PutOrder, behind: ClusterLogPlace, was_sent: bool) -> Attempt {
        let expected = Some(order.place).filter(|place| place.position.generation != 0);
        let mark = self.newest.shared.mark();
        let refused = match put_once(&self.member.keys, &mut self.etcd, expected, behind, mark, &order.text).await {
            Ok(None) => return Attempt::Ended(Append::Committed),
            Ok(Some(refused)) => refused,
            Err(failure) => return Attempt::Again(failure),
        };
        let read = taken(&self.member.keys, &mut self.etcd, refused.range(0), refused.range(1)).await;
        // If etcd has lost its data meanwhile, the session says so.
        let Ok(tree) = read.and_then(|tree| admitted(&self.newest.shared.place(), tree)) else {
            return Attempt::Ended(Append::Unknown);
        };
        self.newest.set(tree.clone());
        self.member.seat.call();
        Attempt::Ended(match tree {
            // An earlier attempt came through.
            CommonTree::At(place, _) if place == behind => Append::Committed,
            // It may have been replaced already.
            CommonTree::At(place, _) if was_sent && place.position.sequence > behind.position.sequence => {
                Append::Unknown
            }
            _ => Append::Overtaken,
        })
    }
}

/// Puts a tree behind the place that is expected there (`None`: there is no tree). The answer to a refusal has what is
/// at `/tail` and `/tree`.
pub(super) async fn put_once(
    keys: &Keys,
    etcd: &mut Etcd,
    expected: Option<ClusterLogPlace>,
    behind: ClusterLogPlace,
    mark: [u8; 16],
    text: &[u8],
) -> Result<Option<TxnResponse>, Failure> {
    let sequence = behind.position.sequence;
    let mut value = entry::encode(behind.chain, Content::Whole(text));
    if text.len() > PART {
        // Parts alone are no change.
        let put = put_parts(keys, etcd, sequence, mark, text).await;
        let count = put.map_err(|failure| Failure {
            was_sent: false,
            ..failure
        })?;
        value = entry::encode(behind.chain, Content::Parts(mark, count));
    }
    let (parts, parts_end) = keys.parts_before(sequence);
    let compare = match expected {
        None => Compare::absent(&keys.tail),
        Some(place) => Compare::value(&keys.tail, &place::text(&place)),
    };
    let one = |key: &str| Operation::Range(RangeRequest::one(key));
    let txn = Txn {
        compare: vec![compare],
        success: vec![
            Operation::put(&keys.tree, Octets(value)),
            Operation::put(&keys.tail, &place::text(&behind)),
            Operation::put(&keys.format, FORMAT),
            Operation::delete_range(&parts, &parts_end),
            Operation::delete(&keys.lost),
        ],
        failure: vec![one(&keys.tail), one(&keys.tree)],
    };
    let answer = etcd.txn(&txn).await?;
    Ok((!answer.succeeded).then_some(answer))
}

/// Writes a text in parts. Returns how many there are.
async fn put_parts(keys: &Keys, etcd: &mut Etcd, sequence: u64, mark: [u8; 16], text: &[u8]) -> Result<u32, Failure> {
    let base = keys.parts(sequence, mark);
    let mut count = 0;
    for part in text.chunks(PART) {
        let txn = Txn {
            success: vec![Operation::put(&format!("{base}{count:04x}"), part)],
            ..Txn::default()
        };
        etcd.txn(&txn).await?;
        count += 1;
    }
    Ok(count)
}
