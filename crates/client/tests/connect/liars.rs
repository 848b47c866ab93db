//! Peers that lie: in their proofs, and around StartTLS.

use ironbark_client::{Client, ClientError, ConnectSettings, Options, Search};
use ironbark_ldap_proto::{Filter, Scope};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// One BER element with a short length.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    match u8::try_from(content.len()).unwrap() {
        length @ 0..=127 => element.push(length),
        length => element.extend([0x81, length]),
    }
    element.extend(content);
    element
}

/// A bind response with SASL data.
fn bind_response(id: u8, code: u8, data: Option<&[u8]>) -> Vec<u8> {
    let mut content = [&[10, 1, code][..], &[4, 0, 4, 0]].concat();
    content.extend(data.map(|data| element(0x87, data)).unwrap_or_default());
    element(0x30, &[&[2, 1, id][..], &element(0x61, &content)].concat())
}

/// One message, which must be short.
async fn read(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 2];
    stream.read_exact(&mut header).await.unwrap();
    let length = match header[1] {
        0x81 => usize::from(stream.read_u8().await.unwrap()),
        length => usize::from(length),
    };
    let mut content = vec![0; length];
    stream.read_exact(&mut content).await.unwrap();
    content
}

/// The outcome of a bind with a peer of this behaviour.
async fn bind<F: Future<Output = ()> + Send + 'static>(
    mechanism: &str,
    peer: impl FnOnce(TcpStream) -> F + Send + 'static,
) -> ClientError {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut settings = ConnectSettings::default();
    for (keyword, value) in [
        ("uri", &*format!("ldap://{}/", listener.local_addr().unwrap())),
        ("bindmethod", "sasl"),
        ("saslmech", mechanism),
        ("authcid", "ann"),
        ("credentials", "pencil"),
    ] {
        settings.set(keyword, value).unwrap();
    }
    let peer = tokio::spawn(async move { peer(listener.accept().await.unwrap().0).await });
    let error = Client::connect(&settings).await.unwrap_err();
    peer.await.unwrap();
    error
}

/// The nonce in SCRAM's first message.
fn nonce(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    text.rsplit_once("r=").unwrap().1.to_owned()
}

fn reason(error: ClientError) -> String {
    match error {
        ClientError::Sasl { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_with_a_wrong_signature_is_refused() {
    // The signature comes with the result, or in a challenge of its own.
    for code in [0, 14] {
        let error = bind("SCRAM-SHA-256", async move |mut stream: TcpStream| {
            let nonce = nonce(&read(&mut stream).await);
            let first = format!("r={nonce}x,s=QSXCR+Q6sek8bf92,i=4096");
            stream
                .write_all(&bind_response(1, 14, Some(first.as_bytes())))
                .await
                .unwrap();
            read(&mut stream).await;
            let last = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
            stream.write_all(&bind_response(2, code, Some(last))).await.unwrap();
            // Nothing more comes.
            let _ = stream.read(&mut [0]).await;
        });
        let why = reason(error.await);
        assert!(why.contains("does not know the password"), "{why}");
    }
}

#[tokio::test]
async fn a_server_that_accepts_without_a_proof_is_refused() {
    for mechanism in ["SCRAM-SHA-1", "SCRAM-SHA-512", "DIGEST-MD5"] {
        let error = bind(mechanism, async move |mut stream: TcpStream| {
            read(&mut stream).await;
            stream.write_all(&bind_response(1, 0, None)).await.unwrap();
        });
        let why = reason(error.await);
        assert!(why.contains("does not prove"), "{mechanism}: {why}");
    }
}

#[tokio::test]
async fn a_digest_with_a_wrong_answer_is_refused() {
    let error = bind("DIGEST-MD5", async move |mut stream: TcpStream| {
        read(&mut stream).await;
        let challenge = b"nonce=\"abc\",realm=\"x\",qop=\"auth\",algorithm=md5-sess,charset=utf-8";
        stream.write_all(&bind_response(1, 14, Some(challenge))).await.unwrap();
        read(&mut stream).await;
        let proof = b"rspauth=ea40f60335c427b5527b84dbabcdfffd";
        stream.write_all(&bind_response(2, 14, Some(proof))).await.unwrap();
    });
    let why = reason(error.await);
    assert!(why.contains("does not know the password"), "{why}");
}

#[tokio::test]
async fn a_server_cannot_make_the_client_compute_or_talk_without_end() {
    let error = bind("SCRAM-SHA-256", async move |mut stream: TcpStream| {
        let nonce = nonce(&read(&mut stream).await);
        let first = format!("r={nonce}x,s=QSXCR+Q6sek8bf92,i=4000000000");
        stream
            .write_all(&bind_response(1, 14, Some(first.as_bytes())))
            .await
            .unwrap();
    });
    let why = reason(error.await);
    assert!(why.contains("4000000000 rounds"), "{why}");
    let error = bind("CRAM-MD5", async move |mut stream: TcpStream| {
        for id in 1..=2 {
            read(&mut stream).await;
            stream.write_all(&bind_response(id, 14, Some(b"<1@a>"))).await.unwrap();
        }
    });
    let why = reason(error.await);
    assert!(why.contains("goes on"), "{why}");
}

/// An attacker sends an answer of his own behind the server's consent, before TLS protects the connection.
#[tokio::test]
async fn what_is_sent_before_tls_is_not_taken_as_sent_within() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut settings = ConnectSettings::default();
    let url = format!("ldap://{}/", listener.local_addr().unwrap());
    for (keyword, value) in [("uri", &*url), ("starttls", "yes"), ("tls_reqcert", "never")] {
        settings.set(keyword, value).unwrap();
    }
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read(&mut stream).await;
        let consent = element(
            0x30,
            &[&[2, 1, 1][..], &element(0x78, &[10, 1, 0, 4, 0, 4, 0])].concat(),
        );
        let injected = bind_response(1, 0, None);
        stream.write_all(&[consent, injected].concat()).await.unwrap();
        let _ = stream.read(&mut [0; 1024]).await;
    });
    let error = Client::connect(&settings).await;
    assert!(matches!(error, Err(ClientError::Tls { .. })), "{error:?}");
    peer.await.unwrap();
}

#[tokio::test]
async fn nonsense_instead_of_consent_ends_the_attempt() {
    for (answer, expected) in [
        (&b"HTTP/1.1 400 Bad Request"[..], "not a SEQUENCE"),
        (&b"\x30\x84\x7f\xff\xff\xff"[..], "exceeds the limit"),
        (
            &b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"[..],
            "was not answered",
        ),
        (
            &b"\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x34\x04\x00\x04\x00"[..],
            "unavailable",
        ),
        (&b"\x30\x0c\x02"[..], "closed"),
        (&b""[..], "closed"),
    ] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let mut settings = ConnectSettings::default();
        let url = format!("ldap://{}/", listener.local_addr().unwrap());
        for (keyword, value) in [("uri", &*url), ("starttls", "yes"), ("tls_reqcert", "never")] {
            settings.set(keyword, value).unwrap();
        }
        let peer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read(&mut stream).await;
            stream.write_all(answer).await.unwrap();
        });
        let error = Client::connect(&settings).await.unwrap_err();
        assert!(
            matches!(error, ClientError::Protocol(_) | ClientError::Closed { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(expected), "{error}");
        peer.await.unwrap();
    }
}

/// The answer has entries, or references, without end. The mechanisms that a server offers are asked for in this way,
/// before any bind.
#[tokio::test]
async fn an_answer_without_end_is_collected_up_to_a_limit() {
    let attribute = element(
        0x30,
        &[element(4, b"description"), element(0x31, &element(4, &[b'x'; 60]))].concat(),
    );
    let entry = element(0x64, &[element(4, b""), element(0x30, &attribute)].concat());
    let empty = element(0x64, &[element(4, b""), element(0x30, b"")].concat());
    let reference = element(0x73, &element(4, b"ldap://localhost/"));
    for part in [entry, empty, reference] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let peer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let message = element(0x30, &[&[2, 1, 1][..], &part].concat());
            while stream.write_all(&message).await.is_ok() {}
        });
        let options = Options {
            max_collected: 1 << 20,
            ..Options::default()
        };
        let client = Client::connect_tcp(&address, options).await.unwrap();
        let search = Search::new("", Scope::BaseObject, Filter::Present(b"objectClass".into()));
        let error = client.search(&search, &[]).unwrap().collect().await.unwrap_err();
        assert!(matches!(error, ClientError::TooLong(1_048_576)), "{error:?}");
        // The peer ends with the connection.
        drop(client);
        peer.await.unwrap();
    }
}
