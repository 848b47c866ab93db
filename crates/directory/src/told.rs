//! How much a provider tells a consumer of content synchronization: for cn=Monitor, which both sides show.

/// How much of the provider's database a consumer gets. If more than one reason keeps something from it, the first one
/// of them here counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncContent {
    /// A log of changes (overlay accesslog).
    Log,
    /// The access rules may hide entries. They are not read for a consumer that does not ask for places, and asks for a
    /// part anyway.
    Rules,
    /// The filter of the consumer may leave entries out.
    Filter,
    /// The base is below the suffix, or the scope is not the whole subtree.
    Base,
    /// Every entry of several databases that are glued together.
    Glued,
    /// Every entry, but the access rules may hide values.
    Values,
    /// Every entry with all values.
    Whole,
}

/// Whether a consumer is told the places of entries, the entries that have ended, and thereby what it needs among
/// several writing servers to end as they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncPlaces {
    /// The provider has not yet sent anything that shows it. Only a consumer says so.
    Unknown,
    /// Places are told.
    Told,
    /// The consumer asks for them, but gets a part of the entries. It deletes only what is named with the CSN of its
    /// deletion.
    Part,
    /// The consumer asks for them, and is not told.
    None,
    /// The consumer does not ask for them.
    Unasked,
}

impl SyncContent {
    /// The word for it in cn=Monitor.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Rules => "rules",
            Self::Filter => "filter",
            Self::Base => "base",
            Self::Glued => "glued",
            Self::Values => "values",
            Self::Whole => "whole",
        }
    }
}

impl SyncPlaces {
    /// The word for it in cn=Monitor.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Told => "told",
            Self::Part => "part",
            Self::None => "none",
            Self::Unasked => "unasked",
        }
    }
}
