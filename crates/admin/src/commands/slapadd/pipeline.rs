//! One thread reads and several threads parse; the results come in the order of the file. Memory is bounded: each
//! thread has at most a few blocks waiting before and after it.

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
    /// Offset in the input after the block.
    pub(super) end: u64,
}

/// The threads, and the channels of their results.
pub(super) struct Pipeline {
    results: Vec<Receiver<Result<ItemBatch, LdifError>>>,
    next: usize,
    threads: Vec<JoinHandle<()>>,
}

type Job = Result<(Block, StampBlock), LdifError>;

/// Bytes of a block, enough to make the cost of handing it over negligible.
const BLOCK: usize = 512 << 10;
/// Stamps reserved for a block: the most records that it may have.
const STAMPS: u32 = 1 << 24;
/// Blocks that wait before and after a thread.
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

    /// After the last block: whether all threads have ended normally.
    ///
    /// # Errors
    /// A thread failed, so its blocks are missing.
    pub(super) fn finish(self) -> Result<(), String> {
        drop(self.results);
        let broken = self.threads.into_iter().any(|thread| thread.join().is_err());
        if broken {
            Err("internal error: a thread ended early".to_owned())
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
        // After a failed load nobody receives any more.
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
