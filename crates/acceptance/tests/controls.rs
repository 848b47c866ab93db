//! Controls as ldap-utils and python-ldap send them, each answer compared with slapd's.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Credentials, Flavor, Server, assert_same_answers};

const DATA: &str = include_str!("data/example.ldif");
const BASE: &str = "dc=example,dc=com";
const ANN: &str = "uid=ann,ou=People,dc=example,dc=com";

/// Plays a Python script on both servers; `c` is bound as the rootdn.
#[track_caller]
fn same_python(config: &str, script: &str) {
    let script = format!(
        "import ldap, ldap.controls, os\n\
         from ldap.controls import *\n\
         c = ldap.initialize(os.environ['LDAP_URL'])\n\
         c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])\n\
         def tried(f, *a, **k):\n\
         \x20   try:\n\
         \x20       print(f(*a, **k))\n\
         \x20   except ldap.LDAPError as e:\n\
         \x20       d = e.args[0]\n\
         \x20       print(type(e).__name__, d.get('info'), d.get('matched'))\n\
         {script}"
    );
    assert_same_answers(config, DATA, |transcript| transcript.python(&script));
}

#[test]
fn faults_of_a_request_are_told_in_slapds_order() {
    same_python(
        Server::PEOPLE_CONFIG,
        "
R = RequestControl
faults = [[], [R('1.2.3', True, None)], [R('1.2.840.113556.1.4.319', True, b'zz')], [R('1.3.6.1.4.1.4203.666.5.12', True, b'x')],
          [R('1.3.6.1.4.1.4203.1.10.1', True, b'zz')], [R('2.16.840.1.113730.3.4.18', True, b'u:nobody')]]
nobody = ldap.initialize(os.environ['LDAP_URL'])
for c in c, nobody:
    for base in 'bad', 'o=nowhere', 'ou=absent,dc=example,dc=com', 'uid=ann,ou=People,dc=example,dc=com':
        for controls in faults:
            print(base, [control.controlType for control in controls])
            tried(c.search_ext_s, base, 0, attrlist=['1.1'], serverctrls=controls)
            tried(c.compare_ext_s, base, 'uid', b'x', serverctrls=controls)
            tried(c.modify_ext_s, base, [(0, 'nosuch', [b'x'])], serverctrls=controls)
            tried(c.add_ext_s, base, [('nosuch', [b'x'])], serverctrls=controls)
            tried(c.rename_s, base, 'cn=x', 'cn=y,' + base, serverctrls=controls)
            tried(c.rename_s, 'cn=x,' + base, 'ou=absent', 'dc=example,dc=com', serverctrls=controls)
            tried(c.rename_s, base, 'nosuch', serverctrls=controls)
",
    );
}

/// RFC 2696 §3.
#[test]
fn giving_a_page_up_ends_the_paged_search() {
    // slapd accepts the next page after a client has abandoned a paged search.
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let script = "
import ldap, os
from ldap.controls import SimplePagedResultsControl as P
c = ldap.initialize(os.environ['LDAP_URL'])
def page(size, cookie):
    m = c.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE, attrlist=['1.1'], serverctrls=[P(True, size=size, cookie=cookie)])
    t, data, i, controls = c.result3(m)
    return len(data), controls[0].cookie if controls else None
count, cookie = page(2, b'')
print(count, page(0, cookie))
try:
    page(2, cookie)
except ldap.UNWILLING_TO_PERFORM as e:
    print(e.args[0]['info'])
";
    let answer = server.python(script).unwrap().success().unwrap().stdout;
    assert_eq!(answer, "2 (0, None)\npaged results cookie is invalid or old\n");
}

/// RFC 2696 §3.
#[test]
fn pages_join_to_the_whole_answer() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        let mut paged = |arguments: &[&str]| transcript.search_but_for("# pagedresults: ", arguments);
        for size in [1, 2, 3, 9, 10, 11, 100] {
            paged(&["-b", BASE, "-E", &format!("pr={size}/noprompt"), "1.1"])?;
        }
        paged(&["-b", BASE, "-E", "!pr=2/noprompt", "(objectClass=inetOrgPerson)", "1.1"])?;
        paged(&["-b", BASE, "-E", "pr=2/noprompt", "-z", "3", "1.1"])?;
        paged(&["-b", BASE, "-E", "pr=2/noprompt", "(uid=none)", "1.1"])?;
        paged(&["-b", "cn=no,dc=example,dc=com", "-E", "pr=2/noprompt", "1.1"])
    });
}

/// RFC 2696 §3.
#[test]
fn a_page_has_a_cookie_that_must_be_the_last_one() {
    same_python(
        Server::PEOPLE_CONFIG,
        "
def page(size, cookie, filter='(objectClass=*)', crit=True, conn=c):
    try:
        m = conn.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE, filter, ['1.1'],
            serverctrls=[SimplePagedResultsControl(crit, size=size, cookie=cookie)])
        t, data, i, ctrls = conn.result3(m)
        cookie = [x.cookie for x in ctrls if x.controlType == SimplePagedResultsControl.controlType]
        print([d for d, a in data], [bool(x) for x in cookie])
        return cookie[0] if cookie else b''
    except ldap.LDAPError as e:
        print(type(e).__name__, e.args[0].get('info'))
        return b''
one = page(2, b'')
two = page(3, one)
page(2, one)          # not the last cookie any more
page(2, b'rubbish')
page(-1, b'')
one = page(4, b'')
one = page(4, one)
one = page(4, one)
print(one)
one = page(2, b'')
print(len(one))
",
    );
}

#[test]
fn an_assertion_that_fails_stops_the_operation() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        for filter in ["(uid=ann)", "(uid=bob)", "(nosuch=x)", "(&)", "(|)"] {
            let assert = format!("assert={filter}");
            let critical = format!("!assert={filter}");
            transcript.search(&["-b", ANN, "-s", "base", "-e", &assert, "1.1"])?;
            transcript.search(&["-b", ANN, "-s", "base", "-e", &critical, "1.1"])?;
            transcript.search(&[
                "-b",
                "uid=no,ou=People,dc=example,dc=com",
                "-s",
                "base",
                "-e",
                &critical,
                "1.1",
            ])?;
            transcript.client("ldapcompare", &Credentials::ROOT, &["-e", &critical, ANN, "sn:lee"], "")?;
            transcript.client(
                "ldapmodify",
                &Credentials::ROOT,
                &["-e", &critical],
                &format!("dn: {ANN}\nchangetype: modify\nadd: mail\nmail: new@example.com\n-\ndelete: mail\nmail: new@example.com\n"),
            )?;
            transcript.client("ldapmodrdn", &Credentials::ROOT, &["-e", &critical, ANN, "uid=ann"], "")?;
            transcript.client(
                "ldapdelete",
                &Credentials::ROOT,
                &["-e", &critical, "cn=a+sn=b,ou=Deep,ou=Groups,dc=example,dc=com"],
                "",
            )?;
        }
        transcript.ignore_order();
        transcript.search(&["-b", BASE, "1.1"])
    });
}

#[test]
fn no_op_changes_nothing() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        let change = format!("dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: Ray\n");
        for critical in ["", "!"] {
            let noop = format!("{critical}noop");
            transcript.client("ldapmodify", &Credentials::ROOT, &["-e", &noop], &change)?;
            transcript.client(
                "ldapadd",
                &Credentials::ROOT,
                &["-e", &noop],
                "dn: cn=new,dc=example,dc=com\nobjectClass: person\ncn: new\nsn: x\n",
            )?;
            transcript.client("ldapdelete", &Credentials::ROOT, &["-e", &noop, ANN], "")?;
            transcript.client("ldapmodrdn", &Credentials::ROOT, &["-e", &noop, ANN, "uid=else"], "")?;
            // An operation that would fail does fail.
            transcript.client("ldapdelete", &Credentials::ROOT, &["-e", &noop, BASE], "")?;
        }
        transcript.ignore_order();
        transcript.search(&["-b", BASE])
    });
}

#[test]
fn permissive_modify_forgives() {
    // Deleting a missing value is left out: slapd 2.5 refuses it if the attribute has other values.
    same_python(
        Server::PEOPLE_CONFIG,
        "
ann = 'uid=ann,ou=People,dc=example,dc=com'
permissive = [LDAPControl('1.2.840.113556.1.4.1413', True)]
for mods in ([(ldap.MOD_ADD, 'mail', [b'ann@example.com'])],
             [(ldap.MOD_ADD, 'mail', [b'ann@example.com', b'z@example.com'])],
             [(ldap.MOD_DELETE, 'roomNumber', None)],
             [(ldap.MOD_DELETE, 'roomNumber', [b'1'])],
             [(ldap.MOD_ADD, 'nosuch', [b'1'])]):
    tried(c.modify_ext_s, ann, mods)
    tried(c.modify_ext_s, ann, mods, serverctrls=permissive)
    print(c.search_s(ann, ldap.SCOPE_BASE, attrlist=['mail', 'roomNumber']))
",
    );
}

#[test]
fn a_control_that_cannot_be_decoded_is_a_protocol_error() {
    // Not compared: slapd 2.5.13 crashes on an invalid assertion filter.
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let script = "
import ldap, os
from ldap.controls import LDAPControl
c = ldap.initialize(os.environ['LDAP_URL'])
for oid in ['1.2.840.113556.1.4.319', '1.3.6.1.1.12', '1.2.840.113556.1.4.473', '1.2.826.0.1.3344810.2.3', '1.3.6.1.4.1.4203.666.5.16']:
    for value in (b'rubbish', b'\\xff\\xff', b'\\x30\\x84\\xff\\xff\\xff\\xff', b'\\x30'):
        try:
            c.search_ext_s('dc=example,dc=com', ldap.SCOPE_BASE, serverctrls=[LDAPControl(oid, True, encodedControlValue=value)])
            print(oid, value, 'was taken')
        except ldap.PROTOCOL_ERROR:
            pass
";
    assert_eq!(server.python(script).unwrap().success().unwrap().stdout, "");
}

#[test]
fn a_control_is_refused_where_it_has_no_place_or_no_sense() {
    same_python(
        Server::PEOPLE_CONFIG,
        "
ann = 'uid=ann,ou=People,dc=example,dc=com'
def control(oid, value=None, crit=True):
    return LDAPControl(oid, crit, encodedControlValue=value) if value is not None else LDAPControl(oid, crit)
oids = ['1.2.840.113556.1.4.319', '1.3.6.1.1.12', '1.3.6.1.1.13.1', '1.3.6.1.1.13.2', '1.2.826.0.1.3344810.2.3',
        '2.16.840.1.113730.3.4.2', '1.3.6.1.4.1.4203.1.10.1', '2.16.840.1.113730.3.4.18', '1.2.840.113556.1.4.1413',
        '1.2.840.113556.1.4.1339', '1.3.6.1.4.1.4203.666.5.2', '1.3.6.1.4.1.4203.666.5.12', '1.3.6.1.4.1.4203.1.10.2']
for oid in oids:
    # slapd refuses an empty value of no-op, which has none.
    for value in (None, b'') if oid != '1.3.6.1.4.1.4203.666.5.2' else (None,):
        print(oid, value)
        k = [control(oid, value)]
        tried(lambda: [d for d, a in c.search_ext_s(ann, ldap.SCOPE_BASE, attrlist=['1.1'], serverctrls=k)])
        tried(lambda: c.compare_ext_s(ann, 'sn', b'Lee', serverctrls=k))
        if not (oid in ('1.3.6.1.4.1.4203.666.5.2',) ):
            tried(lambda: c.modify_ext_s(ann, [(ldap.MOD_REPLACE, 'title', [b'x'])], serverctrls=k)[0])
",
    );
}

#[test]
fn the_same_control_twice_is_refused() {
    same_python(
        Server::PEOPLE_CONFIG,
        "
ann = 'uid=ann,ou=People,dc=example,dc=com'
pr = SimplePagedResultsControl(True, size=2, cookie=b'')
tried(lambda: c.search_ext_s(ann, ldap.SCOPE_BASE, serverctrls=[pr, pr]))
m = LDAPControl('2.16.840.1.113730.3.4.2', True)
tried(lambda: c.search_ext_s(ann, ldap.SCOPE_BASE, attrlist=['1.1'], serverctrls=[m, m]))
u = LDAPControl('1.2.3.4', False)
tried(lambda: c.search_ext_s(ann, ldap.SCOPE_BASE, attrlist=['1.1'], serverctrls=[u, u]))
",
    );
}

#[test]
fn the_tree_delete_control_is_offered_and_obeyed_or_refused_when_critical() {
    // slapd 2.5 has no tree delete in back-mdb: it refuses the critical control; here the tree is deleted.
    for flavor in Flavor::ALL {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG).unwrap();
        server.ldapadd(DATA).unwrap().success().unwrap();
        let arguments = ["-e", "!1.2.840.113556.1.4.805", "ou=Groups,dc=example,dc=com"];
        let deleted = server.client("ldapdelete", &Credentials::ROOT, &arguments, "").unwrap();
        let is_deleted = deleted.code() == Some(0);
        assert_eq!(is_deleted, flavor == Flavor::Ironbark, "{deleted:?}");
        let left = server.search(&["-b", "ou=Groups,dc=example,dc=com", "1.1"]).unwrap();
        assert_eq!(left.code(), Some(if is_deleted { 32 } else { 0 }), "{left:?}");
        let people = server
            .search(&["-b", "ou=People,dc=example,dc=com", "1.1"])
            .unwrap()
            .success()
            .unwrap();
        assert_eq!(people.stdout.matches("dn: ").count(), 4);
    }
}

#[test]
fn every_control_of_slapd_is_offered() {
    let offered = |flavor| {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG).unwrap();
        let answer = server
            .search(&["-b", "", "-s", "base", "supportedControl"])
            .unwrap()
            .success()
            .unwrap();
        let lines = answer
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("supportedControl: ").map(str::to_owned));
        lines.collect::<Vec<_>>()
    };
    let ours = offered(Flavor::Ironbark);
    let missing: Vec<String> = offered(Flavor::OpenLdap)
        .into_iter()
        .filter(|oid| !ours.contains(oid))
        .collect();
    assert!(missing.is_empty(), "slapd offers {missing:?} too");
}
