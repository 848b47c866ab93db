//! Reading on one thread, parsing on several, results in the order of the file. Memory is bounded: each thread has at
//! most a few blocks before it and behind it.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use ironbark_directory::stamp::{StampBlock, StampGenerator};
use ironbark_ldif::{Block, Blocks, LdifError, Limits};
use ironbark_runtime::{Clock, spawn_named};

use super::record::{Item, Plan, RecordReader};

/// The records of one block.
pub(super) struct ItemBatch {
    pub(super) stamp: StampBlock,
    pub(super) items: Vec<Item>,
    /// Offset in the input behind the block.
    pub(super) end: u64,
}

/// The threads, and where their results come from.
pub(super) struct Pipeline {
    results: Vec<Receiver<Result<ItemBatch, LdifError>>>,
    next: usize,
    threads: Vec<JoinHandle<()>>,
}

type Job = Result<(Block, StampBlock), LdifError>;

/// Bytes of a block: enough that handing it over costs nothing.
const BLOCK: usize = 512 << 10;
/// Stamps of a block: as many as it may have records.
const STAMPS: u32 = 1 << 24;
/// Blocks that wait before a thread and behind it.
const WAITING: usize = 2;

impl Pipeline {
    /// Starts to read `input` and to parse it on `count` threads.
    ///
    /// # Errors
    /// No thread could be started, or the schema is incomplete.
    pub(super) fn start(
        input: Box<dyn Read + Send>,
        plan: &Arc<Plan>,
        count: usize,
        server_id: u16,
    ) -> io::Result<Self> {
        let (mut jobs, mut results, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..count.max(1) {
            let (job_sender, job_receiver) = sync_channel::<Job>(WAITING);
            let (result_sender, result_receiver) = sync_channel(WAITING);
            let reader = RecordReader::new(plan).map_err(io::Error::other)?;
            let work = move || parse(reader, &job_receiver, &result_sender);
            threads.push(spawn_named(&format!("ldif-{number}"), work)?);
            jobs.push(job_sender);
            results.push(result_receiver);
        }
        threads.push(spawn_named("ldif-read", move || read(input, &jobs, server_id))?);
        Ok(Self {
            results,
            next: 0,
            threads,
        })
    }

    /// The next block's records, in the order of the input; `None` at its end.
    pub(super) fn next(&mut self) -> Option<Result<ItemBatch, LdifError>> {
        let batch = self.results.get(self.next)?.recv().ok()?;
        self.next = (self.next + 1) % self.results.len();
        Some(batch)
    }

    /// After the last block: whether all threads came to their ends.
    ///
    /// # Errors
    /// One of them broke off, so that its blocks are missing.
    pub(super) fn finish(self) -> Result<(), String> {
        drop(self.results);
        let broken = self.threads.into_iter().any(|thread| thread.join().is_err());
        if broken {
            Err("internal error: a thread broke off".to_owned())
        } else {
            Ok(())
        }
    }
}

/// Block `i` goes to thread `i` modulo their number; the results are collected in the same order.
fn read(input: Box<dyn Read + Send>, jobs: &[SyncSender<Job>], server_id: u16) {
    let mut blocks = Blocks::new(input, BLOCK, Limits::default().max_record);
    let (stamps, clock) = (StampGenerator::new(server_id), Clock::system());
    for sender in jobs.iter().cycle() {
        let mut block = Block::default();
        let job = match blocks.next_into(&mut block) {
            Ok(true) => Ok((block, stamps.block(&clock, STAMPS))),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let is_last = job.is_err();
        // Nobody listens any more when the load has been given up.
        if sender.send(job).is_err() || is_last {
            return;
        }
    }
}

fn parse(mut reader: RecordReader, jobs: &Receiver<Job>, results: &SyncSender<Result<ItemBatch, LdifError>>) {
    while let Ok(job) = jobs.recv() {
        let result = job.map(|(mut block, stamp)| {
            let end = block.first_offset + block.bytes.len() as u64;
            let (mut items, mut count) = (Vec::new(), 0);
            for lines in block.records() {
                reader.read(lines, &stamp, &mut count, &mut items);
            }
            ItemBatch { stamp, items, end }
        });
        if results.send(result).is_err() {
            return;
        }
    }
}
