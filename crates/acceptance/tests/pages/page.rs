//! Pages as their sections and code blocks.

use std::fs;

use ironbark_testkit::repository_root;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// A section that has code blocks of its own.
pub(crate) struct Section {
    pub(crate) page: String,
    pub(crate) heading: String,
    blocks: Vec<Block>,
}

/// A code block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) text: String,
    /// Its page, heading and number, for messages.
    pub(crate) place: String,
}

/// The pages with examples. The page of settings is made from the settings, which have tests of their own.
pub(crate) fn all() -> Vec<String> {
    let folder = fs::read_dir(repository_root().join("docs")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = names
        .filter(|name| name != "settings.md")
        .filter_map(|name| Some(format!("docs/{}.md", name.strip_suffix(".md")?)))
        .collect();
    pages.push("README.md".to_owned());
    pages
}

/// The text of a page.
pub(crate) fn text(page: &str) -> String {
    fs::read_to_string(repository_root().join(page)).unwrap()
}

/// The texts of all files below a folder of the repository.
pub(crate) fn texts_below(folder: &str) -> String {
    let mut folders = vec![repository_root().join(folder)];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                text += &String::from_utf8_lossy(&fs::read(path).unwrap());
            }
        }
    }
    text
}

/// The code in the text of a page: `slaptest -u`.
pub(crate) fn code_in_text(page: &str) -> Vec<String> {
    let text = text(page);
    let codes = Parser::new(&text).filter_map(|event| match event {
        Event::Code(code) => Some(code.into_string()),
        _ => None,
    });
    codes.collect()
}

impl Section {
    /// The section of a page with this heading.
    #[track_caller]
    pub(crate) fn read(page: &str, heading: &str) -> Self {
        let mut found = Self::all_of(page).into_iter().filter(|one| one.heading == heading);
        let section = found.next();
        assert!(found.next().is_none(), "{page} has the heading {heading:?} twice");
        section.unwrap_or_else(|| panic!("{page} has no code block below {heading:?}"))
    }

    /// All sections of a page that have code blocks.
    pub(crate) fn all_of(page: &str) -> Vec<Self> {
        let text = text(page);
        let mut sections: Vec<Self> = Vec::new();
        let mut heading = String::new();
        let (mut in_heading, mut in_block) = (false, false);
        for event in Parser::new(&text) {
            match event {
                Event::Start(Tag::Heading { .. }) => {
                    heading.clear();
                    in_heading = true;
                }
                Event::End(TagEnd::Heading(_)) => in_heading = false,
                Event::Text(text) | Event::Code(text) if in_heading => heading.push_str(&text),
                Event::Start(Tag::CodeBlock(_)) => {
                    in_block = true;
                    if sections.last().is_none_or(|last| last.heading != heading) {
                        sections.push(Self {
                            page: page.to_owned(),
                            heading: heading.clone(),
                            blocks: Vec::new(),
                        });
                    }
                    let section = sections.last_mut().unwrap();
                    let number = section.blocks.len() + 1;
                    section.blocks.push(Block {
                        text: String::new(),
                        place: format!("{page}, {heading:?}, block {number}"),
                    });
                }
                Event::End(TagEnd::CodeBlock) => in_block = false,
                Event::Text(text) if in_block => {
                    let block = sections.last_mut().and_then(|section| section.blocks.last_mut());
                    block.unwrap().text.push_str(&text);
                }
                _ => {}
            }
        }
        sections
    }

    /// All blocks, in their order. Another number of blocks fails: then one has no test, or is gone.
    #[track_caller]
    pub(crate) fn blocks<const N: usize>(&self) -> [Block; N] {
        let blocks = self.blocks.clone();
        let count = blocks.len();
        blocks.try_into().unwrap_or_else(|_| {
            panic!(
                "{}, {:?}: {N} blocks have tests, {count} are there",
                self.page, self.heading
            )
        })
    }
}

impl Block {
    /// The block with texts replaced that cannot be on the machine of a test. Each of them must be there.
    #[track_caller]
    pub(crate) fn with<T: AsRef<str>>(&self, changes: &[(&str, T)]) -> Self {
        let mut text = self.text.clone();
        for (from, to) in changes {
            assert!(text.contains(from), "{}: no {from:?} to replace in\n{text}", self.place);
            text = text.replace(from, to.as_ref());
        }
        Self {
            text,
            place: self.place.clone(),
        }
    }

    /// Its logical lines: a backslash at the end of a line joins the next one, comments are left out.
    pub(crate) fn lines(&self) -> Vec<String> {
        let joined = self.text.replace("\\\n", " ");
        let lines = joined.lines().map(|line| match line.split_once(" #") {
            Some((command, _)) => command.trim(),
            None => line.trim(),
        });
        let wanted = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        wanted.map(ToOwned::to_owned).collect()
    }

    /// Fails unless `shown` is what the block shows, but for numbers: each number counts as equal to any other one.
    #[track_caller]
    pub(crate) fn assert_shows(&self, shown: &str) {
        assert_eq!(
            shape(shown.trim_end()),
            shape(self.text.trim_end()),
            "{}\nshown:\n{shown}",
            self.place
        );
    }
}

/// A text with a single digit in the place of each number.
pub(crate) fn shape(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '0'..='9' if shape.ends_with('9') => {}
            '0'..='9' => shape.push('9'),
            other => shape.push(other),
        }
    }
    shape
}
