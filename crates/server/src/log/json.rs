//! `logfile-format json`: a line of the log as a JSON object.

use std::fmt::Write as _;

use super::{line::push_rfc3339_stamp, lines::Head};

/// Appends the beginning of an object, which is the same for all lines of a head.
pub(super) fn push_beginning(object: &mut String, head: &Head) {
    object.push_str("{\"time\":\"");
    push_rfc3339_stamp(object, head.time.utc());
    // Writing to a string cannot fail.
    let _ = write!(
        object,
        "\",\"level\":\"{}\",\"thread\":\"{:#x}\"",
        head.level, head.thread
    );
}

/// Appends the rest of the object; `conn=`, `op=` and `fd=` at the beginning of the text become numbers of their own.
pub(super) fn push_rest(object: &mut String, text: &str) {
    let mut message = text;
    for (prefix, key) in [("conn=", ",\"conn\":"), ("op=", ",\"op\":"), ("fd=", ",\"fd\":")] {
        let (number, rest) = number(prefix, message);
        if let Some(number) = number {
            object.push_str(key);
            object.push_str(itoa::Buffer::new().format(number));
        }
        message = rest;
    }
    object.push_str(",\"message\":\"");
    push_escaped(object, message);
    object.push_str("\"}");
}

/// Appends the text of a JSON string (RFC 8259 §7).
fn push_escaped(object: &mut String, text: &str) {
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|octet| matches!(octet, b'"' | b'\\' | ..b' ')) {
        let (plain, tail) = rest.split_at(place);
        object.push_str(plain);
        let mut tail = tail.chars();
        match tail.next() {
            Some('\t') => object.push_str("\\t"),
            Some(sign @ ('"' | '\\')) => object.extend(['\\', sign]),
            Some(control) => {
                let _ = write!(object, "\\u{:04x}", u32::from(control));
            }
            None => {}
        }
        rest = tail.as_str();
    }
    object.push_str(rest);
}

/// The number after `prefix`, and the rest of the text.
fn number<'a>(prefix: &str, text: &'a str) -> (Option<u64>, &'a str) {
    let found = text.strip_prefix(prefix).and_then(|rest| {
        let (digits, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        Some((digits.parse().ok()?, rest))
    });
    found.map_or((None, text), |(number, rest)| (Some(number), rest))
}

#[cfg(test)]
mod tests {
    use ironbark_runtime::WallTime;

    use super::*;
    use crate::log::lines::Targets;

    fn pushed(text: &str) -> String {
        let mut lines = String::new();
        let head = Head {
            time: WallTime::from_unix_micros(1_500_000),
            level: "stats",
            thread: 42,
            targets: Targets::default(),
        };
        push_beginning(&mut lines, &head);
        push_rest(&mut lines, text);
        lines
    }

    #[test]
    fn numbers_stand_apart_and_texts_are_escaped() {
        let start = r#"{"time":"1970-01-01T00:00:01.500000000Z","level":"stats","thread":"0x2a","#;
        for (text, rest) in [
            ("slapd starting", r#""message":"slapd starting"}"#),
            (
                r#"conn=1000 op=2 SRCH base="ou=\5C" scope=0"#,
                r#""conn":1000,"op":2,"message":"SRCH base=\"ou=\\5C\" scope=0"}"#,
            ),
            ("conn=7 fd=12 closed", r#""conn":7,"fd":12,"message":"closed"}"#),
            ("conn=none", r#""message":"conn=none"}"#),
            ("a\tb\u{1}\u{e9}", "\"message\":\"a\\tb\\u0001\u{e9}\"}"),
        ] {
            assert_eq!(pushed(text), format!("{start}{rest}"), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(&pushed(text)).is_ok());
        }
    }
}
