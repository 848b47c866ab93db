//! Entries for a database that a server has open: the server adds them.

use std::{collections::VecDeque, sync::Arc};

use ironbark_ldap_proto::{
    AddRequest, List, MessageId, PartialAttribute, Request,
    controls::{Control, RelaxRules},
    message::encode_request,
};
use ironbark_model::{Attribute as Held, Entry, ResultCode, Schema, schema::TypeNumber};
use ironbark_store::StoreError;

use super::{entry::Place, record::Ready};
use crate::shared::running::{RunningServer, result_of};

/// Entries whose results are awaited, and their octets.
const MOST_WAITING: usize = 1_024;
const MOST_OCTETS: usize = 8 << 20;

/// The server, and the entries that it has.
pub(super) struct Remote {
    server: RunningServer,
    schema: Arc<Schema>,
    /// The type of structuralObjectClass.
    structural: Option<TypeNumber>,
    waiting: VecDeque<Waiting>,
    octets: usize,
    next_id: i32,
    request: Vec<u8>,
}

struct Waiting {
    place: Place,
    dn: String,
    csn: Option<Box<[u8]>>,
    octets: usize,
}

/// What has become of an entry.
pub(super) struct Settled {
    pub(super) place: Place,
    pub(super) dn: String,
    pub(super) csn: Option<Box<[u8]>>,
    /// The reason if it was refused.
    pub(super) refused: Option<String>,
}

impl Remote {
    pub(super) fn new(server: RunningServer, schema: Arc<Schema>) -> Self {
        let structural = schema.find_attribute_type(b"structuralObjectClass");
        Self {
            server,
            structural: structural.map(|found| found.number),
            schema,
            waiting: VecDeque::new(),
            octets: 0,
            next_id: 1,
            request: Vec::new(),
        }
    }

    /// Sends an entry.
    pub(super) fn put(&mut self, ready: &Ready, entry: &Entry) -> Result<(), StoreError> {
        // The server computes the structural class itself.
        let is_sent = |held: &&Held| Some(held.description.attribute_type) != self.structural;
        let sent: Vec<_> = entry.attributes.iter().filter(is_sent).collect();
        let texts: Vec<_> = sent
            .iter()
            .map(|held| self.schema.description_text(&held.description))
            .collect();
        let values: Vec<Vec<&[u8]>> = sent
            .iter()
            .map(|held| held.values.iter().map(Vec::as_slice).collect())
            .collect();
        let attributes: Vec<_> = texts
            .iter()
            .zip(&values)
            .map(|(text, values)| PartialAttribute {
                description: text.as_bytes(),
                values: List::new(values),
            })
            .collect();
        let request = AddRequest {
            entry: entry.dn.pretty().as_bytes(),
            attributes: List::new(&attributes),
        };
        self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        let id = MessageId::new(self.next_id).unwrap_or_default();
        // The operational attributes of a dump are written as they are.
        let relax = Control {
            critical: true,
            value: RelaxRules,
        };
        self.request.clear();
        encode_request(&mut self.request, id, &Request::Add(request), &[&relax]);
        self.server.send(&self.request).map_err(StoreError::Format)?;
        self.octets += self.request.len();
        self.waiting.push_back(Waiting {
            place: ready.place.clone(),
            dn: ready.dn().to_owned(),
            csn: ready.csn.clone(),
            octets: self.request.len(),
        });
        Ok(())
    }

    /// What has become of entries: of the first ones if many are awaited, of all at the end.
    pub(super) fn settled(&mut self, is_end: bool) -> Result<Vec<Settled>, StoreError> {
        let is_full = self.waiting.len() >= MOST_WAITING || self.octets >= MOST_OCTETS;
        if !is_end && !is_full {
            return Ok(Vec::new());
        }
        let mut settled = Vec::with_capacity(self.waiting.len());
        let mut response = Vec::new();
        while let Some(first) = self.waiting.pop_front() {
            self.octets -= first.octets;
            response.clear();
            self.server.receive(&mut response).map_err(StoreError::Format)?;
            let refused = match result_of(&response).map_err(StoreError::Format)? {
                (ResultCode::SUCCESS, _) => None,
                (code, text) => Some(format!("({}) {text}", code.0)),
            };
            settled.push(Settled {
                place: first.place,
                dn: first.dn,
                csn: first.csn,
                refused,
            });
        }
        Ok(settled)
    }

    /// The server, when everything is settled.
    pub(super) fn into_server(self) -> RunningServer {
        self.server
    }
}
