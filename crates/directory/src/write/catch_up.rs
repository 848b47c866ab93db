//! Commits what a partner has and the database lacks: changes that other servers have made.

use std::sync::Arc;

use ironbark_store::{Applied, ChangeRecord, WriteTransaction};

use super::{commit::log_mode, partner::Missing, site::Site};
use crate::{
    NamingContext, OperationError,
    backend::{
        queue::{Outcome, Queued, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    refusal::Failure,
};

/// Commits a part of what partners have and the database lacks. If there is more, the writer is told so.
///
/// # Errors
/// As [`CommitPartner::missing`](super::partner::CommitPartner::missing) and
/// [`applied`](super::partner::CommitPartner::applied).
pub(super) fn catch_up(site: &mut Site) -> Result<(), OperationError> {
    let Some((partner, missing)) = site.partners.missing(&site.database)? else {
        return Ok(());
    };
    let outcome = apply(site, &missing);
    site.partners.applied(partner, &missing, outcome)?;
    site.flusher.written(missing.octets);
    site.flush_when_due();
    if let Some(writer) = site.served.context.backend.own_writer().filter(|_| missing.has_more) {
        writer.received();
    }
    Ok(())
}

fn apply(site: &mut Site, missing: &Missing) -> Result<(), OperationError> {
    let mut transaction = site.database.write()?;
    transaction.log(log_mode(&site.served.context));
    let mut ended = Vec::new();
    for record in missing.batches.iter().flat_map(|one| &one.batch.records) {
        site.directory.follow_csn(record.csn);
        if transaction.apply(record)? == Applied::Now {
            ended.push(Foreign::ended(record));
        }
    }
    transaction.put_chain(missing.behind.chain)?;
    site.followers.put_places(&mut transaction)?;
    transaction.commit()?;
    let last = missing.behind.position.sequence;
    site.followers.committed(Some(last));
    site.partners.committed(last);
    site.followers.conclude(&site.served.context, ended);
    Ok(())
}

/// A change that another server has made. Followers get it like a write of this one.
pub(super) struct Foreign;

impl Foreign {
    fn ended(record: &ChangeRecord) -> (Queued, Outcome) {
        let executed = Executed {
            record: record.clone(),
            lifts_restriction: false,
            has_notes: false,
        };
        (
            Queued::of_server(Box::new(Self)),
            Outcome::Done(Success::default(), executed),
        )
    }
}

impl WriteTask for Foreign {
    fn octets(&self) -> usize {
        0
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, _: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        Err(OperationError::from(Failure::Unexpected).into())
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, _: Outcome) {}

    fn answer(self: Box<Self>, _: OperationError) {}
}
