//! Replica digest: the sums by which replicas are compared (`ironbark compare-replicas`).
//!
//! Who may: the rootdn, and identities with `manage` access to the suffix entry. The sums say how many entries there
//! are and whether they change, whatever the access rules of single entries are.

use std::sync::Arc;

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::{
    Operation,
    extended::{
        ExtendedDescriptor,
        replica_digest::{ReplicaDigest, ReplicaDigestRequest},
    },
};
use ironbark_model::Dn;
use ironbark_store::{BucketSums, Location};

use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, Target, WriteCheck},
    admission::check_extended,
    backend::{
        call::Call,
        written::{ExtendedAnswer, Success},
    },
    edit::checks::parse_dn,
    outcome::{completion::Begun, hashing_pool, respond},
    refusal::ExtendedRefusal,
    request::context::RequestContext,
};

/// Begins the operation: the sums are computed on the pool, because all entries may have to be read.
pub(crate) fn start(
    directory: &Arc<Directory>,
    call: &mut Call<'_, '_>,
    row: &ExtendedDescriptor,
    value: Option<&[u8]>,
) -> Result<Begun, OperationError> {
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    let request = ReplicaDigestRequest::decode(value)?;
    let base = parse_dn(&configuration.schema, request.base)?;
    let context = configuration
        .context_of(&base)
        .filter(|context| context.is_suffix(&base));
    let context = Arc::clone(context.ok_or(ExtendedRefusal::NoSuchContext)?);
    check_extended(&context, configuration, row, origin)?;
    require_rights(configuration, &context, origin, &base)?;
    let (directory, origin) = (Arc::clone(directory), origin.clone());
    let pool = Arc::clone(&directory);
    hashing_pool::submit(&pool, &origin.clone(), Operation::Extended, MEMORY, move |reply| {
        let outcome = compute(&context, &|| !reply.is_closed() && origin.stop.stopped().is_none());
        let completion = respond::write_completion(&directory, &origin, Operation::Extended, outcome);
        // The connection may be gone.
        let _ = reply.send(completion);
    })
}

/// The naming context that an operation is about, if the request can be read.
pub(crate) fn subject(configuration: &Configuration, value: Option<&[u8]>) -> Option<Dn> {
    let request = ReplicaDigestRequest::decode(value).ok()?;
    Dn::parse(&configuration.schema, request.base).ok()
}

fn require_rights(
    configuration: &Configuration,
    context: &NamingContext,
    origin: &RequestContext,
    base: &Dn,
) -> Result<(), OperationError> {
    let database = context.database().ok_or(ExtendedRefusal::NoSuchContext)?;
    let requester = Requester::of(configuration, context, origin);
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(base)? else {
        return Err(ExtendedRefusal::NoSuchContext.into());
    };
    let record = view.record(id)?.ok_or(ExtendedRefusal::NoSuchContext)?;
    let check = WriteCheck::on_record(requester, &record, view);
    if check.permits(Target::Entry, Privileges::MANAGE) {
        return Ok(());
    }
    // An entry that may not be known of is answered for like one that is not there.
    if check.permits(Target::Entry, Privileges::DISCLOSE) {
        return Err(ExtendedRefusal::NeedsManage.into());
    }
    Err(ExtendedRefusal::NoSuchContext.into())
}

fn compute(context: &NamingContext, is_wanted: &dyn Fn() -> bool) -> Result<Success, OperationError> {
    let database = context.database().ok_or(ExtendedRefusal::NoSuchContext)?;
    let sums = database
        .bucket_sums(is_wanted)?
        .ok_or(ExtendedRefusal::DigestUnderWay)?;
    Ok(Success {
        extended: ExtendedAnswer {
            value: Some(encoded(&sums)),
            ..ExtendedAnswer::default()
        },
        ..Success::default()
    })
}

fn encoded(sums: &BucketSums) -> Vec<u8> {
    let csns: Vec<u8> = sums.vector.iter().flat_map(ironbark_store::Csn::octets).collect();
    let octets: Vec<u8> = sums.sums.iter().flat_map(|sum| sum.to_be_bytes()).collect();
    let mut value = Vec::new();
    let digest = ReplicaDigest {
        sequence: sums.sequence,
        entries: sums.entries,
        csns: &csns,
        sums: &octets,
    };
    digest.encode(&mut value);
    value
}

/// What the sums and the answer take.
const MEMORY: usize = 256 << 10;
