//! TLS: certificates, certificates of clients, protocol versions and ciphers. The server makes a context from these.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    SettingError,
    class::ConfigClass,
    global::tls::{ClientCrlCheck, ProtocolVersion, VerifyClient},
    rows::fields::global_field,
    setting::{Form, Handler, OWN, Setting, SettingLevel::Global},
    statement::Statement,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["TLSCACertificate"], &["olcTLSCACertificate"])
        .olc("0.97", Form::Certificate)
        .allowed_by(&[ConfigClass::Global.at(690)])
        .of_each_server()
        .takes("<base64>", "")
        .does(
            "Holds the certificate of an authority as DER, in base64. In cn=config the value is the certificate itself \
             (`olcTLSCACertificate;binary`).",
        )
        .since("2.5")
        .like(&["MAA="])
        .verbatim()
        .obeyed(Handler::Global {
            set: |config, statement| der(&mut config.tls.ca_certificate, statement),
            get: |config, _| base64_text(config.tls.ca_certificate.as_deref()),
        }),
    Setting::new(Global, &["TLSCACertificateFile"], &["olcTLSCACertificateFile"])
        .olc("0.68", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(630)])
        .of_each_server()
        .takes("<file>", "")
        .does(
            "Names a PEM file of certificates of authorities. Clients' certificates are verified by them. If \
             `TLSCertificateFile` does not hold the issuers of the server's own certificate, they are taken from this \
             file and sent along.",
        )
        .since("2.0")
        .like(&["/etc/ssl/certs/ca-certificates.crt"])
        .whole()
        .obeyed(global_field!(tls.ca_certificate_file)),
    Setting::new(Global, &["TLSCACertificatePath"], &["olcTLSCACertificatePath"])
        .olc("0.69", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(640)])
        .of_each_server()
        .takes("<path>", "")
        .does("Names directories of such files, separated by semicolons. All files are read, whatever their names.")
        .since("2.0")
        .like(&["/etc/ldap/ca;/etc/ssl/ca"])
        .whole()
        .obeyed(global_field!(tls.ca_certificate_path)),
    Setting::new(Global, &["TLSCertificate"], &["olcTLSCertificate"])
        .olc("0.98", Form::Certificate)
        .allowed_by(&[ConfigClass::Global.at(700)])
        .of_each_server()
        .takes("<base64>", "")
        .does(
            "Holds the server's certificate as DER, in base64. In cn=config the value is the certificate itself \
             (`olcTLSCertificate;binary`).",
        )
        .since("2.5")
        .like(&["MAA="])
        .verbatim()
        .obeyed(Handler::Global {
            set: |config, statement| der(&mut config.tls.certificate, statement),
            get: |config, _| base64_text(config.tls.certificate.as_deref()),
        }),
    Setting::new(Global, &["TLSCertificateFile"], &["olcTLSCertificateFile"])
        .olc("0.70", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(650)])
        .of_each_server()
        .takes("<file>", "")
        .does(
            "Names the PEM file of the server's certificate; its issuers may follow it in the file. When a file that \
             TLS settings name changes, the server reads it again within seconds, and new connections use it. If the \
             new file cannot be used, the log says so and the old content stays in use.",
        )
        .since("2.0")
        .like(&["/etc/ldap/tls/server.crt"])
        .whole()
        .obeyed(global_field!(tls.certificate_file)),
    Setting::new(Global, &["TLSCertificateKey"], &["olcTLSCertificateKey"])
        .olc("0.99", Form::PrivateKey)
        .allowed_by(&[ConfigClass::Global.at(710)])
        .of_each_server()
        .takes("<base64>", "")
        .does(
            "Holds the server's private key (PKCS#8, PKCS#1 or SEC1) as DER, in base64. In cn=config the value is the \
             key itself (`olcTLSCertificateKey;binary`).",
        )
        .since("2.5")
        .like(&["MAA="])
        .verbatim()
        .obeyed(Handler::Global {
            set: |config, statement| der(&mut config.tls.key, statement),
            get: |config, _| base64_text(config.tls.key.as_deref()),
        }),
    Setting::new(Global, &["TLSCertificateKeyFile"], &["olcTLSCertificateKeyFile"])
        .olc("0.71", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(660)])
        .of_each_server()
        .takes("<file>", "")
        .does(
            "Names the PEM file of the server's private key. The key must not be encrypted. The file may be that of \
             the certificate.",
        )
        .since("2.0")
        .like(&["/etc/ldap/tls/server.key"])
        .whole()
        .obeyed(global_field!(tls.key_file)),
    Setting::new(Global, &["TLSCipherSuite"], &["olcTLSCipherSuite"])
        .olc("0.72", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(670)])
        .takes("<ciphers>", "")
        .does(
            "Chooses ciphers, in the words of OpenSSL (`HIGH:!aNULL`, `ECDHE-RSA-AES128-GCM-SHA256`) or of GnuTLS \
             (`SECURE256:-VERS-TLS1.2`). All ciphers of TLS 1.3 are available; of TLS 1.2 those with ECDHE and AES-GCM \
             or ChaCha20. Older ciphers in the text are ignored. A text that leaves no cipher is refused, and so is a \
             word that neither library knows.",
        )
        .since("2.0")
        .like(&["HIGH:!aNULL:!MD5", "SECURE256:-VERS-TLS1.2"])
        .whole()
        .obeyed(global_field!(tls.cipher_suite)),
    Setting::new(Global, &["TLSCRLCheck"], &["olcTLSCRLCheck"])
        .olc("0.73", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(680)])
        .takes("none|peer|all", "none")
        .does(
            "Says which certificates of a client's chain are checked against revocation lists: the client's own, or \
             all. A certificate without a list is refused. The lists come from `TLSCRLFile`, `TLSCACertificateFile` \
             and `TLSCACertificatePath`.",
        )
        .since("2.3")
        .like(&["peer", "all"])
        .whole()
        .obeyed(Handler::Global {
            set: |config, statement| {
                config.tls.crl_check = match statement.one()?.to_ascii_lowercase().as_str() {
                    "none" => ClientCrlCheck::None,
                    "peer" => ClientCrlCheck::Peer,
                    "all" => ClientCrlCheck::All,
                    other => return Err(format!("invalid value \"{other}\": none, peer or all expected").into()),
                };
                Ok(())
            },
            get: |config, _| match config.tls.crl_check {
                ClientCrlCheck::None => vec!["none".to_owned()],
                ClientCrlCheck::Peer => vec!["peer".to_owned()],
                ClientCrlCheck::All => vec!["all".to_owned()],
            },
        }),
    Setting::new(Global, &["TLSCRLFile"], &["olcTLSCRLFile"])
        .olc("0.82", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(760)])
        .of_each_server()
        .takes("<file>", "")
        .does("Names a PEM file of revocation lists. A client's certificate that is in one of them is refused.")
        .since("2.4")
        .like(&["/etc/ldap/tls/crl.pem"])
        .whole()
        .obeyed(global_field!(tls.crl_file)),
    Setting::new(Global, &["TLSRandFile"], &["olcTLSRandFile"])
        .olc("0.74", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(720)])
        .takes("<file>", "")
        .does("Names a source of randomness.")
        .whole()
        .meaningless("the kernel's random number generator is used"),
    Setting::new(Global, &["tls-strict"], &["olcTLSStrict"])
        .olc("+135", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(850)])
        .takes("on|off", "FALSE")
        .does(
            "Refuses certificates that work and are weak: of version 1, with RSA keys of less than 2,048 bits, signed \
             with SHA-224, and certificates of authorities (CA:TRUE) that a client or server shows as its own. This \
             counts for the server's own certificate, for those of its clients, and for those of other servers that it \
             connects to. RSA keys of less than 1,024 bits and signatures with MD5 or SHA-1 are refused in any case, \
             except in the server's own certificate. `slaptest --explain` names what is weak.",
        )
        .since(OWN)
        .like(&["on"])
        .whole()
        .obeyed(global_field!(tls.is_strict)),
    Setting::new(Global, &["TLSVerifyClient"], &["olcTLSVerifyClient"])
        .olc("0.75", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(730)])
        .shown()
        .takes("never|allow|try|demand|hard|true|on|yes", "never")
        .does(
            "Says whether clients are asked for a certificate. `never` does not ask. `allow` asks, and ignores a bad \
             certificate. `try` ends the connection of a client with a bad certificate. `demand` (`hard`, `true`, `on`, \
             `yes`) also ends the connection of a client without one. A good certificate is signed, directly or through \
             others, by one of `TLSCACertificateFile`, `TLSCACertificatePath` or `TLSCACertificate`, or is one of \
             them; the rules are OpenSSL's. A client with a good certificate may bind with SASL EXTERNAL.",
        )
        .since("2.0")
        .like(&["demand", "allow", "try"])
        .whole()
        .obeyed(Handler::Global {
            set: |config, statement| {
                config.tls.verify_client = match statement.one()?.to_ascii_lowercase().as_str() {
                    "never" => VerifyClient::Never,
                    "allow" => VerifyClient::Allow,
                    "try" => VerifyClient::Try,
                    "demand" | "hard" | "true" | "on" | "yes" => VerifyClient::Demand,
                    other => {
                        let expected = "never, allow, try, demand, hard, true, on or yes";
                        return Err(format!("invalid value \"{other}\": {expected} expected").into());
                    }
                };
                Ok(())
            },
            get: |config, _| match config.tls.verify_client {
                VerifyClient::Never => vec!["never".to_owned()],
                VerifyClient::Allow => vec!["allow".to_owned()],
                VerifyClient::Try => vec!["try".to_owned()],
                VerifyClient::Demand => vec!["demand".to_owned()],
            },
        }),
    Setting::new(Global, &["TLSDHParamFile"], &["olcTLSDHParamFile"])
        .olc("0.77", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(740)])
        .of_each_server()
        .takes("<file>", "")
        .does("Names the file of Diffie-Hellman parameters.")
        .since("2.4")
        .whole()
        .meaningless("keys are exchanged over elliptic curves, which need no parameters"),
    Setting::new(Global, &["TLSECName"], &["olcTLSECName"])
        .olc("0.96", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(750)])
        .takes("<curve>[:<curve>...]", "")
        .does(
            "Chooses elliptic curves for the exchange of keys, in order of preference: `X25519`, `prime256v1` \
             (`P-256`, `secp256r1`), `secp384r1` (`P-384`), `secp521r1` (`P-521`), `X25519MLKEM768`. `X448` is ignored \
             if the list has others.",
        )
        .since("2.4")
        .like(&["prime256v1", "X25519:P-256"])
        .whole()
        .obeyed(global_field!(tls.curves)),
    Setting::new(Global, &["TLSProtocolMin"], &["olcTLSProtocolMin"])
        .olc("0.87", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(770)])
        .shown()
        .takes("<major>[.<minor>]", "0.0")
        .does(
            "Sets the oldest protocol version allowed: 3.3 is TLS 1.2, the oldest one available; 3.4 is TLS 1.3, and \
             so is any newer number.",
        )
        .since("2.4")
        .like(&["3.3", "3.4"])
        .whole()
        .obeyed(Handler::Global {
            set: |config, statement| {
                let (config, text) = (&mut config.tls, statement.one()?);
                let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
                let wrong = |_| format!("invalid value \"{text}\": <major>[.<minor>] expected");
                config.protocol_min = ProtocolVersion {
                    major: major.parse().map_err(wrong)?,
                    minor: minor.parse().map_err(wrong)?,
                };
                Ok(())
            },
            get: |config, _| {
                let ProtocolVersion { major, minor } = config.tls.protocol_min;
                vec![format!("{major}.{minor}")]
            },
        }),
];

fn der(field: &mut Option<Vec<u8>>, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text: String = statement.one()?.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(text).map_err(|_| "not base64".to_owned())?;
    *field = Some(bytes);
    Ok(())
}

fn base64_text(bytes: Option<&[u8]>) -> Vec<String> {
    bytes.map(|bytes| STANDARD.encode(bytes)).into_iter().collect()
}
