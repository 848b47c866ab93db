//! The size of a database of OpenLDAP's back-mdb, without OpenLDAP: LMDB's header says how many entries its table
//! `id2e` has. Nothing is mapped or locked, so a server may be running.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
};

/// What a file says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    /// Entries; `None`: the file is not one of back-mdb, or is of another machine.
    pub(super) entries: Option<u64>,
    /// Octets on disk.
    pub(super) octets: u64,
}

/// LMDB's mark at the begin of a file.
const MAGIC: u32 = 0xbeef_c0de;
/// Length of the header of a page.
const PAGE_HEADER: usize = 16;
/// Length of a description of a table.
const TABLE: usize = 48;
/// Octets of the first page that are read before the length of pages is known.
const FIRST: usize = 4_096;
/// The longest page (`MDB_MAXPAGESIZE` has 32 KiB and more is not made).
const LONGEST_PAGE: usize = 64 << 10;
/// A node that describes a table.
const IS_TABLE: u16 = 2;

/// The size of the database in a directory. `None`: there is no data file.
///
/// # Errors
/// It cannot be read.
pub(super) fn size(directory: &Path) -> io::Result<Option<Size>> {
    let file = match File::open(directory.join("data.mdb")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // The file has the length of its map and is mostly a hole.
    let octets = file.metadata()?.blocks() * 512;
    Ok(Some(Size {
        entries: entries(&file)?,
        octets,
    }))
}

/// A header of the file: there are two, and the one with the later transaction counts.
struct Header {
    transaction: u64,
    page_length: usize,
    root: u64,
}

fn entries(file: &File) -> io::Result<Option<u64>> {
    let Some(first) = page(file, 0, FIRST)?.as_deref().and_then(header) else {
        return Ok(None);
    };
    let second = page(file, first.page_length as u64, FIRST)?.as_deref().and_then(header);
    let latest = match second {
        Some(second) if second.transaction > first.transaction => second,
        _ => first,
    };
    let Some(place) = latest.root.checked_mul(latest.page_length as u64) else {
        return Ok(None);
    };
    Ok(page(file, place, latest.page_length)?
        .as_deref()
        .and_then(entries_of_root))
}

fn page(file: &File, place: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
    let mut octets = vec![0; length];
    match file.read_exact_at(&mut octets, place) {
        Ok(()) => Ok(Some(octets)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn header(page: &[u8]) -> Option<Header> {
    let content = page.get(PAGE_HEADER..)?;
    if u32_at(content, 0)? != MAGIC {
        return None;
    }
    // Mark, version, address and size of the map; then the tables of free pages and of tables.
    let free = 24;
    let main = free + TABLE;
    let page_length = usize::try_from(u32_at(content, free)?).ok()?;
    let is_length = page_length.is_power_of_two() && (512..=LONGEST_PAGE).contains(&page_length);
    is_length.then_some(Header {
        page_length,
        root: u64_at(content, main + 40)?,
        transaction: u64_at(content, main + TABLE + 8)?,
    })
}

/// Looks for `id2e` among the tables. back-mdb has so few that they stand in one page.
fn entries_of_root(page: &[u8]) -> Option<u64> {
    let end = usize::from(u16_at(page, 12)?);
    for at in (PAGE_HEADER..end.min(page.len())).step_by(2) {
        let node = page.get(usize::from(u16_at(page, at)?)..)?;
        let key_length = usize::from(u16_at(node, 6)?);
        let (key, data) = node.get(8..)?.split_at_checked(key_length)?;
        if key == b"id2e" && u16_at(node, 4)? & IS_TABLE != 0 {
            return u64_at(data, 32);
        }
    }
    None
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(octets.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(octets.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(octets: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(octets.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_lmdb_has_no_entries_and_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = |content: &[u8]| {
            std::fs::write(folder.path().join("data.mdb"), content).unwrap();
            size(folder.path()).unwrap().unwrap().entries
        };
        assert_eq!(sizes(b""), None);
        assert_eq!(sizes(&[0; 10_000]), None);
        let mut page = vec![0xff; 20_000];
        page[PAGE_HEADER..PAGE_HEADER + 4].copy_from_slice(&MAGIC.to_ne_bytes());
        for length in [0_u32, 1, 512, 4_096, u32::MAX] {
            page[PAGE_HEADER + 24..PAGE_HEADER + 28].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(sizes(&page), None, "{length}");
        }
        assert_eq!(size(&folder.path().join("none")).unwrap(), None);
    }
}
