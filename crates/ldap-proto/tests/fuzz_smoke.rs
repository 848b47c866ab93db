//! The fuzz targets' entry points on the seed corpus and on mutations of it: what CI runs of fuzzing.

use ironbark_ldap_proto::{DecodeLimits, RequestMessage, ResponseMessage, fuzz};
use ironbark_testkit::fuzz::{corpus, smoke};

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    let tokens = [0x00, 0x7f, 0x80, 0x84, 0xff, 0x30, 0xa0, 0xa2];
    smoke("ldap_message", &tokens, fuzz::ldap_message).unwrap();
    smoke("control", &tokens, fuzz::control).unwrap();
    smoke("ber", &tokens, fuzz::ber).unwrap();
}

#[test]
fn every_message_of_the_corpus_is_valid() {
    let limits = DecodeLimits::default();
    for input in corpus("ldap_message").unwrap() {
        let request = RequestMessage::decode(&input, &limits).is_ok();
        let response = ResponseMessage::decode(&input, &limits).is_ok();
        assert!(request || response, "{input:x?}");
    }
}
