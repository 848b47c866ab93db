//! Whether a consumer holds what its provider does: both make sums over their entries, and servers with equal context
//! vectors must have equal sums.
//!
//! A consumer compares when the provider is silent: soon after a refresh, and then every five minutes. It needs a
//! provider that is Ironbark and lets it (`manage` access to the suffix entry); otherwise nothing is compared.

use std::{sync::Arc, time::Duration};

use ironbark_client::Client;
use ironbark_directory::{Directory, ReplicaMapping};
use ironbark_ldap_proto::extended::replica_digest::{self, ReplicaDigest, ReplicaDigestRequest};
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn, Database, Scope};
use tokio::task::spawn_blocking;

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
    /// Silence before the next one. `None`: there is none.
    wait: Option<Duration>,
}

impl Comparisons {
    /// Only whole databases are compared.
    pub(crate) fn of(directory: &Directory, mapping: &ReplicaMapping) -> Self {
        let configuration = directory.configuration();
        let context = configuration.context_of(&mapping.local_base);
        let is_whole = context.is_some_and(|context| context.is_suffix(&mapping.local_base))
            && mapping.filter.is_empty()
            && mapping.scope == Scope::Subtree;
        Self {
            wait: is_whole.then_some(FIRST),
        }
    }

    /// How long the provider must be silent.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Compares.
    pub(crate) async fn compare(
        &mut self,
        client: &Client,
        directory: &Directory,
        mapping: &ReplicaMapping,
    ) -> Verdict {
        let configuration = directory.configuration();
        let context = configuration.context_of(&mapping.local_base);
        let database = context.and_then(|context| context.database()).map(Arc::clone);
        let verdict = match database {
            Some(database) => compare(client, database, mapping).await,
            None => Verdict::Impossible,
        };
        self.wait = (verdict != Verdict::Impossible).then_some(PERIOD);
        verdict
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
