//! One line of a log about a search.

use serde_json::Value;

use crate::index::IndexType;

/// A search: the number of its connection, and its number on the connection.
pub(super) type Key = (u64, u64);

/// The content of a line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Event {
    /// `SRCH base="..." ... filter="..."`.
    Search { key: Key, base: String, filter: String },
    /// `SEARCH RESULT ... etime=... nentries=...`.
    Result { key: Key, micros: u64, entries: u64 },
    /// `SLOW SRCH ... examined=... filter="..."`. The filter has no values.
    Slow {
        key: Key,
        entries: u64,
        examined: u64,
        filter: String,
    },
    /// `<= mdb_equality_candidates: (uid) not indexed`.
    NotIndexed { attribute: String, kind: IndexType },
}

/// Reads a line, with any text before its message. `None` for a line about something else.
pub(super) fn parse(line: &str) -> Option<Event> {
    if line.starts_with('{') {
        let object: Value = serde_json::from_str(line).ok()?;
        let message = object.get("message")?.as_str()?;
        let number = |name| object.get(name).and_then(Value::as_u64);
        return match number("conn").zip(number("op")) {
            Some(key) => of_search(key, message),
            None => not_indexed(message),
        };
    }
    let Some((_, rest)) = line.split_once("conn=") else {
        return not_indexed(line);
    };
    let (connection, rest) = rest.split_once(" op=")?;
    let (operation, message) = rest.split_once(' ')?;
    of_search((connection.parse().ok()?, operation.parse().ok()?), message)
}

fn of_search(key: Key, message: &str) -> Option<Event> {
    // The text of the session tracking control stands before the message.
    let tracked = message.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let message = tracked.map_or(message, |(_, message)| message);
    if let Some(rest) = message.strip_prefix("SRCH base=\"") {
        let (base, rest) = rest.split_once("\" scope=")?;
        let (_, filter) = rest.split_once(" filter=\"")?;
        return Some(Event::Search {
            key,
            base: base.to_owned(),
            filter: filter.strip_suffix('"')?.to_owned(),
        });
    }
    if let Some(rest) = message.strip_prefix("SEARCH RESULT ") {
        return Some(Event::Result {
            key,
            micros: micros(value(rest, "etime=")?)?,
            entries: value(rest, "nentries=")?.parse().ok()?,
        });
    }
    let rest = message.strip_prefix("SLOW SRCH ")?;
    let (_, filter) = rest.split_once(" filter=\"")?;
    let (filter, _) = filter.split_once('"')?;
    Some(Event::Slow {
        key,
        entries: value(rest, "nentries=")?.parse().ok()?,
        examined: value(rest, "examined=")?.parse().ok()?,
        filter: filter.to_owned(),
    })
}

/// The word after `name`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split(' ').find_map(|word| word.strip_prefix(name))
}

/// `0.025139`. Old slapd versions write whole seconds.
fn micros(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000_000)?.checked_add(digits.parse().ok()?)
}

fn not_indexed(line: &str) -> Option<Event> {
    let rest = line.strip_suffix(") not indexed")?;
    let (rest, attribute) = rest.rsplit_once("_candidates: (")?;
    let kind = match rest.rsplit('_').next()? {
        "substrings" => IndexType::Substring,
        "approx" => IndexType::Approximate,
        word => IndexType::of_match(word)?,
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b';');
    (!attribute.is_empty() && attribute.bytes().all(is_name)).then(|| Event::NotIndexed {
        attribute: attribute.to_owned(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_every_format() {
        let search = Event::Search {
            key: (1000, 1),
            base: "dc=example,dc=com".to_owned(),
            filter: "(cn=a \"b\")".to_owned(),
        };
        let message = r#"SRCH base="dc=example,dc=com" scope=2 deref=0 filter="(cn=a "b")""#;
        for before in [
            "",
            "65e9a0b1 ",
            "65e9a0b1.1f2e3d4c 0x7f00aa00 ",
            "Mar  7 10:00:00 host slapd[12]: ",
            "2026-01-01T00:00:00Z host slapd[12]: ",
        ] {
            assert_eq!(
                parse(&format!("{before}conn=1000 op=1 {message}")),
                Some(search.clone()),
                "{before}"
            );
        }
        let tracked = format!("conn=1000 op=1 [IP=192.0.2.1 NAME=a USERNAME=b] {message}");
        assert_eq!(parse(&tracked), Some(search.clone()));
        let object = serde_json::json!({"time": "x", "level": "stats", "conn": 1000, "op": 1, "message": message});
        assert_eq!(parse(&object.to_string()), Some(search));
        assert_eq!(
            parse("65e9 conn=7 op=2 SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=1.5 nentries=3 text="),
            Some(Event::Result {
                key: (7, 2),
                micros: 1_500_000,
                entries: 3
            })
        );
        assert_eq!(
            parse(
                "conn=7 op=2 SLOW SRCH etime=0.025139 err=0 nentries=0 examined=20000 filter=\"(mail=*?*)\" plan=\"way: index\""
            ),
            Some(Event::Slow {
                key: (7, 2),
                entries: 0,
                examined: 20_000,
                filter: "(mail=*?*)".to_owned()
            })
        );
    }

    #[test]
    fn lines_of_what_is_not_indexed_name_attribute_and_kind() {
        for (line, attribute, kind) in [
            (
                "65e9 0x7f <= mdb_equality_candidates: (uid) not indexed",
                "uid",
                IndexType::Equality,
            ),
            (
                "<= bdb_substring_candidates: (cn) not indexed",
                "cn",
                IndexType::Substring,
            ),
            (
                "<= mdb_inequality_candidates: (uidNumber) not indexed",
                "uidNumber",
                IndexType::Equality,
            ),
            (
                "<= hdb_approx_candidates: (sn) not indexed",
                "sn",
                IndexType::Approximate,
            ),
            (
                r#"{"message":"<= mdb_presence_candidates: (mail) not indexed"}"#,
                "mail",
                IndexType::Presence,
            ),
        ] {
            let attribute = attribute.to_owned();
            assert_eq!(parse(line), Some(Event::NotIndexed { attribute, kind }), "{line}");
        }
    }

    #[test]
    fn absurd_lines_are_none() {
        for line in [
            "",
            "{",
            "{}",
            "{\"message\":1}",
            "conn=",
            "conn=x op=y SRCH",
            "conn=1 op=99999999999999999999999 SRCH base=\"\" scope=0 filter=\"\"",
            "conn=1 op=2 SRCH base=\"",
            "conn=1 op=2 SEARCH RESULT etime=-1 nentries=1",
            "conn=1 op=2 SEARCH RESULT etime=99999999999999999999 nentries=1",
            "conn=1 op=2 SLOW SRCH examined=9 filter=\"",
            "<= mdb_equality_candidates: () not indexed",
            "<= mdb_equality_candidates: (a b) not indexed",
            "_candidates: (uid) not indexed",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
