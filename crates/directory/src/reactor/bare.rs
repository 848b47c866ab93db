//! The limit that benchmarks compare with. Every search is answered with the same entry, looked up in LMDB and copied.
//! Only the message ID of the request is read; nothing is matched, counted or logged. The answer shows what anonymous
//! may read of the entry.

use std::{ops::ControlFlow, sync::Arc};

use ironbark_ber::{Writer, tags};
use ironbark_ldap_proto::{LdapResult, MessageId, Operation, encode_result};
use ironbark_model::ResultCode;
use ironbark_store::EntryId;

use crate::{
    Configuration, NamingContext, OperationError,
    access::{self, Requester, Source, Subject},
    scratch::Scratch,
    search::{Selection, entry_value},
};

/// The answer to every search.
pub(crate) struct BareAnswer {
    context: Arc<NamingContext>,
    id: EntryId,
    /// The entry with all user attributes, encoded.
    entry: Vec<u8>,
}

impl BareAnswer {
    /// Chooses the entry that was added last to the first database where anonymous may read that entry.
    pub(crate) fn new(configuration: &Configuration) -> Result<Option<Self>, OperationError> {
        let mut selection = Selection::default();
        selection.resolve(&configuration.schema, std::iter::empty(), None);
        for context in &configuration.contexts {
            let Some(database) = context.database() else { continue };
            let snapshot = database.snapshot()?;
            let view = snapshot.view();
            let id = view.last_entry()?;
            let Some(record) = view.record(id)? else { continue };
            let dn = view.dn(id)?;
            let requester = Requester {
                configuration,
                context,
                subject: Subject::nobody(Operation::Search),
            };
            let source = Source::Record(&record, view);
            let check = access::check(requester, source);
            let Some(visible) = access::visible(check.as_ref(), source, dn.pretty()) else {
                continue;
            };
            let mut entry = Vec::new();
            entry_value(configuration, &visible, &selection, &mut entry)?;
            return Ok(Some(Self {
                context: Arc::clone(context),
                id,
                entry,
            }));
        }
        Ok(None)
    }

    /// Answers a search. `Continue`: the PDU is not a search, or there is no snapshot.
    pub(crate) fn answer(
        &self,
        scratch: &mut Scratch,
        pdu: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ControlFlow<()>, OperationError> {
        let Some(message_id) = message_id_of_search(pdu) else {
            return Ok(ControlFlow::Continue(()));
        };
        let Some(snapshot) = scratch.take_snapshot(&self.context)? else {
            return Ok(ControlFlow::Continue(()));
        };
        let is_there = snapshot.view().record(self.id)?.is_some();
        scratch.keep_snapshot(snapshot);
        if is_there {
            let mut writer = Writer::new(out);
            let message = writer.begin_sized(tags::SEQUENCE, self.entry.len());
            writer.integer(message_id.value().into());
            writer.raw(&self.entry);
            writer.end(message);
        }
        let done = LdapResult::new(ResultCode::SUCCESS);
        encode_result(out, message_id, Operation::Search, &done, &[]);
        Ok(ControlFlow::Break(()))
    }
}

fn message_id_of_search(pdu: &[u8]) -> Option<MessageId> {
    const SEARCH_REQUEST: u8 = 0x63;
    let mut message = ironbark_ber::Reader::new(pdu).sequence().ok()?;
    let id = MessageId::new(message.integer().ok()?)?;
    (message.peek() == Some(SEARCH_REQUEST)).then_some(id)
}
