//! LDAP messages (RFC 4511), controls and extended operations, both directions.
//!
//! Invariants: no I/O and no schema here. Decoding borrows from the message's bytes: lists are checked once and then
//! read lazily, so that a request without a composite filter decodes without allocating. Encoding appends to a buffer
//! that the caller owns and reuses.
//!
//! Life of a message: [`frame()`] finds where it ends, [`RequestMessage::decode`] or [`ResponseMessage::decode`] reads
//! it, [`controls::RequestControls::decode`] turns the controls of a request into typed options.

pub mod controls;
mod envelope;
pub mod error;
pub mod extended;
pub mod filter;
pub mod frame;
pub mod fuzz;
pub mod limits;
pub mod list;
pub mod message;
mod operation;
pub mod request;
pub mod response;
pub mod tool;

/// The types that messages consist of, for crates that only depend on this crate.
pub use ironbark_model::{Filter, ResultCode, filter::Assertion};

pub use envelope::{EncodeControl, RawControl, RawControls, encode_around, operation_of};
pub use error::{DecodeError, Fault};
pub use frame::{FrameError, frame};
pub use limits::DecodeLimits;
pub use list::{AttributeList, AttributeSelection, List, PartialAttribute, Referrals, ValueSet};
pub use message::{Message, RequestMessage, ResponseMessage};
pub use operation::{MessageId, Operation};
pub use request::{
    AddRequest, AssertionsAhead, Authentication, BindRequest, CompareRequest, DerefAliases, ExtendedRequest,
    Modifications, ModifyChange, ModifyDnRequest, ModifyOperation, ModifyRequest, Request, Scope, SearchRequest,
};
pub use response::{
    BindResponse, ExtendedResponse, IntermediateResponse, LdapResult, Response, SearchEntryWriter, SearchResultEntry,
    SyncInfo, Uuids, encode_bind_response, encode_extended_response, encode_intermediate,
    encode_notice_of_disconnection, encode_result, encode_search_reference, encode_sync_info,
};
