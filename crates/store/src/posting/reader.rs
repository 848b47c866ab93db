//! A chunk of a posting list that is read forwards.

use smallvec::SmallVec;

use super::{
    chunk::{BITMAP, DELTAS, RUNS},
    deltas::{self, skip},
};
use crate::{EntryId, varint};

/// Calls `run` with ascending inclusive runs (neighbours may touch). `None`: damaged.
pub(crate) fn visit(first: EntryId, value: &[u8], mut run: impl FnMut(EntryId, EntryId)) -> Option<()> {
    let mut reader = Reader::open(first, value)?;
    run(reader.from, reader.to);
    while reader.advance()? {
        run(reader.from, reader.to);
    }
    Some(())
}

/// A place in a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'c> {
    form: Form,
    first: EntryId,
    /// The current run: one ID, or a run in the form of runs.
    from: EntryId,
    to: EntryId,
    /// The octets behind it; for a bitmap, all octets.
    rest: &'c [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Deltas,
    Bitmap,
    Runs,
}

impl<'c> Reader<'c> {
    /// At the first ID. `None`: damaged.
    pub(crate) fn open(first: EntryId, value: &'c [u8]) -> Option<Self> {
        let (mut rest, mut form, mut to) = (value, Form::Deltas, first);
        if let Some((&byte, payload)) = value.split_first() {
            rest = payload;
            varint::take(&mut rest)?;
            form = match byte {
                DELTAS => Form::Deltas,
                BITMAP => Form::Bitmap,
                RUNS => Form::Runs,
                _ => return None,
            };
        }
        if form == Form::Runs {
            to = first.checked_add(varint::take(&mut rest)?)?;
        }
        Some(Self {
            form,
            first,
            from: first,
            to,
            rest,
        })
    }
    /// Octets that have not been decoded.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }
    /// Moves to the next run. Returns whether there is one. `None`: damaged.
    fn advance(&mut self) -> Option<bool> {
        match self.form {
            Form::Bitmap => {
                return self.bit_from(self.to.checked_add(1)?);
            }
            _ if self.rest.is_empty() => return Some(false),
            Form::Deltas => {
                self.to = self.to.checked_add(varint::take(&mut self.rest)?)?.checked_add(1)?;
                self.from = self.to;
            }
            Form::Runs => {
                self.from = self.to.checked_add(varint::take(&mut self.rest)?)?.checked_add(2)?;
                self.to = self.from.checked_add(varint::take(&mut self.rest)?)?;
            }
        }
        Some(true)
    }
    /// Moves to the first ID that is not below `id`; [`Self::id`] then returns it. `Some(false)`: there is none. `id`
    /// must not fall between calls. `None`: damaged.
    #[inline]
    fn move_to(&mut self, id: EntryId) -> Option<bool> {
        match self.form {
            Form::Deltas => {
                (self.to, self.rest) = skip(self.to, self.rest, id)?;
                self.from = self.to;
            }
            Form::Bitmap if self.to < id => return self.bit_from(id),
            Form::Bitmap => {}
            Form::Runs => {
                while self.to < id && self.advance()? {}
                self.from = self.from.max(id.min(self.to));
            }
        }
        Some(self.to >= id)
    }
    /// Appends IDs from `from` on until there are `most`. `None`: damaged.
    pub(crate) fn read(&mut self, mut from: EntryId, most: usize, out: &mut Vec<EntryId>) -> Option<()> {
        while out.len() < most && self.move_to(from)? {
            out.push(self.from);
            if self.form == Form::Deltas {
                (self.to, self.rest) = deltas::read(self.to, self.rest, most, out)?;
                self.from = self.to;
            }
            let Some(next) = self.from.checked_add(1) else { break };
            from = next;
        }
        Some(())
    }
    /// Moves those of the ascending `ids` that are in the chunk to the front of `sieve`, until the chunk or the IDs
    /// end. `None`: damaged.
    pub(crate) fn sift(&mut self, sieve: &mut Sieve<'_>, end: usize) -> Option<()> {
        if self.form != Form::Deltas {
            while let Some(id) = sieve.next(end)
                && self.move_to(id)?
            {
                sieve.pass(id, self.from == id);
            }
            return Some(());
        }
        if sieve.wanted(end).len() >= MANY {
            return self.sift_many(sieve, end);
        }
        let (mut at, mut rest) = (self.to, self.rest);
        while let Some(id) = sieve.next(end) {
            if at < id {
                (at, rest) = skip(at, rest, id)?;
                if at < id {
                    break;
                }
            }
            sieve.pass(id, at == id);
        }
        (self.from, self.to, self.rest) = (at, at, rest);
        Some(())
    }
    /// [`Self::sift`] of many IDs by distances. It decodes all distances before the last wanted ID, so that there is no
    /// branch for each.
    fn sift_many(&mut self, sieve: &mut Sieve<'_>, end: usize) -> Option<()> {
        let wanted = sieve.wanted(end);
        let last = wanted.last().copied()?;
        let (mut marks, mut found) = (Marks::default(), SmallVec::<[EntryId; MANY]>::new());
        for &id in wanted {
            marks.set(id);
        }
        let mut look = |id| {
            if marks.has(id) {
                found.push(id);
            }
        };
        look(self.to);
        (self.to, self.rest) = deltas::visit(self.to, self.rest, last, look)?;
        self.from = self.to;
        let mut found = found.into_iter().peekable();
        while let Some(id) = sieve.next(end).filter(|&id| id <= self.to) {
            // Unwanted IDs may have the same mark.
            while found.next_if(|&other| other < id).is_some() {}
            sieve.pass(id, found.peek() == Some(&id));
        }
        Some(())
    }
    /// Moves to the first ID of a bitmap that is not below `id`, which is above the present one. `None`: damaged.
    fn bit_from(&mut self, id: EntryId) -> Option<bool> {
        let bit = id - self.first - 1;
        let Ok(place) = usize::try_from(bit / 8) else {
            return Some(false);
        };
        let bytes = self.rest.get(place..).unwrap_or_default();
        let (mut base, mut mask) = (id - bit % 8, 0xffu8 << (bit % 8));
        for byte in bytes {
            let bits = byte & mask;
            if bits != 0 {
                self.to = base.checked_add(u64::from(bits.trailing_zeros()))?;
                self.from = self.to;
                return Some(true);
            }
            base = base.checked_add(8)?;
            mask = 0xff;
        }
        Some(false)
    }
}

/// IDs that are looked for together.
const MANY: usize = 16;

/// A set of IDs by their lowest bits: few other IDs seem to be in it.
struct Marks([u64; 64]);

impl Default for Marks {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Marks {
    #[inline]
    fn place(id: EntryId) -> (usize, u64) {
        (usize::try_from(id >> 6 & 63).unwrap_or_default(), 1 << (id & 63))
    }
    fn set(&mut self, id: EntryId) {
        let (word, bit) = Self::place(id);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }
    #[inline]
    fn has(&self, id: EntryId) -> bool {
        let (word, bit) = Self::place(id);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

/// Ascending IDs, some of which are kept.
#[derive(Debug)]
pub(crate) struct Sieve<'i> {
    ids: &'i mut Vec<EntryId>,
    kept: usize,
    read: usize,
}

impl<'i> Sieve<'i> {
    pub(crate) fn new(ids: &'i mut Vec<EntryId>) -> Self {
        Self { ids, kept: 0, read: 0 }
    }
    /// The next undecided ID, if it is before the place `end`.
    #[inline]
    pub(crate) fn next(&self, end: usize) -> Option<EntryId> {
        self.ids.get(self.read).copied().filter(|_| self.read < end)
    }
    /// The undecided IDs before the place `end`.
    fn wanted(&self, end: usize) -> &[EntryId] {
        self.ids.get(self.read..end).unwrap_or_default()
    }
    #[inline]
    fn pass(&mut self, id: EntryId, is_kept: bool) {
        if let Some(place) = self.ids.get_mut(self.kept) {
            *place = id;
        }
        self.kept += usize::from(is_kept);
        self.read += 1;
    }
    /// The place of the first ID that is not below `limit`.
    pub(crate) fn end(&self, limit: EntryId) -> usize {
        let rest = self.ids.get(self.read..).unwrap_or_default();
        self.read + rest.partition_point(|&id| id < limit)
    }
    /// Drops the IDs that were not kept and the undecided ones.
    pub(crate) fn finish(self) {
        self.ids.truncate(self.kept);
    }
}
