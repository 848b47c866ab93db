//! A chunk of a posting list that is read forwards.

use super::chunk::{BITMAP, DELTAS, RUNS};
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
    /// The run that is being read: one ID, or a run of the form of runs.
    from: EntryId,
    to: EntryId,
    /// What follows it; of a bitmap, all.
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
    /// Whether there is a next run, which is then the present one. `None`: damaged.
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
    /// Moves on to the first ID that is not below `id`, which is then [`Self::id`]. `Some(false)`: there is none. What is asked for must
    /// not fall. `None`: damaged.
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
            let Some(next) = self.from.checked_add(1) else { break };
            from = next;
        }
        Some(())
    }
    /// Moves those of the ascending `ids` that are in the chunk to the front of `sieve`, until the chunk or they are at their end.
    /// `None`: damaged.
    pub(crate) fn sift(&mut self, sieve: &mut Sieve<'_>, end: usize) -> Option<()> {
        if self.form != Form::Deltas {
            while let Some(id) = sieve.next(end)
                && self.move_to(id)?
            {
                sieve.pass(id, self.from == id);
            }
            return Some(());
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

/// Decodes distances behind the ID `at` until the ID is not below `id`, or none is left: the ID, and what is left. `None`: damaged.
#[inline]
fn skip(mut at: EntryId, mut rest: &[u8], id: EntryId) -> Option<(EntryId, &[u8])> {
    // Eight at a time, while what is asked for lies well behind them and they take a byte each.
    while id.saturating_sub(at) > 64
        && let Some((eight, behind)) = rest.split_first_chunk::<8>()
        && let Some(distance) = sum_of_short(u64::from_le_bytes(*eight))
        && let Some(next) = at.checked_add(distance + 8).filter(|&next| next < id)
    {
        (at, rest) = (next, behind);
    }
    while at < id && !rest.is_empty() {
        at = at.checked_add(varint::take(&mut rest)?)?.checked_add(1)?;
    }
    Some((at, rest))
}

/// Ascending IDs of which some are kept.
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
    /// The ID that is to be decided on, if it is before the place `end`.
    #[inline]
    pub(crate) fn next(&self, end: usize) -> Option<EntryId> {
        self.ids.get(self.read).copied().filter(|_| self.read < end)
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
    /// Drops what was not kept, and what was not decided on.
    pub(crate) fn finish(self) {
        self.ids.truncate(self.kept);
    }
}

/// The sum of eight numbers of seven bits. `None`: one is longer.
fn sum_of_short(bytes: u64) -> Option<u64> {
    const LOW: u64 = 0x00ff_00ff_00ff_00ff;
    let pairs = (bytes & LOW) + (bytes >> 8 & LOW);
    (bytes & 0x8080_8080_8080_8080 == 0).then_some(pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48)
}
