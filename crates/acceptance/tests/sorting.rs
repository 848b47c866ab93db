//! Server-side sort: the control as ldap-utils and python-ldap send it, compared with slapd, and the limits of the
//! overlay sssvlv.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Flavor, Server, assert_same_answers};

const DATA: &str = include_str!("data/example.ldif");
const BASE: &str = "dc=example,dc=com";

/// A server with the overlay, which slapd needs for the control.
fn with_overlay() -> String {
    format!("moduleload sssvlv\n{}overlay sssvlv\n", Server::PEOPLE_CONFIG)
}

/// RFC 2891 §3.
#[test]
fn a_sorted_search_is_paged_in_its_order() {
    // Without slapd: it answers `busy` if the next page is requested before it has finished with the last one.
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let names = |paging: &[&str]| {
        let search = [&["-b", BASE, "-E", "sss=-cn:2.5.13.3"], paging, &["(cn=*)", "1.1"]].concat();
        let stdout = server.search(&search).unwrap().success().unwrap().stdout;
        assert!(stdout.contains("# sortResult: (0) Success"), "{stdout}");
        let names = stdout.lines().filter(|line| line.starts_with("dn:"));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = names(&[]);
    assert!(whole.len() > 4, "{whole:?}");
    assert_eq!(names(&["-E", "pr=2/noprompt"]), whole);
}

/// Opens sorted searches, without reading their second page, until the server refuses.
const OPEN_SORTS: &str = "
import ldap, os
from ldap.controls import SimplePagedResultsControl
from ldap.controls.sss import SSSRequestControl
def connect():
    conn = ldap.initialize(os.environ['LDAP_URL'])
    conn.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])
    return conn
def first_page(conn, keys, cookie=b'', size=1):
    try:
        sort = SSSRequestControl(criticality=True, ordering_rules=keys)
        page = SimplePagedResultsControl(True, size=size, cookie=cookie)
        m = conn.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE, '(objectClass=*)', ['1.1'], serverctrls=[sort, page])
        t, data, i, controls = conn.result3(m)
        print(len(data))
        return next((x.cookie for x in controls if x.controlType == SimplePagedResultsControl.controlType), None)
    except ldap.LDAPError as e:
        print(type(e).__name__, e.args[0].get('info'))
uid = ['uid:2.5.13.3']
";

#[test]
fn sorting_is_limited_as_the_overlay_says() {
    let limited = format!(
        "{}sssvlv-max 2\nsssvlv-maxkeys 2\nsssvlv-maxperconn 1\n",
        with_overlay()
    );
    let script = format!(
        "{OPEN_SORTS}
c, two, three = connect(), connect(), connect()
first_page(c, ['uid:2.5.13.3', 'sn:2.5.13.3', 'cn:2.5.13.3'])
first_page(c, ['uid:2.5.13.3', '-sn:2.5.13.3'])
first_page(c, uid)
first_page(two, uid)
first_page(three, uid)
print(len(three.search_s('dc=example,dc=com', ldap.SCOPE_SUBTREE)))
"
    );
    assert_same_answers(&limited, DATA, |transcript| transcript.python(&script));
}

#[test]
fn a_sorted_search_counts_until_it_ends() {
    let configuration = format!("{}overlay sssvlv\nsssvlv-max 1\n", Server::PEOPLE_CONFIG);
    let server = Server::start(Flavor::Ironbark, &configuration).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let script = format!(
        "{OPEN_SORTS}
c, two = connect(), connect()
first_page(c, uid, size=100)
first_page(c, ['uid:2.5.13.3', 'nosuch:2.5.13.3'])
cookie = first_page(c, uid)
first_page(two, uid)
first_page(c, uid, cookie, 0)
cookie = first_page(two, uid)
first_page(c, uid)
first_page(two, uid, cookie, 100)
first_page(c, uid)
c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])
first_page(two, uid)
"
    );
    let answer = server.python(&script).unwrap().success().unwrap().stdout;
    let entries = answer.lines().next().unwrap().parse::<usize>().unwrap();
    let busy = "BUSY Other sort requests already in progress";
    let refused = "NO_SUCH_ATTRIBUTE serverSort control: Unrecognized attribute type in sort key";
    let rest = entries - 1;
    assert_eq!(
        answer,
        format!("{entries}\n{refused}\n1\n{busy}\n0\n1\n{busy}\n{rest}\n1\n1\n")
    );
}

#[test]
fn a_critical_sort_that_cannot_be_done_is_refused_as_by_slapd() {
    assert_same_answers(&with_overlay(), DATA, |transcript| {
        for key in [
            "nosuch",
            "uid:nosuchrule",
            "jpegPhoto",
            "uid",
            "-sn",
            "uid/createTimestamp",
        ] {
            // RFC 2891 §2 requires the code in the response control too; slapd does not send it then.
            let sort = format!("!sss={key}");
            transcript.search_but_for("# sortResult", &["-b", BASE, "-E", &sort, "(uid=*)", "1.1"])?;
        }
        for key in ["uid:caseIgnoreMatch", "-uid:2.5.13.2", "-cn:caseExactMatch"] {
            let sort = format!("!sss={key}");
            transcript.search(&["-b", BASE, "-E", &sort, "(objectClass=inetOrgPerson)", "1.1"])?;
        }
        transcript.search(&[
            "-b",
            "",
            "-s",
            "base",
            "-E",
            "!sss=cn:2.5.13.3",
            "(objectClass=*)",
            "1.1",
        ])?;
        transcript.search(&[
            "-b",
            "",
            "-s",
            "base",
            "-E",
            "sss=cn:2.5.13.3",
            "(objectClass=*)",
            "1.1",
        ])
    });
}

#[test]
fn a_sort_that_cannot_be_done_is_passed_over_when_it_is_not_critical() {
    // RFC 2891 §2: the entries come unsorted. slapd refuses, even for an attribute without an ordering rule.
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let search = |sort: &str| server.search(&["-b", BASE, "-E", sort, "(uid=*)", "1.1"]).unwrap();
    let names = |stdout: &str| stdout.matches("uid=").count();
    for bad in ["nosuch", "uid:nosuchrule", "jpegPhoto"] {
        let unsorted = search(&format!("sss={bad}")).success().unwrap().stdout;
        assert!(
            names(&unsorted) == 3 && !unsorted.contains("sortResult: (0)"),
            "{unsorted}"
        );
        let refused = search(&format!("!sss={bad}"));
        let code = if bad == "nosuch" { 16 } else { 18 };
        assert_eq!(refused.code(), Some(code));
        assert!(refused.stdout.contains(&format!("sortResult: ({code})")), "{refused:?}");
    }
    let sorted = search("sss=-sn").success().unwrap().stdout;
    assert!(
        names(&sorted) == 3 && sorted.find("uid=bob") < sorted.find("uid=ann"),
        "{sorted}"
    );
}

#[test]
fn a_size_limit_cuts_what_has_been_sorted() {
    for limit in ["", "sizelimit 2\n"] {
        let configuration = format!("{}overlay sssvlv\n", Server::PEOPLE_CONFIG.to_owned() + limit);
        let configuration = format!("moduleload sssvlv\n{configuration}");
        assert_same_answers(&configuration, DATA, |transcript| {
            for keys in [
                "uid:2.5.13.3",
                "-uid:2.5.13.3",
                "preferredLanguage:2.5.13.3/-uid:2.5.13.3",
            ] {
                for size in ["1", "2", "3", "0"] {
                    let sort = format!("!sss={keys}");
                    let arguments = [
                        "-b",
                        BASE,
                        "-z",
                        size,
                        "-E",
                        &sort,
                        "(objectClass=inetOrgPerson)",
                        "1.1",
                    ];
                    // slapd does not report the sort together with a limit.
                    transcript.search_but_for("# sortResult", &arguments)?;
                }
            }
            Ok(())
        });
    }
}
