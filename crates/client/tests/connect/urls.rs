//! Several URLs, simple binds, and servers that do not answer.

use std::time::Duration;

use ironbark_client::{Client, ClientError, ConnectSettings, proto::ResultCode};
use ironbark_testkit::Flavor;
use tokio::net::TcpListener;

use crate::connect::{ANN, ANN_DN, connect, identity, unsecured};

#[tokio::test]
async fn the_first_server_that_can_be_used_is_used() {
    let server = unsecured(Flavor::OpenLdap);
    let urls = format!(
        "ldap://127.0.0.1:1/ ldapi://%2Fnonexistent,{} {}",
        server.url(),
        server.ldapi_url()
    );
    let client = connect(&server, &[("uri", &urls)]).await.unwrap();
    assert_eq!(client.url().unwrap().port, Some(server.port()));
    assert!(client.tls().is_none());
    // A server without TLS counts as one that cannot be used.
    let urls = format!("{} ldap://127.0.0.1:1/", server.url());
    let words = [("uri", &*urls), ("starttls", "critical"), ("tls_reqcert", "never")];
    let Err(ClientError::NoServer(errors)) = connect(&server, &words).await else {
        panic!("connected")
    };
    assert!(
        matches!(
            errors[..],
            [ClientError::StartTlsRefused { .. }, ClientError::Connect { .. }]
        ),
        "{errors:?}"
    );
    let error = connect(&server, &[("uri", "ldap://127.0.0.1:1/")]).await;
    assert!(matches!(error, Err(ClientError::Connect { .. })), "{error:?}");
    let error = Client::connect(&ConnectSettings::default()).await;
    assert!(
        matches!(error, Err(ClientError::Setting { setting: "uri", .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn simple_binds_succeed_or_end_with_the_servers_answer() {
    for flavor in Flavor::ALL {
        let server = unsecured(flavor);
        let base = [("uri", "{ldap} {ldapi}"), ("bindmethod", "simple")];
        assert_eq!(identity(&server, &base).await.unwrap(), "");
        let ann = [&base[..], &[("binddn", ANN_DN), ("credentials", "pencil")]].concat();
        assert_eq!(identity(&server, &ann).await.unwrap(), ANN);
        let wrong = [&ann[..], &[("credentials", "pencils")]].concat();
        match identity(&server, &wrong).await {
            // One server's answer, not that of each URL.
            Err(ClientError::BindRefused(result)) => assert_eq!(result.code, ResultCode::INVALID_CREDENTIALS),
            other => panic!("{other:?}"),
        }
        // slapd calls it "unauthenticated bind (DN with no password) disallowed".
        let unauthenticated = [&base[..], &[("binddn", ANN_DN)]].concat();
        match identity(&server, &unauthenticated).await {
            Err(ClientError::BindRefused(result)) => assert_eq!(result.code, ResultCode::UNWILLING_TO_PERFORM),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn silence_is_a_timeout_of_the_part_that_it_meets() {
    // Connections are accepted by the system, and nobody answers.
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let connecting = |scheme: &str, words: &[(&str, &str)]| {
        let mut settings = ConnectSettings::default();
        settings.set("uri", &format!("{scheme}://127.0.0.1:{port}/")).unwrap();
        settings.set("tls_reqcert", "never").unwrap();
        for (keyword, value) in words {
            settings.set(keyword, value).unwrap();
        }
        if scheme == "ldaps" {
            settings.connect_timeout = Some(Duration::from_millis(20));
        }
        settings.operation_timeout = Some(Duration::from_millis(30));
        async move { Client::connect(&settings).await }
    };
    let handshake = connecting("ldaps", &[]).await;
    assert!(
        matches!(&handshake, Err(ClientError::ConnectTimeout { timeout, .. }) if *timeout == Duration::from_millis(20)),
        "{handshake:?}"
    );
    for words in [
        &[("starttls", "critical")][..],
        &[("starttls", "yes")],
        &[("bindmethod", "simple")],
        &[("bindmethod", "sasl"), ("authcid", "ann"), ("credentials", "x")],
        &[
            ("bindmethod", "sasl"),
            ("authcid", "ann"),
            ("credentials", "x"),
            ("saslmech", "SCRAM-SHA-256"),
        ],
    ] {
        let late = connecting("ldap", words).await;
        assert!(
            matches!(&late, Err(ClientError::Timeout(limit)) if *limit == Duration::from_millis(30)),
            "{words:?}: {late:?}"
        );
    }
}
