//! Whether a consumer holds what its provider does: both make sums over their entries, and servers with equal context
//! vectors must have equal sums.
//!
//! A consumer compares when the provider is silent: soon after a refresh, and then every five minutes. Messages that
//! come meanwhile do not wait. It needs a provider that is Ironbark and lets it (`manage` access to the suffix entry);
//! otherwise nothing is compared.

use std::{future::pending, pin::Pin, sync::Arc, time::Duration};

use ironbark_client::Client;
use ironbark_directory::{Directory, ReplicaMapping};
use ironbark_ldap_proto::extended::replica_digest::{self, ReplicaDigest, ReplicaDigestRequest};
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn, Database, DitScope};
use tokio::{task::spawn_blocking, time::sleep};

/// Silence before the first comparison after a refresh.
const FIRST: Duration = Duration::from_secs(1);
/// Silence before each further one.
const PERIOD: Duration = Duration::from_mins(5);

/// What a comparison has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Equal,
    /// So many of 4,096 buckets differ.
    Diverged(usize),
    /// One of them had changes meanwhile, or has no time now.
    Unknown,
    /// The provider does not take part.
    Impossible,
}

/// The comparisons of one connection.
pub(crate) struct Comparisons {
    client: Client,
    directory: Arc<Directory>,
    mapping: Arc<ReplicaMapping>,
    /// Silence before the next one. `None`: there is none.
    wait: Option<Duration>,
    /// The one under way.
    running: Option<Pin<Box<dyn Future<Output = Verdict> + Send>>>,
}

impl Comparisons {
    /// Only whole databases are compared.
    pub(crate) fn of(client: &Client, directory: &Arc<Directory>, mapping: &Arc<ReplicaMapping>) -> Self {
        let configuration = directory.configuration();
        let context = configuration.context_of(&mapping.local_base);
        let is_whole = context.is_some_and(|context| context.is_suffix(&mapping.local_base))
            && mapping.filter.is_empty()
            && mapping.scope == DitScope::Subtree;
        Self {
            client: client.clone(),
            directory: Arc::clone(directory),
            mapping: Arc::clone(mapping),
            wait: is_whole.then_some(FIRST),
            running: None,
        }
    }

    /// Waits until the provider has been silent for long enough, and compares. If the future is dropped, the silence
    /// is over; a comparison that has begun goes on with the next future.
    pub(crate) async fn next(&mut self) -> Verdict {
        let running = if let Some(running) = &mut self.running {
            running
        } else {
            match self.wait {
                Some(silence) => sleep(silence).await,
                None => pending().await,
            }
            self.running.insert(self.begin())
        };
        let verdict = running.await;
        self.running = None;
        self.wait = (verdict != Verdict::Impossible).then_some(PERIOD);
        verdict
    }

    fn begin(&self) -> Pin<Box<dyn Future<Output = Verdict> + Send>> {
        let configuration = self.directory.configuration();
        let context = configuration.context_of(&self.mapping.local_base);
        let database = context.and_then(|context| context.database()).map(Arc::clone);
        let (client, mapping) = (self.client.clone(), Arc::clone(&self.mapping));
        Box::pin(async move {
            match database {
                Some(database) => compare(&client, database, &mapping).await,
                None => Verdict::Impossible,
            }
        })
    }
}

async fn compare(client: &Client, database: Arc<Database>, mapping: &ReplicaMapping) -> Verdict {
    let mut request = Vec::new();
    let base = mapping.remote_base.pretty().as_bytes();
    ReplicaDigestRequest { base }.encode(&mut request);
    // A connection that is lost is noticed by the search.
    let Ok(reply) = client.extended(replica_digest::OID, Some(&request), &[]).await else {
        return Verdict::Unknown;
    };
    let value = match (reply.result.code, reply.value) {
        (ResultCode::SUCCESS, Some(value)) => value,
        (ResultCode::BUSY, _) => return Verdict::Unknown,
        _ => return Verdict::Impossible,
    };
    let Ok(theirs) = ReplicaDigest::decode(&value) else {
        return Verdict::Impossible;
    };
    // All entries may have to be read.
    let own = spawn_blocking(move || database.bucket_sums(&|| true)).await;
    let Ok(Ok(Some(own))) = own else {
        return Verdict::Unknown;
    };
    let vector: ContextVector = theirs.csns.as_chunks().0.iter().map(Csn::from_octets).collect();
    if vector != own.vector || vector.is_empty() {
        return Verdict::Unknown;
    }
    let pairs = own.sums.iter().zip(theirs.sums.as_chunks().0);
    match pairs.filter(|(own, theirs)| own.to_be_bytes() != **theirs).count() {
        0 => Verdict::Equal,
        buckets => Verdict::Diverged(buckets),
    }
}
