//! Paged results under limits.

use ironbark_testkit::{Credentials, TestkitError, Transcript, assert_same_answers};

use crate::limits::{ANN, BASE, config, data, user};

/// A paged search as `who`, page after page: for each page, the number of entries and the result, or the error.
const PAGES: &str = "
import ldap, os, sys
from ldap.controls import SimplePagedResultsControl
def pages(who, size, limit, sizes=None):
    connection = ldap.initialize(os.environ['LDAP_URL'])
    connection.simple_bind_s(who, 'secret' if who else '')
    cookie, told = b'', []
    for turn in range(30):
        page = SimplePagedResultsControl(True, size=(sizes or [size])[min(turn, len(sizes or [size]) - 1)], cookie=cookie)
        number = connection.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE, '(objectClass=organizationalRole)', ['1.1'],
            serverctrls=[page], sizelimit=limit)
        count, controls = 0, []
        try:
            while True:
                kind, entries, _, controls = connection.result3(number, all=0)
                count += len(entries)
                if kind == ldap.RES_SEARCH_RESULT:
                    break
        except ldap.LDAPError as error:
            told.append((count, error.args[0].get('desc'), error.args[0].get('info', '')))
            break
        told.append(count)
        found = [control for control in controls if control.controlType == page.controlType]
        if not found:
            told.append('no control')
            break
        told.append(found[0].size)
        cookie = found[0].cookie
        if not cookie:
            break
    print(who, size, limit, sizes, told)
";

/// Many page sizes and limits of requests, for some identities.
fn pages(transcript: &mut Transcript<'_>) -> Result<(), TestkitError> {
    let Credentials::Simple { dn: root, .. } = Credentials::ROOT else {
        return Ok(());
    };
    let mut script = PAGES.to_owned();
    for who in ["", ANN, root] {
        for size in [1, 4, 5, 12, 50] {
            for limit in [0, 3, 4, 7, 15, 40, i32::MAX] {
                script.extend([format!("pages({who:?}, {size}, {limit})\n")]);
            }
        }
        script.extend([format!(
            "pages({who:?}, 0, 0, [4, 7, 1])\npages({who:?}, 0, 0, [4, 0])\n"
        )]);
    }
    transcript.python(&script)
}

#[test]
fn pages_are_limited_as_by_slapd() {
    for limits in [
        "",
        "sizelimit 10",
        "sizelimit size.soft=5 size.hard=12",
        "sizelimit size.soft=5 size.hard=unlimited",
        "limits users size=4 size.pr=unlimited",
        "limits users size=4 size.pr=4",
        "limits users size=4 size.prtotal=disabled\nlimits anonymous size.prtotal=unlimited size=2",
        "limits users size=4 size.prtotal=10",
        "limits users size=4 size.prtotal=10 size.pr=4\nlimits anonymous size.prtotal=10 size.pr=5 size.hard=8",
        "limits users size.prtotal=unlimited size.pr=4",
        "limits users size.prtotal=hard size.soft=3 size.hard=9 size.pr=noEstimate",
        "limits users size=unlimited\nlimits anonymous size.unchecked=3",
    ] {
        assert_same_answers(&config(limits), &data(20), pages);
    }
}

#[test]
fn a_single_page_that_holds_all_that_is_asked_for_is_no_paged_search() {
    assert_same_answers(&config(""), &data(8), |transcript| {
        for (size, limit) in [("3", "3"), ("4", "3"), ("3", "4")] {
            let page = format!("pr={size}/noprompt");
            transcript.client(
                "ldapsearch",
                &user(ANN),
                &[
                    "-b",
                    BASE,
                    "-z",
                    limit,
                    "-E",
                    &page,
                    "(objectClass=organizationalUnit)",
                    "1.1",
                ],
                "",
            )?;
        }
        Ok(())
    });
}
