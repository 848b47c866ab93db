//! GSSAPI with tickets of a real KDC.
//!
//! The library reads the process's environment. So the test runs itself again, with the environment of a client.

use std::{env, process::Command};

use ironbark_client::{Client, ClientError, ConnectSettings};
use ironbark_testkit::{Flavor, Kdc, Listen, Server};

use crate::connect::{ANN, DATA, MAPPING};

const URL: &str = "IRONBARK_GSSAPI_URL";
const CASE: &str = "IRONBARK_GSSAPI_CASE";

#[tokio::test]
async fn a_ticket_proves_who_the_client_is() {
    match (env::var(URL), env::var(CASE)) {
        (Ok(url), Ok(case)) => as_client(&url, &case).await,
        _ => as_parent(),
    }
}

fn as_parent() {
    let kdc = Kdc::start().unwrap();
    kdc.log_in("ann", "ann").unwrap();
    for flavor in Flavor::ALL {
        for (secprops, cases) in [
            (
                "none",
                &[
                    ("right", "ann"),
                    ("no ticket", "nobody"),
                    ("for another", "ann"),
                    ("asked", "ann"),
                ][..],
            ),
            ("minssf=56", &[("too weak", "ann")]),
        ] {
            let server = server(&kdc, flavor, secprops);
            let url = server.url().replace("127.0.0.1", "localhost");
            for (case, cache) in cases {
                let status = Command::new(env::current_exe().unwrap())
                    .args([
                        "--exact",
                        "connect::gssapi::a_ticket_proves_who_the_client_is",
                        "--nocapture",
                    ])
                    .envs([(URL, &*url), (CASE, case)])
                    .env("KRB5_CONFIG", kdc.file("krb5.conf"))
                    .env("KRB5CCNAME", kdc.file(cache))
                    .status();
                assert!(status.unwrap().success(), "{flavor}: {case}");
            }
        }
    }
}

fn server(kdc: &Kdc, flavor: Flavor, secprops: &str) -> Server {
    let template = format!("{MAPPING}sasl-secprops {secprops}\n{}", Server::PEOPLE_CONFIG);
    let server = Server::prepare(flavor, &template).unwrap().listening_on(Listen::Both);
    let replay = format!("file2:{}", server.layout().join("replay").display());
    let mut server = server
        .environment("KRB5_CONFIG", &kdc.file("krb5.conf"))
        .environment("KRB5_KTNAME", &kdc.file("keytab"))
        .environment("KRB5RCACHENAME", &replay);
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    server
}

async fn as_client(url: &str, case: &str) {
    let mut settings = ConnectSettings::default();
    for (keyword, value) in [("uri", url), ("bindmethod", "sasl")] {
        settings.set(keyword, value).unwrap();
    }
    if case != "asked" {
        settings.set("saslmech", "GSSAPI").unwrap();
    }
    if case == "for another" {
        settings.set("authzid", "u:bob").unwrap();
    }
    let connected = Client::connect(&settings).await;
    match (case, connected) {
        ("right" | "asked", Ok(client)) => assert_eq!(client.who_am_i().await.unwrap(), ANN),
        ("for another", Ok(client)) => {
            let who = client.who_am_i().await.unwrap();
            assert_eq!(who, "dn:uid=bob,ou=people,dc=example,dc=com");
        }
        ("no ticket", Err(ClientError::Sasl { mechanism, .. })) => assert_eq!(mechanism, "GSSAPI"),
        ("too weak", Err(ClientError::Sasl { reason, .. })) => assert!(reason.contains("security layer"), "{reason}"),
        (_, other) => panic!("{case}: {other:?}"),
    }
}
