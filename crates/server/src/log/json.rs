//! `logfile-format json`: a line of the log as a JSON object.

use ironbark_runtime::WallTime;
use serde::Serialize;

use super::line::push_rfc3339_stamp;

/// A line. Missing parts are left out.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    level: &'a str,
    thread: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fd: Option<u64>,
    message: &'a str,
}

/// Appends the object; `conn=`, `op=` and `fd=` at the beginning of the text become numbers of their own.
pub(super) fn push(lines: &mut String, time: WallTime, thread: usize, level: &str, text: &str) {
    let mut stamp = String::with_capacity(32);
    push_rfc3339_stamp(&mut stamp, time.utc());
    let (conn, rest) = number("conn=", text);
    let (op, rest) = number("op=", rest);
    let (fd, message) = number("fd=", rest);
    let line = Line {
        time: &stamp,
        level,
        thread: &format!("{thread:#x}"),
        conn,
        op,
        fd,
        message,
    };
    // A structure of numbers and texts can always be written.
    if let Ok(object) = serde_json::to_string(&line) {
        lines.push_str(&object);
    }
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
    use super::*;

    fn pushed(text: &str) -> String {
        let mut lines = String::new();
        push(&mut lines, WallTime::from_unix_micros(1_500_000), 42, "stats", text);
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
        ] {
            assert_eq!(pushed(text), format!("{start}{rest}"), "{text}");
        }
    }
}
