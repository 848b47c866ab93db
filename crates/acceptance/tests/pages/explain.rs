//! docs/explain.md: the review of a configuration.

use super::{page::Section, sandbox::Sandbox};

/// Where the server of the page listens: nowhere that passwords could be read.
const LOCAL: &str = "-h 'ldapi:/// ldap://127.0.0.1:3890/'";

/// A file that the page's lines may be about: they name its lines 12, 15 and 16.
const OLD: &str = "\
# Line 1.
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile {dir}/slapd.pid
argsfile {dir}/slapd.args



# The only database.

database hdb
suffix dc=example,dc=com
rootdn cn=admin,dc=example,dc=com
rootpw secret
cachesize 1000
directory {dir}/db
index objectClass eq
access to attrs=userPassword by self =xw by anonymous auth by * none
access to * by users read by * none
";

pub(crate) fn review(section: &Section) {
    let [usage, lines] = section.blocks();
    let sandbox = Sandbox::new();
    let help = sandbox.shell("slaptest --help").stdout;
    for option in usage.text.split_whitespace().filter(|word| word.contains('-')) {
        let option = option
            .trim_start_matches('[')
            .split(['[', ']'])
            .next()
            .unwrap_or_default();
        assert!(help.contains(option), "{option} is not in the usage:\n{help}");
    }
    sandbox.write("slapd.conf", OLD);
    let shown = sandbox.shell(&format!(
        "chmod 600 slapd.conf; slaptest --explain {LOCAL} -f slapd.conf"
    ));
    assert_eq!(shown.code, Some(2), "unsafe: {shown:?}");
    assert_eq!(shown.stdout, lines.text, "{}", lines.place);
    let json = sandbox
        .shell(&format!("slaptest --explain=json {LOCAL} -f slapd.conf"))
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(3), "{json}");
    let quiet = sandbox.shell(&format!("slaptest --explain {LOCAL} -Q -f slapd.conf"));
    assert_eq!((quiet.code, quiet.stdout.as_str()), (Some(2), ""), "{quiet:?}");
}

pub(crate) fn indexes(section: &Section) {
    let [command] = section.blocks();
    let sandbox = Sandbox::new();
    sandbox.write("slapd.conf", OLD);
    let line = "65f00000 <= mdb_equality_candidates: (sn) not indexed\n";
    let log = format!(
        "65f00000 conn=1000 op=1 SRCH base=\"dc=example,dc=com\" scope=2 deref=0 filter=\"(sn=x)\"\n{line}\
         65f00000 conn=1000 op=1 SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=0.000100 nentries=1 text=\n"
    );
    sandbox.write("var/log/slapd.log", &log);
    sandbox.write("var/log/slapd.log.01", &log);
    let shown = sandbox.run(&command.with(&[("/var/log", "var/log")])).stdout;
    assert!(
        shown.contains("2 searches that found no index, such as (sn=?)"),
        "{shown}"
    );
    assert!(shown.contains("Write index sn eq\n"), "{shown}");
}
