//! The beginning of a write's change record: the author and, if the database is followed, the request.

use ironbark_ldap_proto::controls::REGISTRY;
use ironbark_store::{
    ChangeKind, ChangeRecord, Csn,
    change::{RequestFacts, RequestedControl},
};

use crate::{Directory, NamingContext, request::context::RequestContext, stamp::Stamp};

/// The record of a write, without effects. If nobody follows the database, the parts for followers are left out.
pub(crate) fn begin(
    directory: &Directory,
    context: &NamingContext,
    origin: &RequestContext,
    stamp: &Stamp,
    kind: ChangeKind,
) -> ChangeRecord {
    let identity = &origin.identity;
    let record = ChangeRecord {
        csn: Csn::parse(stamp.csn.as_bytes()).unwrap_or_default(),
        kind,
        ..ChangeRecord::default()
    };
    if !context.keeps_log() {
        return record;
    }
    ChangeRecord {
        author: identity.dn.pretty().into(),
        authenticated: identity
            .authentication_dn
            .as_ref()
            .unwrap_or(&identity.dn)
            .pretty()
            .into(),
        unix_micros: directory.clock().now().unix_micros(),
        request: Some(RequestFacts {
            connection: origin.connection,
            operation: origin.operation,
            peer_name: (&*origin.peer.name).into(),
            controls: controls_of(origin),
        }),
        ..record
    }
}

fn controls_of(origin: &RequestContext) -> Vec<RequestedControl> {
    REGISTRY
        .iter()
        .filter(|row| origin.has_control(row.kind))
        .map(|row| RequestedControl {
            oid: row.descriptor.oid.into(),
            critical: origin.critical_controls.contains(row.kind),
        })
        .collect()
}
