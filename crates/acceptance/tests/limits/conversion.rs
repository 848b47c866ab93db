//! `limits` in the form of cn=config, compared with Debian's slaptest.

use ironbark_testkit::{Flavor, Server, Tool};

use crate::limits::config;

/// Values of an attribute in a converted directory, with each run of blanks as one.
fn converted(flavor: Flavor, configuration: &str, attribute: &str) -> Result<Vec<String>, String> {
    let server = Server::prepare(flavor, configuration).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap().display().to_string();
    // Without a database yet, slapd complains behind the conversion.
    let outcome = server.tool(Tool::Test, &["-F", &folder], "").unwrap();
    let dump = Tool::Cat.run(flavor, &["-F", &folder, "-n", "0", "-o", "ldif-wrap=no"], "");
    let dump = dump.unwrap();
    if dump.code() != Some(0) || !dump.stdout.contains("olcDatabase={1}mdb,cn=config") {
        return Err(outcome.stderr);
    }
    let prefix = format!("{attribute}: ");
    let values = dump.stdout.lines().filter_map(|line| line.strip_prefix(&prefix));
    Ok(values
        .map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect())
}

#[test]
fn every_form_of_limits_is_shown_as_slapd_shows_it() {
    let limits = "\
limits dn.exact=\"cn=A B,dc=b\" size=unlimited time=unlimited
limits dn.this.subtree=\"dc=b\" size.soft=4 size.hard=8
limits dn.this=\"dc=B\" size.soft=-1 size.hard=8
limits dn.self.base=\"dc=b\" size.soft=10 size.hard=8
limits dn.regex=\"^CN=[^,]+,dc=b$\" size=99 size.pr=unlimited
limits dn.this.regex=\"(a|b)\" time.soft=4 time.hard=unlimited
limits dn.self.one=\"dc=b\" size.prtotal=10 size.pr=20
limits dn.sub=\"dc=b\" size.prtotal=unlimited
limits DN.children=\"dc=b\" SIZE.PRTOTAL=HARD size.pr=-1
limits cn=plain,dc=b size=010
limits dn=\"\" time.hard=7
limits group/groupOfUniqueNames/uniqueMember=\"cn=G,dc=b\" size.unchecked=disabled
limits group/groupOfNames=\"cn=G,dc=b\" size.unchecked=4 size.pr=0 time.hard=5
limits group=\"cn=G,dc=b\" size.unchecked=9
limits dn.anonymous size=7 time=3601
limits users size.soft=-1 size.hard=5 size.pr=noEstimate size.prtotal=disabled time.soft=5 time.hard=soft
limits dn.regex=\".*\" size=none nonsense";
    for global in [
        "",
        "sizelimit size.soft=99 size.hard=200 size.unchecked=5000\ntimelimit 60\n",
    ] {
        let text = format!("{global}{}", config(limits));
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| converted(flavor, &text, "olcLimits"));
        if global.is_empty() {
            assert_eq!(ours, theirs);
        } else {
            // slapd loses the fact that the first of these has no hard limit of its own; see the unit tests.
            let lines = |values: Result<Vec<String>, String>| {
                let kept = values.unwrap().into_iter();
                kept.filter(|line| !line.contains("dn.regex=\"^CN")).collect::<Vec<_>>()
            };
            assert_eq!(lines(ours), lines(theirs));
        }
    }
}

#[test]
fn what_slapd_refuses_is_refused() {
    for line in [
        "limits users",
        "limits foo size=1",
        "limits dn.users=x size=1",
        "limits dn.users size=1",
        "limits dn.this.anonymous size=1",
        "limits dnQualifier=a size=1",
        "limits dn.exactx=dc=b size=1",
        "limits dn.=dc=b size=1",
        "limits dn.this.=dc=b size=1",
        "limits dn.regex=( size=1",
        "limits groupx=cn=a size=1",
        "limits group/nothing=cn=a size=1",
        "limits group/groupOfNames/nothing=cn=a size=1",
        "limits group/groupOfNames size=1",
        "limits users size",
        "limits users sizes=4",
        "limits users size=-2",
        "limits users size=0x10",
        "limits users size=2147483648",
        "limits users size.soft=hard",
        "limits users size.hard=disabled",
        "limits users size.pr=disabled",
        "limits users size.unchecked=hard",
        "limits users time.unchecked=4",
        "limits users time.pr=4",
        "limits users size=1\nlimits users size=2",
        "limits * size=1\nlimits * size=2",
        "limits anonymous size=1\nlimits dn.anonymous size=2",
        "sizelimit some",
        "sizelimit size.some=4",
        "timelimit size=4",
        "timelimit time.pr=4",
    ] {
        for flavor in Flavor::ALL {
            let values = converted(flavor, &config(line), "olcLimits");
            assert!(values.is_err(), "{flavor} takes {line:?}: {values:?}");
        }
    }
}
