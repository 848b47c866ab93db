//! The refresh operation (RFC 2589 §4).

use std::sync::Arc;

use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{Execution, ExtendedHooks, ExtendedWrite},
};
use ironbark_ldap_proto::extended::refresh::{self, INVALID_TTL, RefreshRequest};
use ironbark_model::{Dn, ResultCode, Schema};

use super::{Dds, write::expiry};

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
        let request =
            RefreshRequest::decode(value).map_err(|fault| OperationError::new(fault.code, fault.diagnostic))?;
        let dn = Dn::parse(schema, request.entry)
            .map_err(|_| OperationError::new(ResultCode::INVALID_DN_SYNTAX, "invalid DN"))?;
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
            return Err(OperationError::new(ResultCode::PROTOCOL_ERROR, INVALID_TTL));
        }
        if self.ttl_s > settings.max_ttl_s {
            let text = "time-to-live for dynamicObject exceeds limit";
            return Err(OperationError::new(ResultCode::SIZE_LIMIT_EXCEEDED, text));
        }
        let ttl_s = self.ttl_s.max(settings.min_ttl_s.unwrap_or_default());
        let id = execution.locate_known(&self.dn)?;
        let entry = execution.entry(id)?;
        if !entry.is_of_class(execution.schema(), self.dds.class) {
            let text = "refresh operation only applies to dynamic objects";
            return Err(OperationError::new(ResultCode::OBJECT_CLASS_VIOLATION, text));
        }
        if !execution.may_manage_attribute(&entry, &self.dds.ttl) {
            return Err(OperationError::code(ResultCode::INSUFFICIENT_ACCESS_RIGHTS));
        }
        let replace = |name, value| {
            let kind = ModificationKind::Replace;
            Modification::internal(&self.dds.schema, kind, name, vec![value])
        };
        let changes = [
            replace(&self.dds.ttl, ttl_s.to_string().into_bytes()),
            replace(&self.dds.expires, expiry(execution, ttl_s)),
        ];
        if let Some(refusal) = execution.modify_internally(&entry.dn, &changes)? {
            return Err(refusal);
        }
        let mut value = Vec::new();
        refresh::encode_response(&mut value, i64::try_from(ttl_s).unwrap_or(i64::MAX));
        Ok(Some(value))
    }
}
