//! Help and documentation, made from the table of variables.

use std::fmt::Write as _;

use super::variables::{self, Image, Variable};

/// The table for a terminal.
pub(super) fn help() -> String {
    let mut text = String::from(
        "Examples:\n  ironbark container\n  ironbark container --table > variables.md\n\n\
         Environment variables (docs/container.md). NAME_FILE names a file with the value of one marked *.\n",
    );
    for (title, image) in SECTIONS {
        let _ = writeln!(text, "\n{title}:");
        for row in rows(image) {
            let star = if row.is_secret { "*" } else { "" };
            let default = match row.default {
                "" => String::new(),
                default => format!(", default: {default}"),
            };
            let _ = writeln!(
                text,
                "  {}{star} ({}{default})\n      {}",
                row.name,
                row.fate.word(),
                row.text
            );
        }
    }
    text
}

/// The table as Markdown.
pub(super) fn table() -> String {
    let mut text = String::new();
    for (title, image) in SECTIONS {
        let _ = writeln!(
            text,
            "### {title}\n\n| variable | default | | what it does |\n|---|---|---|---|"
        );
        for row in rows(image) {
            let file = if row.is_secret { " (`_FILE`)" } else { "" };
            let default = match row.default {
                "" => String::new(),
                default => format!("`{default}`"),
            };
            let _ = writeln!(
                text,
                "| `{}`{file} | {default} | {} | {} |",
                row.name,
                row.fate.word(),
                row.text
            );
        }
        text.push('\n');
    }
    text
}

const SECTIONS: [(&str, Image); 4] = [
    ("Of this image", Image::Own),
    ("Of every container", Image::Both),
    ("Of bitnami/openldap", Image::Bitnami),
    ("Of osixia/openldap", Image::Osixia),
];

fn rows(image: Image) -> impl Iterator<Item = &'static Variable> {
    variables::all().filter(move |row| row.image == image)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page is rewritten if it is not current; the test fails once.
    #[test]
    fn the_table_of_the_page_is_that_of_the_program() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/container.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once("<!-- variables -->\n").unwrap();
        let (found, after) = rest.split_once("<!-- end of variables -->").unwrap();
        let wanted = table();
        if found != wanted {
            let text = format!("{before}<!-- variables -->\n{wanted}<!-- end of variables -->{after}");
            std::fs::write(path, text).unwrap();
            panic!("docs/container.md was written anew");
        }
    }

    #[test]
    fn help_names_every_variable() {
        let text = help();
        assert!(variables::all().all(|row| text.contains(row.name) && text.contains(row.text)));
    }
}
