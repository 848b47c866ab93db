//! A database as text in the order of its entry IDs, made on several threads. Each thread makes every n-th block of IDs
//! and hands it over in pieces. Memory is bounded: a few pieces for each thread, and one entry longer than a piece.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use ironbark_ldif::LdifWriter;
use ironbark_store::{Database, EntryId, Snapshot, StoreError};

use super::text::EntryText;
use crate::shared::filter::{Part, Selection};

/// The contents and the form of the output.
#[derive(Clone, Copy)]
pub(super) struct Job<'j> {
    pub(super) writer: LdifWriter,
    pub(super) selection: &'j Selection,
    pub(super) part: Part,
    /// `-v`: the ID of each entry.
    pub(super) ids: bool,
    /// `-c`: continue after an entry that cannot be read.
    pub(super) keep_going: bool,
}

/// Some text, and the error that ended it.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) text: Vec<u8>,
    pub(super) entries: u64,
    /// The error of an unreadable entry after the text.
    pub(super) error: Option<StoreError>,
    /// The block ends here.
    last: bool,
}

/// Approximate bytes of a piece.
const PIECE: usize = 256 << 10;
/// Approximate entries of a block, and waiting pieces of each thread.
const BLOCK: u64 = 512;
const WAITING: usize = 8;
/// How often snapshots are taken again when a commit came between them.
const ATTEMPTS: usize = 100;

/// Snapshots of the same commit: `count` of them, or one if commits come too fast.
pub(super) fn equal_snapshots(database: &Database, count: usize) -> Result<Vec<Snapshot<'_>>, StoreError> {
    for _ in 0..ATTEMPTS {
        let snapshots = (0..count.max(1)).map(|_| database.snapshot());
        let snapshots = snapshots.collect::<Result<Vec<_>, _>>()?;
        let mut versions = snapshots.iter().map(Snapshot::version);
        let first = versions.next();
        if versions.all(|version| Some(version) == first) {
            return Ok(snapshots);
        }
    }
    Ok(vec![database.snapshot()?])
}

/// Calls `take` with the pieces in order until it fails.
pub(super) fn for_each<E: From<StoreError>>(
    snapshots: Vec<Snapshot<'_>>,
    job: Job<'_>,
    take: &mut dyn FnMut(&mut Piece) -> Result<(), E>,
) -> Result<(), E> {
    let Some(first) = snapshots.first() else { return Ok(()) };
    let (last, entries) = (first.view().last_entry()?, first.view().entry_count()?);
    // IDs may have gaps.
    let block = BLOCK.saturating_mul((last / entries.max(1)).max(1));
    let (blocks, threads) = (last.div_ceil(block), snapshots.len());
    std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for (snapshot, number) in snapshots.into_iter().zip(0u64..) {
            let (sender, receiver) = sync_channel(WAITING);
            let (returned, empties) = sync_channel(WAITING + 2);
            let starts = (number..blocks).step_by(threads).map(move |at| at * block);
            scope.spawn(move || make(&snapshot, job, starts, block, &sender, &empties));
            lanes.push((receiver, returned));
        }
        for (receiver, returned) in (0..blocks).zip(lanes.iter().cycle()).map(|(_, lane)| lane) {
            // If a lane fails, the loop ends and the scope passes the panic on.
            while let Ok(mut piece) = receiver.recv() {
                let last = piece.last;
                take(&mut piece)?;
                piece.text.clear();
                let _ = returned.try_send(piece.text);
                if last {
                    break;
                }
            }
        }
        Ok(())
    })
}

/// Makes the pieces of the blocks after the IDs `starts`, until nobody takes them.
fn make(
    snapshot: &Snapshot<'_>,
    job: Job<'_>,
    starts: impl Iterator<Item = EntryId>,
    block: u64,
    sender: &SyncSender<Piece>,
    empties: &Receiver<Vec<u8>>,
) {
    let text = match EntryText::new(job.writer, &snapshot.view()) {
        Ok(text) => text,
        Err(error) => {
            let piece = Piece {
                error: Some(error),
                last: true,
                ..Piece::default()
            };
            // The receiver may have gone.
            let _ = sender.send(piece);
            return;
        }
    };
    let mut lane = Lane {
        snapshot,
        job,
        text,
        scratch: Vec::new(),
        piece: Piece::default(),
        sender,
        empties,
    };
    for start in starts {
        let ended = match lane.block(start, start.saturating_add(block)) {
            Ok(()) => None,
            Err(Stop::Unread(error)) => Some(error),
            Err(Stop::Unwanted) => return,
        };
        let broken = ended.is_some();
        lane.piece.error = ended;
        lane.piece.last = true;
        if lane.hand_over().is_err() || broken {
            return;
        }
    }
}

/// The work of one thread.
struct Lane<'l> {
    snapshot: &'l Snapshot<'l>,
    job: Job<'l>,
    text: EntryText,
    scratch: Vec<u8>,
    piece: Piece,
    sender: &'l SyncSender<Piece>,
    empties: &'l Receiver<Vec<u8>>,
}

/// Why a lane ends.
enum Stop {
    /// An entry could not be read.
    Unread(StoreError),
    /// The pieces are no longer wanted.
    Unwanted,
}

impl Lane<'_> {
    /// The entries with IDs above `after` and not above `last`.
    fn block(&mut self, after: EntryId, last: EntryId) -> Result<(), Stop> {
        let view = self.snapshot.view();
        for record in view.entries(after).map_err(Stop::Unread)? {
            if record.as_ref().is_ok_and(|record| record.id > last) {
                return Ok(());
            }
            let start = self.piece.text.len();
            let put = record.and_then(|record| {
                let Job { selection, part, .. } = self.job;
                if selection.holds(&view, part, &record, &mut self.scratch)? {
                    if self.job.ids {
                        let id = format!("# id={:08x}\n", record.id);
                        self.piece.text.extend_from_slice(id.as_bytes());
                    }
                    record.verify()?;
                    self.text.put(&view, &record, &mut self.piece.text)?;
                    self.piece.entries += 1;
                }
                Ok(())
            });
            if let Err(error) = put {
                self.piece.text.truncate(start);
                if !self.job.keep_going {
                    return Err(Stop::Unread(error));
                }
                self.piece.error = Some(error);
                self.hand_over()?;
            } else if self.piece.text.len() >= PIECE {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Stop> {
        let next = Piece {
            text: self.empties.try_recv().unwrap_or_default(),
            ..Piece::default()
        };
        let piece = std::mem::replace(&mut self.piece, next);
        self.sender.send(piece).map_err(|_| Stop::Unwanted)
    }
}
