//! Search (RFC 4511 §4.5).

use ironbark_ber::{Reader, Writer, tags};
use ironbark_model::Filter;

use crate::{AttributeSelection, DecodeLimits, Fault, List, filter};

/// A search request.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchRequest<'a> {
    /// Name of the base object.
    pub base: &'a [u8],
    /// Scope.
    pub scope: Scope,
    /// Whether aliases are followed.
    pub deref_aliases: DerefAliases,
    /// Most entries that the client wants; 0: the client sets no limit.
    pub size_limit: u32,
    /// Most seconds that the client wants to wait; 0: the client sets no limit.
    pub time_limit: u32,
    /// Attribute descriptions only, no values.
    pub types_only: bool,
    /// Filter.
    pub filter: Filter<'a>,
    /// Which attributes to return; empty for all user attributes.
    pub attributes: AttributeSelection<'a>,
}

/// Scope of a search (RFC 4511 §4.5.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// The base object alone.
    BaseObject,
    /// Its immediate subordinates.
    SingleLevel,
    /// The base object and all its subordinates.
    WholeSubtree,
    /// All subordinates, without the base object (draft-sermersheim-ldap-subordinate-scope).
    SubordinateSubtree,
}

/// When aliases are followed (RFC 4511 §4.5.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DerefAliases {
    /// Never.
    Never,
    /// Below the base object.
    InSearching,
    /// On the way to the base object.
    FindingBaseObject,
    /// Both.
    Always,
}

impl<'a> SearchRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>, limits: &DecodeLimits) -> Result<Self, Fault> {
        let base = content.octet_string()?;
        let scope = content.enumerated()?;
        let deref_aliases = content.enumerated()?;
        let size_limit = content.integer()?;
        let time_limit = content.integer()?;
        let types_only = content.boolean()?;
        // slapd checks the limits and enumerations before the filter, in this order.
        let time_limit = u32::try_from(time_limit).map_err(|_| Fault::protocol("invalid time limit"))?;
        let size_limit = u32::try_from(size_limit).map_err(|_| Fault::protocol("invalid size limit"))?;
        let scope = Scope::from_number(scope).ok_or(Fault::protocol("invalid scope"))?;
        let deref_aliases = DerefAliases::from_number(deref_aliases).ok_or(Fault::protocol("invalid deref"))?;
        let filter = filter::decode(&mut content, limits)?;
        let attributes = content
            .sequence()
            .and_then(|list| List::decode(list, limits.selected_attributes))
            .map_err(|error| Fault::from(error).worded("decoding attrs error"))?
            .ok_or(Fault::TOO_MANY)?;
        Ok(Self {
            base,
            scope,
            deref_aliases,
            size_limit,
            time_limit,
            types_only,
            filter,
            attributes,
        })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self.base);
        writer.enumerated(i64::from(self.scope.number()));
        writer.enumerated(i64::from(self.deref_aliases.number()));
        writer.integer(i64::from(self.size_limit));
        writer.integer(i64::from(self.time_limit));
        writer.boolean(self.types_only);
        filter::write(&self.filter, writer);
        self.attributes.write(writer, tags::SEQUENCE);
    }
}

impl Scope {
    /// The scope of this number on the wire.
    pub const fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::BaseObject,
            1 => Self::SingleLevel,
            2 => Self::WholeSubtree,
            3 => Self::SubordinateSubtree,
            _ => return None,
        })
    }

    /// Its number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::BaseObject => 0,
            Self::SingleLevel => 1,
            Self::WholeSubtree => 2,
            Self::SubordinateSubtree => 3,
        }
    }
}

impl DerefAliases {
    /// The choice of this number on the wire.
    pub const fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Never,
            1 => Self::InSearching,
            2 => Self::FindingBaseObject,
            3 => Self::Always,
            _ => return None,
        })
    }

    /// Its number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::Never => 0,
            Self::InSearching => 1,
            Self::FindingBaseObject => 2,
            Self::Always => 3,
        }
    }
}
