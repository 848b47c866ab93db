//! From keys of the log to batches for the writer.

use ironbark_directory::{Closed, Received};
use ironbark_store::{Batch, ChangeRecord, ClusterLogPlace, change::Position};

use crate::{
    entry::{self, Content},
    etcd::{
        Etcd, Failure,
        json::{KeyValue, RangeRequest},
    },
    keys::Keys,
    log::Shared,
};

/// Why the log is not followed now.
pub(crate) enum Stop {
    /// It is tried again.
    Failure(Failure),
    /// The database cannot follow it, and this is why.
    Closed(Closed, String),
    /// The log, whose end this is, no longer has what the database lacks: a copy of another server's may replace it.
    TooOld(ClusterLogPlace, String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

pub(crate) fn malformed(key: &str) -> Stop {
    Stop::Closed(Closed::Diverged, format!("{key}: malformed, or of a later version"))
}

/// Hands a batch to the writer. `pair` is a key of the log with its value. Returns the number of its last change, and
/// whether the writer has to apply it: our own comes back, too.
pub(crate) async fn deliver(
    keys: &Keys,
    shared: &Shared,
    etcd: &mut Etcd,
    pair: &KeyValue,
) -> Result<(u64, bool), Stop> {
    let key = String::from_utf8_lossy(&pair.key.0);
    let (chain, content) = entry::read(&pair.value.0).ok_or_else(|| malformed(&key))?;
    let first = keys.number(&pair.key.0).ok_or_else(|| malformed(&key))?;
    let gathered;
    let octets = match content {
        Content::Whole(octets) => octets,
        Content::Parts(mark, count) => {
            gathered = gather(keys, etcd, first, mark, count).await?;
            &gathered
        }
    };
    let batch = Batch::decode(octets).map_err(|error| Stop::Closed(Closed::Diverged, format!("{key}: {error}")))?;
    if batch.first().sequence != first {
        return Err(malformed(&key));
    }
    let before = ClusterLogPlace {
        position: Position {
            generation: batch.first().generation,
            sequence: first - 1,
        },
        chain,
    };
    let received = Received {
        behind: before.behind(octets, batch.last().sequence),
        octets: batch.records.iter().map(ChangeRecord::octets).sum(),
        batch,
    };
    let last = received.behind.position.sequence;
    Ok((last, shared.received(chain, received)))
}

/// Puts the parts of a batch together.
pub(crate) async fn gather(
    keys: &Keys,
    etcd: &mut Etcd,
    first: u64,
    mark: [u8; 16],
    count: u32,
) -> Result<Vec<u8>, Stop> {
    let base = keys.parts(first, mark);
    let mut batch = Vec::new();
    for number in 0..count {
        let name = format!("{base}{number:04x}");
        let found = etcd.range(&RangeRequest::one(&name)).await?;
        let part = found.kvs.into_iter().next().ok_or_else(|| malformed(&name))?;
        batch.extend_from_slice(&part.value.0);
    }
    Ok(batch)
}
