//! The examples of the RFCs, from both sides.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_sasl::{
    cram_md5,
    digest_md5::{Challenge, DigestResponse},
    scram::{
        ClientFinal, ClientFirst, ClientKeys, Flag, Hash, ServerFinal, ServerFirst, StoredKeys, auth_message,
        binding_input, client_final, client_final_without_proof, client_first_bare, gs2_header, server_final,
        server_first,
    },
};

/// An exchange of SCRAM for `user` with the password `pencil`, without channel binding.
struct Exchange {
    hash: Hash,
    messages: [&'static str; 4],
}

/// RFC 5802 §5.
const SHA_1: Exchange = Exchange {
    hash: Hash::Sha1,
    messages: [
        "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
        "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    ],
};

/// RFC 7677 §3.
const SHA_256: Exchange = Exchange {
    hash: Hash::Sha256,
    messages: [
        "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ],
};

/// RFC 5802 §5, RFC 7677 §3.
#[test]
fn a_client_of_scram_writes_the_examples() {
    for Exchange { hash, messages } in [SHA_1, SHA_256] {
        let [client_first, server_text, client_last, server_last] = messages;
        let (_, nonce) = client_first.rsplit_once("r=").unwrap();
        let (header, bare) = (gs2_header(Flag::Unable, None), client_first_bare("user", nonce));
        assert_eq!(format!("{header}{bare}"), client_first);
        let first = ServerFirst::parse(server_text.as_bytes()).unwrap();
        let without_proof = client_final_without_proof(&binding_input(&header, b""), first.nonce);
        let signed = auth_message(&bare, first.text, &without_proof);
        let keys = ClientKeys::derive(hash, b"pencil", &first.salt, first.rounds);
        assert_eq!(client_final(&without_proof, &keys.proof(&signed)), client_last);
        let expected = ServerFinal::Signature(keys.signature(&signed));
        assert_eq!(ServerFinal::parse(server_last.as_bytes()).unwrap(), expected);
    }
}

/// RFC 5802 §5, RFC 7677 §3.
#[test]
fn a_server_of_scram_writes_the_examples() {
    for Exchange { hash, messages } in [SHA_1, SHA_256] {
        let [client_first, server_text, client_last, server_last] = messages;
        let first = ClientFirst::parse(client_first.as_bytes()).unwrap();
        assert_eq!(
            (&*first.user, first.authorization, first.flag),
            ("user", None, Flag::Unable)
        );
        let (nonce, rest) = server_text[2..].split_once(",s=").unwrap();
        assert!(nonce.starts_with(first.nonce));
        let salt = STANDARD.decode(rest.split_once(',').unwrap().0).unwrap();
        let keys = ClientKeys::derive(hash, b"pencil", &salt, 4096).stored();
        assert_eq!(server_first(nonce, &salt, 4096), server_text);
        let last = ClientFinal::parse(client_last.as_bytes()).unwrap();
        assert_eq!(last.binding, binding_input(first.gs2_header, b""));
        let signed = auth_message(first.bare, server_text, last.without_proof);
        assert!(keys.is_proven_by(&last.proof, &signed));
        assert!(!keys.is_proven_by(&last.proof, server_text));
        assert!(!keys.is_proven_by(&last.proof[1..], &signed));
        assert_eq!(server_final(&keys.signature(&signed)), server_last);
        let stored = StoredKeys::new(hash, keys.stored_key().to_vec(), keys.server_key().to_vec()).unwrap();
        assert!(stored.is_same(&keys));
        assert!(StoredKeys::new(hash, keys.stored_key().to_vec(), Vec::new()).is_none());
    }
}

/// RFC 2831 §4, whose service is IMAP. The order of directives is the client's own.
#[test]
fn the_example_of_digest_md5() {
    let challenge =
        "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",algorithm=md5-sess,charset=utf-8";
    let sent = "charset=utf-8,username=\"chris\",realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",nc=00000001,\
        cnonce=\"OA6MHXh6VqTrRk\",digest-uri=\"imap/elwood.innosoft.com\",response=d388dad90d4bbd760a152321f2143af7,\
        qop=auth";
    let proof = "rspauth=ea40f60335c427b5527b84dbabcdfffd";
    let challenge = Challenge::parse(challenge.as_bytes()).unwrap();
    assert!(challenge.is_utf8 && !challenge.is_stale);
    let mut response = DigestResponse {
        user: "chris".to_owned(),
        realm: challenge.realms[0].clone(),
        nonce: challenge.nonce,
        cnonce: "OA6MHXh6VqTrRk".to_owned(),
        uri: "imap/elwood.innosoft.com".to_owned(),
        is_utf8: true,
        ..DigestResponse::default()
    };
    assert_eq!(response.sign(b"secret"), proof);
    let received = DigestResponse::parse(sent.as_bytes()).unwrap();
    assert_eq!(received, response);
    assert_eq!(received.answer(b"secret").unwrap(), proof);
    assert_eq!(received.answer(b"Secret"), None);
}

/// RFC 2195 §2.
#[test]
fn the_example_of_cram_md5() {
    let challenge = cram_md5::challenge("1896.697170952", "postoffice.reston.mci.net");
    assert_eq!(challenge, "<1896.697170952@postoffice.reston.mci.net>");
    let response = cram_md5::CramMd5Response::new("tim".to_owned(), b"tanstaaftanstaaf", challenge.as_bytes());
    assert_eq!(response.text(), "tim b913a602c7eda7a495b4e6e7334d3890");
    let received = cram_md5::CramMd5Response::parse(response.text().as_bytes()).unwrap();
    assert_eq!(received.user, "tim");
    assert!(received.is_of(b"tanstaaftanstaaf", challenge.as_bytes()));
    assert!(!received.is_of(b"tanstaaftanstaag", challenge.as_bytes()));
    assert!(!received.is_of(b"tanstaaftanstaaf", b"<1@a>"));
}
