//! The code of a word of English letters, exactly as slapd's default phonetics give it, so that `~=` finds the same
//! entries.
//!
//! A code has at most four signs. They stand for consonants (`0` is "th", `X` is "sh") and for a vowel at the beginning
//! of the word. Some rules differ from Metaphone elsewhere: B counts only at the end of a word, X replaces the letter
//! after it, and GH is K.

/// Signs of a code.
const MAXIMUM_LENGTH: usize = 4;
/// Letters of a word that are looked at.
const MAXIMUM_LETTERS: usize = 31;

/// Appends the code of the letters up to the first space, digit or punctuation mark; nothing when there are none.
pub(super) fn code(text: impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    let mut word = Word::of(text);
    if word.length == 0 {
        return;
    }
    let first = word.without_silent_start();
    let end = out.len() + MAXIMUM_LENGTH;
    let mut at = first;
    while at <= word.length && out.len() < end {
        let [letter, next] = [word.letter(at), word.letter(at + 1)];
        let before = at.checked_sub(1).map_or(0, |before| word.letter(before));
        at += 1;
        if letter == before && letter != b'C' {
            continue;
        }
        let sign = if at - 1 == first && is_vowel(letter) {
            letter
        } else {
            word.sign(at - 1, first, before, letter, next)
        };
        out.extend((sign != SILENT).then_some(sign));
        if letter == b'X' && out.len() < end {
            // "ks". Its second sound takes the place of the next letter.
            out.push(b'S');
            at += 1;
        }
    }
}

/// No sign.
const SILENT: u8 = 0;

/// A word in capital letters, with zeros around it.
struct Word {
    letters: [u8; MAXIMUM_LETTERS],
    length: usize,
}

impl Word {
    fn of(text: impl Iterator<Item = u8>) -> Self {
        let mut word = Self {
            letters: [0; MAXIMUM_LETTERS],
            length: 0,
        };
        let ends = |byte: &u8| {
            !(*byte == 0
                || *byte == 0x0b
                || byte.is_ascii_whitespace()
                || byte.is_ascii_punctuation()
                || byte.is_ascii_digit())
        };
        let letters = text.take_while(ends).filter(u8::is_ascii_alphabetic);
        for (place, letter) in word.letters.iter_mut().zip(letters) {
            *place = letter.to_ascii_uppercase();
            word.length += 1;
        }
        word
    }

    fn letter(&self, at: usize) -> u8 {
        self.letters.get(at).copied().unwrap_or(0)
    }

    fn set(&mut self, at: usize, letter: u8) {
        if let Some(place) = self.letters.get_mut(at) {
            *place = letter;
        }
    }

    /// Changes letters that sound different at the beginning of a word. Returns where the word then begins.
    fn without_silent_start(&mut self) -> usize {
        match (self.letter(0), self.letter(1)) {
            (b'P' | b'K' | b'G', b'N') | (b'A', b'E') | (b'W', b'R') => {}
            (b'W', b'H') => self.set(1, b'W'),
            (b'X', _) => {
                self.set(0, b'S');
                return 0;
            }
            _ => return 0,
        }
        self.set(0, 0);
        1
    }

    /// The sign of the letter at a place. The letter is not a vowel at the beginning of the word.
    fn sign(&self, at: usize, first: usize, before: u8, letter: u8, next: u8) -> u8 {
        let behind_next = self.letter(at + 2);
        match letter {
            b'F' | b'J' | b'L' | b'M' | b'N' | b'R' => letter,
            b'Q' | b'X' => b'K',
            b'V' => b'F',
            b'Z' => b'S',
            b'B' if at + 1 == self.length && before != b'M' => b'B',
            b'C' => sign_of_c(at == first, before, next, behind_next),
            b'D' if next == b'G' && is_front_vowel(behind_next) => b'J',
            b'D' => b'T',
            b'G' => self.sign_of_g(at, before, next, behind_next),
            b'H' if !matches!(before, b'C' | b'G' | b'P' | b'S' | b'T') && (!is_vowel(before) || is_vowel(next)) => {
                b'H'
            }
            b'K' if before != b'C' => b'K',
            b'P' if next == b'H' => b'F',
            b'P' => b'P',
            b'S' | b'T' if next == b'I' && matches!(behind_next, b'O' | b'A') => b'X',
            b'S' if next == b'H' => b'X',
            b'S' => b'S',
            b'T' if next == b'H' => b'0',
            b'T' if next != b'C' || behind_next != b'H' => b'T',
            b'W' | b'Y' if is_vowel(next) => letter,
            _ => SILENT,
        }
    }

    fn sign_of_g(&self, at: usize, before: u8, next: u8, behind_next: u8) -> u8 {
        let silent = (next == b'J' && !is_vowel(behind_next))
            || (next == b'N' && behind_next == b'E' && self.letter(at + 3) == b'D')
            || (before == b'D' && is_front_vowel(next));
        match () {
            () if silent => SILENT,
            () if is_front_vowel(next) && behind_next != b'G' => b'G',
            () => b'K',
        }
    }
}

fn sign_of_c(is_first: bool, before: u8, next: u8, behind_next: u8) -> u8 {
    match next {
        b'E' | b'I' | b'Y' if before == b'S' => SILENT,
        b'I' if behind_next == b'A' => b'X',
        b'E' | b'I' | b'Y' => b'S',
        b'H' if before == b'S' || (is_first && !is_vowel(behind_next)) => b'K',
        b'H' => b'X',
        _ => b'K',
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'A' | b'E' | b'I' | b'O' | b'U')
}

/// Whether C and G are soft before this letter.
fn is_front_vowel(letter: u8) -> bool {
    matches!(letter, b'E' | b'I' | b'Y')
}
