//! The slow log and the JSON form.

use ironbark_testkit::wait;

use super::populated;

#[test]
fn a_slow_search_is_told_with_its_plan() {
    // Checking twenty thousand entries takes longer than a millisecond.
    let server = populated("slowlog 1", 20_000);
    let arguments = [
        "-z",
        "1",
        "-b",
        "dc=example,dc=com",
        "(&(objectClass=inetOrgPerson)(mail=*99999*))",
    ];
    server.search(&arguments).unwrap().success().unwrap();
    let is_told = |line: &&str| line.contains(" SLOW SRCH ") && line.contains("mail");
    let told = || server.log().lines().find(is_told).map(str::to_owned);
    let line = wait::until(told).unwrap();
    assert!(line.contains("conn=") && line.contains(" op=1 "), "{line}");
    let (_, etime) = line.split_once(" etime=").unwrap();
    let seconds: f64 = etime.split(' ').next().unwrap().parse().unwrap();
    assert!(seconds >= 0.001, "{line}");
    let found = " err=0 nentries=0 examined=20000 filter=\"(&(objectClass=?)(mail=*?*))\" plan=\"way: index; candidates: 20000; ";
    assert!(line.contains(found), "{line}");
    let terms = "; mail substring: not indexed\"";
    assert!(
        line.contains("; objectClass equality: ") && line.ends_with(terms),
        "{line}"
    );
}

#[test]
fn a_search_below_the_time_of_the_slow_log_is_not_told() {
    // No search takes a day.
    let mut server = populated("slowlog 86400000", 2);
    let arguments = ["-b", "dc=example,dc=com", "(uid=u1)"];
    server.search(&arguments).unwrap().success().unwrap();
    server.stop().unwrap();
    let log = server.log();
    assert!(log.contains("filter=\"(uid=u1)\""), "{log}");
    assert!(!log.contains(" SLOW "), "{log}");
}

#[test]
fn the_log_file_may_be_json() {
    let mut server = populated("logfile {dir}/log.json\nlogfile-format json\nlogfile-only on", 2);
    let path = server.layout().join("log.json");
    let search = ["-b", "dc=example,dc=com", "(cn=a \"b\" \\5c)"];
    server.search(&search).unwrap().success().unwrap();
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    wait::until(|| read().contains("SEARCH RESULT").then_some(())).unwrap();
    server.stop().unwrap();
    let text = read();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let request = lines
        .iter()
        .find(|line| {
            line["message"]
                .as_str()
                .is_some_and(|text| text.starts_with("SRCH base="))
        })
        .unwrap();
    assert_eq!(request["level"], "stats");
    assert_eq!(request["op"], 1);
    assert!(request["conn"].as_u64().unwrap() >= 1000 && request["time"].as_str().unwrap().ends_with('Z'));
    assert!(
        request["message"]
            .as_str()
            .unwrap()
            .contains("filter=\"(cn=a \"b\" \\5C)\""),
        "{request}"
    );
    let accept = lines.iter().find(|line| line["fd"].is_u64()).unwrap();
    assert!(
        accept["message"].as_str().unwrap().starts_with("ACCEPT from "),
        "{accept}"
    );
    assert_eq!(lines.last().unwrap()["message"], "slapd stopped.");
}
