//! From octets to text.

use std::fmt::Write as _;

use super::{APPLICATION, CONTEXT, Element, NAMES, Tag, UNIVERSAL, first};

/// A line is broken into its elements beyond so many characters.
const WIDTH: usize = 100;

/// A message as text; lines end with a line feed.
pub(super) fn text(octets: &[u8]) -> String {
    let mut out = String::new();
    write_element(octets, 0, &mut out);
    out
}

fn write_element(octets: &[u8], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let line = on_one_line(octets);
    let element = first(octets).map(|(element, _)| element);
    match element.filter(|element| element.tag.is_constructed) {
        Some(element) if indent.len() + line.len() > WIDTH => {
            let _ = writeln!(out, "{indent}{} {{", name(element.tag));
            for part in parts(element.content) {
                write_element(part, depth + 1, out);
            }
            let _ = writeln!(out, "{indent}}}");
        }
        _ => {
            let _ = writeln!(out, "{indent}{line}");
        }
    }
}

fn on_one_line(octets: &[u8]) -> String {
    let Some((Element { tag, content, .. }, _)) = first(octets) else {
        return hexadecimal(octets);
    };
    let inside = if tag.is_constructed {
        parts(content)
            .into_iter()
            .map(on_one_line)
            .collect::<Vec<_>>()
            .join(" ")
    } else {
        value(tag, content)
    };
    if inside.is_empty() {
        return format!("{} {{}}", name(tag));
    }
    format!("{} {{ {inside} }}", name(tag))
}

/// The elements of a content; what is none is the last part.
fn parts(mut content: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while !content.is_empty() {
        let (part, rest) = first(content).map_or((content, &[][..]), |(element, rest)| (element.whole, rest));
        parts.push(part);
        content = rest;
    }
    parts
}

fn value(tag: Tag, content: &[u8]) -> String {
    match (tag.class, tag.number, content) {
        (UNIVERSAL, 1, [0]) => "FALSE".to_owned(),
        (UNIVERSAL, 1, [0xff]) => "TRUE".to_owned(),
        (UNIVERSAL, 2 | 10, [first, ..]) if content.len() <= 8 => {
            let start = if *first < 0x80 { 0 } else { -1 };
            let number = content
                .iter()
                .fold(start, |number: i64, octet| number << 8 | i64::from(*octet));
            number.to_string()
        }
        (_, _, []) => String::new(),
        _ => match std::str::from_utf8(content) {
            Ok(text) if !text.chars().any(|c| c.is_control() && c != '\n') => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                format!("\"{text}\"")
            }
            _ => hexadecimal(content),
        },
    }
}

fn hexadecimal(octets: &[u8]) -> String {
    let mut text = String::from("`");
    for octet in octets {
        let _ = write!(text, "{octet:02x}");
    }
    text + "`"
}

fn name(tag: Tag) -> String {
    if let Some((name, _)) = NAMES.iter().find(|(_, known)| *known == tag) {
        return (*name).to_owned();
    }
    let class = match tag.class {
        APPLICATION => "APPLICATION ",
        CONTEXT => "",
        UNIVERSAL => "UNIVERSAL ",
        _ => "PRIVATE ",
    };
    let form = if tag.is_constructed { "" } else { " PRIMITIVE" };
    format!("[{class}{}{form}]", tag.number)
}

#[cfg(test)]
mod tests {
    use super::super::read::messages;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for shown in [
            "SEQUENCE { INTEGER { 1 } [APPLICATION 1] { ENUMERATED { 0 } OCTET_STRING { \"a \\\"b\\\"\" } } }\n",
            "[0] { [1 PRIMITIVE] { `00ff` } BOOLEAN { FALSE } INTEGER { -129 } }\n",
        ] {
            let octets = messages(shown).unwrap();
            assert_eq!(text(&octets[0]), shown);
        }
    }

    #[test]
    fn a_long_message_has_a_line_for_each_part() {
        let value = "x".repeat(90);
        let shown = format!("SEQUENCE {{\n  INTEGER {{ 1 }}\n  OCTET_STRING {{ \"{value}\" }}\n}}\n");
        assert_eq!(text(&messages(&shown).unwrap()[0]), shown);
    }

    #[test]
    fn what_is_no_element_is_shown_as_octets() {
        assert_eq!(text(&[0x30, 5, 1]), "`300501`\n");
        assert_eq!(text(&[0x30, 3, 2, 5, 1]), "SEQUENCE { `020501` }\n");
    }
}
