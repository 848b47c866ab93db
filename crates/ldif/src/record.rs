//! Records as owned values.

use crate::{
    Item, LdifError, LdifLine, LdifValue, RecordLines, Resolver, base64_text,
    error::{LdifErrorKind, excerpt},
};

/// Attribute descriptions and values, in the order written, one pair per line.
pub type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LdifRecord {
    /// Line number of its `dn:` line, from 1.
    pub line: u64,
    /// Byte offset of that line.
    pub offset: u64,
    /// The DN as written, decoded.
    pub dn: Vec<u8>,
    /// Its content or change.
    pub kind: RecordKind,
}

/// Content or change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// An entry.
    Content(Attributes),
    /// A change, with its controls.
    Change {
        /// `control:` lines.
        controls: Vec<LdifControl>,
        /// The change.
        change: LdifChange,
    },
}

/// A `control:` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LdifControl {
    /// Dotted-decimal OID.
    pub oid: String,
    /// `true` or `false` (the default).
    pub critical: bool,
    /// Its value, if any.
    pub value: Option<Vec<u8>>,
}

/// The change of a `changetype:`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LdifChange {
    /// `add`.
    Add(Attributes),
    /// `delete`.
    Delete,
    /// `modify`, in order.
    Modify(Vec<ModSpec>),
    /// `modrdn` or `moddn`.
    ModifyDn {
        /// `newrdn:`.
        new_rdn: Vec<u8>,
        /// `deleteoldrdn:`.
        delete_old_rdn: bool,
        /// `newsuperior:`.
        new_superior: Option<Vec<u8>>,
    },
}

/// One `mod-spec` of a modify (RFC 2849).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModSpec {
    /// Line number, from 1.
    pub line: u64,
    /// Its kind.
    pub kind: ModifyKind,
    /// Attribute description as written.
    pub attribute: Vec<u8>,
    /// Values; may be empty for delete and replace.
    pub values: Vec<Vec<u8>>,
}

/// Kind of a modification (RFC 4511 §4.6, RFC 4525).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ModifyKind {
    /// `add:`.
    Add,
    /// `delete:`.
    Delete,
    /// `replace:`.
    Replace,
    /// `increment:`.
    Increment,
}

impl ModifyKind {
    /// As written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Increment => "increment",
        }
    }
    fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Add, Self::Delete, Self::Replace, Self::Increment]
            .into_iter()
            .find(|kind| kind.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// Reads the rest of a record whose `dn:` line is `start`.
pub(crate) fn build(
    start: LdifLine<'_>,
    lines: &mut RecordLines<'_>,
    resolver: &mut dyn Resolver,
    modify_by_default: bool,
) -> Result<LdifRecord, LdifError> {
    let mut body = Body { lines, resolver };
    let dn = body.value(start)?;
    let mut controls = Vec::new();
    let mut next = body.line()?;
    while let Some(line) = next.filter(|line| line.name.eq_ignore_ascii_case(b"control")) {
        controls.push(body.control(line)?);
        next = body.line()?;
    }
    let kind = match next {
        Some(line) if line.name.eq_ignore_ascii_case(b"changetype") => {
            let change = body.change(line)?;
            RecordKind::Change { controls, change }
        }
        Some(line) if modify_by_default && ModifyKind::from_name(line.name).is_some() => {
            let change = LdifChange::Modify(body.modifications(Some(line))?);
            RecordKind::Change { controls, change }
        }
        first => {
            let attributes = body.attributes(first)?;
            if controls.is_empty() {
                RecordKind::Content(attributes)
            } else {
                RecordKind::Change {
                    controls,
                    change: LdifChange::Add(attributes),
                }
            }
        }
    };
    Ok(LdifRecord {
        line: start.number,
        offset: start.offset,
        dn,
        kind,
    })
}

struct Body<'l, 'b, 'v> {
    lines: &'l mut RecordLines<'b>,
    resolver: &'v mut dyn Resolver,
}

impl<'b> Body<'_, 'b, '_> {
    /// The next line, which may not be a separator.
    fn line(&mut self) -> Result<Option<LdifLine<'b>>, LdifError> {
        let place = (self.lines.line(), self.lines.offset());
        match self.lines.next_item()? {
            Some(Item::Line(line)) => Ok(Some(line)),
            Some(Item::Separator) => Err(LdifError::at(
                place.0,
                place.1,
                LdifErrorKind::UnexpectedLine("-".to_owned()),
            )),
            None => Ok(None),
        }
    }

    fn value(&mut self, line: LdifLine<'_>) -> Result<Vec<u8>, LdifError> {
        match line.value {
            LdifValue::Plain(bytes) => Ok(bytes.to_vec()),
            LdifValue::Url(url) => self.fetch(url, line),
        }
    }

    fn fetch(&mut self, url: &[u8], line: LdifLine<'_>) -> Result<Vec<u8>, LdifError> {
        let url = String::from_utf8_lossy(url).into_owned();
        self.resolver.value(&url).map_err(|error| {
            let reason = error.to_string();
            LdifError::at(line.number, line.offset, LdifErrorKind::BadUrl { url, reason })
        })
    }

    fn attributes(&mut self, first: Option<LdifLine<'_>>) -> Result<Attributes, LdifError> {
        let mut attributes = Vec::new();
        if let Some(line) = first {
            attributes.push((line.name.to_vec(), self.value(line)?));
        }
        while let Some(line) = self.line()? {
            attributes.push((line.name.to_vec(), self.value(line)?));
        }
        Ok(attributes)
    }

    /// `control: oid [true|false] [: value]`. As in any line, the value may be base64 or a URL.
    fn control(&mut self, line: LdifLine<'_>) -> Result<LdifControl, LdifError> {
        let bad = || LdifError::at(line.number, line.offset, LdifErrorKind::BadControl);
        let LdifValue::Plain(text) = line.value else {
            return Err(bad());
        };
        let (head, value) = match text.iter().position(|&b| b == b':') {
            Some(colon) => {
                let (head, value) = text.split_at(colon);
                (head, Some(value.get(1..).unwrap_or_default()))
            }
            None => (text, None),
        };
        let head = std::str::from_utf8(head).map_err(|_| bad())?;
        let mut words = head.split_ascii_whitespace();
        let oid = words.next().ok_or_else(bad)?;
        let critical = match words.next() {
            None => false,
            Some(word) if word.eq_ignore_ascii_case("true") => true,
            Some(word) if word.eq_ignore_ascii_case("false") => false,
            Some(_) => return Err(bad()),
        };
        let dotted = oid
            .split('.')
            .all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()));
        if words.next().is_some() || !dotted {
            return Err(bad());
        }
        let value = match value {
            None => None,
            Some([b':', text @ ..]) => {
                let mut text = text.to_vec();
                Some(base64_text::decode_in_place(&mut text).ok_or_else(bad)?.to_vec())
            }
            Some([b'<', url @ ..]) => Some(self.fetch(url.trim_ascii(), line)?),
            Some(text) => Some(text.trim_ascii_start().to_vec()),
        };
        Ok(LdifControl {
            oid: oid.to_owned(),
            critical,
            value,
        })
    }

    fn change(&mut self, line: LdifLine<'_>) -> Result<LdifChange, LdifError> {
        let (LdifValue::Plain(name) | LdifValue::Url(name)) = line.value;
        let change = match name.trim_ascii_end().to_ascii_lowercase().as_slice() {
            b"add" => return Ok(LdifChange::Add(self.attributes(None)?)),
            b"modify" => {
                let first = self.line()?;
                return Ok(LdifChange::Modify(self.modifications(first)?));
            }
            b"delete" => LdifChange::Delete,
            b"modrdn" | b"moddn" => self.modify_dn()?,
            other => {
                let kind = LdifErrorKind::BadChangeType(excerpt(other));
                return Err(LdifError::at(line.number, line.offset, kind));
            }
        };
        match self.line()? {
            Some(line) => Err(unexpected(line)),
            None => Ok(change),
        }
    }

    /// `first` is the line of the first modification.
    fn modifications(&mut self, first: Option<LdifLine<'_>>) -> Result<Vec<ModSpec>, LdifError> {
        let mut modifications = Vec::new();
        let mut next = first;
        while let Some(line) = next {
            modifications.push(self.modification(line)?);
            next = self.line()?;
        }
        Ok(modifications)
    }

    fn modification(&mut self, line: LdifLine<'_>) -> Result<ModSpec, LdifError> {
        let kind = ModifyKind::from_name(line.name).ok_or_else(|| {
            LdifError::at(
                line.number,
                line.offset,
                LdifErrorKind::BadModification(excerpt(line.name)),
            )
        })?;
        let (LdifValue::Plain(attribute) | LdifValue::Url(attribute)) = line.value;
        let attribute = attribute.trim_ascii_end().to_vec();
        let mut values = Vec::new();
        while let Some(Item::Line(line)) = self.lines.next_item()? {
            if !line.name.eq_ignore_ascii_case(&attribute) {
                let kind = LdifErrorKind::WrongAttribute {
                    expected: excerpt(&attribute),
                    found: excerpt(line.name),
                };
                return Err(LdifError::at(line.number, line.offset, kind));
            }
            values.push(self.value(line)?);
        }
        Ok(ModSpec {
            line: line.number,
            kind,
            attribute,
            values,
        })
    }

    fn modify_dn(&mut self) -> Result<LdifChange, LdifError> {
        let (mut new_rdn, mut delete_old_rdn, mut new_superior) = (None, None, None);
        let place = (self.lines.line(), self.lines.offset());
        while let Some(line) = self.line()? {
            let value = self.value(line)?;
            let known = match line.name.to_ascii_lowercase().as_slice() {
                b"newrdn" if new_rdn.is_none() => new_rdn.replace(value),
                b"newsuperior" if new_superior.is_none() => new_superior.replace(value),
                b"deleteoldrdn" if delete_old_rdn.is_none() => {
                    delete_old_rdn = match value.trim_ascii_end() {
                        b"0" => Some(false),
                        b"1" => Some(true),
                        other => {
                            let kind = LdifErrorKind::BadDeleteOldRdn(excerpt(other));
                            return Err(LdifError::at(line.number, line.offset, kind));
                        }
                    };
                    None
                }
                _ => return Err(unexpected(line)),
            };
            debug_assert!(known.is_none(), "each line is taken once");
        }
        let missing = |name| LdifError::at(place.0, place.1, LdifErrorKind::MissingLine(name));
        Ok(LdifChange::ModifyDn {
            new_rdn: new_rdn.ok_or_else(|| missing("newrdn"))?,
            delete_old_rdn: delete_old_rdn.ok_or_else(|| missing("deleteoldrdn"))?,
            new_superior,
        })
    }
}

fn unexpected(line: LdifLine<'_>) -> LdifError {
    LdifError::at(
        line.number,
        line.offset,
        LdifErrorKind::UnexpectedLine(excerpt(line.name)),
    )
}
