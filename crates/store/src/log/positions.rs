//! Places in the log by CSN, found by bisection over the vectors of the rows.

use super::{LogRows, LogState, damaged, row::NumberedRow, uncovered::Uncovered};
use crate::{
    ChangeRecord, StoreError, View,
    csn::{ContextVector, Csn},
    tables::{LogTables, MetaRow},
};

/// Rows of a refresh under way that are passed over to find what stands before it. A consumer that would need more gets
/// the entries compared instead.
const MOST_UNCOVERED_ROWS: usize = 1_000;

/// A row of the log: its vector, and the numbers of its changes.
struct Reaching {
    vector: ContextVector,
    from: u64,
    to: u64,
}

impl View<'_> {
    /// The number of the change that has a CSN, or that brought it from another server. The number before the first
    /// change, if the CSN is the greatest of its server there. `None`: the log does not know it.
    ///
    /// # Errors
    /// The storage failed; a row is damaged.
    pub fn position_of(&self, csn: Csn) -> Result<Option<u64>, StoreError> {
        let exact = self.position_within(csn)?;
        Ok(exact
            .filter(|(_, found)| *found == Some(csn))
            .map(|(position, _)| position))
    }

    /// Where a reader begins that has all changes of a server up to a CSN: every later change of that server stands
    /// behind this number. `None`: the log no longer has all of them.
    ///
    /// # Errors
    /// The storage failed; a row is damaged.
    pub fn position_behind(&self, csn: Csn) -> Result<Option<u64>, StoreError> {
        match self.position_within(csn)? {
            Some((position, _)) => self.covered_before(position),
            None => Ok(None),
        }
    }

    /// The last change up to `position` behind which the vector covered all that had come. Behind others, a refresh was
    /// under way while another server's cookie raised the vector: what the refresh had brought stands before that.
    /// `None`: the log does not tell, or not within [`MOST_UNCOVERED_ROWS`].
    fn covered_before(&self, position: u64) -> Result<Option<u64>, StoreError> {
        let (Some(log), Some(begin)) = (&self.tables().log, self.log_state()?.first) else {
            return Ok(None);
        };
        let mut at = position;
        // Nothing behind the first one that is uncovered now will do.
        if let Some(uncovered) = self.first_uncovered()? {
            at = at.min(uncovered - 1);
        }
        // A client may ask this again and again.
        for _ in 0..MOST_UNCOVERED_ROWS {
            if at < begin {
                break;
            }
            let Some(found) = LogRows::from(self.tables(), self.txn, log, at)?.next() else {
                return Ok(Some(at));
            };
            let NumberedRow { row, first, .. } = found?;
            if row.covers_all || first > at {
                return Ok(Some(at));
            }
            at = first - 1;
        }
        // Before the first change of the log: known only with the vector from there. Or there are too many rows.
        Ok(self
            .log_base()?
            .is_some()
            .then_some(begin - 1)
            .filter(|base| at == *base))
    }

    /// Where a reader begins that has no change of a server. `None`: the log no longer has all of them.
    ///
    /// # Errors
    /// The storage failed.
    pub fn position_before_all(&self, server: u16) -> Result<Option<u64>, StoreError> {
        let first = self.log_state()?.first;
        let Some(first) = first.filter(|_| self.tables().log.is_some()) else {
            return Ok(None);
        };
        let base = self.log_base()?;
        let has_none = base.is_some_and(|base| base.of_server(server).is_none());
        Ok(has_none.then_some(first - 1))
    }

    /// For each server, its last change that moved entries together with a superior. So these entries have other names
    /// now, although their `entryCSN` is older.
    ///
    /// # Errors
    /// The storage failed.
    pub fn moves(&self) -> Result<ContextVector, StoreError> {
        let moves = self.tables().meta(self.txn, MetaRow::Moves)?;
        let moves = moves.map(|bytes| ContextVector::decode(bytes).ok_or_else(|| damaged("the row of moves")));
        Ok(moves.transpose()?.unwrap_or_default())
    }

    /// The number of the first change from other servers that the context vector does not cover yet: a refresh brings
    /// changes in any order, and only its end says that they are complete. `None`: there is none.
    ///
    /// # Errors
    /// The storage failed.
    pub fn first_uncovered(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.uncovered_changes()?.map(|uncovered| uncovered.first))
    }

    /// The greatest CSN of a server in the context vector, and among the CSNs that uncovered changes wait for.
    ///
    /// # Errors
    /// The storage failed; the row is damaged.
    pub fn last_known_of(&self, server: u16) -> Result<Option<Csn>, StoreError> {
        let known = self.context_vector()?.and_then(|vector| vector.of_server(server));
        let expected = self.uncovered_changes()?.and_then(|all| all.csns.of_server(server));
        Ok(known.max(expected))
    }

    pub(crate) fn uncovered_changes(&self) -> Result<Option<Uncovered>, StoreError> {
        let Some(row) = self.tables().meta(self.txn, MetaRow::Uncovered)? else {
            return Ok(None);
        };
        let uncovered = Uncovered::decode(row);
        uncovered
            .map(Some)
            .ok_or_else(|| damaged("the row of uncovered changes"))
    }

    /// The greatest CSN of each server before the first change of the log; `None`: not known.
    fn log_base(&self) -> Result<Option<ContextVector>, StoreError> {
        let base = self.tables().meta(self.txn, MetaRow::LogBase)?;
        Ok(base.and_then(ContextVector::decode))
    }

    /// The last change that made the greatest CSN of a server one that is not above `csn`, and which CSN that is.
    fn position_within(&self, csn: Csn) -> Result<Option<(u64, Option<Csn>)>, StoreError> {
        let (
            Some(log),
            LogState {
                first: Some(first),
                last,
                ..
            },
        ) = (&self.tables().log, self.log_state()?)
        else {
            return Ok(None);
        };
        let server = csn.server_id();
        let base = self.log_base()?.and_then(|base| base.of_server(server));
        let at_base = base.filter(|base| *base <= csn).map(|base| (first - 1, Some(base)));
        let Some(reaching) = self.first_reaching(log, csn, first, last)? else {
            // No change of the server is above it; the last that there is may be below.
            return match self.log_vector()?.and_then(|vector| vector.of_server(server)) {
                Some(greatest) if greatest < csn => self.position_within(greatest),
                _ => Ok(at_base),
            };
        };
        let changes = self.changes(reaching.from)?;
        let mut found = None;
        for record in changes.take(usize::try_from(reaching.to - reaching.from + 1).unwrap_or(usize::MAX)) {
            let record = record?;
            match raised_to(&record, server) {
                Some(raised) if raised == csn => return Ok(Some((record.position.sequence, Some(csn)))),
                Some(raised) if raised < csn => found = Some((record.position.sequence, Some(raised))),
                _ => {}
            }
        }
        if found.is_some() {
            return Ok(found);
        }
        // The CSN falls between those of this row and of the rows before it.
        match self
            .vector_before(log, reaching.from)?
            .and_then(|vector| vector.of_server(server))
        {
            Some(before) if before < csn => self.position_within(before),
            _ => Ok(at_base),
        }
    }

    /// The vector of the row before the one that begins with change `from`.
    fn vector_before(&self, log: &LogTables, from: u64) -> Result<Option<ContextVector>, StoreError> {
        let Some(before) = from.checked_sub(1).filter(|before| *before > 0) else {
            return Ok(None);
        };
        match LogRows::from(self.tables(), self.txn, log, before)?.next() {
            Some(row) => {
                let NumberedRow { row, first, .. } = row?;
                Ok(row.vector().filter(|_| first <= before))
            }
            None => Ok(None),
        }
    }

    /// The first row whose vector has reached the CSN, if any: vectors never go down.
    fn first_reaching(&self, log: &LogTables, csn: Csn, first: u64, last: u64) -> Result<Option<Reaching>, StoreError> {
        let (mut low, mut high) = (first, last.saturating_add(1));
        let mut found = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(row) = LogRows::from(self.tables(), self.txn, log, middle)?.next() else {
                high = middle;
                continue;
            };
            let NumberedRow {
                row,
                first: from,
                last: to,
                ..
            } = row?;
            let vector = row.vector().ok_or_else(|| damaged("a context vector"))?;
            if vector.of_server(csn.server_id()).is_some_and(|reached| reached >= csn) {
                // A gap, which only damage makes, must not keep the range from getting shorter.
                high = from.min(middle).max(low);
                found = Some(Reaching { vector, from, to });
            } else {
                low = to.saturating_add(1);
            }
        }
        Ok(found.filter(|reaching| !reaching.vector.is_empty()))
    }
}

/// The CSN of a server that a change brings into the vector.
fn raised_to(record: &ChangeRecord, server: u16) -> Option<Csn> {
    let raised = record.context_csns();
    raised
        .filter(|csn| csn.server_id() == server && *csn != Csn::default())
        .max()
}
