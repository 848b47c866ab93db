//! SASL mechanisms against real servers.

use ironbark_client::{ChannelBindingType, Client, ClientError, proto::ResultCode};
use ironbark_testkit::Flavor;

use crate::connect::{ANN, TLS, connect, identity, settings, usual, with};

const IN_THE_CLEAR: &[(&str, &str)] = &[("uri", "{ldap}")];
const AS_ANN: &[(&str, &str)] = &[("bindmethod", "sasl"), ("authcid", "ann"), ("credentials", "pencil")];
const HASHED: [&str; 5] = [
    "SCRAM-SHA-1",
    "SCRAM-SHA-256",
    "SCRAM-SHA-512",
    "DIGEST-MD5",
    "CRAM-MD5",
];

#[tokio::test]
async fn every_mechanism_proves_who_the_client_is() {
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        for name in HASHED {
            for base in [IN_THE_CLEAR, TLS[0], TLS[1]] {
                let words = with(&with(base, AS_ANN), &[("saslmech", name)]);
                assert_eq!(identity(&server, &words).await.unwrap(), ANN, "{flavor} {name}");
            }
        }
        for name in ["PLAIN", "SCRAM-SHA-1-PLUS", "SCRAM-SHA-256-PLUS", "SCRAM-SHA-512-PLUS"] {
            for base in TLS {
                let words = with(&with(base, AS_ANN), &[("saslmech", name)]);
                assert_eq!(identity(&server, &words).await.unwrap(), ANN, "{flavor} {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_password_is_refused_with_the_servers_code() {
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        for name in HASHED.into_iter().chain(["PLAIN", "SCRAM-SHA-256-PLUS"]) {
            let words = with(&with(TLS[0], AS_ANN), &[("saslmech", name), ("credentials", "pencils")]);
            match identity(&server, &words).await {
                Err(ClientError::BindRefused(result)) => {
                    assert_eq!(result.code, ResultCode::INVALID_CREDENTIALS, "{flavor} {name}");
                }
                other => panic!("{flavor} {name}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_server_is_asked_for_its_mechanisms_if_none_is_named() {
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        for base in [IN_THE_CLEAR, TLS[0]] {
            assert_eq!(identity(&server, &with(base, AS_ANN)).await.unwrap(), ANN, "{flavor}");
        }
    }
}

#[tokio::test]
async fn a_client_acts_for_another_if_it_may() {
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        for name in ["SCRAM-SHA-256", "DIGEST-MD5", "PLAIN"] {
            let words = with(&with(TLS[0], AS_ANN), &[("saslmech", name), ("authzid", "u:bob")]);
            let who = identity(&server, &words).await.unwrap();
            assert_eq!(who, "dn:uid=bob,ou=people,dc=example,dc=com", "{flavor} {name}");
            let root = with(&words, &[("authzid", "dn:cn=Manager,dc=example,dc=com")]);
            assert!(
                matches!(identity(&server, &root).await, Err(ClientError::BindRefused(_))),
                "{flavor} {name}"
            );
        }
    }
}

#[tokio::test]
async fn a_local_client_is_known_by_its_process() {
    for flavor in Flavor::ALL {
        let server = usual(flavor);
        let external = [
            ("uri", "{ldapi}"),
            ("bindmethod", "sasl"),
            ("saslmech", "EXTERNAL"),
            ("secprops", "minssf=71"),
        ];
        let who = identity(&server, &external).await.unwrap();
        assert!(who.ends_with(",cn=peercred,cn=external,cn=auth"), "{flavor}: {who}");
        // StartTLS works there as well; the certificate has the name localhost.
        let words = [
            ("uri", "{ldapi}"),
            ("starttls", "critical"),
            ("tls_cacert", "{dir}/ca.crt"),
        ];
        assert!(connect(&server, &words).await.unwrap().tls().is_some(), "{flavor}");
    }
}

#[tokio::test]
async fn standard_channel_bindings_work_with_our_server() {
    let server = usual(Flavor::Ironbark);
    for binding in [
        ChannelBindingType::ServerEndPoint,
        ChannelBindingType::Exporter,
        ChannelBindingType::OpenLdap,
    ] {
        let words = with(&with(TLS[1], AS_ANN), &[("saslmech", "SCRAM-SHA-256-PLUS")]);
        let mut settings = settings(&server, &words);
        settings.bind.channel_binding = binding;
        let client = Client::connect(&settings).await.unwrap();
        assert_eq!(client.who_am_i().await.unwrap(), ANN, "{binding:?}");
    }
}

#[tokio::test]
async fn security_properties_are_obeyed_before_anything_is_sent() {
    let server = usual(Flavor::OpenLdap);
    for (base, name, secprops) in [
        (IN_THE_CLEAR, "PLAIN", "noplain"),
        (IN_THE_CLEAR, "DIGEST-MD5", "noactive"),
        (IN_THE_CLEAR, "SCRAM-SHA-256", "nodict"),
        (IN_THE_CLEAR, "SCRAM-SHA-256", "minssf=1"),
        (TLS[0], "SCRAM-SHA-256", "minssf=257"),
        (TLS[0], "PLAIN", "noactive"),
    ] {
        let words = with(&with(base, AS_ANN), &[("saslmech", name), ("secprops", secprops)]);
        match identity(&server, &words).await {
            Err(ClientError::Setting { setting, .. }) => assert_eq!(setting, "secprops", "{name} {secprops}"),
            other => panic!("{name} {secprops}: {other:?}"),
        }
    }
    let words = with(
        &with(TLS[0], AS_ANN),
        &[("saslmech", "PLAIN"), ("secprops", "noplain,minssf=256")],
    );
    assert_eq!(identity(&server, &words).await.unwrap(), ANN);
}
