//! Words of a line: separated by blanks, joined by double quotes, with backslash escapes.

/// Splits a line. The flag is false when a quote was left open; the words are then those that slapd's own splitter would give.
pub(super) fn split(line: &str) -> (Vec<String>, bool) {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' if !quoted => words.extend(word.take()),
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            // A backslash at the very end stands for itself.
            '\\' => word.get_or_insert_default().push(characters.next().unwrap_or('\\')),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    (words, !quoted)
}

/// A word as it must be written to be read back as `text`.
pub fn quote(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains([' ', '\t', '"', '\\', '#', '\n']);
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}
