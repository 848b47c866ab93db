//! Requests, one file per operation of RFC 4511 §4.

mod abandon;
mod add;
mod assertions_ahead;
mod bind;
mod compare;
mod extended;
mod modify;
mod modify_dn;
mod search;

use ironbark_ber::{Reader, Writer};

use crate::{DecodeLimits, Fault, MessageId, Operation};

pub use add::AddRequest;
pub use assertions_ahead::AssertionsAhead;
pub use bind::{Authentication, BindRequest};
pub use compare::CompareRequest;
pub use extended::ExtendedRequest;
pub use modify::{Modifications, ModifyChange, ModifyOperation, ModifyRequest};
pub use modify_dn::ModifyDnRequest;
pub use search::{DerefAliases, Scope, SearchRequest};

/// A request.
#[derive(Clone, PartialEq, Debug)]
pub enum Request<'a> {
    /// RFC 4511 §4.2.
    Bind(BindRequest<'a>),
    /// RFC 4511 §4.3.
    Unbind,
    /// RFC 4511 §4.5.
    Search(SearchRequest<'a>),
    /// RFC 4511 §4.6.
    Modify(ModifyRequest<'a>),
    /// RFC 4511 §4.7.
    Add(AddRequest<'a>),
    /// RFC 4511 §4.8: the name of the entry.
    Delete(&'a [u8]),
    /// RFC 4511 §4.9.
    ModifyDn(ModifyDnRequest<'a>),
    /// RFC 4511 §4.10.
    Compare(CompareRequest<'a>),
    /// RFC 4511 §4.11: the operation to abandon.
    Abandon(MessageId),
    /// RFC 4511 §4.12.
    Extended(ExtendedRequest<'a>),
}

impl<'a> Request<'a> {
    /// Decodes the content of an operation.
    pub(crate) fn decode(operation: Operation, content: Reader<'a>, limits: &DecodeLimits) -> Result<Self, Fault> {
        Ok(match operation {
            Operation::Bind => Self::Bind(BindRequest::decode(content)?),
            Operation::Unbind => {
                content.finish()?;
                Self::Unbind
            }
            Operation::Search => Self::Search(SearchRequest::decode(content, limits)?),
            Operation::Modify => Self::Modify(ModifyRequest::decode(content, limits)?),
            Operation::Add => Self::Add(AddRequest::decode(content, limits)?),
            Operation::Delete => Self::Delete(content.remaining()),
            Operation::ModifyDn => Self::ModifyDn(ModifyDnRequest::decode(content)?),
            Operation::Compare => Self::Compare(CompareRequest::decode(content)?),
            Operation::Abandon => Self::Abandon(abandon::decode(content)?),
            Operation::Extended => Self::Extended(ExtendedRequest::decode(content)?),
        })
    }

    /// Appends the operation, tag included.
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        let identifier = self.operation().request_tag();
        match self {
            Self::Bind(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
            Self::Unbind => writer.element(identifier, &[]),
            Self::Search(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
            Self::Modify(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
            Self::Add(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
            Self::Delete(entry) => writer.element(identifier, entry),
            Self::ModifyDn(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
            Self::Compare(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
            Self::Abandon(id) => writer.integer_of(identifier, i64::from(id.value())),
            Self::Extended(request) => writer.constructed(identifier, |writer| request.write_content(writer)),
        }
    }

    /// Which kind of request this is.
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Bind(_) => Operation::Bind,
            Self::Unbind => Operation::Unbind,
            Self::Search(_) => Operation::Search,
            Self::Modify(_) => Operation::Modify,
            Self::Add(_) => Operation::Add,
            Self::Delete(_) => Operation::Delete,
            Self::ModifyDn(_) => Operation::ModifyDn,
            Self::Compare(_) => Operation::Compare,
            Self::Abandon(_) => Operation::Abandon,
            Self::Extended(_) => Operation::Extended,
        }
    }
}
