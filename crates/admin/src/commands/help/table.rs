//! Tables: in columns where they have room, otherwise each row as a list of its cells.

use super::wrap::{Paragraph, shown_width};

/// A table of a page.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl Table {
    /// Adds a cell to the present row.
    pub(super) fn add(&mut self, cell: String) {
        self.row.push(cell);
    }

    /// Ends the present row. The first one has the names of the columns.
    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The table as lines.
    pub(super) fn text(&self, width: usize) -> String {
        let widths = self.widths();
        let total = widths.iter().map(|width| width + GAP).sum::<usize>();
        if total <= width + GAP {
            self.in_columns(&widths)
        } else {
            self.in_lists(width)
        }
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| shown_width(cell)).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }

    fn in_columns(&self, widths: &[usize]) -> String {
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width - shown_width(cell).min(*width) + GAP));
            }
            text.push_str(line.trim_end());
            text.push('\n');
            if number == 0 && !line.trim().is_empty() {
                let rule = widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>();
                text.push_str(&rule.join(&" ".repeat(GAP)));
                text.push('\n');
            }
        }
        text
    }

    /// The first cell of each row, and below it the others with the names of their columns.
    fn in_lists(&self, width: usize) -> String {
        let mut text = String::new();
        let Some((head, rows)) = self.rows.split_first() else {
            return text;
        };
        for row in rows {
            let Some((first, others)) = row.split_first() else {
                continue;
            };
            if !text.is_empty() {
                text.push('\n');
            }
            if !first.is_empty() {
                paragraph("", "", width).write(first, &mut text);
            }
            let cells = others.iter().zip(head.iter().skip(1));
            for (cell, name) in cells.filter(|(cell, _)| !cell.is_empty()) {
                let begin = if name.is_empty() {
                    "   ".to_owned()
                } else {
                    format!("   {name}: ")
                };
                paragraph(&begin, "      ", width).write(cell, &mut text);
            }
        }
        text
    }
}

fn paragraph(first: &str, further: &str, width: usize) -> Paragraph {
    Paragraph {
        first: first.to_owned(),
        further: further.to_owned(),
        width,
    }
}

/// Blanks between columns.
const GAP: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[&str]]) -> Table {
        let mut table = Table::default();
        for row in rows {
            for cell in *row {
                table.add((*cell).to_owned());
            }
            table.end_row();
        }
        table
    }

    #[test]
    fn a_narrow_table_has_columns() {
        let table = table(&[&["word", "meaning"], &["dn", "a name"], &["oid", "a number"]]);
        assert_eq!(
            table.text(40),
            "word  meaning\n----  --------\ndn    a name\noid   a number\n"
        );
    }

    #[test]
    fn a_wide_table_is_a_list_of_its_rows() {
        let table = table(&[
            &["word", "meaning", "x"],
            &["dn", "a name of an entry", ""],
            &["", "a number", "y"],
        ]);
        assert_eq!(
            table.text(20),
            "dn\n   meaning: a name\n      of an entry\n\n   meaning: a number\n   x: y\n"
        );
    }
}
