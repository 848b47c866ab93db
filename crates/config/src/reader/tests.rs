//! The line and word rules of slapd.conf(5).

use proptest::prelude::*;

use super::{MemoryFiles, quote, quote_value, quoted_after, read};
use crate::words;

/// `(line, words)` of a file.
fn lines(text: &str) -> Vec<(u32, Vec<String>)> {
    let lines = read("f", &MemoryFiles::file("f", text)).unwrap();
    lines
        .into_iter()
        .map(|line| (line.location.line, [vec![line.keyword], line.arguments].concat()))
        .collect()
}

fn error(files: &MemoryFiles) -> String {
    read("f", files).unwrap_err().to_string()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn indented_lines_continue_and_the_first_line_is_named() {
    let text = "# comment\n\na b\n\tc\r\n  d\ne\n";
    assert_eq!(lines(text), [(3, owned(&["a", "b", "c", "d"])), (6, owned(&["e"]))]);
}

#[test]
fn a_comment_is_recognised_after_joining() {
    assert_eq!(
        lines("# one\n  two\nthree # four\n#five\\\nsix\nseven"),
        [(3, owned(&["three", "#", "four"])), (6, owned(&["seven"]))]
    );
}

#[test]
fn an_indented_hash_is_no_comment() {
    assert_eq!(lines("a\n  # b\n"), [(1, owned(&["a", "#", "b"]))]);
}

#[test]
fn an_indented_line_after_a_blank_one_stands_alone() {
    assert_eq!(lines("\n  a b\n"), [(2, owned(&["a", "b"]))]);
    assert_eq!(lines("   a\n"), [(1, owned(&["a"]))]);
}

#[test]
fn a_backslash_at_the_end_joins_without_a_blank() {
    assert_eq!(
        lines("a b\\\nc\nd e\\\\\nf\n"),
        [(1, owned(&["a", "bc"])), (3, owned(&["d", "e\\"])), (4, owned(&["f"]))]
    );
}

#[test]
fn quotes_and_escapes_resolve() {
    let cases: &[(&str, &[&str])] = &[
        ("a \"b c\" d", &["a", "b c", "d"]),
        ("a b\"c d\"e", &["a", "bc de"]),
        ("a \"\" b", &["a", "", "b"]),
        (r#"a "b\"c" d\ e \\f"#, &["a", "b\"c", "d e", "\\f"]),
        ("a\t\tb", &["a", "b"]),
        ("dn.exact=\"cn=a b\" x", &["dn.exact=cn=a b", "x"]),
    ];
    for (text, expected) in cases {
        assert_eq!(lines(text), [(1, owned(expected))], "{text}");
    }
}

#[test]
fn an_open_quote_is_refused_but_not_in_a_definition() {
    assert_eq!(
        error(&MemoryFiles::file("f", "\nsuffix \"dc=a")),
        "f: line 2: unterminated quoted string \"dc=a\""
    );
    let text = "attributetype ( 1.2.3 DESC 'a \" b' )";
    assert_eq!(
        read("f", &MemoryFiles::file("f", text)).unwrap()[0].raw,
        "( 1.2.3 DESC 'a \" b' )"
    );
}

#[test]
fn include_is_replaced_by_the_file_and_never_continued() {
    let files = MemoryFiles::file("f", "a\nINCLUDE g\n b\nc").and("g", "d\n e");
    let lines = read("f", &files).unwrap();
    let found: Vec<(&str, u32, &str)> = lines
        .iter()
        .map(|line| (&*line.location.file, line.location.line, &*line.keyword))
        .collect();
    assert_eq!(found, [("f", 1, "a"), ("g", 1, "d"), ("f", 3, "b"), ("f", 4, "c")]);
    assert_eq!(lines[1].arguments, ["e"]);
}

#[test]
fn includes_that_cannot_be_read_are_refused_where_they_stand() {
    let missing = MemoryFiles::file("f", "\ninclude nowhere");
    assert_eq!(
        error(&missing),
        "f: line 2: <include> could not read config file \"nowhere\": entity not found"
    );
    let cycle = MemoryFiles::file("f", "include g").and("g", "# one\ninclude f");
    assert_eq!(error(&cycle), "g: line 2: <include> file \"f\" includes itself");
    let bare = MemoryFiles::file("f", "include");
    assert_eq!(error(&bare), "f: line 1: <include> takes one <file> argument");
    let mut deep = MemoryFiles::default();
    for level in 0..=super::MAXIMUM_DEPTH {
        let name = if level == 0 {
            "f".to_owned()
        } else {
            format!("f{level}")
        };
        deep = deep.and(&name, format!("include f{}", level + 1));
    }
    assert_eq!(error(&deep), "f31: line 1: <include> nested deeper than 32 files");
    assert_eq!(
        error(&MemoryFiles::default()),
        "f: could not read config file \"f\": entity not found"
    );
}

#[test]
fn inclusions_that_multiply_are_bounded() {
    // Each level includes the next one many times: 64^10 lines without a limit.
    let mut files = MemoryFiles::file("f10", "#".repeat(64 << 10));
    for level in 0..10 {
        let name = if level == 0 {
            "f".to_owned()
        } else {
            format!("f{level}")
        };
        files = files.and(&name, format!("include f{}\n", level + 1).repeat(64));
    }
    assert!(error(&files).ends_with("<include> configuration is larger than 67108864 bytes"));
}

#[test]
fn text_that_is_not_utf_8_is_refused_outside_comments() {
    assert_eq!(
        error(&MemoryFiles::file("f", b"# \xe4\na \xe4".to_vec())),
        "f: line 2: line is not UTF-8 text"
    );
}

#[test]
fn a_definition_alone_may_have_latin_1_in_it() {
    let text = b"attributetype ( 1.2 DESC 'caf\xe9 \xc3\xa9' )\n".to_vec();
    let read = read("f", &MemoryFiles::file("f", text)).unwrap();
    assert_eq!(read[0].raw, "( 1.2 DESC 'caf\u{e9} \u{e9}' )");
}

#[test]
fn values_of_cn_config_are_split_as_slapd_splits_them() {
    for (value, expected) in [
        ("a b\tc", &["a", "b", "c"][..]),
        ("  a  ", &["a"]),
        ("", &[]),
        (r#""a b" c"#, &["a b", "c"]),
        (r#""" x"#, &["", "x"]),
        (r#""gid=0\+uid=0,cn=auth" "dc=x""#, &[r"gid=0\+uid=0,cn=auth", "dc=x"]),
        (r"a\ b", &[r"a\", "b"]),
        (
            r#"dn.regex="^uid=(a b)\.$" write"#,
            &[r"dn.regex=^uid=(a b)\.$", "write"],
        ),
        (r#"dn="a"b c" d"#, &[r#"dn="ab c"#, "d"]),
        (r#""a"b""#, &["ab"]),
        (r#""a"b"c" d"#, &[r#"a"bc"#, "d"]),
        (r#"x" y" z"#, &["x y", "z"]),
        (r#""left open"#, &["left open"]),
        (r#"a"left open"#, &["aleft open"]),
    ] {
        assert_eq!(words::split_value(value), expected, "{value}");
    }
}

#[test]
fn a_double_quote_before_a_blank_has_hardly_a_form_in_cn_config() {
    for (word, expected) in [
        (r#"a"b"#, true),
        (r#"a b"c"#, true),
        (r#"ends with ""#, true),
        (r#"x" y"#, true),
        (r#"say "hi" now"#, false),
        (r#"a b" c"#, false),
    ] {
        assert_eq!(words::can_be_said(word), expected, "{word}");
    }
    let files = MemoryFiles::file(
        "f",
        "database null\nsuffix cn=x\naccess to filter=\"(cn=a b\\\" c)\" by * read\n",
    );
    assert_eq!(
        crate::load("f", &files, &crate::Registry::default())
            .unwrap_err()
            .to_string(),
        "f: line 3: <access> \"filter=(cn=a b\" c)\" has no form in cn=config: a double quote before a blank ends a word there"
    );
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read("f", &MemoryFiles::file("f", bytes));
    }

    #[test]
    fn a_quoted_word_is_read_back(word in "[ -~]{0,20}") {
        let split = words::split(&quote(&word));
        prop_assert_eq!(split, words::SplitLine { words: vec![word], is_complete: true, escapes: Vec::new() });
    }

    #[test]
    fn words_of_a_value_are_read_back(all in proptest::collection::vec(r##"[a-c =\\"#\t]{0,8}"##, 1..4)) {
        prop_assume!(all.iter().all(|word| words::can_be_said(word)));
        let value: Vec<String> = all.iter().map(|word| quote_value(word)).collect();
        prop_assert_eq!(words::split_value(&value.join(" ")), all);
    }

    #[test]
    fn whatever_a_value_says_can_be_said_again(value in r#"[a-c =\\"]{0,16}"#) {
        let all = words::split_value(&value);
        let again: Vec<String> = all.iter().map(|word| quote_value(word)).collect();
        prop_assert_eq!(words::split_value(&again.join(" ")), all);
    }

    #[test]
    fn the_end_of_a_word_is_read_back(text in r#"[a-c =\\"]{0,8}"#) {
        let word = format!("dn.regex={text}");
        prop_assume!(words::can_be_said(&word));
        let value = format!("{} read", quoted_after("dn.regex=", &text));
        prop_assert_eq!(words::split_value(&value), vec![word, "read".to_owned()]);
    }
}
