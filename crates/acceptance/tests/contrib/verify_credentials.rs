//! Verify Credentials (module vc), with libldap's own functions.

use ironbark_testkit::{Flavor, Server};

use crate::contrib::BASE;

const DATA: &str = concat!(
    include_str!("../data/people.ldif"),
    "
dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann
sn: Lee
userPassword: annspass
"
);

const POLICY: &str = "
dn: cn=policy,dc=example,dc=com
objectClass: device
objectClass: pwdPolicy
pwdAttribute: userPassword
pwdMustChange: TRUE
";

/// `verify(...)` asks as `ldap_verify_credentials_s` does: the result of the call, the code of the bind, its text,
/// whether there is a cookie, the server's data, the OIDs of the controls. The cookie goes into the next call.
const FUNCTIONS: &str = r"
import base64, ctypes, hashlib, hmac, os
from ctypes import POINTER, byref, c_char_p, c_int, c_long, c_ulong, c_void_p
lib = ctypes.CDLL('libldap-2.5.so.0')
class Value(ctypes.Structure):
    _fields_ = [('length', c_ulong), ('octets', c_char_p)]
class Control(ctypes.Structure):
    _fields_ = [('oid', c_char_p), ('value', Value), ('critical', ctypes.c_char)]
lib.ldap_verify_credentials_s.argtypes = [c_void_p, POINTER(Value), c_char_p, c_char_p, POINTER(Value),
    POINTER(POINTER(Control)), c_void_p, c_void_p, POINTER(c_int), POINTER(c_char_p), POINTER(POINTER(Value)),
    POINTER(POINTER(Value)), POINTER(POINTER(POINTER(Control)))]
connection, version = c_void_p(), c_int(3)
assert lib.ldap_initialize(byref(connection), os.environ['LDAP_URL'].encode()) == 0
assert lib.ldap_set_option(connection, 0x11, byref(version)) == 0
def octets(value): return ctypes.string_at(value.contents.octets, value.contents.length) if value else None
cookie = POINTER(Value)()
def verify(name, mechanism, message, controls=()):
    global cookie
    value = byref(Value(len(message), message)) if message is not None else None
    asked = [ctypes.pointer(Control(oid, Value(0, None), b'\0')) for oid in controls] + [None]
    asked = (POINTER(Control) * len(asked))(*asked)
    code, text, data = c_int(-1), c_char_p(), POINTER(Value)()
    next_cookie, answered = POINTER(Value)(), POINTER(POINTER(Control))()
    result = lib.ldap_verify_credentials_s(connection, cookie, name, mechanism, value, asked, None, None,
        byref(code), byref(text), byref(next_cookie), byref(data), byref(answered))
    cookie, found = next_cookie, []
    while answered and answered[len(found)]: found.append(answered[len(found)].contents.oid.decode())
    told = octets(data)
    return result, code.value, (text.value or b'').decode(), bool(cookie), told, found
ANN = b'uid=ann,ou=People,dc=example,dc=com'
";

fn server() -> Server {
    let global = "moduleload vc.so\nsasl-secprops none\n\
        authz-regexp uid=([^,]*),cn=[^,]*,cn=auth uid=$1,ou=People,dc=example,dc=com";
    let lines = "overlay ppolicy\nppolicy_default cn=policy,dc=example,dc=com\n\
        database frontend\noverlay authzid\naccess to attrs=userPassword by anonymous auth by * none\n\
        access to * by * read";
    let server = Server::start(Flavor::Ironbark, &Server::people_config(global, lines)).unwrap();
    server.ldapadd(&format!("{DATA}{POLICY}")).unwrap().success().unwrap();
    server
}

fn told(server: &Server, script: &str) -> String {
    let script = format!("{FUNCTIONS}\n{script}");
    server.python(&script).unwrap().success().unwrap().stdout
}

#[test]
fn libldap_verifies_passwords_with_controls() {
    let server = server();
    let script = "
print(verify(ANN, None, b'annspass'))
print(verify(ANN, None, b'wrong'))
print(verify(ANN, None, b''))
print(verify(ANN, None, b'annspass', [b'2.16.840.1.113730.3.4.16', b'1.3.6.1.4.1.42.2.27.8.5.1']))
";
    let expected = "(0, 0, '', False, None, [])
(49, 49, '', False, None, [])
(48, -1, '', False, None, [])
(0, 0, '', False, None, ['1.3.6.1.4.1.42.2.27.8.5.1', '2.16.840.1.113730.3.4.15'])
";
    assert_eq!(told(&server, script), expected);
}

#[test]
fn libldap_goes_through_a_sasl_negotiation_in_several_steps() {
    let server = server();
    let script = "
def scram(user, password):
    first = b'n=' + user + b',r=fyko'
    step = verify(b'', b'SCRAM-SHA-256', b'n,,' + first)
    assert step[:2] == (14, 14) and step[3], step
    terms = dict(part.split(b'=', 1) for part in step[4].split(b','))
    salted = hashlib.pbkdf2_hmac('sha256', password, base64.b64decode(terms[b's']), int(terms[b'i']))
    mac = lambda key, text: hmac.new(key, text, 'sha256').digest()
    key = mac(salted, b'Client Key')
    without = b'c=biws,r=' + terms[b'r']
    signed = first + b',' + step[4] + b',' + without
    proof = bytes(a ^ b for a, b in zip(key, mac(hashlib.sha256(key).digest(), signed)))
    last = verify(b'', b'SCRAM-SHA-256', without + b',p=' + base64.b64encode(proof))
    if last[0] == 0: assert last[4] == b'v=' + base64.b64encode(mac(mac(salted, b'Server Key'), signed)), last
    return last[:4]
print(scram(b'ann', b'annspass'))
print(scram(b'ann', b'wrong'))
print(scram(b'nobody', b'annspass'))
print(verify(b'', b'PLAIN', b'\\0ann\\0annspass'))
print(verify(b'', b'EXTERNAL', b'')[:2])
";
    let expected = "(0, 0, '', False)
(49, 49, '', False)
(49, 49, '', False)
(0, 0, '', False, None, [])
(48, -1)
";
    let told = told(&server, script).replace("SASL(-13): authentication failure", "");
    assert_eq!(told, expected);
}

#[test]
fn it_counts_as_an_extended_operation_and_as_a_bind() {
    let global = "moduleload vc\ndatabase monitor";
    let server = Server::start(Flavor::Ironbark, &Server::people_config(global, "")).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let script = "
import ldap
monitor = ldap.initialize(os.environ['LDAP_URL'])
def counts():
    # Its own searches are of another kind.
    found = []
    for kind in 'Bind', 'Extended':
        entry = monitor.search_s('cn=%s,cn=Operations,cn=Monitor' % kind, ldap.SCOPE_BASE, attrlist=['+'])[0][1]
        found += [int(entry['monitorOp' + name][0]) for name in ('Initiated', 'Completed')]
    return found
before = counts()
for password in b'annspass', b'wrong', b'': verify(ANN, None, password)
print([after - former for former, after in zip(before, counts())])
";
    // Without a password there is no bind.
    assert_eq!(told(&server, script), "[2, 2, 3, 3]\n");
}

#[test]
fn the_log_has_the_bind_in_the_operations_lines() {
    let server = server();
    told(&server, "verify(ANN, None, b'annspass')\nverify(ANN, None, b'wrong')");
    let line = |text: &str| server.wait_for_log(text).unwrap();
    line("EXT oid=1.3.6.1.4.1.4203.666.6.5");
    line(&format!(
        " VERIFYCREDENTIALS BIND dn=\"uid=ann,ou=People,{BASE}\" method=128"
    ));
    line(&format!(
        " VERIFYCREDENTIALS BIND dn=\"uid=ann,ou=People,{BASE}\" mech=SIMPLE"
    ));
    line(" VERIFYCREDENTIALS RESULT tag=97 err=0");
    line(" VERIFYCREDENTIALS RESULT tag=97 err=49");
    line(" RESULT oid= err=49");
}
