//! The comparison: all entries once, then again those that differ.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use ironbark_client::{ConnectSettings, SearchEntry};
use ironbark_runtime::Clock;
use ironbark_store::{ContextVector, Csn};
use tokio::{sync::mpsc, task::JoinSet};
use uuid::Uuid;

use super::{
    difference::{Difference, differing},
    listing::{Depth, Line, Replica},
};
use crate::shared::progress::Progress;

/// Servers that are compared.
pub(super) struct Comparison {
    replicas: Vec<Arc<Replica>>,
    depth: Arc<Depth>,
    clock: Clock,
}

/// Entries of one server by UUID: name and line.
type Looked = BTreeMap<[u8; 16], (Line, String)>;

/// What a round has found.
struct Findings {
    /// Entries of each server.
    entries: Vec<u64>,
    vectors: Vec<ContextVector>,
    /// All entries that differ somewhere.
    suspects: BTreeSet<[u8; 16]>,
    /// What each server has of them; of the first ones only, if they are many.
    looked: Vec<Looked>,
}

impl Findings {
    fn of(entries: Vec<u64>, lists: &[Vec<Line>]) -> Self {
        let mut suspects = BTreeSet::new();
        if let Some((first, others)) = lists.split_first() {
            for other in others {
                suspects.extend(differing(first, other));
            }
        }
        Self {
            entries,
            vectors: Vec::new(),
            suspects,
            looked: Vec::new(),
        }
    }
}

impl Comparison {
    /// Connects to all servers.
    ///
    /// # Errors
    /// The message, with the URL.
    pub(super) async fn open(
        urls: &[String],
        base: Option<&str>,
        settings: &ConnectSettings,
        depth: Depth,
    ) -> Result<Self, String> {
        let mut replicas = Vec::with_capacity(urls.len());
        for url in urls {
            replicas.push(Arc::new(Replica::open(url, base, settings).await?));
        }
        Ok(Self {
            replicas,
            depth: Arc::new(depth),
            clock: Clock::system(),
        })
    }

    /// Compares until all are equal, or the time is over, and prints what was found. Returns whether all are equal.
    ///
    /// # Errors
    /// The message: a server cannot be read.
    pub(super) async fn run(&mut self, wait: Duration, names: usize) -> Result<bool, String> {
        let begin = self.clock.monotonic();
        loop {
            let mut findings = match self.compare_digests().await? {
                Some(findings) => findings,
                None => self.list().await?,
            };
            // The listings are not of the same moment: what has changed meanwhile is equal at the second look.
            self.look(&mut findings, names).await?;
            let mut is_over = self.clock.monotonic().saturating_since(begin) >= wait;
            while !findings.suspects.is_empty() && findings.suspects.len() <= MOST_LOOKED && !is_over {
                tokio::time::sleep(PAUSE).await;
                self.look(&mut findings, names).await?;
                is_over = self.clock.monotonic().saturating_since(begin) >= wait;
            }
            if findings.suspects.is_empty() || is_over {
                return self.tell(&findings, names).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Compares sums, and lists only the entries of buckets that differ. `None`: a server does not give sums, they do
    /// not tell enough, or too many differ.
    async fn compare_digests(&self) -> Result<Option<Findings>, String> {
        if self.depth.is_deep {
            return Ok(None);
        }
        let mut digests = Vec::with_capacity(self.replicas.len());
        for replica in &self.replicas {
            let Some(digest) = replica.digest().await? else {
                return Ok(None);
            };
            digests.push(digest);
        }
        let Some((first, others)) = digests.split_first() else {
            return Ok(None);
        };
        let buckets: Vec<usize> = (0..first.sums.len())
            .filter(|bucket| {
                others
                    .iter()
                    .any(|other| other.sums.get(*bucket) != first.sums.get(*bucket))
            })
            .collect();
        if buckets.len() > MOST_BUCKETS {
            return Ok(None);
        }
        let mut lists = Vec::with_capacity(self.replicas.len());
        for replica in &self.replicas {
            lists.push(replica.list_buckets(&buckets, &self.depth).await?);
        }
        let entries = digests.iter().map(|digest| digest.entries).collect();
        println!("sums: {} of {} buckets differ", buckets.len(), first.sums.len());
        Ok(Some(Findings::of(entries, &lists)))
    }

    /// Reads all entries of all servers, at the same time.
    async fn list(&self) -> Result<Findings, String> {
        let progress = Progress::entries(None);
        let (sender, mut counts) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for (number, replica) in self.replicas.iter().enumerate() {
            let (replica, depth, sender) = (Arc::clone(replica), Arc::clone(&self.depth), sender.clone());
            tasks.spawn(async move {
                // The progress may have gone, after an error of another server.
                let mut tell = |count| {
                    let _ = sender.send((number, count));
                };
                Ok::<_, String>((number, replica.list(&depth, &mut tell).await?))
            });
        }
        drop(sender);
        let mut read = vec![0; self.replicas.len()];
        let mut lists = vec![Vec::new(); self.replicas.len()];
        loop {
            tokio::select! {
                Some((number, count)) = counts.recv() => {
                    if let Some(slot) = read.get_mut::<usize>(number) {
                        *slot = count;
                    }
                    progress.set(read.iter().sum());
                }
                ended = tasks.join_next() => {
                    let Some(ended) = ended else { break };
                    let (number, lines) = ended.map_err(|error| error.to_string())??;
                    if let Some(slot) = lists.get_mut::<usize>(number) {
                        *slot = lines;
                    }
                }
            }
        }
        let entries = lists.iter().map(|lines| lines.len() as u64).collect();
        Ok(Findings::of(entries, &lists))
    }

    /// Reads the suspects again. Those that are equal now are none any more. If they are too many, only some are read,
    /// to be named.
    async fn look(&self, findings: &mut Findings, names: usize) -> Result<(), String> {
        let are_many = findings.suspects.len() > MOST_LOOKED;
        let most = if are_many { names } else { usize::MAX };
        let uuids: Vec<[u8; 16]> = findings.suspects.iter().take(most).copied().collect();
        let mut looked = Vec::with_capacity(self.replicas.len());
        for replica in &self.replicas {
            let mut of_replica = Looked::new();
            let mut take = |line: Line, entry: SearchEntry| drop(of_replica.insert(line.uuid, (line, entry.dn)));
            replica.find(&uuids, &self.depth, &mut take).await?;
            looked.push(of_replica);
        }
        if let Some((first, others)) = looked.split_first() {
            for uuid in &uuids {
                let line = |of: &Looked| of.get(uuid).map(|(line, _)| *line);
                if others.iter().all(|other| line(other) == line(first)) {
                    findings.suspects.remove(uuid);
                }
            }
        }
        findings.looked = looked;
        findings.vectors.clear();
        for replica in &self.replicas {
            findings.vectors.push(replica.vector().await?);
        }
        Ok(())
    }

    /// Prints the findings. Returns whether there are none.
    async fn tell(&self, findings: &Findings, names: usize) -> Result<bool, String> {
        let of_servers = self.replicas.iter().zip(&findings.entries).zip(&findings.vectors);
        for ((replica, entries), vector) in of_servers {
            let csns: Vec<String> = vector.iter().map(Csn::text).collect();
            let csns = if csns.is_empty() {
                "none".to_owned()
            } else {
                csns.join(" ")
            };
            println!("{}: {entries} entries, contextCSN {csns}", replica.name);
        }
        let moved = findings.vectors.windows(2).any(|pair| matches!(pair, [a, b] if a != b));
        if findings.suspects.is_empty() {
            println!("equal{}", if moved { ", with different contextCSN" } else { "" });
            return Ok(true);
        }
        if let Some((first, others)) = findings.looked.split_first() {
            for (number, looked) in others.iter().enumerate() {
                self.tell_of_one(findings, first, looked, number + 1, names).await?;
            }
        }
        println!("different: {} entries", findings.suspects.len());
        Ok(false)
    }

    /// Prints how one server differs from the first.
    async fn tell_of_one(
        &self,
        findings: &Findings,
        first: &Looked,
        other: &Looked,
        number: usize,
        names: usize,
    ) -> Result<(), String> {
        let Some(replica) = self.replicas.get(number) else {
            return Ok(());
        };
        let vector = findings.vectors.get(number).cloned().unwrap_or_default();
        let mut counts = BTreeMap::<Difference, u64>::new();
        let (mut told, mut on_the_way) = (0, 0);
        for uuid in &findings.suspects {
            let (left, right) = (first.get(uuid), other.get(uuid));
            let Some(difference) = Difference::of(left.map(|(line, _)| line), right.map(|(line, _)| line)) else {
                continue;
            };
            *counts.entry(difference).or_default() += 1;
            // The change that the replica lacks is one that its vector does not claim to have.
            let is_young = !vector.is_empty() && left.is_some_and(|(line, _)| !vector.covers(line.csn()));
            on_the_way += u64::from(is_young);
            if told == names {
                continue;
            }
            told += 1;
            let name = left.or(right).map(|(_, dn)| dn.as_str()).unwrap_or_default();
            let csn = |side: Option<&(Line, String)>| side.map_or("none".to_owned(), |(line, _)| line.csn().text());
            println!(
                "{}: {difference}: {name} (entryUUID {}, entryCSN {}, here {}){}",
                replica.name,
                Uuid::from_bytes(*uuid),
                csn(left),
                csn(right),
                if is_young { ", not here yet" } else { "" }
            );
            match (difference, right) {
                (Difference::Renamed, Some((_, dn))) => println!("  here: {dn}"),
                (Difference::Unlike, _) => println!("  attributes: {}", self.unlike(*uuid, replica).await?.join(", ")),
                _ => {}
            }
        }
        let parts = Difference::ALL
            .iter()
            .filter_map(|kind| counts.get(kind).map(|count| format!("{count} {kind}")));
        let mut parts: Vec<String> = parts.collect();
        if findings.suspects.len() > MOST_LOOKED {
            parts.push("only some were read again and are counted".to_owned());
        }
        if on_the_way > 0 {
            parts.push(format!("{on_the_way} of them newer than its contextCSN"));
        }
        if parts.is_empty() {
            parts.push("as the first".to_owned());
        }
        println!("{}: {}", replica.name, parts.join(", "));
        Ok(())
    }

    /// The attributes of an entry that differ between the first server and another.
    async fn unlike(&self, uuid: [u8; 16], other: &Replica) -> Result<Vec<String>, String> {
        let mut contents = Vec::new();
        for replica in self.replicas.first().map(Arc::as_ref).into_iter().chain([other]) {
            let mut content = BTreeMap::new();
            let mut take = |_: Line, entry: SearchEntry| content = self.depth.content(&entry);
            replica.find(&[uuid], &self.depth, &mut take).await?;
            contents.push(content);
        }
        let names: BTreeSet<&String> = contents.iter().flat_map(BTreeMap::keys).collect();
        let [left, right] = contents.as_slice() else {
            return Ok(Vec::new());
        };
        let unlike = names.into_iter().filter(|name| left.get(*name) != right.get(*name));
        Ok(unlike.cloned().collect())
    }
}

/// Buckets of which entries are listed; of more, all entries are.
const MOST_BUCKETS: usize = 256;
/// Entries that are read again; of more only some are.
const MOST_LOOKED: usize = 10_000;
/// Between two looks at what differs.
const PAUSE: Duration = Duration::from_millis(500);
