//! Responses, one file per kind (RFC 4511 §4).

mod bind;
mod entry_writer;
mod extended;
mod intermediate;
mod reference;
mod result;
mod search_entry;
pub mod sync_info;
mod tags;

use ironbark_ber::{Reader, Writer};

use self::tags::{
    ADD, BIND, COMPARE, DELETE, EXTENDED, INTERMEDIATE, MODIFY, MODIFY_DN, SEARCH_DONE, SEARCH_ENTRY, SEARCH_REFERENCE,
};
use crate::{Fault, List, Operation, Referrals};

pub use bind::{BindResponse, encode_bind_response};
pub use entry_writer::{AttributeMark, SearchEntryWriter};
pub use extended::{
    ExtendedResponse, NOTICE_OF_DISCONNECTION, encode_extended_response, encode_notice_of_disconnection,
};
pub use intermediate::{IntermediateResponse, encode_intermediate};
pub use reference::encode_search_reference;
pub use result::{LdapResult, encode_result};
pub use search_entry::SearchResultEntry;
pub use sync_info::{SyncInfo, Uuids, encode_sync_info};

/// A response, as clients decode it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Response<'a> {
    /// RFC 4511 §4.2.2.
    Bind(BindResponse<'a>),
    /// RFC 4511 §4.5.2: one entry.
    SearchEntry(SearchResultEntry<'a>),
    /// RFC 4511 §4.5.3: the URIs of a continuation reference.
    SearchReference(Referrals<'a>),
    /// The result that ends a search, modify, add, delete, modify DN or compare operation.
    Done(Operation, LdapResult<'a>),
    /// RFC 4511 §4.12; with message ID 0 an unsolicited notification (§4.4).
    Extended(ExtendedResponse<'a>),
    /// RFC 4511 §4.13.
    Intermediate(IntermediateResponse<'a>),
}

impl<'a> Response<'a> {
    /// Decodes the operation with this identifier octet.
    pub(crate) fn decode(identifier: u8, mut content: Reader<'a>) -> Result<Self, Fault> {
        let done = |operation, mut content| Ok(Self::Done(operation, LdapResult::decode(&mut content)?));
        match identifier {
            BIND => Ok(Self::Bind(BindResponse::decode(content)?)),
            SEARCH_ENTRY => Ok(Self::SearchEntry(SearchResultEntry::decode(&mut content)?)),
            SEARCH_REFERENCE => Ok(Self::SearchReference(List::decode_all(content)?)),
            SEARCH_DONE => done(Operation::Search, content),
            MODIFY => done(Operation::Modify, content),
            ADD => done(Operation::Add, content),
            DELETE => done(Operation::Delete, content),
            MODIFY_DN => done(Operation::ModifyDn, content),
            COMPARE => done(Operation::Compare, content),
            EXTENDED => Ok(Self::Extended(ExtendedResponse::decode(content)?)),
            INTERMEDIATE => Ok(Self::Intermediate(IntermediateResponse::decode(content)?)),
            _ => Err(Fault::malformed("unknown LDAP response")),
        }
    }

    /// Appends the operation, tag included.
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Bind(response) => response.write(writer),
            Self::SearchEntry(entry) => entry.write(writer),
            Self::SearchReference(uris) => uris.write(writer, SEARCH_REFERENCE),
            Self::Done(operation, result) => {
                if let Some(identifier) = operation.response_tag() {
                    result.write(writer, identifier);
                }
            }
            Self::Extended(response) => response.write(writer),
            Self::Intermediate(response) => response.write(writer),
        }
    }
}
