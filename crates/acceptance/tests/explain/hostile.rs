//! Hostile files: none of them makes the tool panic, hang or take much memory.

use std::fmt::Write as _;

use super::{LOCAL, RULES, database, explain, private, run, schema};

#[test]
fn a_binary_file_is_wrong_line_by_line() {
    let layout = private();
    let bytes: Vec<u8> = (0..200_000_u32)
        .map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    layout.write("slapd.conf", bytes).unwrap();
    let found = run(layout.path(), &["-f", "slapd.conf"]);
    assert_eq!(found.status, 1);
    found.assert_has("", "the configuration does not load");
    let is_clean = |character: char| !character.is_control() || character == '\n';
    assert!(found.text.chars().all(is_clean));
}

#[test]
fn files_that_cannot_be_read_are_wrong() {
    let layout = private();
    layout.make_dir("folder").unwrap();
    assert_eq!(run(layout.path(), &["-f", "folder"]).status, 1);
    layout
        .write("slapd.conf", format!("include folder\ninclude none\n{RULES}"))
        .unwrap();
    let found = run(layout.path(), &["-f", "slapd.conf", "-h", LOCAL]);
    found.assert_has("slapd.conf:1: wrong: include: ", "folder");
    found.assert_has("slapd.conf:2: wrong: include: ", "none");
    layout.write("good.conf", RULES).unwrap();
    for log in ["folder", "/dev/zero"] {
        assert_eq!(run(layout.path(), &["-f", "good.conf", "--log", log]).status, 1);
    }
}

#[test]
fn includes_that_go_round_or_too_deep_are_wrong_and_the_rest_is_read() {
    let layout = private();
    layout.write("a", "include b\nnonsense 1\n").unwrap();
    layout.write("b", "include a\nnonsense 2\n").unwrap();
    let found = run(layout.path(), &["-f", "a", "-h", LOCAL]);
    found.assert_has("b:1: wrong: include: ", "includes itself");
    found.assert_has("a:2: unknown: nonsense: ", "");
    found.assert_has("b:2: unknown: nonsense: ", "");
    for depth in 0..40 {
        layout
            .write(&format!("d{depth}"), format!("include d{}\n", depth + 1))
            .unwrap();
    }
    run(layout.path(), &["-f", "d0", "-h", LOCAL]).assert_has("d31:1: wrong: include: ", "deeper than 32");
    // Two to the power of 30 inclusions end at the limit of text, or of errors.
    for depth in 0..31 {
        let next = depth + 1;
        layout
            .write(
                &format!("e{depth}"),
                format!("include e{next}\ninclude e{next}\nnonsense 1\n"),
            )
            .unwrap();
    }
    let found = run(layout.path(), &["-f", "e0", "-h", LOCAL]);
    assert_eq!(found.status, 1);
}

#[test]
fn a_log_of_absurd_lines_shows_what_else_it_has() {
    let layout = private();
    layout.write("slapd.conf", database("")).unwrap();
    let mut log = String::new();
    for number in 0..40_000_u64 {
        let text = match number % 8 {
            0 => format!("conn={number} op=1 SRCH base=\"\\\" scope=2 deref=0 filter=\"{}\"", "(!".repeat(200)),
            1 => format!("conn={} op=1 SEARCH RESULT tag=101 etime=18446744073709551615 nentries=18446744073709551615", number - 1),
            2 => format!("{{\"conn\":{number},\"op\":18446744073709551615,\"message\":\"SRCH base=\\\"\\\" scope=0 filter=\\\"(a{number}=x)\\\"\"}}"),
            3 => format!("<= mdb_equality_candidates: (a{number}) not indexed"),
            4 => format!("conn={number} op=1 SLOW SRCH etime=1 err=0 nentries=18446744073709551615 examined=18446744073709551615 filter=\"(sn=?)\" plan"),
            5 => "\u{0}\u{1b}[31m conn= op= SRCH".to_owned(),
            6 => "[".repeat(300),
            _ => "conn=1 op=1 SRCH base=\"dc=example,dc=com\" scope=2 deref=0 filter=\"(mail=*x*)\"\n<= mdb_substring_candidates: (mail) not indexed".to_owned(),
        };
        writeln!(log, "{text}").unwrap();
    }
    // A line without an end.
    log.push_str(&"x".repeat(4 << 20));
    assert!(log.len() > 8 << 20);
    layout.write("log", log).unwrap();
    let found = run(layout.path(), &["-f", "slapd.conf", "-h", LOCAL, "--log", "log"]);
    found.assert_has(
        "slapd.conf:5: missing: index: the log has 5000 searches",
        "Write index mail sub",
    );
    assert_eq!(found.status, 0, "{}", found.text);
}

#[test]
fn a_great_many_rules_take_no_time_to_speak_of() {
    let mut rules = String::new();
    for number in 0..2_000 {
        writeln!(rules, "access to dn.subtree=\"ou=x{number},dc=example,dc=com\" by dn.exact=\"cn=a,dc=example,dc=com\" write by anonymous auth by * none").unwrap();
    }
    let text = format!(
        "{}database mdb\nsuffix dc=example,dc=com\ndirectory db\n{rules}access to * by * none\n",
        schema()
    );
    let found = explain(&text);
    let first = found.text.lines().next();
    assert_eq!(
        (first, found.status),
        (Some("nothing found; the configuration loads"), 0)
    );
}
