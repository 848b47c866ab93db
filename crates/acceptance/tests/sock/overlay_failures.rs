//! What a program behind an overlay does wrong, and clients that give up.

use ironbark_testkit::{Credentials, Flavor, Server, wait::until};

use super::{
    overlay::{ANN, config, entries, overlay},
    program::Program,
};

/// A server with the people, and a program that lets go on what it is not told otherwise.
fn start(settings: &str, replies: &[(&str, &str)]) -> (Server, Program) {
    let mut server = Server::prepare(Flavor::Ironbark, &config(settings)).unwrap();
    server.slapadd(&entries()).unwrap();
    server.launch().unwrap();
    let program = Program::start(&server, &[replies, &[("^.", "CONTINUE")]].concat());
    (server, program)
}

fn search(server: &Server, filter: &str) -> (Option<i32>, String) {
    let outcome = server.search(&["-b", "dc=example,dc=com", filter, "cn"]).unwrap();
    (outcome.code(), outcome.stdout)
}

#[test]
fn no_answer_is_a_failure_and_nothing_is_done() {
    let long = "x".repeat(9 << 20);
    let entry = "dn: cn=sent,dc=example,dc=com\ncn: sent\nobjectClass: person\nsn: x\n\n";
    let replies = [
        ("^SEARCH.*cn=close", "!close"),
        ("^SEARCH.*cn=garbage", "garbage"),
        ("^SEARCH.*cn=long", &*format!("RESULT\ninfo: {long}")),
        ("^SEARCH.*cn=nodn", "cn: a\n\nRESULT\ncode: 0"),
        ("^SEARCH.*cn=mixed", &*format!("{entry}CONTINUE")),
        ("^DELETE.*bob", "!close"),
        ("^BIND.*ann", "!close"),
        ("^COMPARE", entry),
    ];
    let (server, _program) = start(&overlay("sockops bind search delete compare"), &replies);
    for name in ["close", "garbage", "long", "nodn"] {
        assert_eq!(
            search(&server, &format!("(cn={name})")),
            (Some(80), String::new()),
            "{name}"
        );
    }
    let (code, sent) = search(&server, "(cn=mixed)");
    assert_eq!(
        (code, sent.trim()),
        (Some(80), "dn: cn=sent,dc=example,dc=com\ncn: sent")
    );
    let client = |program: &str, who: &Credentials<'_>, arguments: &[&str]| {
        server.client(program, who, arguments, "").unwrap().code()
    };
    assert_eq!(client("ldapwhoami", &ANN, &[]), Some(80));
    assert_eq!(
        client("ldapdelete", &Credentials::ROOT, &["cn=bob,dc=example,dc=com"]),
        Some(80)
    );
    assert_eq!(
        client("ldapcompare", &Credentials::ROOT, &["cn=bob,dc=example,dc=com", "sn:x"]),
        Some(80)
    );
    let (code, found) = search(&server, "(cn=bob)");
    assert_eq!((code, found.trim()), (Some(0), "dn: cn=bob,dc=example,dc=com\ncn: bob"));
}

#[test]
fn without_a_program_requests_fail_and_responses_are_lost() {
    let server = Server::prepare(
        Flavor::Ironbark,
        &config(&overlay("sockops search\nsockresps result search")),
    );
    let mut server = server.unwrap();
    server.slapadd(&entries()).unwrap();
    server.launch().unwrap();
    let outcome = server.search(&["-b", "dc=example,dc=com"]).unwrap();
    assert_eq!(outcome.code(), Some(80), "{outcome:?}");
    assert!(outcome.stderr.contains("could not open socket"), "{outcome:?}");
    let compared = server.client("ldapcompare", &ANN, &["cn=bob,dc=example,dc=com", "sn:x"], "");
    assert_eq!(compared.unwrap().code(), Some(6));
}

#[test]
fn a_silent_program_holds_up_nobody_else_and_is_left_when_nobody_waits() {
    let replies = [("filter: .cn=slow", "!hang"), ("^(DELETE|BIND).*(bob|slow)", "!hang")];
    let settings = format!("timelimit 1\n{}", overlay("sockops bind search delete"));
    let (server, program) = start(&settings, &replies);
    // The time limit is obeyed by all operations.
    assert_eq!(search(&server, "(cn=slow)").0, Some(3));
    program.notes_with("-- given up");
    let bob = Credentials::Simple {
        dn: "cn=bob,dc=example,dc=com",
        password: "pw",
    };
    assert_eq!(server.client("ldapwhoami", &bob, &[], "").unwrap().code(), Some(3));
    program.notes_with("-- given up");
    // The rootdn has none: what it gives up is given up, and its connection goes on.
    let script = r"
import ldap, os
c = ldap.initialize(os.environ['LDAP_URL'])
c.simple_bind_s('cn=Manager,dc=example,dc=com', 'secret')
abandoned = c.search('dc=example,dc=com', ldap.SCOPE_BASE, '(cn=slow)')
canceled = c.delete('cn=bob,dc=example,dc=com')
print(c.whoami_s())
c.abandon(abandoned)
c.cancel_s(canceled)
try: c.result(canceled)
except ldap.CANCELLED: print('canceled')
lost = c.search('dc=example,dc=com', ldap.SCOPE_BASE, '(cn=slow)')
print(len(c.search_s('dc=example,dc=com', ldap.SCOPE_SUBTREE, '(cn=bob)')))
";
    let outcome = server.python(script).unwrap();
    assert_eq!(
        outcome.stdout, "dn:cn=Manager,dc=example,dc=com\ncanceled\n1\n",
        "{outcome:?}"
    );
    until(|| (program.notes().matches("-- given up").count() == 3).then_some(())).unwrap();
}

#[test]
fn entries_without_end_are_cut_at_the_size_limit_and_critical_controls_are_refused() {
    let entry = "dn: cn=a,dc=example,dc=com\\ncn: a\\nobjectClass: person\\n\\n";
    let settings = format!("sizelimit 1000\n{}", overlay("sockops search"));
    let (server, program) = start(&settings, &[("cn=endless", &*format!("!endless {entry}"))]);
    let (code, found) = search(&server, "(cn=endless)");
    assert_eq!((code, found.matches("dn: ").count()), (Some(4), 1000));
    program.notes_with("-- given up");
    for (control, code) in [("!pr=5/noprompt", 12), ("!sss=cn:2.5.13.3", 12), ("!mv=(cn=a)", 4)] {
        let outcome = server
            .search(&["-b", "dc=example,dc=com", "-E", control, "(cn=endless)"])
            .unwrap();
        assert_eq!(outcome.code(), Some(code), "{control}: {}", outcome.stderr);
    }
    // What goes on in the database has its controls.
    let outcome = server
        .search(&["-b", "dc=example,dc=com", "-E", "!pr=5/noprompt", "(cn=bob)"])
        .unwrap();
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
}

/// More entries than may wait for the program.
const MANY: usize = 4_000;

#[test]
fn a_slow_program_is_told_of_every_entry() {
    let mut server = Server::prepare(Flavor::Ironbark, &config(&overlay("sockresps result search"))).unwrap();
    let people = (0..MANY)
        .map(|number| format!("dn: cn={number},dc=example,dc=com\nobjectClass: person\ncn: {number}\nsn: x\n\n"));
    server
        .slapadd(&format!("{}{}", entries(), people.collect::<String>()))
        .unwrap();
    server.launch().unwrap();
    let program = Program::start(&server, &[]);
    let outcome = server
        .search(&["-b", "dc=example,dc=com", "-E", "!sss=cn:2.5.13.3", "(sn=x)", "cn"])
        .unwrap();
    assert_eq!((outcome.code(), outcome.stdout.matches("dn: ").count()), (Some(4), 500));
    let notes = program.notes_with("code: 4\n");
    assert_eq!(notes.matches("ENTRY\n").count(), 500);
    let who = Credentials::ROOT;
    let outcome = server
        .client(
            "ldapsearch",
            &who,
            &["-LLL", "-b", "dc=example,dc=com", "(sn=x)", "cn"],
            "",
        )
        .unwrap();
    assert_eq!(outcome.stdout.matches("dn: ").count(), MANY + 3, "{}", outcome.stderr);
    let notes = program.notes_with("RESULT\n");
    assert_eq!(notes.matches("ENTRY\n").count(), MANY + 3);
    assert!(
        notes.trim_end().ends_with("code: 0\n\n-- end"),
        "the result is the last"
    );
}

#[test]
fn a_program_that_does_not_listen_holds_up_nobody() {
    let (server, program) = start(&overlay("sockresps result"), &[]);
    let signal = |name: &str| {
        let pid = program.pid().to_string();
        let status = std::process::Command::new("/bin/kill")
            .args([name, &pid])
            .status()
            .unwrap();
        assert!(status.success());
    };
    signal("-STOP");
    let script = r"
import ldap, os
c = ldap.initialize(os.environ['LDAP_URL'])
for number in range(300): print(c.compare_s('cn=bob,dc=example,dc=com', 'sn', b'x'))
";
    let outcome = server.python(script).unwrap();
    assert_eq!(outcome.stdout.matches("True").count(), 300, "{outcome:?}");
    signal("-CONT");
    until(|| (program.notes().matches("RESULT\n").count() == 300).then_some(())).unwrap();
}

#[test]
fn nothing_that_a_client_sends_is_a_line_of_its_own() {
    let (server, program) = start(&overlay("sockops bind search modify\nsockresps result"), &[]);
    let script = r"
import ldap, os
c = ldap.initialize(os.environ['LDAP_URL'])
c.simple_bind_s('cn=Manager,dc=example,dc=com', 'secret')
def ask(what, *arguments):
    try: what(*arguments)
    except ldap.LDAPError as error: print(type(error).__name__)
dn = 'cn=x\\0AFORGED: 1\\0A\\0A,dc=example,dc=com'
ask(c.search_s, dn, ldap.SCOPE_BASE, '(cn=x\nFORGED: 1\n)', ['cn', 'x\nFORGED: 1'])
ask(c.modify_s, dn, [(ldap.MOD_REPLACE, 'description', [b'\nFORGED: 1'])])
ask(c.add_s, 'cn=a\\0AFORGED: 1,dc=example,dc=com', [('objectClass', [b'person']), ('cn', [b'a\nFORGED: 1'])])
ask(c.search_s, 'cn=b,cn=a\\0AFORGED: 1,dc=example,dc=com', ldap.SCOPE_BASE)
ask(c.simple_bind_s, dn, 'x\nFORGED: 1')
ask(c.search_s, 'cn=last,dc=example,dc=com', ldap.SCOPE_BASE)
";
    let outcome = server.python(script).unwrap();
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    let notes = program.notes_with("base: cn=last");
    assert!(!notes.contains("\nFORGED"), "{notes}");
}

#[test]
fn an_overlay_comes_changes_and_goes_while_the_server_runs() {
    let text = config("").replace("database mdb", "database config\nrootpw config\ndatabase mdb");
    let server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server.slapadd(&entries()).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    server
        .tool(ironbark_testkit::Tool::Test, &["-F", &folder.to_string_lossy()], "")
        .unwrap();
    let mut server = server.from_directory(folder);
    server.launch().unwrap();
    let root = Credentials::Simple {
        dn: "cn=config",
        password: "config",
    };
    let change = |text: &str| server.client("ldapmodify", &root, &[], text).unwrap();
    let place = "olcOverlay={0}sock,olcDatabase={1}mdb,cn=config";
    let socket = server.layout().join("program.sock");
    let added = format!(
        "dn: olcOverlay=sock,olcDatabase={{1}}mdb,cn=config\nchangetype: add\nobjectClass: olcOverlayConfig\n\
         objectClass: olcOvSocketConfig\nolcOverlay: sock\nolcDbSocketPath: {}\nolcOvSocketOps: Search\n",
        socket.display()
    );
    let outcome = change(&added);
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    let program = Program::start(
        &server,
        &[
            ("cn=slow", "!hang"),
            ("^SEARCH", "RESULT\ncode: 32"),
            ("^.", "CONTINUE"),
        ],
    );
    assert_eq!(search(&server, "(cn=bob)").0, Some(32));
    for (value, reason) in [
        ("olcOvSocketOps: nosuch", "unknown word"),
        ("olcOvSocketDNpat: (", "invalid expression"),
    ] {
        let name = value.split(':').next().unwrap();
        let outcome = change(&format!("dn: {place}\nchangetype: modify\nadd: {name}\n{value}\n"));
        assert!(
            outcome.code() != Some(0) && outcome.stderr.contains(reason),
            "{outcome:?}"
        );
    }
    // What is under way ends under the settings that it began with, or is asked anew.
    let script = format!(
        r"
import ldap, os
url = os.environ['LDAP_URL']
c, config = ldap.initialize(url), ldap.initialize(url)
waiting = c.search('dc=example,dc=com', ldap.SCOPE_SUBTREE, '(cn=slow)')
config.simple_bind_s('cn=config', 'config')
other = (ldap.MOD_REPLACE, 'olcOvSocketOps', [b'add', b'delete'])
config.modify_s('{place}', [other, (ldap.MOD_ADD, 'olcOvSocketResps', [b'result'])])
print(len(c.search_s('dc=example,dc=com', ldap.SCOPE_SUBTREE, '(cn=bob)')))
c.abandon(waiting)
"
    );
    let outcome = server.python(&script).unwrap();
    assert_eq!(outcome.stdout, "1\n", "{outcome:?}");
    program.notes_with("RESULT\nmsgid: ");
    let outcome = change(&format!("dn: {place}\nchangetype: delete\n"));
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    assert_eq!(search(&server, "(cn=bob)").0, Some(0));
}

#[test]
fn no_request_comes_past_the_program() {
    let (server, program) = start(
        &overlay("sockops compare modify"),
        &[("^COMPARE", "RESULT\ncode: 53"), ("^MODIFY", "RESULT\ncode: 53")],
    );
    // A value that takes long to normalize, and a change that only the relax rules allow.
    let script = r"
import ldap, os
from ldap.controls import RequestControl
c = ldap.initialize(os.environ['LDAP_URL'])
c.simple_bind_s('cn=Manager,dc=example,dc=com', 'secret')
bob = 'cn=bob,dc=example,dc=com'
relax = RequestControl('1.3.6.1.4.1.4203.666.5.12', True)
time = [(ldap.MOD_REPLACE, 'createTimestamp', [b'20000101000000Z'])]
def code(step):
    try:
        return step()
    except ldap.LDAPError as error:
        return error.args[0]['result']
def compare(value):
    return code(lambda: c.compare_s(bob, 'description', value.encode()))
print([compare('x'), compare('\u00e9' * 30000), compare('\u00e9' * 120000)])
print([code(lambda: c.modify_ext_s(bob, time, serverctrls=[relax])), code(lambda: c.modify_s(bob, time))])
";
    let outcome = server.python(script).unwrap();
    // What the server itself refuses is not asked: adminLimitExceeded, constraintViolation.
    assert_eq!(outcome.stdout, "[53, 53, 11]\n[53, 19]\n", "{}", outcome.stderr);
    let notes = program.notes();
    assert_eq!(
        (notes.matches("COMPARE").count(), notes.matches("MODIFY").count()),
        (2, 1)
    );
}
