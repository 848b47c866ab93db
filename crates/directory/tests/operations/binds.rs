//! The fuzz target: lines are binds on one connection, the first octet of each chooses how.

use std::cell::RefCell;

use ironbark_ldap_proto::{Authentication, BindRequest, Request};

use ironbark_harness::Site;

thread_local! {
    static SITE: RefCell<Site> = RefCell::new(open());
}

fn open() -> Site {
    let settings = "authz-policy both\nauthz-regexp uid=([^,]*),cn=[^,]*,cn=auth cn=$1,ou=p,dc=ex";
    let mut site = Site::open_globally(settings, "envflags nosync\naccess to * by * read by * auth");
    site.populate();
    site.modify("cn=a,ou=p,dc=ex", "add: userPassword\nuserPassword: secret");
    site.become_("");
    site
}

/// Binds, one after another. `NONCE` in a message stands for the server's part of the nonce.
///
/// # Panics
/// When somebody without the password gets an identity: that is the property under test.
pub(crate) fn binds(data: &[u8]) {
    SITE.with_borrow_mut(|site| {
        let mut challenge = Vec::new();
        for line in data.split(|octet| *octet == b'\n').take(MOST) {
            let (choice, message) = line.split_first().unwrap_or((&0, &[]));
            let message = with_nonce(message, &challenge);
            let (name, password) = split(&message, b' ');
            let mechanism = MECHANISMS[usize::from(*choice) % MECHANISMS.len()];
            let (name, authentication) = match mechanism {
                "" => (name, Authentication::Simple(password)),
                mechanism => (
                    &b""[..],
                    Authentication::Sasl {
                        mechanism: mechanism.as_bytes(),
                        credentials: (message != b"-").then_some(&message),
                    },
                ),
            };
            let request = BindRequest {
                version: 3,
                name,
                authentication,
            };
            let answer = site.send(&Request::Bind(request), &[]);
            challenge = answer.value.unwrap_or_default();
            let dn = site.session.identity.dn.pretty().to_owned();
            let knows = data.windows(SECRET.len()).any(|part| part == SECRET);
            assert!(dn.is_empty() || knows, "{} became {dn}", String::from_utf8_lossy(data));
        }
        let unbound = BindRequest {
            version: 3,
            name: b"",
            authentication: Authentication::Simple(b""),
        };
        assert_eq!(
            site.send(&Request::Bind(unbound), &[]).code,
            0,
            "an anonymous bind ends everything"
        );
    });
}

/// `a`, `b`, ... choose them in order, after the simple bind `` ` ``.
const MECHANISMS: [&str; 16] = [
    "",
    "PLAIN",
    "LOGIN",
    "ANONYMOUS",
    "EXTERNAL",
    "CRAM-MD5",
    "DIGEST-MD5",
    "SCRAM-SHA-1",
    "SCRAM-SHA-256",
    "SCRAM-SHA-512",
    "SCRAM-SHA-1-PLUS",
    "SCRAM-SHA-256-PLUS",
    "GSSAPI",
    "SCRAM",
    "X",
    "-",
];
const MOST: usize = 8;
const SECRET: &[u8] = b"secret";

fn split(octets: &[u8], by: u8) -> (&[u8], &[u8]) {
    match octets.iter().position(|octet| *octet == by) {
        Some(at) => (&octets[..at], &octets[at + 1..]),
        None => (octets, &[]),
    }
}

fn with_nonce(message: &[u8], challenge: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(challenge);
    let nonce = text
        .split(',')
        .find_map(|part| part.strip_prefix("r=").or(part.strip_prefix("nonce=")));
    let (Some(nonce), Ok(message)) = (nonce, std::str::from_utf8(message)) else {
        return message.to_vec();
    };
    message.replace("NONCE", nonce.trim_matches('"')).into_bytes()
}
