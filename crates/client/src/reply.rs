//! Responses as owned values.

use std::fmt;

use ironbark_ldap_proto::{self as proto, PartialAttribute, RawControls, ResponseMessage, ResultCode};

use crate::{
    ClientError,
    incoming::{Incoming, incoming},
};

/// A result (RFC 4511 §4.1.9).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedResult {
    /// Result code.
    pub code: ResultCode,
    /// Name of the deepest entry that was found.
    pub matched_dn: String,
    /// Text for people.
    pub diagnostic: String,
    /// URIs of a referral.
    pub referrals: Vec<String>,
    /// Controls of the response.
    pub controls: Vec<ReceivedControl>,
}

/// A control of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedControl {
    /// OID.
    pub oid: String,
    /// Criticality; no meaning in responses.
    pub critical: bool,
    /// Value.
    pub value: Option<Vec<u8>>,
}

/// The answer to a bind request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BindReply {
    /// Result; `saslBindInProgress` asks for the next step.
    pub result: ReceivedResult,
    /// The SASL mechanism's data for the client.
    pub server_sasl_credentials: Option<Vec<u8>>,
}

/// The answer to an extended request, or an unsolicited notification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtendedReply {
    /// Result.
    pub result: ReceivedResult,
    /// OID of the response.
    pub name: Option<String>,
    /// Value.
    pub value: Option<Vec<u8>>,
}

/// An entry found by a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchEntry {
    /// Its name.
    pub dn: String,
    /// Attribute descriptions and values, in the order of the answer.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
    /// Controls of the entry.
    pub controls: Vec<ReceivedControl>,
}

/// One part of the answer to a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchItem {
    /// An entry.
    Entry(SearchEntry),
    /// A continuation reference (RFC 4511 §4.5.3).
    Reference {
        /// Its URIs.
        uris: Vec<String>,
        /// Controls of the reference.
        controls: Vec<ReceivedControl>,
    },
    /// An intermediate response (RFC 4511 §4.13).
    Intermediate {
        /// OID.
        name: Option<String>,
        /// Value.
        value: Option<Vec<u8>>,
        /// Controls of the response.
        controls: Vec<ReceivedControl>,
    },
}

impl SearchItem {
    /// A part of the answer to a search, from its message. `None`: the message is none.
    pub fn of(message: &ResponseMessage<'_>) -> Option<Self> {
        match incoming(message).0 {
            Incoming::Item(item) => Some(item),
            _ => None,
        }
    }

    /// About the octets that it takes in memory.
    pub(crate) fn octets(&self) -> usize {
        let of_values = |values: &[Vec<u8>]| {
            values
                .iter()
                .map(|value| size_of::<Vec<u8>>() + value.len())
                .sum::<usize>()
        };
        let of_controls = |controls: &[ReceivedControl]| {
            let values = controls
                .iter()
                .map(|control| control.value.as_ref().map_or(0, Vec::len));
            size_of_val(controls) + values.sum::<usize>()
        };
        let held = match self {
            Self::Entry(entry) => {
                let attributes = entry.attributes.iter();
                let attributes = attributes.map(|(name, values)| name.len() + of_values(values));
                let attributes = size_of_val(&*entry.attributes) + attributes.sum::<usize>();
                entry.dn.len() + attributes + of_controls(&entry.controls)
            }
            Self::Reference { uris, controls } => {
                let uris = uris.iter().map(|uri| size_of::<String>() + uri.len());
                uris.sum::<usize>() + of_controls(controls)
            }
            // They are not kept.
            Self::Intermediate { .. } => return 0,
        };
        size_of::<Self>() + held
    }
}

impl ReceivedResult {
    /// The result of a search, add, delete, modify, modify DN or compare, from its message. `None`: the message is
    /// none.
    pub fn of(message: &ResponseMessage<'_>) -> Option<Self> {
        match incoming(message).0 {
            Incoming::Done(result) => Some(result),
            _ => None,
        }
    }

    /// Whether the operation succeeded: `success`, `compareTrue` or `compareFalse`.
    pub fn is_success(&self) -> bool {
        [ResultCode::SUCCESS, ResultCode::COMPARE_TRUE, ResultCode::COMPARE_FALSE].contains(&self.code)
    }

    /// Returns the result itself if it is a success.
    ///
    /// # Errors
    /// [`ClientError::Refused`] otherwise.
    pub fn success(self) -> Result<Self, ClientError> {
        if self.is_success() {
            Ok(self)
        } else {
            Err(ClientError::Refused(Box::new(self)))
        }
    }

    /// The value of the response control with this OID.
    pub fn control(&self, oid: &str) -> Option<&[u8]> {
        control_value(&self.controls, oid)
    }

    pub(crate) fn new(result: &proto::LdapResult<'_>, controls: &RawControls<'_>) -> Self {
        Self {
            code: result.code,
            matched_dn: text(result.matched_dn),
            diagnostic: text(result.diagnostic_message),
            referrals: result.referrals.iter().map(text).collect(),
            controls: owned_controls(controls),
        }
    }
}

impl fmt::Display for ReceivedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({})",
            self.code.name().unwrap_or("unregistered code"),
            self.code.0
        )?;
        if !self.diagnostic.is_empty() {
            write!(f, ": {}", self.diagnostic)?;
        }
        if !self.matched_dn.is_empty() {
            write!(f, ", matched DN {}", self.matched_dn)?;
        }
        Ok(())
    }
}

impl SearchEntry {
    /// The values of an attribute, by the description that the server sent; case is ignored. Empty when there is no
    /// such attribute.
    pub fn values(&self, description: &str) -> &[Vec<u8>] {
        self.attributes
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(description))
            .map_or(&[], |(_, values)| values)
    }

    /// The first value of an attribute, as text; octets that are not UTF-8 are replaced.
    pub fn text(&self, description: &str) -> Option<String> {
        self.values(description).first().map(|value| text(value))
    }

    /// The value of the control with this OID.
    pub fn control(&self, oid: &str) -> Option<&[u8]> {
        control_value(&self.controls, oid)
    }

    pub(crate) fn new(entry: &proto::SearchResultEntry<'_>, controls: &RawControls<'_>) -> Self {
        Self {
            dn: text(entry.dn),
            attributes: entry.attributes.iter().map(owned_attribute).collect(),
            controls: owned_controls(controls),
        }
    }

    /// The entry in the value of a pre-read or post-read response control (RFC 4527).
    ///
    /// # Errors
    /// [`ClientError::Protocol`] when there is none.
    pub fn from_read_entry(value: &[u8]) -> Result<Self, ClientError> {
        proto::SearchResultEntry::decode_value(value)
            .map(|entry| Self::new(&entry, &RawControls::default()))
            .map_err(|fault| ClientError::Protocol(fault.to_string()))
    }
}

fn owned_attribute(attribute: PartialAttribute<'_>) -> (String, Vec<Vec<u8>>) {
    (
        text(attribute.description),
        attribute.values.iter().map(<[u8]>::to_vec).collect(),
    )
}

fn control_value<'a>(controls: &'a [ReceivedControl], oid: &str) -> Option<&'a [u8]> {
    let control = controls.iter().find(|control| control.oid == oid)?;
    Some(control.value.as_deref().unwrap_or_default())
}

pub(crate) fn owned_controls(controls: &RawControls<'_>) -> Vec<ReceivedControl> {
    controls
        .iter()
        .map(|control| ReceivedControl {
            oid: text(control.oid),
            critical: control.critical,
            value: control.value.map(<[u8]>::to_vec),
        })
        .collect()
}

pub(crate) fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}
