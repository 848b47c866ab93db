//! The messages of etcd's gateway. Octets are in base64, numbers are strings.

use std::{fmt, marker::PhantomData};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, SeqAccess, Visitor},
};

/// The most elements of a list. An empty one takes three octets of the answer and twenty times as much memory.
const MOST_ELEMENTS: usize = 1 << 16;

/// Reads a list.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(List(PhantomData))
}

struct List<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {MOST_ELEMENTS} elements at most")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element()? {
            if all.len() == MOST_ELEMENTS {
                return Err(A::Error::invalid_length(all.len() + 1, &self));
            }
            all.push(element);
        }
        Ok(all)
    }
}

/// Octets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Octets(pub(crate) Vec<u8>);

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let octets = BASE64_STANDARD.decode(text.as_bytes());
        octets.map(Self).map_err(D::Error::custom)
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Octets {
    fn from(octets: &T) -> Self {
        Self(octets.as_ref().to_vec())
    }
}

/// A number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Number(pub(crate) i64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// A number of 64 bits without a sign: the name of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Unsigned(pub(crate) u64);

impl<'de> Deserialize<'de> for Unsigned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

#[derive(Serialize)]
pub(crate) struct Authenticate<'a> {
    pub(crate) name: &'a str,
    pub(crate) password: &'a str,
}

#[derive(Deserialize)]
pub(crate) struct Authenticated {
    pub(crate) token: String,
}

/// Why a request was refused.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Problem {
    error: String,
    message: String,
    /// The code of gRPC.
    code: u8,
}

/// Codes of gRPC with which nothing was done: invalid argument, permission denied, resource exhausted, failed
/// precondition, out of range, unauthenticated.
const REFUSALS: [u8; 6] = [3, 7, 8, 9, 11, 16];

/// The code of gRPC.
const UNAUTHENTICATED: u8 = 16;

impl Problem {
    /// Whether nothing was done.
    pub(crate) fn is_refusal(&self) -> bool {
        REFUSALS.contains(&self.code)
    }

    /// Whether the user has to authenticate again: the token has expired, or etcd was started anew, or its users have
    /// changed.
    pub(crate) fn is_about_the_token(&self) -> bool {
        self.code == UNAUTHENTICATED || self.text().contains("auth")
    }

    pub(crate) fn text(&self) -> &str {
        if self.message.is_empty() {
            &self.error
        } else {
            &self.message
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Nothing {}

/// An answer that says no more.
#[derive(Deserialize)]
pub(crate) struct Answered {}

/// A lease, by the seconds that it lasts.
#[derive(Serialize)]
pub(crate) struct LeaseGrant {
    #[serde(rename = "TTL")]
    pub(crate) seconds: Number,
}

#[derive(Deserialize)]
pub(crate) struct LeaseGranted {
    #[serde(rename = "ID")]
    pub(crate) id: Number,
}

#[derive(Serialize)]
pub(crate) struct Compaction {
    pub(crate) revision: Number,
    pub(crate) physical: bool,
}

/// The state of a member.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) header: Header,
    pub(crate) version: String,
    /// The member that leads.
    pub(crate) leader: Unsigned,
    /// Octets of its file that are in use.
    #[serde(rename = "dbSizeInUse")]
    pub(crate) in_use: Number,
}

#[derive(Deserialize, Clone, Copy, Debug, Default)]
#[serde(default)]
pub(crate) struct Header {
    pub(crate) revision: Number,
    /// The member that answers.
    pub(crate) member_id: Unsigned,
}

/// Keys from `key` on, up to `range_end`, which is not one of them; without it: one key.
#[derive(Serialize, Clone, Debug, Default)]
pub(crate) struct RangeRequest {
    pub(crate) key: Octets,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) range_end: Option<Octets>,
    /// 0: no limit.
    pub(crate) limit: Number,
    pub(crate) sort_order: &'static str,
    pub(crate) sort_target: &'static str,
}

impl RangeRequest {
    /// One key.
    pub(crate) fn one(key: &str) -> Self {
        Self {
            key: key.into(),
            sort_order: "NONE",
            sort_target: "KEY",
            ..Self::default()
        }
    }

    /// The keys from `first` on that begin with `prefix`, in their order.
    pub(crate) fn from(first: &str, prefix: &str, limit: i64) -> Self {
        Self {
            key: first.into(),
            range_end: Some(behind(prefix)),
            limit: Number(limit),
            sort_order: "ASCEND",
            sort_target: "KEY",
        }
    }

    /// The keys that begin with `prefix`, the oldest first.
    pub(crate) fn by_age(prefix: &str) -> Self {
        Self {
            key: prefix.into(),
            range_end: Some(behind(prefix)),
            limit: Number(0),
            sort_order: "ASCEND",
            sort_target: "CREATE",
        }
    }
}

/// The first name behind all that begin with `prefix`, whose last octet is not 255.
pub(crate) fn behind(prefix: &str) -> Octets {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    Octets(end)
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct RangeResponse {
    pub(crate) header: Header,
    #[serde(deserialize_with = "list")]
    pub(crate) kvs: Vec<KeyValue>,
    pub(crate) more: bool,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct KeyValue {
    pub(crate) key: Octets,
    /// The revision of the last change.
    pub(crate) mod_revision: Number,
    pub(crate) value: Octets,
}

/// All of `compare` holds: `success`, else `failure`.
#[derive(Serialize, Debug, Default)]
pub(crate) struct Txn {
    pub(crate) compare: Vec<Compare>,
    pub(crate) success: Vec<Operation>,
    pub(crate) failure: Vec<Operation>,
}

#[derive(Serialize, Debug)]
pub(crate) struct Compare {
    key: Octets,
    result: &'static str,
    target: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Octets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Number>,
}

impl Compare {
    /// The key has this value.
    pub(crate) fn value(key: &str, value: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        Self {
            key: key.into(),
            result: "EQUAL",
            target: "VALUE",
            value: Some(value.into()),
            version: None,
        }
    }

    /// The key is not there.
    pub(crate) fn absent(key: &str) -> Self {
        Self {
            key: key.into(),
            result: "EQUAL",
            target: "VERSION",
            value: None,
            version: Some(Number(0)),
        }
    }
}

#[derive(Serialize, Debug)]
pub(crate) enum Operation {
    #[serde(rename = "request_put")]
    Put {
        key: Octets,
        value: Octets,
        #[serde(skip_serializing_if = "Option::is_none")]
        lease: Option<Number>,
    },
    #[serde(rename = "request_range")]
    Range(RangeRequest),
    #[serde(rename = "request_delete_range")]
    Delete {
        key: Octets,
        #[serde(skip_serializing_if = "Option::is_none")]
        range_end: Option<Octets>,
    },
}

impl Operation {
    pub(crate) fn put(key: &str, value: impl Into<Octets>) -> Self {
        Self::Put {
            key: key.into(),
            value: value.into(),
            lease: None,
        }
    }

    /// The key goes when the lease has ended.
    pub(crate) fn put_for(key: &str, value: impl Into<Octets>, lease: Number) -> Self {
        Self::Put {
            key: key.into(),
            value: value.into(),
            lease: Some(lease),
        }
    }

    pub(crate) fn delete(key: &str) -> Self {
        Self::Delete {
            key: key.into(),
            range_end: None,
        }
    }

    /// Deletes the keys that begin with `prefix`.
    pub(crate) fn delete_all(prefix: &str) -> Self {
        Self::Delete {
            key: prefix.into(),
            range_end: Some(behind(prefix)),
        }
    }

    /// Deletes the keys from `first` on that come before `end`.
    pub(crate) fn delete_range(first: &str, end: &str) -> Self {
        Self::Delete {
            key: first.into(),
            range_end: Some(end.into()),
        }
    }
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct TxnResponse {
    pub(crate) header: Header,
    pub(crate) succeeded: bool,
    #[serde(deserialize_with = "list")]
    responses: Vec<Answer>,
}

impl TxnResponse {
    /// What its `n`th range has found.
    pub(crate) fn range(&self, n: usize) -> &[KeyValue] {
        let mut ranges = self
            .responses
            .iter()
            .filter_map(|answer| answer.response_range.as_ref());
        ranges.nth(n).map(|range| range.kvs.as_slice()).unwrap_or_default()
    }
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Answer {
    response_range: Option<RangeResponse>,
}

#[derive(Serialize)]
pub(crate) struct WatchRequest {
    pub(crate) create_request: WatchCreate,
}

#[derive(Serialize)]
pub(crate) struct WatchCreate {
    pub(crate) key: Octets,
    pub(crate) range_end: Octets,
    pub(crate) start_revision: Number,
    /// Tells the revision now and then, even if nothing happens.
    pub(crate) progress_notify: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct WatchMessage {
    pub(crate) result: Option<Watched>,
    pub(crate) error: Option<Problem>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Watched {
    #[serde(deserialize_with = "list")]
    pub(crate) events: Vec<Event>,
    pub(crate) canceled: bool,
    pub(crate) cancel_reason: String,
    pub(crate) compact_revision: Number,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Event {
    /// `DELETE`, or nothing.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) kv: KeyValue,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn requests_have_the_form_of_the_gateway() {
        let txn = Txn {
            compare: vec![Compare::value("a", "b"), Compare::absent("c")],
            success: vec![Operation::put("a", "x"), Operation::delete("d")],
            failure: vec![Operation::Range(RangeRequest::from("p/1", "p/", 2))],
        };
        let expected = r#"{"compare":[{"key":"YQ==","result":"EQUAL","target":"VALUE","value":"Yg=="},{"key":"Yw==","result":"EQUAL","target":"VERSION","version":"0"}],"success":[{"request_put":{"key":"YQ==","value":"eA=="}},{"request_delete_range":{"key":"ZA=="}}],"failure":[{"request_range":{"key":"cC8x","range_end":"cDA=","limit":"2","sort_order":"ASCEND","sort_target":"KEY"}}]}"#;
        assert_eq!(serde_json::to_string(&txn).unwrap(), expected);
    }

    #[test]
    fn a_list_has_so_many_elements_and_no_more() {
        let read = |count: usize| {
            let elements = vec!["{}"; count].join(",");
            let named = |name: &str| format!(r#"{{"{name}":[{elements}]}}"#);
            let [kvs, responses, events] = &["kvs", "responses", "events"].map(named);
            [
                serde_json::from_str::<RangeResponse>(kvs).is_ok(),
                serde_json::from_str::<TxnResponse>(responses).is_ok(),
                serde_json::from_str::<Watched>(events).is_ok(),
            ]
        };
        assert_eq!(read(MOST_ELEMENTS), [true; 3]);
        assert_eq!(read(MOST_ELEMENTS + 1), [false; 3]);
    }

    #[test]
    fn answers_are_read_with_what_is_left_out() {
        let text = r#"{"header":{"cluster_id":"1","revision":"12"},"responses":[{"response_put":{"header":{}}},{"response_range":{"kvs":[{"key":"YQ==","mod_revision":"3","value":"Yg=="}],"count":"1"}}]}"#;
        let answer: TxnResponse = serde_json::from_str(text).unwrap();
        assert!(!answer.succeeded);
        assert_eq!(answer.header.revision, Number(12));
        assert_eq!(answer.range(0).first().unwrap().value, Octets(b"b".to_vec()));
        assert!(answer.range(1).is_empty());
        let watched = r#"{"result":{"header":{"revision":"5"},"events":[{"kv":{"key":"YQ=="}},{"type":"DELETE","kv":{"key":"YQ=="}}]}}"#;
        let watched: WatchMessage = serde_json::from_str(watched).unwrap();
        assert_eq!(watched.result.unwrap().events.len(), 2);
    }
}
