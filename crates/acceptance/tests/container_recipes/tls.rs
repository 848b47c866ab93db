//! TLS: the images enable it first, and then require it.

use ironbark_testkit::{CertificateAuthority, Credentials, Flavor, TestkitError, Tool, assert_same_now};

use super::{debian, image::Image};

const SUFFIX: &str = "dc=example,dc=org";
const ADMIN: &str = "cn=admin,dc=example,dc=org";

/// The group ffdhe2048 of RFC 7919.
const PARAMETERS: &str = "\
-----BEGIN DH PARAMETERS-----
MIIBCAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz
+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a
87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7
YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi
7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD
ssbzSibBsu/6iGtCOGEoXJf//////////wIBAg==
-----END DH PARAMETERS-----
";

/// An image with certificates beside its database.
fn certified(flavor: Flavor) -> Result<Image, TestkitError> {
    let image = debian::installed(flavor, SUFFIX)?;
    let layout = image.server.layout();
    let mut authority = CertificateAuthority::new("Image CA")?;
    layout.write("ca.crt", authority.certificate())?;
    authority.server()?.write(layout, "server")?;
    layout.write("dh.pem", PARAMETERS)?;
    Ok(image)
}

/// A client that does not protect its connection, and root on the socket.
fn unprotected(image: &mut Image) -> Result<(), TestkitError> {
    let admin = Credentials::Simple {
        dn: ADMIN,
        password: "installed",
    };
    for who in [&admin, &Credentials::Anonymous, &Credentials::External] {
        image.client("ldapsearch", who, &["-s", "base", "-b", SUFFIX, "o"], "")?;
    }
    Ok(())
}

#[test]
fn osixia_switches_it_on_and_enforces_it() {
    assert_same_now(|flavor| {
        let mut image = certified(flavor)?;
        image.launch()?;
        let dir = image.dir();
        image.modify(&format!(
            "dn: cn=config\nchangetype: modify\nreplace: olcTLSCipherSuite\n\
             olcTLSCipherSuite: SECURE256:+SECURE128:-VERS-TLS-ALL:+VERS-TLS1.2:-RSA:-DHE-DSS:-CAMELLIA-128-CBC:-CAMELLIA-256-CBC\n-\n\
             replace: olcTLSCACertificateFile\nolcTLSCACertificateFile: {dir}/ca.crt\n-\n\
             replace: olcTLSCertificateFile\nolcTLSCertificateFile: {dir}/server.crt\n-\n\
             replace: olcTLSCertificateKeyFile\nolcTLSCertificateKeyFile: {dir}/server.key\n-\n\
             replace: olcTLSDHParamFile\nolcTLSDHParamFile: {dir}/dh.pem\n-\n\
             replace: olcTLSVerifyClient\nolcTLSVerifyClient: try\n"
        ))?;
        image.secured_whoami(ADMIN, "installed")?;
        image.modify(
            "dn: cn=config\nchangetype:  modify\nreplace: olcSecurity\nolcSecurity: ssf=128\n-\n\
             replace: olcLocalSSF\nolcLocalSSF: 128\n",
        )?;
        unprotected(&mut image)?;
        image.secured_whoami(ADMIN, "installed")?;
        image.finish(SUFFIX, &Credentials::External)
    });
}

#[test]
fn bitnami_switches_it_on_and_requires_it() {
    assert_same_now(|flavor| {
        let mut image = certified(flavor)?;
        image.launch()?;
        let dir = image.dir();
        image.modify(&format!(
            "dn: cn=config\nchangetype: modify\nreplace: olcTLSCACertificateFile\nolcTLSCACertificateFile: {dir}/ca.crt\n-\n\
             replace: olcTLSCertificateFile\nolcTLSCertificateFile: {dir}/server.crt\n-\n\
             replace: olcTLSCertificateKeyFile\nolcTLSCertificateKeyFile: {dir}/server.key\n-\n\
             replace: olcTLSVerifyClient\nolcTLSVerifyClient: never\n-\n\
             replace: olcTLSDHParamFile\nolcTLSDHParamFile: {dir}/dh.pem\n"
        ))?;
        image.secured_whoami(ADMIN, "installed")?;
        image.modify("dn: cn=config\nchangetype: modify\nadd: olcSecurity\nolcSecurity: tls=1\n")?;
        unprotected(&mut image)?;
        image.secured_whoami(ADMIN, "installed")?;
        image.finish(SUFFIX, &Credentials::Anonymous)
    });
}

#[test]
fn the_operator_configures_it_before_the_server_starts() {
    assert_same_now(|flavor| {
        let mut image = certified(flavor)?;
        let dir = image.dir();
        let files = format!(
            "dn: cn=config\nchangetype: modify\nreplace: olcTLSCertificateFile\nolcTLSCertificateFile: {dir}/server.crt\n-\n\
             replace: olcTLSCertificateKeyFile\nolcTLSCertificateKeyFile: {dir}/server.key\n-\n\
             replace: olcTLSCACertificateFile\nolcTLSCACertificateFile: {dir}/ca.crt\n"
        );
        image.tool_succeeds(Tool::Modify, &["-n", "0"], &files)?;
        image.launch()?;
        image.secured_whoami(ADMIN, "installed")?;
        // slapd's slapmodify prints changed entries as made.
        let text = image.finish(SUFFIX, &Credentials::Anonymous)?;
        let mut lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("creatorsName: "))
            .collect();
        lines.sort_unstable();
        Ok(lines.join("\n"))
    });
}
