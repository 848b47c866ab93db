//! The writer. Its output equals that of slapcat, ldapsearch -LLL and the auditlog overlay byte for byte.

use ironbark_model::{Entry, Schema};

use crate::{LdifChange, LdifControl, LdifRecord, RecordKind, base64_text::encode_pieces};

/// Where lines are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrap {
    /// Lines of at most this many columns. A continuation line holds at least one character.
    Columns(usize),
    /// `ldif_wrap=no`.
    No,
}

impl Default for Wrap {
    /// 78 columns, as OpenLDAP 2.5 has it.
    fn default() -> Self {
        Self::Columns(78)
    }
}

impl Wrap {
    /// Reads the argument of `-o ldif_wrap=`: `no` or a number of columns, 0 for the default.
    pub fn from_option(text: &str) -> Option<Self> {
        match text {
            "no" => Some(Self::No),
            "0" => Some(Self::default()),
            _ => text.parse().ok().map(Self::Columns),
        }
    }
}

/// Appends LDIF to a buffer. A writer only holds the wrap column and costs nothing to make.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LdifWriter {
    /// Folding.
    pub wrap: Wrap,
}

/// Whether a value is written in base64, by OpenLDAP's rule.
///
/// A value is written in base64 unless it is a SAFE-STRING of RFC 2849. So are passwords, `;binary` values, and values
/// that begin or end with white space.
pub fn needs_base64(name: &[u8], value: &[u8]) -> bool {
    let (Some(&first), Some(&last)) = (value.first(), value.last()) else {
        return false;
    };
    // The greatest distance from a space, computed without a branch for each byte.
    let greatest = value
        .iter()
        .fold(0, |greatest, byte| byte.wrapping_sub(b' ').max(greatest));
    greatest > b'~' - b' '
        || !first.is_ascii_graphic()
        || matches!(first, b':' | b'<')
        || !last.is_ascii_graphic()
        || name.eq_ignore_ascii_case(b"userPassword")
        || name.eq_ignore_ascii_case(b"olcRootPW")
        || name == b"2.5.4.35"
        || (name.contains(&b';') && memchr::memmem::find(name, b";binary").is_some())
}

impl LdifWriter {
    /// `name: value`, `name:: base64` or, for an empty value, `name:`.
    pub fn attribute(self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        out.extend_from_slice(name);
        out.push(b':');
        if value.is_empty() {
            out.push(b'\n');
            return;
        }
        if !needs_base64(name, value) {
            out.push(b' ');
            let mut fold = Fold::new(self.wrap, name.len() + 2, 0);
            fold.push(out, value);
            out.push(b'\n');
            return;
        }
        out.extend_from_slice(b": ");
        let mut fold = Fold::new(self.wrap, name.len() + 3, 0);
        encode_pieces(value, &mut |text| fold.push(out, text));
        out.push(b'\n');
    }
    /// `# text`. As in OpenLDAP, a comment line may be one column longer than others. Line ends inside the text become
    /// folds.
    pub fn comment(self, out: &mut Vec<u8>, text: &[u8]) {
        out.push(b'#');
        if !text.is_empty() {
            out.push(b' ');
        }
        let mut fold = Fold::new(self.wrap, 2, 1);
        for (index, line) in text.split(|&b| b == b'\n').enumerate() {
            if index > 0 {
                fold.break_line(out);
            }
            fold.push(out, line);
        }
        out.push(b'\n');
    }
    /// `dn: ...`.
    pub fn dn(self, out: &mut Vec<u8>, dn: &[u8]) {
        self.attribute(out, b"dn", dn);
    }
    /// An entry and the blank line after it.
    pub fn entry(self, out: &mut Vec<u8>, schema: &Schema, entry: &Entry) {
        self.dn(out, entry.dn.pretty().as_bytes());
        for attribute in &entry.attributes {
            let name = schema.description_text(&attribute.description);
            for value in &attribute.values {
                self.attribute(out, name.as_bytes(), value);
            }
        }
        out.push(b'\n');
    }
    /// A record and the blank line after it.
    pub fn record(self, out: &mut Vec<u8>, record: &LdifRecord) {
        match &record.kind {
            RecordKind::Content(attributes) => {
                self.dn(out, &record.dn);
                self.attributes(out, attributes);
            }
            RecordKind::Change { controls, change } => self.change(out, &record.dn, controls, change),
        }
        out.push(b'\n');
    }
    /// A change record, in the form of the auditlog overlay, without the blank line after it.
    pub fn change(self, out: &mut Vec<u8>, dn: &[u8], controls: &[LdifControl], change: &LdifChange) {
        self.dn(out, dn);
        for control in controls {
            self.control(out, control);
        }
        match change {
            LdifChange::Add(attributes) => {
                out.extend_from_slice(b"changetype: add\n");
                self.attributes(out, attributes);
            }
            LdifChange::Delete => out.extend_from_slice(b"changetype: delete\n"),
            LdifChange::Modify(modifications) => {
                out.extend_from_slice(b"changetype: modify\n");
                for modification in modifications {
                    self.attribute(out, modification.kind.name().as_bytes(), &modification.attribute);
                    for value in &modification.values {
                        self.attribute(out, &modification.attribute, value);
                    }
                    out.extend_from_slice(b"-\n");
                }
            }
            LdifChange::ModifyDn {
                new_rdn,
                delete_old_rdn,
                new_superior,
            } => {
                out.extend_from_slice(b"changetype: modrdn\n");
                self.attribute(out, b"newrdn", new_rdn);
                self.attribute(out, b"deleteoldrdn", if *delete_old_rdn { b"1" } else { b"0" });
                if let Some(new_superior) = new_superior {
                    self.attribute(out, b"newsuperior", new_superior);
                }
            }
        }
    }

    fn attributes(self, out: &mut Vec<u8>, attributes: &[(Vec<u8>, Vec<u8>)]) {
        for (name, value) in attributes {
            self.attribute(out, name, value);
        }
    }

    /// Values are always in base64, because readers disagree about text in `control:` lines.
    fn control(self, out: &mut Vec<u8>, control: &LdifControl) {
        let mut line = format!("{} {}", control.oid, control.critical).into_bytes();
        if let Some(value) = &control.value {
            line.extend_from_slice(b":: ");
            encode_pieces(value, &mut |text| line.extend_from_slice(text));
        }
        out.extend_from_slice(b"control: ");
        Fold::new(self.wrap, "control: ".len(), 0).push(out, &line);
        out.push(b'\n');
    }
}

/// Breaks a line that grows piece by piece.
struct Fold {
    limit: usize,
    column: usize,
}

impl Fold {
    fn new(wrap: Wrap, column: usize, extra: usize) -> Self {
        let limit = match wrap {
            Wrap::Columns(columns) => columns.saturating_add(extra),
            Wrap::No => usize::MAX,
        };
        Self { limit, column }
    }
    fn push(&mut self, out: &mut Vec<u8>, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.column >= self.limit {
                self.break_line(out);
            }
            let room = self.limit.saturating_sub(self.column).max(1).min(rest.len());
            let (piece, tail) = rest.split_at(room);
            out.extend_from_slice(piece);
            self.column = self.column.saturating_add(room);
            rest = tail;
        }
    }
    fn break_line(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n ");
        self.column = 1;
    }
}
