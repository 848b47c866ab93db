//! Virtual list view: the control as python-ldap and ldap-utils send it, beside slapd.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::fmt::Write as _;

use ironbark_testkit::{Flavor, Server, TestkitError, assert_same};

const BASE: &str = "dc=example,dc=com";

/// A server with the overlay. slapd keeps a list for each request until its connection ends.
fn with_overlay() -> String {
    let limits = "sssvlv-max 1000\nsssvlv-maxperconn 1000\n";
    format!("moduleload sssvlv\n{}overlay sssvlv\n{limits}", Server::PEOPLE_CONFIG)
}

/// Twenty people in disorder by `sn`, of whom one has no `employeeNumber`.
fn people() -> String {
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n");
    for n in 0..20 {
        let letter = char::from(b'a' + n * 7 % 20);
        let _ = write!(
            ldif,
            "\ndn: uid=p{n},{BASE}\nobjectClass: inetOrgPerson\nuid: p{n}\ncn: p\nsn: {letter}{letter}\n"
        );
        if n != 5 {
            let _ = writeln!(ldif, "employeeNumber: {:02}", n * 3);
        }
    }
    ldif
}

/// `view` prints the result, the entries, and what the control of the response says: position, count, result.
const VIEW: &str = "
import ldap, os
from ldap.controls import KNOWN_RESPONSE_CONTROLS, RequestControl, SimplePagedResultsControl
from ldap.controls.sss import SSSRequestControl
from ldap.controls.vlv import VLVRequestControl, VLVResponseControl
def connect(dn=os.environ['ROOT_DN'], password=os.environ['ROOT_PASSWORD']):
    conn = ldap.initialize(os.environ['LDAP_URL'])
    conn.simple_bind_s(dn, password)
    return conn
c = connect()
def sort(*keys, critical=True):
    return SSSRequestControl(criticality=critical, ordering_rules=list(keys))
def at(offset, count, before=0, after=0, critical=True, context=None):
    return VLVRequestControl(critical, before, after, offset=offset, content_count=count, context_id=context)
def by(value, before=0, after=0, critical=True, context=None):
    return VLVRequestControl(critical, before, after, greater_than_or_equal=value, context_id=context)
def raw(value, critical=True):
    return RequestControl(VLVRequestControl.controlType, critical, value)
def told(controls):
    for control in controls:
        if isinstance(control, tuple):
            known = KNOWN_RESPONSE_CONTROLS[control[0]]()
            known.decodeControlValue(control[2])
            control = known
        if isinstance(control, VLVResponseControl):
            # slapd has numbers of its own for sortControlMissing and offsetRangeError.
            code = {76: 60, 77: 61}.get(control.result, control.result)
            return [(control.target_position, control.content_count, code)]
    return []
def view(*controls, scope=ldap.SCOPE_ONELEVEL, base='dc=example,dc=com', filter='(uid=*)', size=0, conn=None):
    conn, names, kind = conn or c, [], None
    try:
        m = conn.search_ext(base, scope, filter, ['1.1'], serverctrls=list(controls), sizelimit=size)
        while kind != ldap.RES_SEARCH_RESULT:
            kind, data, i, controls = conn.result3(m, all=0)
            names += [dn.split(',')[0] for dn, attributes in data]
        end = 'success'
    except ldap.LDAPError as error:
        end, controls = type(error).__name__, error.args[0].get('ctrls', [])
    # Beside a size limit slapd says nothing of the view.
    print(end, *names, *([] if end == 'SIZELIMIT_EXCEEDED' else told(controls)))
sn, number = 'sn:2.5.13.3', 'employeeNumber:2.5.13.3'
";

/// What a script prints with the overlay, the same as with slapd.
fn assert_same_views(script: &str) -> String {
    let mut printed = String::new();
    assert_same(|flavor| {
        printed = play(flavor, &with_overlay(), script)?;
        Ok(printed.clone())
    });
    printed
}

/// What a script prints with our server.
fn views(configuration: &str, script: &str) -> String {
    play(Flavor::Ironbark, configuration, script).unwrap()
}

fn play(flavor: Flavor, configuration: &str, script: &str) -> Result<String, TestkitError> {
    let mut server = Server::prepare(flavor, configuration)?;
    server.slapadd(&people())?;
    server.launch()?;
    Ok(server.python(&format!("{VIEW}{script}"))?.success()?.stdout)
}

#[test]
fn a_view_by_position_is_as_slapds() {
    assert_same_views(
        "
for keys in [(sn,), ('-' + sn,), (number, sn), ('-' + number, sn)]:
    for place in [(1, 0), (1, 20), (1, 7), (2, 0), (7, 20), (19, 0), (20, 20), (20, 0), (5, 5), (1, 1), (10, 40), (50, 100)]:
        for before, after in [(0, 0), (0, 3), (3, 0), (2, 2), (100, 100), (2147483647, 0)]:
            view(sort(*keys), at(*place, before, after))
for place in [(21, 0), (21, 20), (101, 100), (2147483647, 0), (2147483647, 1)]:
    view(sort(sn), at(*place, 2, 2))
",
    );
}

#[test]
fn a_view_by_value_is_as_slapds() {
    assert_same_views(
        "
for value in ['a', 'aa', 'AA', 'ab', 'bb', 'ff', 'fff', 'm', 'tt']:
    for before, after in [(0, 0), (0, 2), (2, 0), (3, 3), (50, 50)]:
        view(sort(sn), by(value, before, after))
        view(sort('-' + sn), by('z' + value, before, after))
for value in ['00', '01', '15', '16', '57']:
    view(sort(number), by(value, 1, 1))
    view(sort('-' + number), by(value, 1, 1))
# Behind the last that has a number stands who has none.
view(sort(number), by('58', 1, 1))
# Past the end. Without entries before it slapd sends the last.
for before, after in [(1, 0), (3, 3), (100, 0)]:
    view(sort(sn), by('zz', before, after))
    view(sort('-' + sn), by('a', before, after))
# No value of the rule.
view(sort('createTimestamp'), by('now', 1, 1))
",
    );
}

#[test]
fn what_is_no_view_is_refused_as_by_slapd() {
    assert_same_views(
        r"
view(at(1, 0, 0, 1))
view(at(1, 0, 0, 1, critical=False))
view(sort(sn), at(1, 0), SimplePagedResultsControl(True, size=3, cookie=''))
view(at(1, 0), SimplePagedResultsControl(True, size=3, cookie=''))
view(sort(sn), at(1, 0), at(1, 0))
view(sort(*[sn, number, 'cn:2.5.13.3', 'uid:2.5.13.3', 'mail:2.5.13.3', 'o:2.5.13.3']), at(1, 0))
view(sort('nosuch'), at(1, 0))
for value in [None, b'', b'0', b'\x30\x00', b'\x30\x06\x02\x01\x00\x02\x01\x00', b'\x30\x0b\x02\x01\x00\x02\x01\x00\xa0\x03\x02\x01\x01']:
    view(sort(sn), raw(value))
# An empty list has no positions.
for place in [at(1, 0), at(7, 9, 2, 2), by('a', 2, 2)]:
    view(sort(sn), place, filter='(uid=nobody)')
# Not in a list.
view(sort(sn), at(1, 0), base='uid=p1,dc=example,dc=com', scope=ldap.SCOPE_BASE)
view(sort(sn), at(1, 0), base='', scope=ldap.SCOPE_BASE, filter='(objectClass=*)')
view(sort(sn, critical=False), at(1, 0, critical=False), base='', scope=ldap.SCOPE_BASE, filter='(objectClass=*)')
view(sort(sn), at(1, 0), base='dc=nowhere')
try:
    c.compare_ext_s('dc=example,dc=com', 'dc', b'example', serverctrls=[at(1, 0)])
except ldap.LDAPError as error:
    print(type(error).__name__)
",
    );
}

#[test]
fn a_size_limit_cuts_the_view_and_not_the_list() {
    assert_same_views(
        "
for size in [1, 2, 3, 5]:
    view(sort(sn), at(10, 0, 1, 1), size=size)
    view(sort(sn), by('pp', 0, 2), size=size)
    view(sort(sn), by('zz', 2, 2), size=size)
",
    );
}

#[test]
fn the_root_dse_has_the_control_with_the_overlay() {
    let script = "
print(sorted(x for x in c.search_s('', ldap.SCOPE_BASE, attrlist=['supportedControl'])[0][1]['supportedControl'] if b'113730.3.4.9' in x or b'.4.47' in x))
view(sort(sn), at(1, 0, 0, 1))
view(sort(sn), at(1, 0, 0, 1, critical=False))
";
    assert_same_views(script);
    let without = views(Server::PEOPLE_CONFIG, script);
    let lines: Vec<_> = without.lines().collect();
    assert_eq!(lines.first(), Some(&"[b'1.2.840.113556.1.4.473']"));
    assert_eq!(lines.get(1), Some(&"UNAVAILABLE_CRITICAL_EXTENSION"));
    assert!(
        lines.get(2).is_some_and(|line| line.matches("uid=").count() == 20),
        "{without}"
    );
}

#[test]
fn ldapsearch_scrolls_through_the_list() {
    // Without slapd, which answers `busy` when the next window is asked for before it has put the last one away.
    let mut server = Server::prepare(Flavor::Ironbark, &with_overlay()).unwrap();
    server.slapadd(&people()).unwrap();
    server.launch().unwrap();
    let scroll = |view: &str| {
        let view = format!("!vlv={view}");
        let arguments = ["-b", BASE, "-E", "!sss=sn:2.5.13.3", "-E", &view, "(uid=*)", "1.1"];
        let outcome = server.search(&arguments).unwrap();
        let names = outcome.stdout.lines().filter_map(|line| line.strip_prefix("dn: uid="));
        let names: Vec<_> = names.filter_map(|name| name.split(',').next()).collect();
        let said = outcome.stdout.lines().filter(|line| line.starts_with("# vlvResult"));
        let said: Vec<_> = said.map(str::to_owned).collect();
        (outcome.code(), names.join(" "), said)
    };
    // It asks for a window behind the last of the one before, until there is none.
    let (code, names, said) = scroll("0/7/1/0");
    assert_eq!(code, Some(76));
    assert_eq!(
        names,
        "p0 p3 p6 p9 p12 p15 p18 p1 p1 p4 p7 p10 p13 p16 p19 p2 p2 p5 p8 p11 p14 p17"
    );
    assert_eq!(
        said,
        [
            "# vlvResultpos=1 count=20 context= (0) Success",
            "# vlvResultpos=8 count=20 context= (0) Success",
            "# vlvResultpos=15 count=20 context= (0) Success",
            "# vlvResultpos=0 count=20 context= (61) Unknown error",
        ]
    );
    let (_, names, said) = scroll("1/1:KK");
    assert!(names.starts_with("p7 p10 p13 "), "{names}");
    assert_eq!(
        said.first().map(String::as_str),
        Some("# vlvResultpos=11 count=20 context= (0) Success")
    );
}

#[test]
fn a_view_is_over_when_it_is_answered() {
    // slapd keeps the list of each until the connection ends, and is busy at the second.
    let configuration = format!(
        "{}overlay sssvlv\nsssvlv-max 1\nsssvlv-maxperconn 1\n",
        Server::PEOPLE_CONFIG
    );
    let printed = views(
        &configuration,
        "
for n in range(1, 4):
    view(sort(sn), at(n, 0))
    view(sort(sn), at(n, 0), conn=connect())
view(sort('sn'), at(1, 0))
view(sort(sn), at(99, 0))
# One that waits for its next page counts as ever.
m = c.search_ext('dc=example,dc=com', ldap.SCOPE_ONELEVEL, '(uid=*)', ['1.1'], serverctrls=[sort(sn), SimplePagedResultsControl(True, size=3, cookie='')])
c.result3(m)
view(sort(sn), at(1, 0))
view(sort(sn), at(1, 0), conn=connect())
",
    );
    assert_eq!(
        printed,
        "success uid=p0 (1, 20, 0)\nsuccess uid=p0 (1, 20, 0)\nsuccess uid=p3 (2, 20, 0)\n\
         success uid=p3 (2, 20, 0)\nsuccess uid=p6 (3, 20, 0)\nsuccess uid=p6 (3, 20, 0)\n\
         INAPPROPRIATE_MATCHING\nVLV_ERROR (0, 20, 61)\nBUSY\nBUSY\n"
    );
}

#[test]
fn another_database_has_no_views() {
    let configuration = format!(
        "{}overlay sssvlv\ndatabase mdb\nsuffix dc=other\nrootdn cn=Manager,dc=example,dc=com\n\
         directory {{dir}}/other\ndatabase monitor\n",
        Server::PEOPLE_CONFIG
    );
    let mut server = Server::prepare(Flavor::Ironbark, &configuration).unwrap();
    server.layout().make_dir("other").unwrap();
    server.launch().unwrap();
    server
        .ldapadd("dn: dc=other\nobjectClass: domain\ndc: other\n")
        .unwrap()
        .success()
        .unwrap();
    let printed = server
        .python(&format!(
            "{VIEW}
for base in ['dc=other', 'cn=Monitor']:
    for critical in [True, False]:
        view(sort(sn, critical=False), at(1, 0, critical=critical), base=base, scope=ldap.SCOPE_BASE, filter='(objectClass=*)')
        view(at(1, 0, critical=critical), base=base, scope=ldap.SCOPE_BASE, filter='(objectClass=*)')
"
        ))
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let refused = "UNAVAILABLE_CRITICAL_EXTENSION\n".repeat(2);
    assert_eq!(
        printed,
        format!("{refused}success dc=other\nsuccess dc=other\n{refused}success cn=Monitor\nsuccess cn=Monitor\n")
    );
}
