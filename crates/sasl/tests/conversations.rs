//! A client and a server that talk to each other, with the right and with a wrong password.

use ironbark_sasl::{
    BindingType, cram_md5,
    digest_md5::{Challenge, DigestResponse},
    prepared,
    scram::{
        ClientFinal, ClientFirst, ClientKeys, Flag, Hash, ScramError, ServerFinal, ServerFirst, auth_message,
        binding_input, client_final, client_final_without_proof, client_first_bare, gs2_header, server_final,
        server_first,
    },
};

/// Names that a mechanism must escape, quote or encode.
const NAMES: [&str; 5] = ["ann", "a=b,c", "a \"b\" \\c", "j\u{fc}rg", "\u{20ac} \u{440}"];
const PASSWORDS: [&str; 3] = ["pencil", "p\u{e4}ss", "\u{2168} \u{20ac}"];

#[test]
fn both_sides_of_scram_understand_each_other() {
    let hashes = [Hash::Sha1, Hash::Sha256, Hash::Sha512];
    let bindings = [None, Some(BindingType::ServerEndPoint), Some(BindingType::OpenLdap)];
    for (user, hash) in NAMES.iter().zip(hashes.iter().cycle()) {
        for (password, binding) in PASSWORDS.iter().zip(bindings) {
            assert_eq!(
                scram(*hash, user, password, password, binding),
                Ok(End::Proven),
                "{user} {password}"
            );
            assert_eq!(scram(*hash, user, password, "other", binding), Ok(End::ClientRefused));
        }
    }
}

/// How a negotiation ends.
#[derive(PartialEq, Eq, Debug)]
enum End {
    Proven,
    ClientRefused,
    ServerRefused,
}

/// A negotiation. `known` is the password that the server has.
fn scram(hash: Hash, user: &str, password: &str, known: &str, binding: Option<BindingType>) -> Result<End, ScramError> {
    let data = binding
        .and_then(|kind| kind.data(Some(b"hash"), None))
        .unwrap_or_default();
    // The client begins.
    let flag = binding.map_or(Flag::NotOffered, |kind| Flag::Bound(kind.name()));
    let header = gs2_header(flag, Some("dn:cn=b,dc=ex"));
    let bare = client_first_bare(user, "abc");
    let client_first = format!("{header}{bare}");
    // The server has made keys of the password earlier, and answers.
    let keys = ClientKeys::derive(hash, &prepared(known.as_bytes()), b"salt", 100).stored();
    let received = ClientFirst::parse(client_first.as_bytes())?;
    assert_eq!((&*received.user, received.flag), (user, flag));
    assert_eq!(received.authorization.as_deref(), Some("dn:cn=b,dc=ex"));
    let nonce = format!("{}def", received.nonce);
    let answer = server_first(&nonce, b"salt", 100);
    // The client proves itself.
    let first = ServerFirst::parse(answer.as_bytes())?;
    let own = ClientKeys::derive(hash, &prepared(password.as_bytes()), &first.salt, first.rounds);
    let without_proof = client_final_without_proof(&binding_input(&header, &data), first.nonce);
    let signed = auth_message(&bare, first.text, &without_proof);
    let client_last = client_final(&without_proof, &own.proof(&signed));
    // The server checks that, and proves itself.
    let last = ClientFinal::parse(client_last.as_bytes())?;
    assert_eq!(last.nonce, nonce);
    assert_eq!(last.binding, binding_input(received.gs2_header, &data));
    let seen = auth_message(received.bare, &answer, last.without_proof);
    if !keys.is_proven_by(&last.proof, &seen) {
        return Ok(End::ClientRefused);
    }
    let server_last = server_final(&keys.signature(&seen));
    // The client checks that.
    Ok(match ServerFinal::parse(server_last.as_bytes())? {
        ServerFinal::Signature(signature) if signature == own.signature(&signed) => End::Proven,
        _ => End::ServerRefused,
    })
}

#[test]
fn both_sides_of_digest_md5_understand_each_other() {
    for user in NAMES {
        for password in PASSWORDS {
            let challenge = Challenge {
                nonce: "abc".to_owned(),
                realms: vec!["ex\"ample".to_owned()],
                is_stale: false,
                is_utf8: true,
            };
            let received = Challenge::parse(challenge.text().as_bytes()).unwrap();
            assert_eq!(received, challenge);
            let mut response = DigestResponse {
                user: user.to_owned(),
                realm: received.realms[0].clone(),
                nonce: received.nonce,
                cnonce: "def".to_owned(),
                uri: "ldap/ldap.example.com".to_owned(),
                authorization: Some("dn:cn=\"b\",dc=ex".to_owned()),
                is_utf8: received.is_utf8,
                proof: String::new(),
            };
            let expected = response.sign(password.as_bytes());
            let answered = DigestResponse::parse(response.text().as_bytes()).unwrap();
            assert_eq!(answered, response);
            assert_eq!(
                answered.answer(password.as_bytes()),
                Some(expected),
                "{user} {password}"
            );
            assert_eq!(answered.answer(b"other"), None);
        }
    }
}

#[test]
fn both_sides_of_cram_md5_understand_each_other() {
    let challenge = cram_md5::challenge("abc", "ldap.example.com");
    for user in NAMES {
        for password in PASSWORDS {
            let response = cram_md5::CramMd5Response::new(user.to_owned(), password.as_bytes(), challenge.as_bytes());
            let received = cram_md5::CramMd5Response::parse(response.text().as_bytes()).unwrap();
            assert_eq!(received.user, user);
            assert!(received.is_of(password.as_bytes(), challenge.as_bytes()));
            assert!(!received.is_of(b"other", challenge.as_bytes()));
        }
    }
}
