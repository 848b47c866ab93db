//! The kinds of request, and the IDs of messages (RFC 4511 §4.1.1).

use ironbark_ber::tags;

/// The ID of a message: 0 to 2^31-1; 0 is for unsolicited notifications only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct MessageId(i32);

impl MessageId {
    /// The ID of unsolicited notifications.
    pub const UNSOLICITED: Self = Self(0);

    /// `None` for negative numbers.
    pub const fn new(id: i32) -> Option<Self> {
        if id < 0 { None } else { Some(Self(id)) }
    }

    /// The number.
    pub const fn value(self) -> i32 {
        self.0
    }
}

impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The kinds of request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// RFC 4511 §4.2.
    Bind,
    /// RFC 4511 §4.3.
    Unbind,
    /// RFC 4511 §4.5.
    Search,
    /// RFC 4511 §4.6.
    Modify,
    /// RFC 4511 §4.7.
    Add,
    /// RFC 4511 §4.8.
    Delete,
    /// RFC 4511 §4.9.
    ModifyDn,
    /// RFC 4511 §4.10.
    Compare,
    /// RFC 4511 §4.11.
    Abandon,
    /// RFC 4511 §4.12.
    Extended,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Bind,
        Self::Unbind,
        Self::Search,
        Self::Modify,
        Self::Add,
        Self::Delete,
        Self::ModifyDn,
        Self::Compare,
        Self::Abandon,
        Self::Extended,
    ];

    /// Identifier octet of the request.
    pub const fn request_tag(self) -> u8 {
        match self {
            Self::Bind => tags::application_constructed(0),
            Self::Unbind => tags::application(2),
            Self::Search => tags::application_constructed(3),
            Self::Modify => tags::application_constructed(6),
            Self::Add => tags::application_constructed(8),
            Self::Delete => tags::application(10),
            Self::ModifyDn => tags::application_constructed(12),
            Self::Compare => tags::application_constructed(14),
            Self::Abandon => tags::application(16),
            Self::Extended => tags::application_constructed(23),
        }
    }

    /// Identifier octet of the final response; `None` for unbind and abandon, which have none.
    pub const fn response_tag(self) -> Option<u8> {
        match self {
            Self::Bind => Some(tags::application_constructed(1)),
            Self::Search => Some(tags::application_constructed(5)),
            Self::Modify => Some(tags::application_constructed(7)),
            Self::Add => Some(tags::application_constructed(9)),
            Self::Delete => Some(tags::application_constructed(11)),
            Self::ModifyDn => Some(tags::application_constructed(13)),
            Self::Compare => Some(tags::application_constructed(15)),
            Self::Extended => Some(tags::application_constructed(24)),
            Self::Unbind | Self::Abandon => None,
        }
    }

    /// The operation whose request has this identifier octet.
    pub const fn from_request_tag(identifier: u8) -> Option<Self> {
        Some(match identifier {
            0x60 => Self::Bind,
            0x42 => Self::Unbind,
            0x63 => Self::Search,
            0x66 => Self::Modify,
            0x68 => Self::Add,
            0x4a => Self::Delete,
            0x6c => Self::ModifyDn,
            0x6e => Self::Compare,
            0x50 => Self::Abandon,
            0x77 => Self::Extended,
            _ => return None,
        })
    }
}
