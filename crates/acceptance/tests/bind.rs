//! Identities: simple binds, stored passwords of every scheme, whoami, and changing a password, compared with slapd's
//! answers.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::fmt::Write as _;

use ironbark_testkit::{
    Credentials, Flavor, Server, TestkitError, Tool, Transcript, assert_same, assert_same_answers, assert_same_now,
};

const DATA: &str = include_str!("data/example.ldif");
const ANN: &str = "uid=ann,ou=People,dc=example,dc=com";
const ROOT: &str = "cn=Manager,dc=example,dc=com";

fn simple<'a>(dn: &'a str, password: &'a str) -> Credentials<'a> {
    Credentials::Simple { dn, password }
}

/// Binds with whoami, and reads the identity.
fn bind(transcript: &mut Transcript<'_>, dn: &str, password: &str) -> Result<(), TestkitError> {
    transcript.client("ldapwhoami", &simple(dn, password), &[], "")
}

/// Compares the answers to some binds.
#[track_caller]
fn same_binds(config: &str, binds: &[(&str, &str)]) {
    assert_same_answers(config, DATA, |transcript| {
        transcript.client("ldapwhoami", &Credentials::Anonymous, &[], "")?;
        transcript.search(&["-b", "", "-s", "base", "1.1"])?;
        for (dn, password) in binds {
            bind(transcript, dn, password)?;
        }
        Ok(())
    });
}

/// A stored password for the word `secret7`, by slapd's own tool and by crypt(3).
fn stored_passwords() -> Vec<String> {
    let mut stored = vec!["secret7".to_owned()];
    for scheme in ["{SSHA}", "{SHA}", "{SMD5}", "{MD5}"] {
        let made = Tool::Passwd.run(Flavor::OpenLdap, &["-h", scheme, "-s", "secret7"], "");
        stored.push(made.unwrap().success().unwrap().stdout.trim().to_owned());
    }
    for scheme in [
        "{SHA256}",
        "{SSHA256}",
        "{SHA384}",
        "{SSHA384}",
        "{SHA512}",
        "{SSHA512}",
    ] {
        let module = [
            "-o",
            "module-path=/usr/lib/ldap",
            "-o",
            "module-load=pw-sha2",
            "-h",
            scheme,
            "-s",
            "secret7",
        ];
        let made = Tool::Passwd.run(Flavor::OpenLdap, &module, "");
        stored.push(made.unwrap().success().unwrap().stdout.trim().to_owned());
    }
    stored.extend([
        "{UNKNOWN}secret7".to_owned(),
        "{SSHA}not base64".to_owned(),
        "{SSHA}c2hvcnQ=".to_owned(),
        "{ssha}".to_owned(),
    ]);
    stored
}

/// Hashes that python's crypt(3) makes of `secret7`.
fn crypted(server: &Server) -> Vec<String> {
    let script = "import crypt, warnings\nwarnings.simplefilter('ignore')\n\
        for s in ('ab', '$1$saltsalt$', '$5$saltsalt$', '$5$rounds=1000$saltsalt$', '$6$saltsalt$', '$6$rounds=1500$salt$', '$2b$04$abcdefghijklmnopqrstuu'):\n\
        \x20   print('{CRYPT}' + crypt.crypt('secret7', s))\n";
    let made = server.python(script).unwrap().success().unwrap().stdout;
    made.lines().map(str::to_owned).collect()
}

#[test]
fn every_scheme_of_stored_password_is_verified() {
    let mut passwords = stored_passwords();
    assert_same_now(|flavor| {
        let modules = match flavor {
            Flavor::OpenLdap => "moduleload pw-sha2\n",
            Flavor::Ironbark => "moduleload pw-sha2.so\n",
        };
        let server = Server::start(flavor, &format!("{modules}{}", Server::PEOPLE_CONFIG))?;
        if flavor == Flavor::OpenLdap {
            passwords.extend(crypted(&server));
        }
        let mut ldif = DATA.to_owned();
        for (number, stored) in passwords.iter().enumerate() {
            writeln!(ldif, "\ndn: cn=p{number},dc=example,dc=com\nobjectClass: person\ncn: p{number}\nsn: {}\nuserPassword: {stored}", stored.replace(['{', '}', '$'], " ")).unwrap();
        }
        server.ldapadd(&ldif)?.success()?;
        let mut transcript = Transcript::new(&server);
        for (number, _) in passwords.iter().enumerate() {
            let dn = format!("cn=p{number},dc=example,dc=com");
            for password in ["secret7", "secret8", "secret77", "Secret7"] {
                bind(&mut transcript, &dn, password)?;
            }
        }
        Ok(transcript.finish())
    });
}

#[test]
fn the_rootpw_may_be_hashed() {
    let hashed = Tool::Passwd
        .run(Flavor::OpenLdap, &["-s", "secret"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let config = Server::PEOPLE_CONFIG.replace("rootpw secret", &format!("rootpw {}", hashed.trim()));
    same_binds(&config, &[(ROOT, "secret"), (ROOT, "wrong"), (ROOT, hashed.trim())]);
}

#[test]
fn a_rootdn_without_rootpw_binds_by_its_entry() {
    let config = Server::PEOPLE_CONFIG.replace("rootpw secret", "");
    assert_same(|flavor| {
        let mut server = Server::start(flavor, Server::PEOPLE_CONFIG)?;
        let entry = format!("dn: {ROOT}\nobjectClass: person\ncn: Manager\nsn: M\nuserPassword: fromtheentry\n");
        server.ldapadd(&format!("{DATA}\n{entry}"))?.success()?;
        let both = Transcript::new(&server);
        let mut text = {
            let mut both = both;
            bind(&mut both, ROOT, "fromtheentry")?;
            bind(&mut both, ROOT, "secret")?;
            both.finish()
        };
        server.stop()?;
        let filled = config
            .replace("{schema}", &flavor.schema_dir().to_string_lossy())
            .replace("{dir}", &server.layout().path().to_string_lossy());
        let preamble = if flavor == Flavor::OpenLdap {
            "modulepath /usr/lib/ldap\nmoduleload back_mdb\n"
        } else {
            ""
        };
        server.layout().write("slapd.conf", format!("{preamble}{filled}"))?;
        server.launch()?;
        let mut entry_only = Transcript::new(&server);
        bind(&mut entry_only, ROOT, "fromtheentry")?;
        bind(&mut entry_only, ROOT, "secret")?;
        text.push_str(&entry_only.finish());
        Ok(text)
    });
}

#[test]
fn a_generated_password_is_told_and_works() {
    for flavor in Flavor::ALL {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG).unwrap();
        server.ldapadd(DATA).unwrap().success().unwrap();
        let told = server
            .client("ldappasswd", &Credentials::ROOT, &[ANN], "")
            .unwrap()
            .success()
            .unwrap()
            .stdout;
        let password = told.trim().strip_prefix("New password: ").unwrap().to_owned();
        assert!(password.len() >= 8, "{told}");
        let who = server
            .client("ldapwhoami", &simple(ANN, &password), &[], "")
            .unwrap()
            .success()
            .unwrap();
        assert_eq!(who.stdout, format!("dn:{ANN}\n"));
        assert_eq!(
            server
                .client("ldapwhoami", &simple(ANN, "annspass"), &[], "")
                .unwrap()
                .code(),
            Some(49)
        );
    }
}

#[test]
fn a_changed_password_is_stored_by_the_scheme_that_is_configured() {
    for (directive, prefix) in [
        ("", "{SSHA}"),
        ("password-hash {SMD5}\n", "{SMD5}"),
        ("password-hash {CLEARTEXT}\n", "plain"),
        (
            "password-hash {CRYPT}\npassword-crypt-salt-format \"$5$%.8s\"\n",
            "{CRYPT}$5$",
        ),
    ] {
        for flavor in Flavor::ALL {
            let server = Server::start(flavor, &format!("{directive}{}", Server::PEOPLE_CONFIG)).unwrap();
            server.ldapadd(DATA).unwrap().success().unwrap();
            server
                .client("ldappasswd", &Credentials::ROOT, &["-s", "plain", ANN], "")
                .unwrap()
                .success()
                .unwrap();
            let script = format!(
                "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\n\
                 c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])\n\
                 print(c.search_s('{ANN}', ldap.SCOPE_BASE)[0][1]['userPassword'][0].decode())\n"
            );
            let stored = server.python(&script).unwrap().success().unwrap().stdout;
            assert!(stored.starts_with(prefix), "{flavor} with {directive:?}: {stored}");
            assert_eq!(
                server
                    .client("ldapwhoami", &simple(ANN, "plain"), &[], "")
                    .unwrap()
                    .code(),
                Some(0)
            );
        }
    }
}
