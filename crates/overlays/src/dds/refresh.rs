//! The refresh operation (RFC 2589 §4).

use std::sync::Arc;

use ironbark_directory::{
    Modification, ModificationKind, OperationError, edit,
    overlay::{Execution, ExtendedHooks, ExtendedWrite},
};
use ironbark_ldap_proto::extended::refresh::{self, RefreshRequest};
use ironbark_model::{Dn, Schema};

use super::{Dds, refusal::DdsRefusal, write::expiry};

/// The operation.
pub(super) struct Refresh(pub(super) Arc<Dds>);

/// A request.
struct Request {
    dds: Arc<Dds>,
    dn: Dn,
    ttl_s: u64,
}

impl ExtendedHooks for Refresh {
    fn oid(&self) -> &'static str {
        refresh::OID
    }

    fn read(&self, schema: &Schema, value: Option<&[u8]>) -> Result<Box<dyn ExtendedWrite>, OperationError> {
        let request = RefreshRequest::decode(value)?;
        let dn = Dn::parse(schema, request.entry).map_err(|_| DdsRefusal::InvalidDn)?;
        Ok(Box::new(Request {
            dds: Arc::clone(&self.0),
            dn,
            ttl_s: u64::try_from(request.ttl_s).unwrap_or_default(),
        }))
    }
}

impl ExtendedWrite for Request {
    fn dn(&self) -> &Dn {
        &self.dn
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Option<Vec<u8>>, OperationError> {
        let settings = &self.dds.settings;
        if self.ttl_s == 0 {
            return Err(DdsRefusal::InvalidTtl.into());
        }
        if self.ttl_s > settings.max_ttl_s {
            return Err(DdsRefusal::RefreshOverLimit.into());
        }
        let ttl_s = self.ttl_s.max(settings.min_ttl_s.unwrap_or_default());
        // As in slapd: the answer to this operation names no superior.
        let without_matched_dn = |error: OperationError| OperationError {
            matched_dn: String::new(),
            ..error
        };
        let id = execution.locate_known(&self.dn).map_err(without_matched_dn)?;
        let entry = execution.entry(id)?;
        if !entry.is_of_class(execution.schema(), self.dds.class) {
            return Err(DdsRefusal::StaticEntry.into());
        }
        if !execution.may_manage_attribute(&entry, &self.dds.ttl) {
            return Err(DdsRefusal::NoAccess.into());
        }
        let replace = |name, value| {
            let kind = ModificationKind::Replace;
            Modification::internal(&self.dds.schema, kind, name, vec![value])
        };
        let changes = [
            replace(&self.dds.ttl, ttl_s.to_string().into_bytes()),
            replace(&self.dds.expires, expiry(execution, ttl_s)),
        ];
        if let Some(refusal) = edit::modify_internally(execution, &entry.dn, &changes)? {
            return Err(refusal);
        }
        let mut value = Vec::new();
        refresh::encode_response(&mut value, i64::try_from(ttl_s).unwrap_or(i64::MAX));
        Ok(Some(value))
    }
}
