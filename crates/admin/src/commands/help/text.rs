//! A page of Markdown as text for a terminal, or for a pipe.

use std::mem::take;

use anstyle::{Effects, Style};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{table::Table, wrap::Paragraph};

/// Who reads the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reader {
    /// A terminal: headings, code and emphasis have styles.
    Terminal,
    /// A pipe or a file: the text alone, code in backticks.
    Pipe,
}

/// The page as text. Only code blocks, tables and long words are wider than `width` characters.
pub(super) fn text(markdown: &str, reader: Reader, width: usize) -> String {
    let mut page = Page {
        reader,
        width,
        text: String::new(),
        words: String::new(),
        indents: Vec::new(),
        mark: String::new(),
        lists: Vec::new(),
        is_before_list: false,
        link: None,
        table: None,
        is_code: false,
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.text
}

/// A page that is being written.
struct Page {
    reader: Reader,
    width: usize,
    text: String,
    /// The words of the present paragraph, heading or cell, with their styles.
    words: String,
    /// The further indent of each open item and quotation.
    indents: Vec<usize>,
    /// The mark of a list's item, until its first paragraph is written.
    mark: String,
    /// The number of the next item of each open list; none for a list without numbers.
    lists: Vec<Option<u64>>,
    /// Whether an outermost list has begun, and no item of it is written.
    is_before_list: bool,
    /// Where the open link leads, and where its words begin.
    link: Option<(String, usize)>,
    table: Option<Table>,
    is_code: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code_block(&text),
            Event::Text(text) => self.words.push_str(&text),
            Event::Code(code) => self.code(&code),
            Event::SoftBreak | Event::HardBreak => self.words.push(' '),
            Event::Rule => self.block("----"),
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => self.words.push_str(&self.style_on(Effects::BOLD)),
            Tag::Strong => self.words.push_str(&self.style_on(Effects::BOLD)),
            Tag::Emphasis => self.words.push_str(&self.style_on(Effects::UNDERLINE)),
            Tag::CodeBlock(_) => {
                self.paragraph();
                self.gap();
                self.is_code = true;
            }
            Tag::List(first) => {
                self.paragraph();
                self.is_before_list = self.lists.is_empty();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::BlockQuote(_) => self.indents.push(QUOTE_INDENT),
            Tag::Link { dest_url, .. } => self.link = Some((dest_url.into_string(), self.words.len())),
            Tag::Table(_) => self.table = Some(Table::default()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Strong | TagEnd::Emphasis => self.words.push_str(self.style_off()),
            TagEnd::Paragraph => self.paragraph(),
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.paragraph();
                self.mark.clear();
                self.indents.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.indents.pop();
            }
            TagEnd::Link => self.end_of_link(),
            TagEnd::TableCell => {
                let cell = take(&mut self.words);
                if let Some(table) = &mut self.table {
                    table.add(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let text = table.text(self.width.saturating_sub(self.indent()));
                    self.block(&text);
                }
            }
            _ => {}
        }
    }

    /// Only terminals have styles.
    fn style_on(&self, effects: Effects) -> String {
        match self.reader {
            Reader::Terminal => Style::new().effects(effects).render().to_string(),
            Reader::Pipe => String::new(),
        }
    }

    fn style_off(&self) -> &'static str {
        match self.reader {
            Reader::Terminal => "\u{1b}[0m",
            Reader::Pipe => "",
        }
    }

    fn code(&mut self, code: &str) {
        match self.reader {
            Reader::Terminal => {
                let on = self.style_on(Effects::BOLD);
                self.words.extend([&on, code, self.style_off()]);
            }
            Reader::Pipe => self.words.extend(["`", code, "`"]),
        }
    }

    fn code_block(&mut self, code: &str) {
        let indent = " ".repeat(self.indent() + CODE_INDENT);
        for line in code.lines() {
            self.text.push_str(format!("{indent}{line}").trim_end());
            self.text.push('\n');
        }
    }

    fn item(&mut self) {
        self.paragraph();
        self.mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.indents.push(self.mark.chars().count());
    }

    fn indent(&self) -> usize {
        self.indents.iter().sum()
    }

    /// The address of a link is written behind its words, unless they are the address.
    fn end_of_link(&mut self) {
        let Some((address, begin)) = self.link.take() else {
            return;
        };
        let words = self.words.get(begin..).unwrap_or_default();
        if address.starts_with('#') || address == words {
            return;
        }
        let target = super::topics::of_address(&address).map_or(address, |topic| format!("ironbark help {topic}"));
        self.words.extend([" (", &target, ")"]);
    }

    fn heading(&mut self, level: HeadingLevel) {
        self.words.push_str(self.style_off());
        let words = take(&mut self.words);
        let line = match (level, self.reader) {
            (HeadingLevel::H1, Reader::Pipe) => '=',
            (_, Reader::Pipe) => '-',
            (_, Reader::Terminal) => return self.block(&words),
        };
        let under = line.to_string().repeat(words.chars().count());
        self.block(&format!("{words}\n{under}"));
    }

    /// Writes the words since the last paragraph, if there are any.
    fn paragraph(&mut self) {
        let words = take(&mut self.words);
        if words.trim().is_empty() || self.table.is_some() {
            return;
        }
        // Items of a list stand close to each other.
        if self.mark.is_empty() || self.is_before_list {
            self.gap();
        }
        self.is_before_list = false;
        let mark = take(&mut self.mark);
        let further = " ".repeat(self.indent());
        let indent = " ".repeat(self.indent().saturating_sub(mark.chars().count()));
        let paragraph = Paragraph {
            first: format!("{indent}{mark}"),
            further,
            width: self.width,
        };
        paragraph.write(&words, &mut self.text);
    }

    /// Writes a block of lines as they are.
    fn block(&mut self, lines: &str) {
        self.gap();
        let indent = " ".repeat(self.indent());
        for line in lines.lines() {
            self.text.push_str(format!("{indent}{line}").trim_end());
            self.text.push('\n');
        }
    }

    /// An empty line before a block.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

const CODE_INDENT: usize = 4;
const QUOTE_INDENT: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gets_the_text_alone() {
        let page = "# A *page*\n\nSome **bold** `code` and\na [link](https://example.com/) to [x.md](x.md).\n\n## Part\n\n\
                    - one item\n  that goes on\n- two\n  - below\n\n1. first\n2. second\n\n   second part\n\n<!-- -->\n\n    code\n\n<!-- mark -->\n\n\
                    > quoted\n";
        let shown = "A page\n======\n\nSome bold `code` and a link\n(https://example.com/) to x.md.\n\nPart\n----\n\n\
                     - one item that goes on\n- two\n  - below\n\n1. first\n2. second\n\n   second part\n\n    code\n\n  quoted\n";
        assert_eq!(text(page, Reader::Pipe, 32), shown);
    }

    #[test]
    fn a_terminal_has_styles() {
        let shown = text("# Page\n\nA `word` is **bold**.\n", Reader::Terminal, 80);
        let bold = |word: &str| format!("\u{1b}[1m{word}\u{1b}[0m");
        assert_eq!(
            shown,
            format!("{}\n\nA {} is {}.\n", bold("Page"), bold("word"), bold("bold"))
        );
    }

    #[test]
    fn a_link_to_a_page_names_its_topic() {
        let shown = text(
            "See [the page](replication.md#a-consumer) and [here](#x).\n",
            Reader::Pipe,
            80,
        );
        assert_eq!(shown, "See the page (ironbark help replication) and here.\n");
    }
}
