//! Words of a line: separated by blanks and joined by double quotes.
//!
//! There are two sets of rules, both slapd's. In slapd.conf, a backslash removes the special meaning of the next
//! character. In a value of cn=config it is an ordinary character. Within a word of cn=config, a double quote is an
//! ordinary character unless a blank or the end follows, and the last such quote that does not end the word is left
//! out.

/// The words of a line of slapd.conf.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitLine {
    pub(super) words: Vec<String>,
    /// `false` if a quote was left open; the words are then the same as from slapd's own splitter.
    pub(super) is_complete: bool,
    /// Backslashes that are gone though their character, which follows, has no special meaning here: the number of the
    /// word, from 0, and the character.
    pub(super) escapes: Vec<(usize, char)>,
}

/// Splits a line of slapd.conf.
pub(super) fn split(line: &str) -> SplitLine {
    let mut words = Vec::new();
    let mut escapes = Vec::new();
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
            '\\' => {
                let character = characters.next().unwrap_or('\\');
                if !matches!(character, '"' | '\\' | ' ' | '\t') {
                    escapes.push((words.len(), character));
                }
                word.get_or_insert_default().push(character);
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    SplitLine {
        words,
        is_complete: !quoted,
        escapes,
    }
}

/// Splits a value of cn=config. A quote that is left open ends with the value.
pub(super) fn split_value(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let (word, after) = first_word(rest.trim_start_matches(BLANKS));
        words.push(word);
        rest = after.trim_start_matches(BLANKS);
    }
    words
}

/// The first word of a value that does not begin with a blank, and the text behind the word.
fn first_word(value: &str) -> (String, &str) {
    let (mut is_quoted, text) = match value.strip_prefix('"') {
        Some(text) => (true, text),
        None => (false, value),
    };
    let mut left_out = None;
    let mut end = text.len();
    for (at, character) in text.char_indices() {
        let after = text.get(at + character.len_utf8()..).unwrap_or_default();
        let is_end = match character {
            '"' => is_quoted && (after.is_empty() || after.starts_with(BLANKS)),
            _ => !is_quoted && BLANKS.contains(&character),
        };
        if is_end {
            end = at;
            break;
        }
        if character == '"' {
            is_quoted = true;
            left_out = Some(at);
        }
    }
    let (word, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let word = match left_out.and_then(|at| word.split_at_checked(at)) {
        Some((before, behind)) => format!("{before}{}", behind.strip_prefix('"').unwrap_or(behind)),
        None => word.to_owned(),
    };
    // The quote or the blank that ended the word.
    (word, after.get(1..).unwrap_or_default())
}

/// A word in the form of slapd.conf.
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

/// A word in the form of a value of cn=config. A few words have no such form: see [`can_be_said`].
pub fn quote_value(word: &str) -> String {
    if !word.is_empty() && !word.contains(BLANKS) && !word.contains('"') {
        return word.to_owned();
    }
    quoted_after("", word)
}

/// A word of cn=config that begins with `start`, as in `dn.base="..."`: the rest of it, `text`, stands in quotes.
/// `start` has neither blanks nor quotes.
pub(crate) fn quoted_after(start: &str, text: &str) -> String {
    match text.find('"') {
        None => format!("{start}\"{text}\""),
        // The quote that is left out stands at the end. Without it, a quote of the text would be left out.
        Some(first) if start.len() + first == 0 || text.get(..first).is_some_and(|text| text.contains(BLANKS)) => {
            format!("\"{start}{text}\"\"")
        }
        Some(_) => format!("{start}{text}\"\""),
    }
}

/// Whether cn=config has a form for a word: it has none for most words in which a blank follows a double quote.
pub(super) fn can_be_said(word: &str) -> bool {
    !word.contains('"') || split_value(&quote_value(word)) == [word]
}

/// Word separators: blanks, tabs, and the other white space of C.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\x0b', '\x0c'];
