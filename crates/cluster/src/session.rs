//! One database and its log: reads what is there, watches what comes, and appends what the writer has made.

use std::{sync::Arc, time::Duration};

use ironbark_directory::{Closed, NamingContext, Seat};
use ironbark_runtime::Clock;
use ironbark_store::ClusterLogPlace;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{sleep, timeout},
};

use crate::{
    announce::Announcer,
    append::{Appender, PlaceInLine},
    begin::beginning,
    copy::{Donor, Fetcher, Host},
    deliver::{Stop, deliver},
    entry,
    error::CopyError,
    etcd::{
        Etcd, Failure, Watch,
        json::{Compare, KeyValue, Number, Octets, RangeRequest, Txn, WatchCreate, Watched, behind},
    },
    freshness::Freshness,
    keys::FORMAT,
    known::{mark_lost, refuse_if_known},
    log::{Log, Order},
    membership::{Failures, Membership},
    place,
    trim::Trimmer,
};

/// The longest wait before a copy is asked for again.
const COPY_AGAIN: Duration = Duration::from_mins(1);
/// How often a server that waits for a copy looks whether it needs one.
const LOOK: Duration = Duration::from_secs(2);
/// Keys of the log that are read at once.
const PAGE: i64 = 64;
/// How long a watch may be silent before the end of the log is asked for. The connection may be cut without a word, or
/// the member of etcd have no leader.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);
/// How often a log is begun that is not there then. Another server may delete one meanwhile (`cluster begin`).
const BEGINNINGS: u32 = 3;
/// How long the writer may take nothing of much that waits for it.
const STALLED: Duration = Duration::from_secs(30);

/// A session.
pub(crate) struct Session {
    member: Arc<Membership>,
    context: Arc<NamingContext>,
    host: Arc<dyn Host>,
}

impl Session {
    /// A session for a database.
    pub(crate) fn new(member: Membership, context: Arc<NamingContext>, host: Arc<dyn Host>) -> Self {
        Self {
            member: Arc::new(member),
            context,
            host,
        }
    }

    /// The database as a part of the cluster.
    pub(crate) fn member(&self) -> Arc<Membership> {
        Arc::clone(&self.member)
    }

    /// Serves until it is dropped.
    pub(crate) async fn run(self) {
        let (orders, receiver): (UnboundedSender<Order>, UnboundedReceiver<Order>) = unbounded_channel();
        self.member.seat.take_log(Some(Box::new(Log {
            shared: Arc::clone(&self.member.shared),
            orders,
        })));
        let leaves = Leave(self.member.seat.clone());
        let member = || Arc::clone(&self.member);
        let appender = Appender {
            member: member(),
            etcd: self.member.impatient_etcd(),
            clock: Clock::system(),
            place_in_line: PlaceInLine::default(),
        };
        let context = Arc::clone(&self.context);
        let donor = Donor {
            member: member(),
            context,
        };
        tokio::join!(
            self.follow_for_ever(),
            appender.serve(receiver),
            Trimmer { member: member() }.serve(),
            Announcer { member: member() }.serve(),
            donor.serve(),
            Freshness { member: member() }.serve()
        );
        drop(leaves);
    }

    async fn follow_for_ever(&self) {
        let (mut etcd, mut failures) = (self.member.etcd(), Failures::of(&self.member));
        loop {
            failures.begin();
            let Err(stop) = self.follow(&mut etcd).await;
            match stop {
                Stop::Failure(failure) => failures.wait(format!("{}: {failure}", etcd.member())).await,
                Stop::Closed(closed, why) => {
                    self.member.shared.close(closed);
                    failures.wait(why).await;
                }
                Stop::TooOld(end, why) => {
                    self.member.shared.close(Closed::TooOld);
                    failures.say(why);
                    if let Err(why) = self.copy_or_log(&mut etcd, end).await {
                        failures.wait_longer(format!("no copy: {why}"), COPY_AGAIN).await;
                    }
                }
            }
        }
    }

    /// Gets a copy, and then the session of the new database begins. Or returns when the log has what the database
    /// lacks after all: somebody has mended etcd.
    async fn copy_or_log(&self, etcd: &mut Etcd, end: ClusterLogPlace) -> Result<(), CopyError> {
        let mut copy = std::pin::pin!(self.fetcher().fetch(end));
        loop {
            tokio::select! {
                copied = &mut copy => return copied,
                () = sleep(LOOK) => {
                    let comes = self.member.shared.status("").copied.is_some();
                    if !comes && self.log_has_next(etcd).await.unwrap_or(false) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Whether the log has what the database lacks.
    async fn log_has_next(&self, etcd: &mut Etcd) -> Result<bool, Stop> {
        // Before the log is asked: the writer goes on.
        let place = self.member.shared.place();
        let (tail, _) = self.tail(etcd).await?;
        Self::check(&place, &tail)?;
        let next = self.member.keys.batch(place.position.sequence + 1);
        let found = etcd.range(&RangeRequest::one(&next)).await?;
        let made_for = found.kvs.first().and_then(|pair| entry::read(&pair.value.0));
        Ok(tail == place || made_for.is_some_and(|(chain, _)| chain == place.chain))
    }

    fn fetcher(&self) -> Fetcher {
        Fetcher {
            member: Arc::clone(&self.member),
            context: Arc::clone(&self.context),
            host: Arc::clone(&self.host),
        }
    }

    /// Reads the log, and then what comes.
    async fn follow(&self, etcd: &mut Etcd) -> Result<std::convert::Infallible, Stop> {
        // Before the log is asked: the writer goes on, and may be behind what is read here.
        let place = self.member.shared.place();
        let (tail, revision) = self.tail(etcd).await?;
        Self::check(&place, &tail)?;
        self.read(etcd, &tail).await?;
        let mut watch = etcd
            .watch(WatchCreate {
                key: Octets::from(&self.member.keys.log),
                range_end: behind(&self.member.keys.log),
                start_revision: Number(revision + 1),
                progress_notify: true,
            })
            .await?;
        self.member.shared.joined(&tail);
        self.member.seat.call();
        let (suffix, last) = (&self.member.suffix, tail.position.sequence);
        tracing::info!(target: "any", "cluster: {suffix}: the log is read up to change {last}");
        let (mut parts, mut heard) = (self.member.etcd(), tail.position.sequence);
        loop {
            heard = self.take_next(&mut watch, &mut parts, heard).await?;
        }
    }

    /// Takes what a watch says next. `heard` is the last change that it has told of; that is returned.
    async fn take_next(&self, watch: &mut Watch, parts: &mut Etcd, mut heard: u64) -> Result<u64, Stop> {
        self.wait_for_room().await?;
        let watched = self.watched(watch, parts, heard).await?;
        if watched.canceled {
            let why = format!("the watch has ended: {}", watched.cancel_reason);
            return Err(Failure { was_sent: true, why }.into());
        }
        let mut any = false;
        for event in watched.events.iter().filter(|event| event.kind != "DELETE") {
            let (last, is_news) = deliver(&self.member.keys, &self.member.shared, parts, &event.kv).await?;
            heard = last;
            any |= is_news;
        }
        if any {
            self.member.seat.call();
        }
        Ok(heard)
    }

    /// Waits until the writer has taken some of what waits for it. If it can apply nothing the log is asked again: it
    /// may no longer have what comes next, and then a copy is needed.
    async fn wait_for_room(&self) -> Result<(), Stop> {
        if self.member.shared.wait_for_room(STALLED).await {
            return Ok(());
        }
        let why = "much waits, and nothing of it can be applied; see above".to_owned();
        Err(Failure { was_sent: true, why }.into())
    }

    /// What a watch says next. A watch is given up if it says nothing of a change that the log has had for a while.
    /// `heard` is the last change that it has told of: what refused batches have told of the log does not count.
    async fn watched(&self, watch: &mut Watch, asked: &mut Etcd, heard: u64) -> Result<Watched, Stop> {
        let mut end = 0;
        loop {
            if let Ok(watched) = timeout(SILENCE, watch.next()).await {
                return Ok(watched?);
            }
            if heard < end {
                let why = format!("the watch does not tell of change {end}");
                return Err(Failure { was_sent: true, why }.into());
            }
            // If no member answers, no change can be missed.
            let tail = asked.range(&RangeRequest::one(&self.member.keys.tail)).await;
            let tail = tail.ok().and_then(|found| place::read(&found.kvs.first()?.value.0));
            end = tail.map_or(0, |tail| tail.position.sequence);
        }
    }

    /// The end of the log, and the revision of etcd at which it was read. A log that is not there begins with this
    /// database.
    async fn tail(&self, etcd: &mut Etcd) -> Result<(ClusterLogPlace, i64), Stop> {
        for _ in 0..BEGINNINGS {
            if let Some(tail) = self.read_tail(etcd).await? {
                return Ok(tail);
            }
            self.begin_log(etcd).await?;
        }
        etcd.distrust();
        let why = "it takes the beginning of a log and does not have it then: this is no etcd".to_owned();
        Err(Failure { was_sent: true, why }.into())
    }

    /// The end of the log, if there is one.
    async fn read_tail(&self, etcd: &mut Etcd) -> Result<Option<(ClusterLogPlace, i64)>, Stop> {
        let found = etcd.range(&RangeRequest::one(&self.member.keys.tail)).await?;
        if let Some(pair) = found.kvs.first() {
            let tail = place::read(&pair.value.0)
                .ok_or_else(|| Stop::Closed(Closed::Diverged, format!("{} is malformed", self.member.keys.tail)))?;
            let format = etcd.range(&RangeRequest::one(&self.member.keys.format)).await?;
            if let Some(other) = format.kvs.first().filter(|pair| pair.value.0 != FORMAT.as_bytes()) {
                let other = String::from_utf8_lossy(&other.value.0).into_owned();
                let why = format!("the log has version {other}, and this program knows {FORMAT} alone: upgrade it");
                return Err(Stop::Closed(Closed::Newer, why));
            }
            return Ok(Some((tail, found.header.revision.0)));
        }
        Ok(None)
    }

    /// Lets a log that is not there begin with this database. Another server may do so at the same time.
    async fn begin_log(&self, etcd: &mut Etcd) -> Result<(), Stop> {
        let (keys, place) = (&self.member.keys, self.member.shared.place());
        if !place.is_empty() && self.member.shared.is_of_log() {
            mark_lost(keys, etcd, &place).await?;
            return Err(diverged(
                "etcd has no log, though the database has changes of one: etcd has lost its data, or a backup was \
                 restored; `ironbark cluster begin` begins a new one with this database",
            ));
        }
        refuse_if_known(keys, etcd).await?;
        let txn = Txn {
            compare: vec![Compare::absent(&keys.tail), Compare::absent(&keys.lost)],
            success: beginning(keys, &place)?.into(),
            failure: vec![],
        };
        if etcd.txn(&txn).await?.succeeded {
            tracing::info!(target: "any", "cluster: {}: a new log begins with this database", self.member.suffix);
        }
        Ok(())
    }

    /// Reads the batches that the database lacks.
    async fn read(&self, etcd: &mut Etcd, tail: &ClusterLogPlace) -> Result<(), Stop> {
        let place = self.member.shared.place();
        let mut next = place.position.sequence + 1;
        while next <= tail.position.sequence {
            let page = RangeRequest::from(&self.member.keys.batch(next), &self.member.keys.log, PAGE);
            let page = etcd.range(&page).await?;
            let number = |pair: Option<&KeyValue>| pair.and_then(|pair| self.member.keys.number(&pair.key.0));
            let (first, last) = (number(page.kvs.first()), number(page.kvs.last()));
            let is_next = next > place.position.sequence + 1 || first == Some(next);
            let Some(last) = last.filter(|_| is_next) else {
                return Err(too_old(&place, tail));
            };
            let made_for = page.kvs.first().and_then(|pair| entry::read(&pair.value.0));
            let is_first = next == place.position.sequence + 1;
            if is_first && made_for.is_some_and(|(chain, _)| chain != place.chain) {
                return Err(other_history(&place, tail));
            }
            // Not before it is known that the log still has what comes next.
            self.wait_for_room().await?;
            for pair in &page.kvs {
                deliver(&self.member.keys, &self.member.shared, etcd, pair).await?;
            }
            self.member.seat.call();
            next = last + 1;
            if !page.more {
                break;
            }
        }
        Ok(())
    }

    /// Whether the database can be a part of this log's history, as far as the end of the log says.
    fn check(place: &ClusterLogPlace, tail: &ClusterLogPlace) -> Result<(), Stop> {
        let diverged = |why: &str| Err(diverged(why));
        let (mine, theirs) = (place.position, tail.position);
        if mine.generation != theirs.generation && mine.generation != 0 {
            return diverged("the database belongs to another log: it was restored or filled apart from the cluster");
        }
        if mine.sequence > theirs.sequence {
            return diverged("the log is shorter than the database: etcd has lost changes");
        }
        if mine.sequence == theirs.sequence && place.chain != tail.chain {
            return Err(other_history(place, tail));
        }
        Ok(())
    }
}

fn diverged(why: &str) -> Stop {
    Stop::Closed(Closed::Diverged, why.to_owned())
}

/// The log has not begun with this database.
fn other_history(place: &ClusterLogPlace, tail: &ClusterLogPlace) -> Stop {
    if place.is_empty() {
        return too_old(place, tail);
    }
    diverged("database and log have different changes")
}

/// The log no longer has what the database lacks. It may be replaced if it has nothing, or is a part of this log's
/// history.
fn too_old(place: &ClusterLogPlace, tail: &ClusterLogPlace) -> Stop {
    let next = place.position.sequence + 1;
    let why = format!("the log no longer has change {next}: the database needs a copy of another server's");
    if place.is_empty() || place.position.generation == tail.position.generation {
        return Stop::TooOld(*tail, why);
    }
    let why = format!("{why}; it has entries of its own, and is not replaced: move it away, or restore a copy");
    Stop::Closed(Closed::TooOld, why)
}

/// Takes the log from the writer when the session ends.
struct Leave(Seat);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.take_log(None);
    }
}
