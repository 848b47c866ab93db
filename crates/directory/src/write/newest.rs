//! Reads of a database of a cluster that must not be old: those with the control *don't use copy* (RFC 6171).
//!
//! Such a request is held. Its place in the writer's queue makes sure that the database has all that the log had when
//! the request came: what is missing is applied, and a majority of etcd confirms that there is no more. All that wait
//! share one confirmation.
//!
//! Nothing is read meanwhile, so nothing is told but that the log answers. As a write, it takes room in the queue.
//!
//! With `age`, reads without the control are refused while the database may be older than that.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_model::Dn;
use ironbark_runtime::Claimant;
use ironbark_store::WriteTransaction;
use tokio::sync::oneshot;

use crate::{
    Configuration, NamingContext, OperationError,
    backend::{
        in_memory::Governor,
        queue::{Outcome, Served, WriteTask, WriterHandle},
        written::{Executed, Refusal, Success},
    },
    outcome::given::Answer,
    overlay::{Decision, IncomingRequest, Overlay, RequestHooks},
    refusal::ClusterRefusal,
    request::identity::ConnectionSource,
    result::OperationResult,
};

/// Octets that such a request counts for in the queue.
const OCTETS: usize = 256;

/// Holds reads that must not be old.
struct Newest;

/// What acts in a database of a cluster before its overlays.
pub(crate) fn newest() -> Arc<Overlay> {
    Arc::new(Overlay {
        requests: Some(Arc::new(Newest)),
        ..Overlay::new("cluster")
    })
}

impl RequestHooks for Newest {
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision {
        let backend = &request.context.backend;
        let Some(writer) = backend.own_writer().or(backend.tree_writer()) else {
            return Decision::Continue;
        };
        if request.controls.dont_use_copy.is_none() {
            return bounded(request, writer);
        }
        let (reply, decided) = oneshot::channel();
        let suffix = request.context.suffixes().first().cloned().unwrap_or_default();
        let claimant = request.origin.claimant();
        match writer.submit(Box::new(Wait {
            claimant,
            suffix,
            reply,
        })) {
            Ok(()) => Decision::Elsewhere(decided),
            Err((error, _)) => refusal(error),
        }
    }
}

/// The operations whose answer is about what the database has.
const READS: [Operations; 3] = [Operations::BIND, Operations::COMPARE, Operations::SEARCH];

/// Refuses a read if the database may be older than its settings allow.
fn bounded(request: &IncomingRequest<'_>, writer: &WriterHandle) -> Decision {
    let cluster = request.context.settings.cluster.as_ref();
    let Some(age) = cluster.and_then(|cluster| cluster.age) else {
        return Decision::Continue;
    };
    let is_fresh = || writer.log().get().is_some_and(|log| !log.may_be_older_than(age));
    if !READS.contains(&request.kind()) || is_fresh() {
        return Decision::Continue;
    }
    refusal(ClusterRefusal::Old.into())
}

fn refusal(error: OperationError) -> Decision {
    Decision::Answer(Box::new(Answer::from(OperationResult::from(error))))
}

/// A place in the writer's queue.
struct Wait {
    claimant: Claimant<ConnectionSource>,
    suffix: Dn,
    reply: oneshot::Sender<Decision>,
}

impl WriteTask for Wait {
    fn octets(&self) -> usize {
        OCTETS
    }

    fn claimant(&self) -> Claimant<ConnectionSource> {
        self.claimant
    }

    fn taken(&mut self, _: u64) {}

    fn reads_newest(&self) -> bool {
        true
    }

    fn execute(&self, _: &Served, _: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        Ok((Success::default(), Executed::default()))
    }

    fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        let context = configuration.context_of(&self.suffix);
        Ok(Served {
            configuration: Arc::clone(configuration),
            context: Arc::clone(context.ok_or(ClusterRefusal::NotJoined)?),
        })
    }

    fn execute_in_memory(&self, served: &Served, _: &dyn Governor) -> Result<(Success, Executed), OperationError> {
        if let Some(tree) = served.context.tree() {
            tree.confirm(&served.configuration)?;
        }
        Ok((Success::default(), Executed::default()))
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let decision = match outcome {
            Outcome::Done(..) | Outcome::Returned(_) => Decision::Continue,
            Outcome::Refused(error) => refusal(error),
        };
        // The client may be gone.
        let _ = self.reply.send(decision);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(refusal(error));
    }
}
