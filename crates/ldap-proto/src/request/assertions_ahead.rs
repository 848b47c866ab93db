//! Equality assertions of a search request, read before the request itself.

use ironbark_ber::{Reader, tags};
use smallvec::SmallVec;

use super::search::Scope;
use crate::{
    Operation,
    filter::{AND, EQUALITY},
};

/// The parts of a search message (RFC 4511 §4.5.1) that a look ahead needs. It is no check: the request is decoded
/// anew, and with all rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssertionsAhead<'a> {
    /// Name of the base object.
    pub base: &'a [u8],
    /// Scope.
    pub scope: Scope,
    /// Everything of the request that precedes the filter.
    pub before: &'a [u8],
    /// Attribute description and asserted value of the filter if it is an equality assertion, else those of the
    /// equality assertions among the operands of its `&`, four at most.
    pub assertions: SmallVec<[(&'a [u8], &'a [u8]); MOST]>,
}

/// Assertions that are read of one filter.
const MOST: usize = 4;

impl<'a> AssertionsAhead<'a> {
    /// `None`: the message is no search with such a filter. Bytes that are no message give `None` or anything.
    #[inline]
    pub fn of(message: &'a [u8]) -> Option<Self> {
        let mut content = Reader::new(message).sequence().ok()?;
        content.element(tags::INTEGER).ok()?;
        let (identifier, mut request) = content.nested_any().ok()?;
        if Operation::from_request_tag(identifier)? != Operation::Search {
            return None;
        }
        let whole = request.remaining();
        let base = request.octet_string().ok()?;
        let scope = Scope::from_number(request.enumerated().ok()?)?;
        for _ in ["derefAliases", "sizeLimit", "timeLimit", "typesOnly"] {
            request.skip().ok()?;
        }
        let before = whole.get(..whole.len() - request.remaining().len())?;
        let mut assertions = SmallVec::new();
        match request.nested_any().ok()? {
            (EQUALITY, item) => assertions.push(assertion(item)?),
            (AND, mut operands) => {
                while !operands.is_empty() && assertions.len() < MOST {
                    let (identifier, operand) = operands.nested_any().ok()?;
                    if identifier == EQUALITY {
                        assertions.push(assertion(operand)?);
                    }
                }
            }
            _ => {}
        }
        (!assertions.is_empty()).then_some(Self {
            base,
            scope,
            before,
            assertions,
        })
    }
}

fn assertion(mut content: Reader<'_>) -> Option<(&[u8], &[u8])> {
    Some((content.octet_string().ok()?, content.octet_string().ok()?))
}

#[cfg(test)]
mod tests {
    use ironbark_model::Filter;
    use proptest::prelude::*;

    use super::*;
    use crate::{DerefAliases, MessageId, Request, SearchRequest, message::encode_request};

    fn message(filter: &str) -> Vec<u8> {
        let attributes = [&b"cn"[..]];
        let search = SearchRequest {
            base: b"dc=example",
            scope: Scope::WholeSubtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 300,
            types_only: false,
            filter: Filter::parse(filter.as_bytes(), 10).unwrap(),
            attributes: attributes.as_slice().into(),
        };
        let mut out = Vec::new();
        encode_request(&mut out, MessageId::new(7).unwrap(), &Request::Search(search), &[]);
        out
    }

    fn assertions(filter: &str) -> Vec<(String, String)> {
        let message = message(filter);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Some(found) = AssertionsAhead::of(&message) else {
            return Vec::new();
        };
        assert_eq!((found.base, found.scope), (&b"dc=example"[..], Scope::WholeSubtree));
        let pairs = found.assertions.iter();
        pairs.map(|(attribute, value)| (text(attribute), text(value))).collect()
    }

    #[test]
    fn equality_alone_and_below_and_is_read() {
        let pair = |attribute: &str, value: &str| (attribute.to_owned(), value.to_owned());
        assert_eq!(assertions("(uid=ann)"), [pair("uid", "ann")]);
        let both = [pair("objectClass", "person"), pair("uid", "ann")];
        assert_eq!(assertions("(&(objectClass=person)(cn=a*)(uid=ann)(!(sn=x)))"), both);
        for other in ["(uid=*)", "(|(uid=ann)(uid=ben))", "(!(uid=ann))", "(uid=a*)", "(&)"] {
            assert_eq!(assertions(other), [], "{other}");
        }
        let long = "(uid=ann)".repeat(9);
        assert_eq!(assertions(&format!("(&{long})")).len(), MOST);
    }

    #[test]
    fn what_precedes_the_filter_is_the_same_whatever_is_asserted() {
        let (one, two) = (message("(uid=ann)"), message(&format!("(uid={})", "b".repeat(300))));
        let of = |message| AssertionsAhead::of(message).unwrap().before;
        assert_eq!(of(&one), of(&two));
    }

    proptest! {
        #[test]
        fn no_octets_are_a_panic(
            octets in proptest::collection::vec(any::<u8>(), 0..80),
            place in 0usize..60,
            octet: u8,
        ) {
            let _ = AssertionsAhead::of(&octets);
            let mut message = message("(&(objectClass=person)(uid=ann))");
            if let Some(known) = message.get_mut(place) {
                *known = octet;
            }
            let _ = AssertionsAhead::of(&message);
        }
    }
}
