//! The entries of cn=Monitor that slapd does not have.

use super::{number, populated, values};

const OWN: &str = "cn=Ironbark,cn=Monitor";

#[test]
fn latencies_results_and_commits_are_counted() {
    let server = populated("", 10);
    for (filter, code) in [("(uid=u1)", 0), ("(uid=none)", 0), ("(uid=u2)", 0)] {
        let arguments = ["-b", "dc=example,dc=com", filter];
        server.search(&arguments).unwrap().expect_code(code).unwrap();
    }
    let nowhere = ["-b", "cn=nowhere,dc=example,dc=com"];
    server.search(&nowhere).unwrap().expect_code(32).unwrap();
    for number in 0..3 {
        let change = format!("dn: uid=u{number},dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: x\n");
        server.ldapmodify(&change).unwrap().success().unwrap();
    }
    let results = format!("cn=Search Results,cn=Results,{OWN}");
    // This search is under way and has no result yet.
    assert_eq!(
        values(&server, &results, "ironbarkResult"),
        ["0 success 3", "32 noSuchObject 1"]
    );
    let latency = format!("cn=Modify Latency,cn=Latency,{OWN}");
    assert_eq!(number(&server, &latency, "monitorCounter"), 3);
    let quantile = |name: &str| number(&server, &latency, name);
    let (median, most) = (quantile("ironbarkLatencyP50"), quantile("ironbarkLatencyMax"));
    assert!(median > 0 && median <= quantile("ironbarkLatencyP999") && quantile("ironbarkLatencyP999") <= most);
    assert!(quantile("ironbarkLatencySum") >= most);
    let commits = format!("cn=Commits,{OWN}");
    assert_eq!(number(&server, &commits, "monitorCounter"), 3);
    assert_eq!(values(&server, &commits, "ironbarkGroupSize"), ["1 3"]);
}

#[test]
fn filters_are_remembered_without_their_values() {
    let server = populated("", 200);
    let search = |filter: &str| {
        let arguments = ["-b", "dc=example,dc=com", filter, "1.1"];
        server.search(&arguments).unwrap().success().unwrap();
    };
    search("(sn=Name 1)");
    search("(sn=Name 0)");
    search("(&(objectClass=person)(uid=u7))");
    let found = server
        .search(&["-LLL", "-b", &format!("cn=Filters,{OWN}"), "(ironbarkFilter=*)", "+"])
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    let shown: Vec<&str> = found
        .lines()
        .filter(|line| line.starts_with("ironbark") || line.starts_with("namingContexts"))
        .collect();
    assert_eq!(
        shown,
        [
            "namingContexts: dc=example,dc=com",
            "ironbarkFilter: (sn=?)",
            "ironbarkIndexed: FALSE",
            "ironbarkFilterTerm: sn equality unindexed",
            "ironbarkSearches: 2",
            "ironbarkCandidates: 402",
            "ironbarkEntries: 200",
            "namingContexts: dc=example,dc=com",
            "ironbarkFilter: (&(objectClass=?)(uid=?))",
            "ironbarkIndexed: TRUE",
            "ironbarkFilterTerm: uid equality indexed",
            "ironbarkSearches: 1",
            "ironbarkCandidates: 1",
            "ironbarkEntries: 1",
        ],
        "{found}"
    );
    assert_eq!(
        number(&server, &format!("cn=Unindexed,cn=Filters,{OWN}"), "monitorCounter"),
        2
    );
    let indexes = values(&server, &format!("cn=Context 1,cn=Indexes,{OWN}"), "ironbarkIndex");
    assert_eq!(indexes, ["objectClass eq 0", "cn eq 0", "uid eq 1"]);
}

#[test]
fn pages_of_a_search_are_counted_once() {
    let server = populated("", 20);
    let arguments = ["-E", "pr=5/noprompt", "-b", "dc=example,dc=com", "(uid=*)", "1.1"];
    server.search(&arguments).unwrap().success().unwrap();
    // Twenty people in four pages, and none before.
    assert_eq!(
        number(&server, "cn=Entries,cn=Statistics,cn=Monitor", "monitorCounter"),
        20
    );
    assert!(server.log().contains("nentries=5"), "{}", server.log());
    assert!(!server.log().contains("nentries=10"), "{}", server.log());
}
