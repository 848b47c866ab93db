//! ldaps:// and StartTLS: who is trusted, under which name, and what is refused.

use ironbark_client::{ClientError, proto::ResultCode};
use ironbark_testkit::{
    CertificateAuthority, Flavor, Layout, Listen, Server, Stranger, Strangers, TestCertificate, TestkitError,
};

use crate::connect::{TLS, connect, everything, identity, secured, settings, unsecured, usual, with};

#[tokio::test]
async fn both_ways_secure_a_connection() {
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        for words in TLS {
            let client = connect(&server, words).await.unwrap();
            let tls = client.tls().unwrap();
            assert_eq!((tls.negotiated.protocol, tls.negotiated.strength), ("TLSv1.3", 256));
            assert!(tls.endpoint.is_some() && !tls.has_certificate);
            assert_eq!(client.who_am_i().await.unwrap(), "");
            let found = client.search(&everything(), &[]).unwrap().collect().await.unwrap();
            assert_eq!(found.entries.len(), 4);
            client.unbind().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_left_or_used_as_the_settings_say() {
    for flavor in Flavor::ALL {
        let server = unsecured(flavor);
        let words = |level| [("uri", "{ldap}"), ("tls_reqcert", "never"), ("starttls", level)];
        let Err(ClientError::StartTlsRefused { result, .. }) = connect(&server, &words("critical")).await else {
            panic!("not refused")
        };
        assert_eq!(result.code, ResultCode::PROTOCOL_ERROR);
        for level in ["yes", "no"] {
            let client = connect(&server, &words(level)).await.unwrap();
            assert!(client.tls().is_none());
            assert_eq!(client.who_am_i().await.unwrap(), "");
        }
        // ldaps:// on a port without TLS.
        let plain = server.url().replace("ldap:", "ldaps:");
        let error = connect(&server, &[("uri", &plain), ("tls_reqcert", "never")]).await;
        assert!(matches!(error, Err(ClientError::Tls { .. })), "{error:?}");
    }
}

/// Why a connection fails, or `None`.
async fn failure(server: &ironbark_testkit::Server, words: &[(&str, &str)]) -> Option<String> {
    match connect(server, words).await {
        Ok(client) => {
            assert!(client.tls().is_some());
            None
        }
        Err(ClientError::Tls { reason, .. }) => Some(reason),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_strange_authority_is_refused_where_certificates_are_checked() {
    let server = usual(Flavor::OpenLdap);
    let stranger = CertificateAuthority::new("Another CA").unwrap();
    server.layout().write("other.crt", stranger.certificate()).unwrap();
    for base in TLS {
        for level in ["demand", "try", "hard"] {
            let words = with(base, &[("tls_cacert", "{dir}/other.crt"), ("tls_reqcert", level)]);
            let why = failure(&server, &words).await.unwrap();
            assert!(why.contains("UnknownIssuer"), "{level}: {why}");
        }
        for level in ["allow", "never"] {
            let words = with(base, &[("tls_cacert", "{dir}/other.crt"), ("tls_reqcert", level)]);
            assert_eq!(failure(&server, &words).await, None, "{level}");
        }
    }
    // The authorities of the system do not know ours.
    let why = connect(&server, &[("uri", "{ldaps}")]).await.unwrap_err().to_string();
    assert!(
        why.contains("UnknownIssuer") || why.starts_with("tls_cacert: "),
        "{why}"
    );
    // A directory of authorities.
    let directory = server.layout().make_dir("authorities").unwrap();
    std::fs::copy(server.layout().join("ca.crt"), directory.join("ca.pem")).unwrap();
    let words = [("uri", "{ldaps}"), ("tls_cacertdir", "{dir}/authorities")];
    assert_eq!(failure(&server, &words).await, None);
}

#[tokio::test]
async fn the_names_of_a_certificate_count_as_tls_reqsan_says() {
    let levels = ["never", "allow", "try", "demand"];
    for (common_name, names, expected) in [
        // CN and subjectAltName, and at which levels that is right.
        ("localhost", &["localhost", "127.0.0.1"][..], [true, true, true, true]),
        ("other.example", &["localhost"], [false, true, true, true]),
        ("localhost", &["other.example"], [true, true, false, false]),
        ("localhost", &[], [true, true, true, false]),
        ("other.example", &["other.example"], [false, false, false, false]),
        ("other.example", &[], [false, false, false, false]),
    ] {
        let (server, _) = secured(Flavor::OpenLdap, "", |authority| {
            authority.server_named(common_name, names)
        });
        let url = server.tls_url().replace("127.0.0.1", "localhost");
        for (level, is_right) in levels.into_iter().zip(expected) {
            let words = [("uri", &*url), ("tls_cacert", "{dir}/ca.crt"), ("tls_reqsan", level)];
            let why = failure(&server, &words).await;
            assert_eq!(why.is_none(), is_right, "{common_name} {names:?} {level}: {why:?}");
            assert!(why.is_none_or(|why| why.contains("not valid for")));
        }
        let words = [("uri", &*url), ("tls_cacert", "{dir}/ca.crt"), ("tls_reqcert", "allow")];
        assert_eq!(failure(&server, &words).await, None);
    }
}

#[tokio::test]
async fn an_address_must_be_in_the_certificate_too() {
    let (server, _) = secured(Flavor::OpenLdap, "", |authority| {
        authority.server_named("localhost", &["localhost"])
    });
    let words = [("uri", "{ldaps}"), ("tls_cacert", "{dir}/ca.crt")];
    assert!(settings(&server, &words).urls[0].host == "127.0.0.1");
    assert!(
        failure(&server, &words)
            .await
            .is_some_and(|why| why.contains("not valid for"))
    );
}

#[tokio::test]
async fn the_machines_own_name_counts_for_localhost() {
    let full = ironbark_runtime::process::full_host_name();
    let (server, _) = secured(Flavor::OpenLdap, "", |authority| {
        authority.server_named(&full, &[&full])
    });
    let url = server.tls_url().replace("127.0.0.1", "localhost");
    let words = [("uri", &*url), ("tls_cacert", "{dir}/ca.crt"), ("tls_reqsan", "demand")];
    assert_eq!(failure(&server, &words).await, None);
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let (server, _) = secured(Flavor::OpenLdap, "", CertificateAuthority::expired_server);
    for base in TLS {
        assert!(failure(&server, base).await.is_some_and(|why| why.contains("expired")));
        assert_eq!(failure(&server, &with(base, &[("tls_reqcert", "never")])).await, None);
    }
}

#[tokio::test]
async fn a_revoked_certificate_is_refused_when_revocation_is_checked() {
    let mut own = None;
    let (server, mut authority) = secured(Flavor::OpenLdap, "", |authority| {
        let identity = authority.server()?;
        own = Some(again(&identity));
        Ok(identity)
    });
    let other = authority.server().unwrap();
    let check = with(TLS[0], &[("tls_crlcheck", "peer"), ("tls_cacertdir", "{dir}/lists")]);
    let directory = server.layout().make_dir("lists").unwrap();
    let Err(ClientError::Setting { setting, .. }) = connect(&server, &check).await else {
        panic!("there is no list")
    };
    assert_eq!(setting, "tls_crlcheck");
    let list = authority.revocation_list(&[&other]).unwrap();
    std::fs::write(directory.join("list.pem"), list).unwrap();
    assert_eq!(failure(&server, &check).await, None);
    let list = authority.revocation_list(&[&own.unwrap()]).unwrap();
    std::fs::write(directory.join("list.pem"), list).unwrap();
    for level in ["peer", "all"] {
        let why = failure(&server, &with(&check, &[("tls_crlcheck", level)])).await;
        assert!(
            why.as_ref().is_some_and(|why| why.contains("Revoked")),
            "{level}: {why:?}"
        );
    }
    assert_eq!(failure(&server, &with(&check, &[("tls_crlcheck", "none")])).await, None);
}

/// A copy, of which the number counts.
fn again(identity: &TestCertificate) -> TestCertificate {
    TestCertificate {
        certificate: identity.certificate.clone(),
        certificate_der: identity.certificate_der.clone(),
        key: identity.key.clone(),
        key_der: identity.key_der.clone(),
        serial: identity.serial,
    }
}

#[tokio::test]
async fn a_clients_certificate_is_shown_and_external_takes_it() {
    for flavor in Flavor::ALL {
        let (server, mut authority) = secured(flavor, "TLSVerifyClient demand\n", CertificateAuthority::server);
        authority.client("Ann").unwrap().write(server.layout(), "ann").unwrap();
        for base in TLS {
            let own = with(base, &[("tls_cert", "{dir}/ann.crt"), ("tls_key", "{dir}/ann.key")]);
            let external = with(&own, &[("bindmethod", "sasl"), ("saslmech", "EXTERNAL")]);
            let who = identity(&server, &external).await.unwrap();
            assert_eq!(who, "dn:cn=ann,ou=people,o=example", "{flavor}");
            // Without a certificate, the server ends the connection, with TLS 1.3 after the handshake.
            let error = identity(&server, base).await.unwrap_err();
            assert!(
                matches!(error, ClientError::Tls { .. } | ClientError::Closed { .. }),
                "{error:?}"
            );
            let none = with(base, &[("bindmethod", "sasl"), ("saslmech", "EXTERNAL")]);
            let error = identity(&server, &none).await.unwrap_err().to_string();
            assert!(error.starts_with("tls_cert: "), "{error}");
        }
    }
}

#[tokio::test]
async fn ciphers_curves_and_versions_are_obeyed() {
    let server = usual(Flavor::OpenLdap);
    let cipher = |words| {
        let words = with(TLS[0], words);
        let server = &server;
        async move {
            let client = connect(server, &words).await.unwrap();
            client.tls().unwrap().negotiated
        }
    };
    let tls12 = [(
        "tls_cipher_suite",
        "NORMAL:-VERS-TLS1.3:-AES-256-GCM:-CHACHA20-POLY1305",
    )];
    let negotiated = cipher(&tls12).await;
    assert_eq!(negotiated.cipher, "ECDHE-ECDSA-AES128-GCM-SHA256");
    assert_eq!((negotiated.protocol, negotiated.strength), ("TLSv1.2", 128));
    assert!(negotiated.exporter.is_none());
    let other = [
        ("tls_cipher_suite", "TLS_CHACHA20_POLY1305_SHA256"),
        ("tls_ecname", "P-521"),
    ];
    assert_eq!(cipher(&other).await.cipher, "TLS_CHACHA20_POLY1305_SHA256");
    assert_eq!(cipher(&[("tls_protocol_min", "3.4")]).await.protocol, "TLSv1.3");
}

#[tokio::test]
async fn a_setting_that_cannot_be_obeyed_is_named() {
    // A server is not even asked.
    let layout = Layout::new().unwrap();
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    layout.write("ca.crt", authority.certificate()).unwrap();
    layout.write("empty", "").unwrap();
    prepare(&layout, &mut authority).unwrap();
    let dir = layout.path().display().to_string();
    for (name, words) in [
        ("tls_cacert", &[("tls_cacert", "{dir}/absent")][..]),
        ("tls_cacert", &[("tls_cacert", "{dir}/empty")]),
        ("tls_cacert", &[("tls_cacertdir", "{dir}/db")]),
        ("tls_cacertdir", &[("tls_cacertdir", "{dir}/absent")]),
        (
            "tls_cert",
            &[("tls_cert", "{dir}/absent"), ("tls_key", "{dir}/ann.key")],
        ),
        ("tls_cert", &[("tls_cert", "{dir}/empty"), ("tls_key", "{dir}/ann.key")]),
        ("tls_cert", &[("tls_key", "{dir}/ann.key")]),
        ("tls_key", &[("tls_cert", "{dir}/ann.crt")]),
        (
            "tls_key",
            &[("tls_cert", "{dir}/ann.crt"), ("tls_key", "{dir}/ann.crt")],
        ),
        (
            "tls_key",
            &[("tls_cert", "{dir}/ann.crt"), ("tls_key", "{dir}/bob.key")],
        ),
        ("tls_cipher_suite", &[("tls_cipher_suite", "HIGH:nonsense")]),
        ("tls_cipher_suite", &[("tls_cipher_suite", "AES256-SHA")]),
        ("tls_ecname", &[("tls_ecname", "sect163k1")]),
        (
            "tls_protocol_min",
            &[("tls_cipher_suite", "NORMAL:-VERS-TLS1.3"), ("tls_protocol_min", "3.4")],
        ),
        (
            "tls_crlcheck",
            &[("tls_cacert", "{dir}/ca.crt"), ("tls_crlcheck", "all")],
        ),
        ("uri", &[("tls_cacert", "{dir}/ca.crt"), ("uri", "ldaps://a..b/")]),
    ] {
        let mut settings = ironbark_client::ConnectSettings::default();
        settings.set("uri", "ldaps://localhost:1/").unwrap();
        for (keyword, value) in words {
            settings.set(keyword, &value.replace("{dir}", &dir)).unwrap();
        }
        match ironbark_client::Client::connect(&settings).await {
            Err(ClientError::Setting { setting, reason }) => assert_eq!(setting, name, "{words:?}: {reason}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
}

fn prepare(layout: &Layout, authority: &mut CertificateAuthority) -> Result<(), TestkitError> {
    authority.client("Ann")?.write(layout, "ann")?;
    authority.client("Bob")?.write(layout, "bob")
}

#[tokio::test]
async fn servers_with_the_certificates_of_strangers_are_trusted_as_by_openssl() {
    let authority = "basicConstraints=critical,CA:TRUE\nsubjectAltName=IP:127.0.0.1\n";
    let usual = Stranger::USUAL;
    for (name, like, trusted, is_weak) in [
        (
            "self",
            Stranger {
                extensions: authority,
                issuer: "server",
                ..usual
            },
            "server",
            true,
        ),
        (
            "authority",
            Stranger {
                extensions: authority,
                ..usual
            },
            "root",
            true,
        ),
        (
            "version 1",
            Stranger {
                extensions: "",
                subject: "/CN=127.0.0.1",
                ..usual
            },
            "root",
            true,
        ),
        (
            "short",
            Stranger {
                key: &["-newkey", "rsa:1024"],
                ..usual
            },
            "root",
            true,
        ),
        (
            "pss",
            Stranger {
                key: &["-newkey", "rsa-pss"],
                ..usual
            },
            "root",
            false,
        ),
    ] {
        let template = format!("{}{}", crate::connect::FILES, Server::PEOPLE_CONFIG);
        let mut server = Server::prepare(Flavor::OpenLdap, &template)
            .unwrap()
            .listening_on(Listen::Tls);
        let strangers = Strangers::new(server.layout()).unwrap();
        strangers.make("server", like).unwrap();
        std::fs::copy(strangers.file(trusted, "crt"), strangers.file("ca", "crt")).unwrap();
        server.launch().unwrap();
        assert_eq!(failure(&server, TLS[0]).await, None, "{name}");
        let mut strict = settings(&server, TLS[0]);
        strict.tls.is_strict = true;
        let refused = ironbark_client::Client::connect(&strict).await.is_err();
        assert_eq!(refused, is_weak, "{name}");
    }
}
