//! Transactions (RFC 5805) as ldapmodify and python-ldap use them, beside slapd.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::os::unix::process::ExitStatusExt;

use ironbark_testkit::{Credentials, Flavor, Server, TestkitError, assert_same};

const PEOPLE: &str = include_str!("data/people.ldif");

/// What clients see of it: the result of each request, and what is there afterwards.
const STEPS: &str = r"
import ldap, os
from ldap.controls import RequestControl
from ldap.extop import ExtendedRequest
P = 'ou=People,dc=example,dc=com'
c = ldap.initialize(os.environ['LDAP_URL'])
c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])
part = [RequestControl('1.3.6.1.1.21.2', True, b'')]
class Request(ExtendedRequest):
    def __init__(self, oid, value):
        self.requestName, self.value = oid, value
    def encodedRequestValue(self):
        return self.value
def told(what, act):
    try:
        print(what, 0, act() and None)
    except ldap.LDAPError as error:
        print(what, error.args[0].get('result'), error.args[0].get('info'))
def start():
    told('start', lambda: c.extop_s(Request('1.3.6.1.1.21.1', None)))
def end(commit=True, value=None):
    value = value or (b'\x30\x02\x04\x00' if commit else b'\x30\x05\x01\x01\x00\x04\x00')
    told('end', lambda: c.extop_s(Request('1.3.6.1.1.21.3', value)))
def add(name, controls=part, base=P):
    entry = [('objectClass', [b'person']), ('sn', [b's'])]
    told('add ' + name, lambda: c.add_ext_s('cn=%s,%s' % (name, base), entry, controls))
def change(name, controls=part):
    told('modify ' + name, lambda: c.modify_ext_s('cn=%s,%s' % (name, P), [(ldap.MOD_REPLACE, 'sn', [b't'])], controls))
def show():
    found = c.search_s(P, ldap.SCOPE_ONELEVEL, '(cn=t*)', ['sn'])
    print(sorted((dn, entry['sn']) for dn, entry in found))
add('t0')
end()
start()
start()
add('t1'); add('t2'); change('t1')
show()
end()
show()
start()
add('t3'); add('t1'); add('t4')
end()
show()
start()
add('t5')
end(commit=False)
show()
start()
end()
start()
add('t6', controls=[RequestControl('1.3.6.1.1.21.2', False, b'')])
add('t6', controls=[RequestControl('1.3.6.1.1.21.2', True, b'x')])
add('t6', controls=[RequestControl('1.3.6.1.1.21.2', True, None)])
add('t6', controls=part + part)
end(value=b'\x30\x03\x04\x01x')
add('t7')
told('delete', lambda: c.delete_ext_s('cn=t2,' + P, part))
told('rename', lambda: c.rename_s('cn=t1,' + P, 'cn=t8', serverctrls=part))
end()
show()
start()
add('t9')
c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])
show()
";

/// What the steps show. slapd 2.5 seldom crashes when a transaction fails; then another one is asked.
fn steps(flavor: Flavor) -> Result<String, TestkitError> {
    loop {
        let mut server = Server::start(flavor, &Server::people_config("", ""))?;
        server.ldapadd(PEOPLE)?.success()?;
        let outcome = server.python(STEPS)?;
        let is_gone = outcome.stderr.contains("ldap.SERVER_DOWN");
        if flavor == Flavor::OpenLdap && is_gone && server.wait_for_end()?.signal().is_some() {
            continue;
        }
        return Ok(outcome.success()?.stdout);
    }
}

#[test]
fn each_step_is_answered_as_by_slapd() {
    assert_same(|flavor| {
        let seen = steps(flavor)?;
        assert!(
            seen.contains("cn=t8") && !seen.contains("cn=t3") && !seen.contains("cn=t9"),
            "{seen}"
        );
        Ok(seen)
    });
}

/// ldapmodify makes one transaction of its changes.
fn together(server: &Server, end: &str, changes: &str) -> (Option<i32>, String) {
    let option = format!("!txn={end}");
    let done = server
        .client("ldapmodify", &Credentials::ROOT, &["-E", &option], changes)
        .unwrap();
    (done.status.code(), done.stderr)
}

fn change(dn: &str, text: &str) -> String {
    format!("dn: {dn}\nchangetype: modify\nreplace: description\ndescription: {text}\n\n")
}

#[test]
fn ldapmodify_makes_all_or_nothing() {
    let server = Server::start(Flavor::Ironbark, &Server::people_config("", "")).unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    let (there, missing) = ("dc=example,dc=com", "cn=missing,dc=example,dc=com");
    let shown = |text: &str| {
        let filter = format!("(description={text})");
        let found = server.client("ldapsearch", &Credentials::ROOT, &["-b", there, &filter, "1.1"], "");
        found.unwrap().stdout.contains("dn: ")
    };
    let (code, text) = together(
        &server,
        "commit",
        &(change(there, "one") + &change("ou=People,dc=example,dc=com", "one")),
    );
    assert!(code == Some(0) && shown("one"), "{text}");
    let (code, text) = together(&server, "commit", &(change(there, "two") + &change(missing, "two")));
    assert!(code == Some(32) && !shown("two"), "{code:?} {text}");
    let (code, text) = together(&server, "abort", &change(there, "three"));
    assert!(code == Some(0) && !shown("three"), "{text}");
}

#[test]
fn followers_see_each_change_and_slow_hashes_are_computed() {
    let database = "access to * by * read\noverlay ppolicy\nppolicy_hash_cleartext\noverlay accesslog\nlogdb cn=log\n\
                    logops writes\nlogsuccess TRUE\npassword-hash {ARGON2}\n\
                    database mdb\nsuffix cn=log\ndirectory {dir}\nrootdn cn=Manager,dc=example,dc=com\n";
    let database = database.replace("password-hash {ARGON2}\n", "");
    let config = Server::people_config(
        "password-hash {ARGON2}\nmoduleload accesslog\nmoduleload ppolicy",
        &database,
    );
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.launch().unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    let person = "dn: uid=p,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\ncn: p\nsn: p\nuserPassword: secret\n\n";
    let later = "dn: uid=p,dc=example,dc=com\nchangetype: modify\nreplace: userPassword\nuserPassword: later\n\n";
    let changes = person.to_owned() + later + &change("dc=example,dc=com", "done");
    let (code, text) = together(&server, "commit", &changes);
    assert_eq!(code, Some(0), "{text}");
    let later = Credentials::Simple {
        dn: "uid=p,dc=example,dc=com",
        password: "later",
    };
    server.client("ldapwhoami", &later, &[], "").unwrap().success().unwrap();
    let asked = ["-b", "uid=p,dc=example,dc=com", "-s", "base", "userPassword"];
    let stored = server
        .client("ldapsearch", &Credentials::ROOT, &asked, "")
        .unwrap()
        .stdout;
    assert!(stored.contains("userPassword:: e0FSR09OMn"), "{stored}");
    let names = "(|(reqDN=uid=p,dc=example,dc=com)(reqMod=description:= done))";
    let logged = server.client(
        "ldapsearch",
        &Credentials::ROOT,
        &["-b", "cn=log", names, "reqType"],
        "",
    );
    let logged = logged.unwrap().stdout;
    assert_eq!(
        (
            logged.matches("reqType: add").count(),
            logged.matches("reqType: modify").count()
        ),
        (1, 2),
        "{logged}"
    );
}
