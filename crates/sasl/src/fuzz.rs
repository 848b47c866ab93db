//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use crate::{
    cram_md5,
    digest_md5::{Challenge, DigestResponse, MAX_CHALLENGE, MAX_RESPONSE},
    scram::{
        ClientFinal, ClientFirst, Hash, ServerFinal, ServerFirst, StoredKeys, client_final, client_first_bare,
        gs2_header, server_final, server_first,
    },
};

/// Reads `data` as each message of each mechanism, and writes those that can be read.
///
/// # Panics
/// When a message that was written is read as another one: that is the property under test.
pub fn sasl(data: &[u8]) {
    scram(data);
    digest_md5(data);
    if let Some(response) = cram_md5::CramMd5Response::parse(data) {
        assert_eq!(response.text().as_bytes(), data, "CRAM-MD5");
        let _ = response.is_of(PASSWORD, b"<1@a>");
    }
}

fn scram(data: &[u8]) {
    if let Ok(first) = ClientFirst::parse(data) {
        let header = gs2_header(first.flag, first.authorization.as_deref());
        assert_eq!(header, first.gs2_header);
        assert!(first.bare.starts_with(&client_first_bare(&first.user, first.nonce)));
    }
    if let Ok(last) = ClientFinal::parse(data) {
        assert_eq!(client_final(last.without_proof, &last.proof).as_bytes(), data);
        if let Some(keys) = StoredKeys::new(Hash::Sha1, vec![0; 20], vec![0; 20]) {
            assert!(
                !keys.is_proven_by(&last.proof, last.without_proof),
                "a proof without the key"
            );
        }
    }
    if let Ok(first) = ServerFirst::parse(data) {
        let text = server_first(first.nonce, &first.salt, first.rounds);
        let again = ServerFirst::parse(text.as_bytes());
        // Rounds may have had zeros before them, and extensions behind them.
        let again = again.map(|again| (again.nonce, again.salt, again.rounds));
        assert_eq!(again, Ok((first.nonce, first.salt, first.rounds)));
    }
    if let Ok(ServerFinal::Signature(signature)) = ServerFinal::parse(data) {
        assert!(data.starts_with(server_final(&signature).as_bytes()));
    }
}

fn digest_md5(data: &[u8]) {
    if let Ok(challenge) = Challenge::parse(data) {
        let text = challenge.text();
        // Quotes make it longer.
        if text.len() <= MAX_CHALLENGE {
            assert_eq!(Challenge::parse(text.as_bytes()), Ok(challenge));
        }
    }
    if let Ok(mut response) = DigestResponse::parse(data) {
        assert_eq!(response.answer(PASSWORD), None, "a proof of another password");
        let proof = response.sign(PASSWORD);
        assert_eq!(response.answer(PASSWORD), Some(proof));
        let text = response.text();
        if text.len() <= MAX_RESPONSE {
            assert_eq!(DigestResponse::parse(text.as_bytes()), Ok(response));
        }
    }
}

/// No message of the corpus is made with it.
const PASSWORD: &[u8] = b"fuzz";
