//! Appending to the log.

use std::sync::Arc;

use ironbark_directory::Append;
use ironbark_runtime::{Clock, MonotonicTime};
use ironbark_store::ClusterLogPlace;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Duration, sleep},
};

use crate::{
    deliver::deliver,
    entry::{self, Content, PART},
    etcd::{
        Etcd, Failure,
        json::{Compare, KeyValue, Octets, Operation, RangeRequest, Txn},
    },
    log::{AppendOrder, Order, ServerId},
    membership::Membership,
    place,
};

/// Batches that come with a refusal.
const WITH_REFUSAL: i64 = 16;
/// The wait before a batch is sent again.
const AGAIN: Duration = Duration::from_millis(100);

/// The part of a session that appends.
pub(crate) struct Appender {
    pub(crate) member: Arc<Membership>,
    pub(crate) etcd: Etcd,
    pub(crate) clock: Clock,
    pub(crate) place_in_line: PlaceInLine,
}

/// This server's key among those that wait. Each time that it takes a place, it has another number, since etcd does
/// not take an end and a beginning of one key at once.
#[derive(Default)]
pub(crate) struct PlaceInLine {
    number: u64,
    is_held: bool,
}

/// What has become of one attempt.
enum Attempt {
    Ended(Append),
    Again(Failure),
}

impl Appender {
    /// Serves until the log is taken from the writer.
    pub(crate) async fn serve(mut self, mut orders: UnboundedReceiver<Order>) {
        while let Some(order) = orders.recv().await {
            let order = match order {
                Order::Append(order) => order,
                Order::End { begun, patience, reply } => {
                    if !self.is_late(begun, patience) {
                        // The writer may have given up.
                        let _ = reply.send(self.end(begun, patience).await);
                    }
                    continue;
                }
            };
            if !order.batch.is_empty() {
                self.member.shared.go_slowly().await;
            }
            // Whoever waited for it has given up, or is about to.
            let end = if self.is_late(order.begun, order.patience) {
                Append::Away
            } else {
                self.append(&order).await
            };
            if !order.batch.is_empty() {
                self.member.shared.count(end);
            }
            // The writer may have given up.
            let _ = order.reply.send(end);
        }
    }

    /// Whether an order has waited longer than its writer does.
    fn is_late(&self, begun: MonotonicTime, patience: Duration) -> bool {
        self.clock.monotonic().saturating_since(begun) >= patience
    }

    /// Appends until it is known what has become of it, or time is up. An attempt may be repeated: the log takes a
    /// batch once.
    async fn append(&mut self, order: &AppendOrder) -> Append {
        let mut was_sent = false;
        loop {
            let attempt = if order.batch.is_empty() {
                self.confirm(order).await
            } else {
                self.attempt(order, was_sent).await
            };
            let failure = match attempt {
                Attempt::Ended(end) => return end,
                Attempt::Again(failure) => failure,
            };
            self.member.shared.count_failure();
            was_sent |= failure.was_sent;
            let waited = self.clock.monotonic().saturating_since(order.begun);
            if waited + AGAIN > order.patience {
                tracing::warn!(target: "any", "cluster: appending change {}: {failure}", order.last);
                return if was_sent { Append::Unknown } else { Append::Away };
            }
            sleep(AGAIN).await;
        }
    }

    /// The end of the log, which a majority of etcd confirms. What the database lacks is delivered: the watch may be
    /// slow, or cut.
    async fn end(&mut self, begun: MonotonicTime, patience: Duration) -> Option<ClusterLogPlace> {
        loop {
            let next = self.member.keys.batch(self.member.shared.place().position.sequence + 1);
            let txn = Txn {
                success: vec![
                    Operation::Range(RangeRequest::one(&self.member.keys.tail)),
                    Operation::Range(RangeRequest::from(&next, &self.member.keys.log, WITH_REFUSAL)),
                ],
                ..Txn::default()
            };
            let found = self.etcd.txn(&txn).await.unwrap_or_default();
            let end = found.range(0).first().and_then(|pair| place::read(&pair.value.0));
            if let Some(end) = end {
                for pair in found.range(1) {
                    if deliver(&self.member.keys, &self.member.shared, &mut self.etcd, pair)
                        .await
                        .is_err()
                    {
                        break;
                    }
                }
                self.member.shared.reaches(end.position.sequence);
                return Some(end);
            }
            self.member.shared.count_failure();
            if self.clock.monotonic().saturating_since(begun) + AGAIN > patience {
                return None;
            }
            sleep(AGAIN).await;
        }
    }

    async fn attempt(&mut self, order: &AppendOrder, was_sent: bool) -> Attempt {
        let absent = self.member.shared.absent();
        let mut value = entry::encode(order.place.chain, Content::Whole(&order.batch));
        if order.batch.len() > PART {
            match self.put_parts(order).await {
                Ok(content) => value = entry::encode(order.place.chain, content),
                // Parts alone are no change.
                Err(failure) => {
                    return Attempt::Again(Failure {
                        was_sent: false,
                        ..failure
                    });
                }
            }
        }
        let (keys, first) = (&self.member.keys, order.place.position.sequence + 1);
        let behind = order.place.behind(&order.batch, order.last);
        let log = keys.batch(first);
        let (own, next) = (self.wanted(0), self.wanted(1));
        let mut success = vec![
            Operation::put(&log, Octets(value)),
            Operation::put(&keys.tail, &place::text(&behind)),
            Operation::delete(&own),
        ];
        if order.has_more {
            success.push(Operation::put(&next, ""));
        }
        success.push(Operation::Range(RangeRequest::by_age(&keys.want)));
        success.extend(absent.iter().map(|server| Operation::delete_all(&keys.wants(*server))));
        let txn = Txn {
            compare: vec![Compare::value(&keys.tail, &place::text(&order.place))],
            success,
            failure: vec![
                Operation::Range(RangeRequest::from(&log, &keys.log, WITH_REFUSAL)),
                Operation::put(&own, ""),
                Operation::Range(RangeRequest::by_age(&keys.want)),
            ],
        };
        let answer = match self.etcd.txn(&txn).await {
            Ok(answer) => answer,
            Err(failure) => return Attempt::Again(failure),
        };
        if answer.succeeded {
            self.place_in_line = PlaceInLine {
                number: self.place_in_line.number + 1,
                is_held: order.has_more,
            };
            self.member
                .shared
                .come_before(self.servers(answer.range(0), Some(self.member.shared.id)));
            self.member.shared.forgotten(&absent);
            return Attempt::Ended(Append::Committed);
        }
        self.place_in_line.is_held = true;
        let batches = answer.range(0).to_vec();
        self.member
            .shared
            .come_before(self.servers(answer.range(1), Some(self.member.shared.id)));
        Attempt::Ended(self.refused(order, &batches, was_sent).await)
    }

    /// The key of this server's place among those that wait, or of one of the next.
    fn wanted(&self, further: u64) -> String {
        self.member
            .keys
            .want(self.member.shared.id, self.place_in_line.number + further)
    }

    /// Whether the place is still the end of the log.
    async fn confirm(&mut self, order: &AppendOrder) -> Attempt {
        let keys = &self.member.keys;
        let next = keys.batch(order.place.position.sequence + 1);
        let leaves = self.place_in_line.is_held.then(|| Operation::delete(&self.wanted(0)));
        let txn = Txn {
            compare: vec![Compare::value(&keys.tail, &place::text(&order.place))],
            success: leaves.into_iter().collect(),
            failure: vec![Operation::Range(RangeRequest::from(&next, &keys.log, WITH_REFUSAL))],
        };
        match self.etcd.txn(&txn).await {
            Ok(answer) if answer.succeeded => {
                self.place_in_line.is_held = false;
                Attempt::Ended(Append::Committed)
            }
            Ok(answer) => {
                let batches = answer.range(0).to_vec();
                Attempt::Ended(self.refused(order, &batches, false).await)
            }
            Err(failure) => Attempt::Again(failure),
        }
    }

    /// Another batch is behind the place, or an earlier attempt of the same one.
    async fn refused(&mut self, order: &AppendOrder, batches: &[KeyValue], was_sent: bool) -> Append {
        let first = self.member.keys.batch(order.place.position.sequence + 1);
        let own = entry::mark(&order.batch);
        let at_place = batches.first().filter(|pair| pair.key.0 == first.as_bytes());
        let found = at_place.and_then(|pair| match entry::read(&pair.value.0)?.1 {
            Content::Whole(batch) => entry::mark(batch),
            Content::Parts(mark, _) => Some(mark),
        });
        if found.is_some() && found == own {
            return Append::Committed;
        }
        for pair in batches {
            // What does not come here comes by the watch.
            if deliver(&self.member.keys, &self.member.shared, &mut self.etcd, pair)
                .await
                .is_err()
            {
                break;
            }
        }
        self.member.seat.call();
        if at_place.is_some() {
            return Append::Overtaken;
        }
        // The end of the log is elsewhere, and the log does not tell how it came there.
        if was_sent { Append::Unknown } else { Append::Away }
    }

    async fn put_parts(&mut self, order: &AppendOrder) -> Result<Content<'static>, Failure> {
        let mark = entry::mark(&order.batch).unwrap_or_default();
        let base = self.member.keys.parts(order.place.position.sequence + 1, mark);
        let mut count = 0;
        for part in order.batch.chunks(PART) {
            if self.is_late(order.begun, order.patience) {
                return Err(Failure {
                    was_sent: false,
                    why: "its parts take too long".to_owned(),
                });
            }
            let txn = Txn {
                success: vec![Operation::put(&format!("{base}{count:04x}"), part)],
                ..Txn::default()
            };
            self.etcd.txn(&txn).await?;
            count += 1;
        }
        Ok(Content::Parts(mark, count))
    }

    /// The servers that wait, before `last`.
    fn servers(&self, keys: &[KeyValue], last: Option<ServerId>) -> Vec<ServerId> {
        let servers = keys.iter().filter_map(|pair| self.member.keys.server(&pair.key.0));
        servers
            .take_while(|server| Some(*server) != last)
            .filter(|server| *server != self.member.shared.id)
            .collect()
    }
}
