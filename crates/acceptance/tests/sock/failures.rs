//! What a program does wrong, and what clients send to make it misunderstand.

use std::process::{Child, Command, Stdio};

use ironbark_testkit::{Credentials, Flavor, Server, wait::until};

use super::{ROOT, config, program::Program};

/// Starts a server and a program that knows the rootdn, and answers as it is told otherwise.
fn start(settings: &str, replies: &[(&str, &str)]) -> (Server, Program) {
    let server = Server::start(Flavor::Ironbark, &config(settings)).unwrap();
    let known = [("^BIND.*known", "RESULT\ncode: 0")];
    let program = Program::start(&server, &[&known, replies].concat());
    (server, program)
}

fn delete(server: &Server, name: &str) -> (Option<i32>, String) {
    let outcome = server
        .client("ldapdelete", &ROOT, &[&format!("cn={name},o=second")], "")
        .unwrap();
    (outcome.code(), outcome.stderr)
}

#[test]
fn no_answer_is_a_failure() {
    let server = Server::start(Flavor::Ironbark, &config("")).unwrap();
    let outcome = server.search(&["-b", "o=second"]).unwrap();
    assert_eq!(outcome.code(), Some(80), "{outcome:?}");
    assert!(outcome.stderr.contains("could not open socket"), "{outcome:?}");
    drop(server);

    let long = "x".repeat(9 << 20);
    let replies = [
        ("^DELETE.*words", "RESULT\ncode: many"),
        ("^DELETE.*nothing", "# nothing"),
        ("^DELETE.*close", "!close"),
        ("^DELETE.*half", "dn: cn=a,o=second\ncn: a"),
        ("^DELETE.*entry", "dn: cn=a,o=second\ncn: a\n\nRESULT\ncode: 0"),
        ("^DELETE.*continue", "CONTINUE"),
        ("^DELETE.*long", &*format!("RESULT\ninfo: {long}")),
        ("^DELETE.*endless", "!endless garbage"),
        ("^SEARCH.*nodn", "cn: a\n\nRESULT\ncode: 0"),
        (
            "^SEARCH.*file",
            "dn: cn=a,o=second\ncn:< file:///etc/hostname\n\nRESULT\ncode: 0",
        ),
        (
            "^SEARCH.*syntax",
            "dn: cn=a,o=second\nseeAlso: nonsense\n\nRESULT\ncode: 0",
        ),
        (
            "^SEARCH.*unknown",
            "dn: cn=a,o=second\nnosuch: a\ncn: a\n\nRESULT\ncode: 0",
        ),
        ("^BIND", "!close"),
    ];
    let (server, _program) = start("", &replies);
    for name in [
        "words", "nothing", "close", "half", "entry", "continue", "long", "endless",
    ] {
        assert_eq!(delete(&server, name).0, Some(80), "{name}: {:?}", delete(&server, name));
    }
    for name in ["nodn", "file", "syntax"] {
        let outcome = server.search(&["-b", &format!("cn={name},o=second")]).unwrap();
        assert_eq!(
            (outcome.code(), &*outcome.stdout),
            (Some(80), ""),
            "{name}: {outcome:?}"
        );
    }
    let outcome = server.search(&["-b", "cn=unknown,o=second"]).unwrap();
    assert_eq!(outcome.stdout.trim(), "dn: cn=a,o=second\ncn: a", "{outcome:?}");
    // A program that falls over lets nobody in.
    let stranger = Credentials::Simple {
        dn: "cn=x,o=second",
        password: "x",
    };
    let outcome = server.client("ldapwhoami", &stranger, &[], "").unwrap();
    assert_eq!(outcome.code(), Some(80), "{outcome:?}");
}

#[test]
fn nothing_that_a_client_sends_is_a_line_of_its_own() {
    let (server, program) = start("", &[("^SEARCH", "RESULT\ncode: 0")]);
    let script = r"
import ldap, os
from ldap.controls import LDAPControl
c = ldap.initialize(os.environ['LDAP_URL'])
c.simple_bind_s('cn=root,o=sock,c=DE', 'known')
evil = 'x\nFORGED: 1\n\nRESULT'
def ask(what, *arguments):
    try: what(*arguments)
    except ldap.LDAPError as error: print(type(error).__name__)
dn = 'cn=x\\0AFORGED: 1\\0A\\0A,o=second'
ask(c.search_s, dn, ldap.SCOPE_BASE, '(cn=x\nFORGED: 1\n)', ['cn', evil, 'a b'])
ask(c.search_s, 'o=second', ldap.SCOPE_BASE, '(x\nFORGED: 1=y)')
ask(c.compare_s, dn, 'cn', evil.encode())
ask(c.delete_s, dn)
ask(c.rename_s, dn, 'cn=y\\0AFORGED: 1', 'ou=z\\0AFORGED: 1,o=second')
ask(c.add_s, dn, [('objectClass', [b'person']), ('cn', [b'x\nFORGED: 1\n\n']), ('sn', [evil.encode()])])
ask(c.modify_s, dn, [(ldap.MOD_REPLACE, 'description', [evil.encode(), b'\nFORGED: 1', b'\0FORGED: 1'])])
ask(c.passwd_s, dn, 'old\nFORGED: 1', evil)
ask(c.simple_bind_s, dn, evil)
ask(c.simple_bind_s, 'cn=last,o=second', 'x\0FORGED: 1')
";
    let outcome = server.python(script).unwrap();
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    let notes = program.notes_with("dn: cn=last,o=second\n");
    assert!(!notes.contains("\nFORGED"), "{notes}");
    // Each request ends with the one blank line that the server wrote.
    let requests: Vec<&str> = notes.split("-- end\n").collect();
    assert!(requests.len() > 10, "{notes}");
    let commands = [
        "BIND",
        "SEARCH",
        "COMPARE",
        "DELETE",
        "MODRDN",
        "ADD",
        "MODIFY",
        "EXTENDED",
        "UNBIND",
        "-- given up",
        "",
    ];
    for request in requests {
        let command = request.lines().next().unwrap_or_default();
        assert!(commands.contains(&command), "{request}");
        assert!(!request.trim_end_matches('\n').contains("\n\n"), "{request}");
    }
    assert!(notes.contains("cred:: "), "{notes}");
}

/// ldapsearch, which waits.
fn waiting_search(server: &Server, arguments: &[&str]) -> Child {
    Command::new("/usr/bin/ldapsearch")
        .args(["-x", "-LLL", "-H", &server.url()])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_program_that_hangs_holds_up_nobody_else_and_is_left_when_nobody_waits() {
    let (server, program) = start("", &[("^SEARCH", "!hang"), ("^DELETE", "!hang")]);
    // More than the program has connections.
    let mut hanging: Vec<Child> = (0..80).map(|_| waiting_search(&server, &["-b", "o=second"])).collect();
    until(|| (server.log().matches("SRCH base=\"o=second\"").count() >= 80).then_some(())).unwrap();
    let others = server.client("ldapwhoami", &Credentials::ROOT, &[], "").unwrap();
    assert_eq!(others.code(), Some(0), "{others:?}");
    for child in &mut hanging {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // All places are free again: this one is asked for.
    let mut last = waiting_search(&server, &["-b", "cn=place,o=second", "-l", "1"]);
    program.notes_with("base: cn=place,o=second");
    assert_eq!(last.wait().unwrap().code(), Some(3), "the time limit is obeyed");
    // A client may give a search up.
    let script = r"
import ldap, os
c = ldap.initialize(os.environ['LDAP_URL'])
given_up = c.search('cn=abandoned,o=second', ldap.SCOPE_BASE)
canceled = c.search('cn=canceled,o=second', ldap.SCOPE_BASE)
c.abandon(given_up)
c.cancel_s(canceled)
print(c.whoami_s())
";
    let outcome = server.python(script).unwrap();
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    until(|| (server.log().matches("closed").count() >= 82).then_some(())).unwrap();
}

#[test]
fn entries_without_end_are_cut_at_the_size_limit_and_wait_for_the_client() {
    let entry = "dn: cn=a,o=second\\ncn: a\\nobjectClass: person\\n\\n";
    let (server, program) = start("sizelimit 1000", &[("^SEARCH", &format!("!endless {entry}"))]);
    let outcome = server.search(&["-b", "o=second"]).unwrap();
    assert_eq!(outcome.code(), Some(4), "{}", outcome.stderr);
    assert_eq!(outcome.stdout.matches("dn: ").count(), 1000);
    program.notes_with("-- given up");
    let outcome = server.search(&["-b", "o=second", "-z", "3"]).unwrap();
    assert_eq!((outcome.code(), outcome.stdout.matches("dn: ").count()), (Some(4), 3));
    program.notes_with("-- given up");
    // The rootdn has no limit: the program is held back by a client that does not read.
    let script = r"
import ldap, os, socket, struct
host, port = os.environ['LDAP_URL'][7:].rstrip('/').split(':')
def tlv(tag, *parts):
    body = b''.join(parts)
    return bytes([tag, 0x82]) + struct.pack('>H', len(body)) + body
def message(number, operation): return tlv(0x30, tlv(2, bytes([number])), operation)
s = socket.create_connection((host, int(port)))
s.sendall(message(1, tlv(0x60, tlv(2, b'\3'), tlv(4, b'cn=root,o=sock,c=DE'), tlv(0x80, b'known'))))
s.recv(100)
s.sendall(message(2, tlv(0x63, tlv(4, b'o=second'), tlv(10, b'\2'), tlv(10, b'\0'), tlv(2, b'\0'), tlv(2, b'\0'),
    tlv(1, b'\0'), tlv(0x87, b'objectClass'), tlv(0x30))))
total = 0
while total < 5_000_000: total += len(s.recv(65536))
s.close()
";
    let outcome = server.python(script).unwrap();
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    program.notes_with("-- given up");
}

#[test]
fn a_bind_beside_the_session_is_of_no_connection_that_the_program_knows() {
    let config = config("extensions binddn connid").replace("database sock", "moduleload vc\ndatabase sock");
    let server = Server::start(Flavor::Ironbark, &config).unwrap();
    let replies = [("^BIND.*known", "RESULT\ncode: 0"), ("^BIND", "RESULT\ncode: 49")];
    let program = Program::start(&server, &replies);
    let script = r"
import ldap, ldap.extop, os
class Verify(ldap.extop.ExtendedRequest):
    def __init__(self, name, password):
        bind = b'\x04%c%s\x80%c%s' % (len(name), name, len(password), password)
        self.requestName, self.value = '1.3.6.1.4.1.4203.666.6.5', b'\x30%c%s' % (len(bind), bind)
    def encodedRequestValue(self): return self.value
c = ldap.initialize(os.environ['LDAP_URL'])
for password in b'known', b'guess':
    try: print(c.extop_s(Verify(b'cn=a,o=second', password)))
    except ldap.INVALID_CREDENTIALS: print('wrong')
    print(repr(c.whoami_s()))
c.simple_bind_s('cn=last,o=second', 'known')
";
    let outcome = server.python(script).unwrap().success().unwrap();
    let right = r"(None, b'0\x05\x02\x01\x00\x04\x00')";
    assert_eq!(outcome.stdout, format!("{right}\n''\nwrong\n''\n"));
    let notes = program.notes_with("dn: cn=last,o=second\n");
    let lines = notes.lines().filter(|line| line.starts_with("connid: "));
    let connections: Vec<&str> = lines.take(3).collect();
    let [first, second, own] = connections[..] else {
        panic!("{notes}");
    };
    assert_eq!([first, second], [&format!("connid: {}", u64::MAX); 2]);
    assert_ne!(own, first);
}
