//! Paragraphs in lines. The signs that switch styles take no room.

/// How a paragraph is laid out.
pub(super) struct Paragraph {
    /// What the first line begins with.
    pub(super) first: String,
    /// What the further lines begin with.
    pub(super) further: String,
    /// Characters of a line. A longer word has a line of its own.
    pub(super) width: usize,
}

impl Paragraph {
    /// Appends the words in lines to a text.
    pub(super) fn write(&self, words: &str, text: &mut String) {
        text.push_str(&self.first);
        let mut used = self.first.chars().count();
        let mut is_first = true;
        for word in words.split_whitespace() {
            let length = shown_width(word);
            if !is_first && used + 1 + length > self.width {
                text.push('\n');
                text.push_str(&self.further);
                used = self.further.chars().count();
                is_first = true;
            }
            if !is_first {
                text.push(' ');
                used += 1;
            }
            text.push_str(word);
            used += length;
            is_first = false;
        }
        text.push('\n');
    }
}

/// The characters of a text that are seen.
pub(super) fn shown_width(text: &str) -> usize {
    let mut width = 0;
    let mut is_sign = false;
    for character in text.chars() {
        match character {
            '\u{1b}' => is_sign = true,
            'm' if is_sign => is_sign = false,
            _ if is_sign => {}
            _ => width += 1,
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_its_words_make_it() {
        let paragraph = Paragraph {
            first: "- ".to_owned(),
            further: "  ".to_owned(),
            width: 10,
        };
        let mut text = String::new();
        paragraph.write("one \u{1b}[1mtwo\u{1b}[0m three averylongword x", &mut text);
        assert_eq!(text, "- one \u{1b}[1mtwo\u{1b}[0m\n  three\n  averylongword\n  x\n");
    }
}
