//! A machine that crashes: pages that were not flushed are gone.

use std::{fs::OpenOptions, io, ops::Range, os::unix::fs::FileExt, path::Path};

use xxhash_rust::xxh3::xxh3_64;

/// As in `ironbark-store`, module `checkpoint::record`.
const RECORDS: [u64; 2] = [0, 4_096];
const RECORD: usize = 280;
const MAGIC: &[u8] = b"IBCHKPT2";
const BOOT: Range<usize> = 16..32;
const LAST_PAGE: usize = 184;
/// As in module `checkpoint::mark`.
const MARK: usize = 56;
const MARK_MAGIC: &[u8] = b"IBSERVED";
const MARK_BOOT: Range<usize> = 24..40;
const PAGE: u64 = 4_096;
/// What a meta page names. The size of a page is before it.
const NAMED: Range<usize> = 44..152;

/// Leaves a database whose server was killed as a crash of the machine may leave it: its last commits are missing, the
/// file is shorter, both meta pages name what is not there. Returns whether there was something that a crash could
/// take: a database whose commits are flushed loses nothing.
///
/// # Errors
/// The files cannot be written to.
pub fn crash_of_machine(directory: &Path) -> io::Result<bool> {
    let Some(last_page) = forget_memory(directory)? else {
        return Ok(false);
    };
    let data = OpenOptions::new().write(true).open(directory.join("data.mdb"))?;
    data.set_len((last_page + 1) * PAGE)?;
    for meta in [0, PAGE] {
        data.write_all_at(&[0xee; NAMED.end - NAMED.start], meta + NAMED.start as u64)?;
    }
    Ok(true)
}

/// Lets a database look as if the machine had been started anew since it was served. Returns the last page of its
/// checkpoint; `None`: it has none.
///
/// # Errors
/// As of [`crash_of_machine`].
pub fn forget_memory(directory: &Path) -> io::Result<Option<u64>> {
    let path = directory.join("checkpoint.mdb");
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut newest = None;
    for place in RECORDS {
        let mut record = [0; RECORD];
        file.read_exact_at(&mut record, place)?;
        if !record.starts_with(MAGIC) {
            continue;
        }
        let number = |at: usize| {
            let bytes = record.get(at..).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
        };
        newest = newest.max(Some((number(8), number(LAST_PAGE))));
        clear_sealed(&mut record, BOOT);
        file.write_all_at(&record, place)?;
    }
    let data = OpenOptions::new()
        .read(true)
        .write(true)
        .open(directory.join("data.mdb"))?;
    let mut mark = [0; MARK];
    data.read_exact_at(&mut mark, PAGE - MARK as u64)?;
    if mark.starts_with(MARK_MAGIC) {
        clear_sealed(&mut mark, MARK_BOOT);
        data.write_all_at(&mark, PAGE - MARK as u64)?;
    }
    Ok(newest.map(|(_, last_page)| last_page))
}

/// Clears bytes before the checksum that is at the end.
fn clear_sealed(sealed: &mut [u8], part: Range<usize>) {
    let (content, sum) = sealed.split_at_mut(sealed.len() - 8);
    for byte in content.iter_mut().skip(part.start).take(part.len()) {
        *byte = 0;
    }
    sum.copy_from_slice(&xxh3_64(content).to_ne_bytes());
}
