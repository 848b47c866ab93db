//! Approximate matching (`~=`, RFC 4511 §4.5.1.7.6): words that sound alike have the same code.
//!
//! The code is our own, in the manner of Metaphone for English: consonant classes, with vowels kept at the beginning of a word only.
//! Letters with marks count as their base letters. Words of other scripts are their own code.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// The longest code of a word.
const MAXIMUM_LENGTH: usize = 6;

/// Appends one code for each word of `value`, separated by single spaces; nothing for a value without letters and digits.
pub fn codes(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let mut word = Vec::new();
    let mut foreign = Vec::new();
    let mut finish = |word: &mut Vec<u8>, foreign: &mut Vec<u8>| {
        if word.is_empty() && foreign.is_empty() {
            return;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if foreign.is_empty() {
            code(word, out);
        } else {
            out.append(foreign);
        }
        word.clear();
        foreign.clear();
    };
    let mut buffer = [0; 4];
    for character in String::from_utf8_lossy(value).nfkd() {
        if character.is_ascii_alphanumeric() {
            let byte = character.to_ascii_uppercase().encode_utf8(&mut buffer).as_bytes();
            word.extend_from_slice(byte);
            if !foreign.is_empty() {
                foreign.extend_from_slice(byte);
            }
        } else if character == 'ß' {
            word.extend_from_slice(b"SS");
        } else if character.is_alphanumeric() {
            if foreign.is_empty() {
                foreign.extend_from_slice(&word);
            }
            for lower in character.to_lowercase() {
                foreign.extend_from_slice(lower.encode_utf8(&mut buffer).as_bytes());
            }
        } else if !is_combining_mark(character) && character != '\'' {
            finish(&mut word, &mut foreign);
        }
    }
    finish(&mut word, &mut foreign);
}

/// Whether each code of the assertion occurs among the codes of the value, in the order of the assertion.
pub fn matches(value_codes: &[u8], assertion_codes: &[u8]) -> bool {
    if assertion_codes.is_empty() {
        return false;
    }
    let mut remaining = value_codes.split(|byte| *byte == b' ');
    assertion_codes
        .split(|byte| *byte == b' ')
        .all(|wanted| remaining.any(|found| found == wanted))
}

/// The code of one word of upper-case letters and digits.
fn code(word: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let mut rest = without_silent_start(word);
    let mut previous = 0;
    let mut first = true;
    while let [letter, after @ ..] = rest {
        if out.len() - start >= MAXIMUM_LENGTH {
            break;
        }
        // Double letters sound once, except C (as in "accent").
        if *letter == previous && *letter != b'C' && !letter.is_ascii_digit() {
            rest = after;
            continue;
        }
        let (sounds, taken) = sound(*letter, after, previous, first);
        for sound in sounds {
            if out.len() - start < MAXIMUM_LENGTH {
                out.push(*sound);
            }
        }
        previous = *letter;
        first = false;
        rest = rest.get(taken..).unwrap_or_default();
    }
    if out.len() == start {
        // Only silent letters: the word itself.
        out.extend(word.iter().take(MAXIMUM_LENGTH));
    }
}

/// Drops letters that are silent at the beginning of a word.
fn without_silent_start(word: &[u8]) -> &[u8] {
    match word {
        [b'K' | b'G' | b'P', b'N', ..] | [b'W', b'R', ..] | [b'P', b'S', ..] | [b'A', b'E', ..] => {
            word.get(1..).unwrap_or_default()
        }
        _ => word,
    }
}

/// The sounds of a letter in its surroundings, and how many letters they are of.
fn sound(letter: u8, after: &[u8], previous: u8, first: bool) -> (&'static [u8], usize) {
    let next = after.first().copied().unwrap_or(0);
    let soft = matches!(next, b'E' | b'I' | b'Y');
    match letter {
        b'A' | b'E' | b'I' | b'O' | b'U' if first => (b"A", 1),
        b'A' | b'E' | b'I' | b'O' | b'U' => (b"", 1),
        b'B' if previous == b'M' && after.is_empty() => (b"", 1),
        b'B' => (b"B", 1),
        b'C' => sound_of_c(after, previous, soft),
        b'D' if next == b'G' && matches!(after.get(1), Some(b'E' | b'I' | b'Y')) => (b"J", 2),
        b'D' if next == b'T' => (b"T", 2),
        b'D' | b'T' if next == b'H' => (b"0", 2),
        b'D' => (b"T", 1),
        b'F' | b'V' => (b"F", 1),
        b'G' => sound_of_g(after, first, soft),
        b'H' if is_vowel(next) && (first || is_vowel(previous)) => (b"H", 1),
        b'H' | b'Y' | b'W' if !is_vowel(next) => (b"", 1),
        b'H' => (b"", 1),
        b'J' => (b"J", 1),
        b'K' | b'Q' => (b"K", 1),
        b'L' => (b"L", 1),
        b'M' => (b"M", 1),
        b'N' => (b"N", 1),
        b'P' if next == b'H' => (b"F", 2),
        b'P' => (b"P", 1),
        b'R' => (b"R", 1),
        b'S' | b'T' if next == b'I' && matches!(after.get(1), Some(b'O' | b'A')) => (b"X", 1),
        b'S' => sound_of_s(after),
        b'T' if next == b'C' && after.get(1) == Some(&b'H') => (b"X", 3),
        b'T' => (b"T", 1),
        b'W' => (b"W", 1),
        b'X' if first => (b"S", 1),
        b'X' => (b"KS", 1),
        b'Y' if first => (b"Y", 1),
        b'Y' => (b"", 1),
        b'Z' => (b"S", 1),
        digit => (digit_sound(digit), 1),
    }
}

fn sound_of_c(after: &[u8], previous: u8, soft: bool) -> (&'static [u8], usize) {
    match after {
        [b'I', b'A', ..] => (b"X", 1),
        [b'H', b'R' | b'L', ..] => (b"K", 2),
        [b'H', ..] if previous == b'S' => (b"K", 2),
        [b'H', ..] => (b"X", 2),
        [b'K' | b'Q', ..] => (b"K", 2),
        _ if soft && previous == b'S' => (b"", 1),
        _ if soft => (b"S", 1),
        _ => (b"K", 1),
    }
}

fn sound_of_g(after: &[u8], first: bool, soft: bool) -> (&'static [u8], usize) {
    match after {
        // Silent before a consonant and at the end ("night", "though"), hard at the beginning ("ghost").
        [b'H', ..] if first => (b"K", 2),
        [b'H', next, ..] if is_vowel(*next) => (b"K", 2),
        [b'H', ..] => (b"", 2),
        [b'N'] | [b'N', b'E', b'D'] => (b"", 1),
        _ if soft => (b"J", 1),
        _ => (b"K", 1),
    }
}

fn sound_of_s(after: &[u8]) -> (&'static [u8], usize) {
    match after {
        [b'H', ..] => (b"X", 2),
        [b'C', b'H', b'W' | b'M' | b'N' | b'L', ..] => (b"X", 3),
        _ => (b"S", 1),
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'A' | b'E' | b'I' | b'O' | b'U' | b'Y')
}

fn digit_sound(digit: u8) -> &'static [u8] {
    const DIGITS: &[u8; 10] = b"0123456789";
    // `0` is the code of "th": a digit is written behind a dot, which no letter yields.
    const DOTTED: [&[u8]; 10] = [b".0", b".1", b".2", b".3", b".4", b".5", b".6", b".7", b".8", b".9"];
    DIGITS
        .iter()
        .position(|known| *known == digit)
        .and_then(|position| DOTTED.get(position))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{codes, matches};

    fn coded(text: &str) -> String {
        let mut out = Vec::new();
        codes(text.as_bytes(), &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn words_that_sound_alike_have_one_code() {
        for (a, b) in [
            ("Smith", "Smyth"),
            ("Philip", "Filip"),
            ("Knight", "Night"),
            ("Katherine", "Catherine"),
            ("Jon", "John"),
            ("Müller", "Muller"),
            ("Wright", "Right"),
            ("Steven", "Stephen"),
            ("O'Brien", "OBrien"),
            ("babs jensen", "Babbs  Jensen"),
        ] {
            assert_eq!(coded(a), coded(b), "{a} and {b}");
        }
    }

    #[test]
    fn words_that_sound_different_differ() {
        for (a, b) in [
            ("Smith", "Jones"),
            ("Anna", "Hanna"),
            ("Room 10", "Room 11"),
            ("0", "th"),
            ("Мир", "Дом"),
        ] {
            assert_ne!(coded(a), coded(b), "{a} and {b}");
        }
        assert_eq!(coded(" - "), "");
    }

    #[test]
    fn words_match_in_order() {
        let value = coded("John Quincy Smith");
        assert!(matches(value.as_bytes(), coded("Jon Smyth").as_bytes()));
        assert!(!matches(value.as_bytes(), coded("Smyth Jon").as_bytes()));
        assert!(!matches(value.as_bytes(), b""));
    }

    #[test]
    fn codes_are_short_and_appended() {
        let mut out = b"x".to_vec();
        codes("Donaudampfschifffahrt".as_bytes(), &mut out);
        assert!(out.starts_with(b"x") && out.len() <= 1 + super::MAXIMUM_LENGTH);
    }
}
