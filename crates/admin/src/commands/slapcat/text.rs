//! Entries as LDIF text. Shared parts become text only once: repeated value sets, and the names of superiors.

use std::ops::{ControlFlow, Range};

use ironbark_ldif::LdifWriter;
use ironbark_model::number_map::NumberMap;
use ironbark_store::{EntryId, Record, RecordAttribute, StoreError, View};

/// Makes the text of the entries of one snapshot.
pub(super) struct EntryText {
    writer: LdifWriter,
    /// The place in `texts` of a shared set's lines, by [`RecordAttribute::shared_set`].
    sets: NumberMap<Range<usize>>,
    texts: Vec<u8>,
    superiors: NumberMap<Box<[u8]>>,
    name: Vec<u8>,
    /// The entry that shows the context vector, and its lines.
    context: Option<(EntryId, Vec<u8>)>,
}

/// The most bytes of shared text that are kept.
const MAX_TEXTS: usize = 16 << 20;
/// The most superiors whose names are kept.
const MAX_SUPERIORS: usize = 4096;

impl EntryText {
    /// For the entries of `view`.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn new(writer: LdifWriter, view: &View<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            context: context(writer, view)?,
            writer,
            sets: NumberMap::default(),
            texts: Vec::new(),
            superiors: NumberMap::default(),
            name: Vec::new(),
        })
    }

    /// Appends an entry and the blank line after it. On an error a part may have been appended.
    pub(super) fn put(&mut self, view: &View<'_>, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.put_name(view, record, out)?;
        record.for_each_attribute(&mut |attribute| self.put_attribute(&attribute, out))?;
        if let Some((_, lines)) = self.context.as_ref().filter(|(id, _)| *id == record.id) {
            out.extend_from_slice(lines);
        }
        out.push(b'\n');
        Ok(())
    }

    fn put_name(&mut self, view: &View<'_>, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.name.clear();
        self.name.extend_from_slice(record.rdn().as_bytes());
        if record.parent() != 0 {
            if !self.superiors.contains_key(&record.parent()) {
                if self.superiors.len() >= MAX_SUPERIORS {
                    self.superiors.clear();
                }
                let mut superior = Vec::new();
                view.pretty_dn(record.parent(), &mut superior)?;
                self.superiors.insert(record.parent(), superior.into());
            }
            let superior = self.superiors.get(&record.parent()).map_or(&[][..], |name| name);
            if !superior.is_empty() {
                self.name.push(b',');
                self.name.extend_from_slice(superior);
            }
        }
        self.writer.dn(out, &self.name);
        Ok(())
    }

    fn put_attribute(&mut self, attribute: &RecordAttribute<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let Some(set) = attribute.shared_set() else {
            return put_values(self.writer, attribute, out);
        };
        if let Some(range) = self.sets.get(&set) {
            out.extend_from_slice(self.texts.get(range.clone()).unwrap_or_default());
            return Ok(());
        }
        let start = out.len();
        put_values(self.writer, attribute, out)?;
        let text = out.get(start..).unwrap_or_default();
        if self.texts.len() + text.len() <= MAX_TEXTS {
            let at = self.texts.len();
            self.texts.extend_from_slice(text);
            self.sets.insert(set, at..self.texts.len());
        }
        Ok(())
    }
}

/// The `contextCSN` of a database with a context vector. The first suffix entry shows it.
fn context(writer: LdifWriter, view: &View<'_>) -> Result<Option<(EntryId, Vec<u8>)>, StoreError> {
    let Some((id, vector)) = view.shown_context()? else {
        return Ok(None);
    };
    let mut lines = Vec::new();
    for csn in vector.iter() {
        writer.attribute(&mut lines, b"contextCSN", csn.text().as_bytes());
    }
    Ok(Some((id, lines)))
}

fn put_values(writer: LdifWriter, attribute: &RecordAttribute<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
    attribute.for_each(&mut |value| {
        writer.attribute(out, attribute.name(), value);
        ControlFlow::Continue(())
    })
}
