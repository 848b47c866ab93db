//! Tags: class, form and number, and the identifier octets of the universal types.

/// The class of a tag (X.690 §8.1.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Types of ASN.1 itself.
    Universal,
    /// Types of the protocol.
    Application,
    /// Types that are distinguished by their context.
    Context,
    /// Private agreement.
    Private,
}

/// A tag (X.690 §8.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// Class.
    pub class: Class,
    /// Whether the content is a series of elements.
    pub constructed: bool,
    /// Number; below 2^28.
    pub number: u32,
}

impl Tag {
    /// The tag that a one-octet identifier stands for; `None` when its number continues in further octets.
    pub const fn from_identifier(identifier: u8) -> Option<Self> {
        if identifier & 0x1f == 0x1f {
            return None;
        }
        Some(Self {
            class: Class::from_identifier(identifier),
            constructed: identifier & tags::CONSTRUCTED != 0,
            number: (identifier & 0x1f) as u32,
        })
    }

    /// The one-octet identifier, or `None` for numbers above 30.
    pub fn identifier(self) -> Option<u8> {
        let number = u8::try_from(self.number).ok().filter(|number| *number < 0x1f)?;
        let form = if self.constructed { tags::CONSTRUCTED } else { 0 };
        Some(self.class.bits() | form | number)
    }
}

impl Class {
    pub(crate) const fn from_identifier(identifier: u8) -> Self {
        match identifier >> 6 {
            0 => Self::Universal,
            1 => Self::Application,
            2 => Self::Context,
            _ => Self::Private,
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Universal => 0x00,
            Self::Application => 0x40,
            Self::Context => 0x80,
            Self::Private => 0xc0,
        }
    }
}

/// Identifier octets.
pub mod tags {
    /// BOOLEAN.
    pub const BOOLEAN: u8 = 0x01;
    /// INTEGER.
    pub const INTEGER: u8 = 0x02;
    /// BIT STRING.
    pub const BIT_STRING: u8 = 0x03;
    /// OCTET STRING.
    pub const OCTET_STRING: u8 = 0x04;
    /// NULL.
    pub const NULL: u8 = 0x05;
    /// OBJECT IDENTIFIER.
    pub const OBJECT_IDENTIFIER: u8 = 0x06;
    /// ENUMERATED.
    pub const ENUMERATED: u8 = 0x0a;
    /// UTF8String.
    pub const UTF8_STRING: u8 = 0x0c;
    /// NumericString.
    pub const NUMERIC_STRING: u8 = 0x12;
    /// PrintableString.
    pub const PRINTABLE_STRING: u8 = 0x13;
    /// TeletexString.
    pub const TELETEX_STRING: u8 = 0x14;
    /// IA5String.
    pub const IA5_STRING: u8 = 0x16;
    /// UTCTime.
    pub const UTC_TIME: u8 = 0x17;
    /// GeneralizedTime.
    pub const GENERALIZED_TIME: u8 = 0x18;
    /// VisibleString.
    pub const VISIBLE_STRING: u8 = 0x1a;
    /// UniversalString.
    pub const UNIVERSAL_STRING: u8 = 0x1c;
    /// BMPString.
    pub const BMP_STRING: u8 = 0x1e;
    /// SEQUENCE and SEQUENCE OF.
    pub const SEQUENCE: u8 = 0x30;
    /// SET and SET OF.
    pub const SET: u8 = 0x31;
    /// The bit of the constructed form.
    pub const CONSTRUCTED: u8 = 0x20;

    /// `[APPLICATION number]`, primitive; `number` is at most 30.
    pub const fn application(number: u8) -> u8 {
        0x40 | (number & 0x1f)
    }
    /// `[APPLICATION number]`, constructed; `number` is at most 30.
    pub const fn application_constructed(number: u8) -> u8 {
        0x60 | (number & 0x1f)
    }
    /// `[number]`, primitive; `number` is at most 30.
    pub const fn context(number: u8) -> u8 {
        0x80 | (number & 0x1f)
    }
    /// `[number]`, constructed; `number` is at most 30.
    pub const fn context_constructed(number: u8) -> u8 {
        0xa0 | (number & 0x1f)
    }
}
