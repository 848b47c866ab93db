//! Connections that are given away.

use std::io::{ErrorKind, Read as _, Write as _};

use ironbark_client::{
    Client, ClientError, RawStream,
    proto::{
        DecodeLimits, MessageId, Request, Response, ResponseMessage, ResultCode, extended::who_am_i, frame::frame,
        message::encode_request,
    },
};
use ironbark_testkit::{Flavor, wait};

use crate::connect::{ANN, ANN_DN, TLS, settings, usual, with};

/// The identity that the server sees, asked for by hand.
fn identity(mut stream: RawStream) -> String {
    let mut request = Vec::new();
    let id = MessageId::new(9).unwrap();
    encode_request(&mut request, id, &Request::Extended(who_am_i::request()), &[]);
    assert_eq!(stream.write(&request).unwrap(), request.len());
    stream.flush().unwrap();
    let mut received = Vec::new();
    let whole = wait::until(|| {
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer) {
            Ok(count) => {
                assert!(count > 0, "closed");
                received.extend_from_slice(&buffer[..count]);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        frame(&received, 4096).unwrap()
    });
    assert_eq!(whole, Some(received.len()));
    let message = ResponseMessage::decode(&received, &DecodeLimits::default()).unwrap();
    let Response::Extended(answer) = message.operation else {
        panic!("{message:?}")
    };
    assert_eq!(message.id, id);
    String::from_utf8(answer.value.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_connection_is_given_away_secured_and_bound() {
    let simple = [("bindmethod", "simple"), ("binddn", ANN_DN), ("credentials", "pencil")];
    let scram = [
        ("bindmethod", "sasl"),
        ("saslmech", "SCRAM-SHA-256"),
        ("authcid", "ann"),
        ("credentials", "pencil"),
    ];
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        for place in [&[("uri", "{ldap}")][..], &[("uri", "{ldapi}")], TLS[0], TLS[1]] {
            for (bind, who) in [(&simple[..], ANN), (&scram, ANN), (&[], "")] {
                let words = with(place, bind);
                let stream = Client::connect_raw(&settings(&server, &words)).await.unwrap();
                assert_eq!(identity(stream), who, "{flavor} {words:?}");
            }
        }
        let wrong = with(TLS[1], &with(&simple, &[("credentials", "pen")]));
        match Client::connect_raw(&settings(&server, &wrong)).await {
            Err(ClientError::BindRefused(result)) => assert_eq!(result.code, ResultCode::INVALID_CREDENTIALS),
            other => panic!("{flavor}: {other:?}"),
        }
    }
}
