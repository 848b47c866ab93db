//! Decoding and encoding take no memory of their own in steady state (counted, not timed).

use std::{borrow::Cow, hint::black_box};

use ironbark_ldap_proto::{
    DecodeLimits, DerefAliases, LdapResult, List, MessageId, Operation, Request, RequestMessage, Scope,
    SearchEntryWriter, SearchRequest,
    controls::{Control, ControlPolicy, PagedResults, RequestControls},
    encode_result,
    message::encode_request,
};
use ironbark_model::{Filter, ResultCode, filter::Assertion};

#[test]
fn an_equality_search_is_decoded_and_answered_without_allocating() {
    let names: [&[u8]; 3] = [b"cn", b"mail", b"uid"];
    let request = Request::Search(SearchRequest {
        base: b"ou=people,dc=example,dc=com",
        scope: Scope::WholeSubtree,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::Equality(Assertion {
            attribute: Cow::Borrowed(b"uid"),
            value: Cow::Borrowed(b"jdoe"),
        }),
        attributes: List::new(&names),
    });
    let paged = Control::critical(PagedResults { size: 100, cookie: b"" });
    let mut incoming = Vec::new();
    encode_request(&mut incoming, MessageId::new(5).unwrap(), &request, &[&paged]);
    let mut out = Vec::with_capacity(4096);
    let limits = DecodeLimits::default();

    let counted = allocation_counter::measure(|| {
        let message = RequestMessage::decode(&incoming, &limits).unwrap();
        let Request::Search(search) = &message.operation else {
            panic!()
        };
        let policy = ControlPolicy::default();
        let controls = RequestControls::decode(&message.controls, &message.operation, &policy, &limits).unwrap();
        assert_eq!(controls.paged_results.unwrap().value.size, 100);
        let mut writer = SearchEntryWriter::begin(&mut out, message.id, b"uid=jdoe,ou=people,dc=example,dc=com");
        for name in search.attributes {
            writer.attribute(name, [b"jdoe".as_slice()]);
        }
        writer.finish(&[]);
        let done = LdapResult::new(ResultCode::SUCCESS);
        let page = Control::optional(PagedResults { size: 0, cookie: b"" });
        encode_result(&mut out, message.id, Operation::Search, &done, &[&page]);
        black_box(&out);
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(black_box(Vec::<u8>::with_capacity(1))));
    assert_eq!(counted.count_total, 1);
}
