//! Decoding of requests.

use std::hint::black_box;

use ironbark_ldap_proto::{
    CompareRequest, DecodeLimits, DerefAliases, Filter, MessageId, ModifyChange, ModifyOperation, ModifyRequest,
    Request, RequestMessage, Scope, SearchRequest, message::encode_request,
};

use crate::{
    accounts::{Account, Accounts},
    count,
};

/// Counts the decoding of each kind of request.
pub fn count_all(accounts: &Accounts) {
    let requests = |make: fn(&Account) -> Vec<u8>| accounts.all.iter().map(make).collect::<Vec<_>>();
    decode("decode-search", &requests(|account| search(&equality(account))));
    decode("decode-search-and", &requests(|account| search(&conjunction(account))));
    decode("decode-compare", &requests(compare));
    decode("decode-modify", &requests(modify));
}

/// `(zimbraMailDeliveryAddress=...)`.
pub fn equality(account: &Account) -> String {
    format!("(zimbraMailDeliveryAddress={})", account.address)
}

/// A selective equality among two that all accounts answer.
pub fn conjunction(account: &Account) -> String {
    format!(
        "(&(objectClass=zimbraAccount)(zimbraMailStatus=enabled)(mail={}))",
        account.address
    )
}

/// Four characters out of the middle of an indexed value.
pub fn substring(account: &Account) -> String {
    let part = account.uid.get(2..6).expect("a long uid");
    format!("(mail=*{part}*)")
}

/// A search of the whole directory for whole entries.
pub fn search(filter: &str) -> Vec<u8> {
    encoded(&Request::Search(SearchRequest {
        base: b"dc=ex",
        scope: Scope::WholeSubtree,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(filter.as_bytes(), 10).expect("a filter"),
        attributes: [].as_slice().into(),
    }))
}

/// A search of an entry by its name.
pub fn base(account: &Account) -> Vec<u8> {
    encoded(&Request::Search(SearchRequest {
        base: account.dn.as_bytes(),
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(b"(objectClass=*)", 10).expect("a filter"),
        attributes: [].as_slice().into(),
    }))
}

/// A compare that is answered with compareTrue.
pub fn compare(account: &Account) -> Vec<u8> {
    encoded(&Request::Compare(CompareRequest {
        entry: account.dn.as_bytes(),
        attribute: b"zimbraMailDeliveryAddress",
        value: account.address.as_bytes(),
    }))
}

/// The bytes of a request.
pub fn encoded(request: &Request<'_>) -> Vec<u8> {
    let mut pdu = Vec::new();
    encode_request(&mut pdu, MessageId::new(7).expect("in range"), request, &[]);
    pdu
}

fn modify(account: &Account) -> Vec<u8> {
    let (time, addresses) = (
        [b"20260102030405Z".as_slice()],
        [account.uid.as_bytes(), account.address.as_bytes()],
    );
    let changes = [
        (
            ModifyOperation::Replace,
            b"zimbraLastLogonTimestamp".as_slice(),
            &time[..],
        ),
        (ModifyOperation::Add, b"zimbraMailForwardingAddress", &addresses),
        (ModifyOperation::Delete, b"zimbraMailAlias", &[]),
    ]
    .map(|(operation, attribute, values)| ModifyChange {
        operation,
        attribute,
        values: values.into(),
    });
    encoded(&Request::Modify(ModifyRequest {
        object: account.dn.as_bytes(),
        changes: changes.as_slice().into(),
    }))
}

fn decode(name: &str, pdus: &[Vec<u8>]) {
    let limits = DecodeLimits::default();
    count(name, pdus.len(), &mut |number| {
        let message = RequestMessage::decode(black_box(&pdus[number]), &limits).expect("decodes");
        // Lists are read when they are needed.
        if let Request::Modify(modify) = &message.operation {
            for change in modify.changes {
                for value in change.values {
                    black_box(value);
                }
            }
        }
        black_box(message);
    });
}
