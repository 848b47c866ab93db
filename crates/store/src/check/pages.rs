//! The file as LMDB sees it: its length, its trees, its free pages.

use std::path::Path;

use super::{
    file::{HEADER, Meta, PageFile, Root, u64_at},
    findings::CheckFindings,
    tree::{Order, Value, Walk},
};
use crate::{
    StoreError,
    tables::{LOG_NAMES, NAMES},
};

/// Meta pages.
const FIRST: u64 = 2;
/// How often a file is read again because commits go on.
const ATTEMPTS: usize = 10;

/// Refuses a data file that ends before the last page in use. LMDB handles a file that is empty or no data file.
pub(crate) fn refuse_truncated(path: &Path) -> Result<(), StoreError> {
    // The layout differs on machines of 32 bits.
    if size_of::<usize>() != 8 {
        return Ok(());
    }
    match truncation(path)? {
        None => Ok(()),
        Some(what) => Err(StoreError::Format(format!(
            "{}: {what}; move it away and put a backup in its place (ironbark restore), or load an LDIF file (slapadd)",
            path.display()
        ))),
    }
}

/// A text about what is missing at the end of a data file, if anything is.
pub(super) fn truncation(path: &Path) -> Result<Option<String>, StoreError> {
    let Some(file) = PageFile::open(path)? else {
        return Ok(None);
    };
    let mut seen = None;
    for _ in 0..ATTEMPTS {
        // First the expected length, then the actual length: files grow.
        let [Some(one), Some(two)] = file.metas()? else {
            return Ok(Some(match file.length()? {
                length if length < FIRST * file.page_size() as u64 => {
                    format!("the file is truncated: it has {length} bytes")
                }
                _ => "the file is damaged, one of its meta pages is unreadable".to_owned(),
            }));
        };
        let meta = if one.transaction > two.transaction { one } else { two };
        let Some(what) = missing_end(&file, meta)? else {
            return Ok(None);
        };
        if seen == Some(meta.transaction) {
            return Ok(Some(what));
        }
        seen = Some(meta.transaction);
    }
    Ok(None)
}

/// A text about what is missing of a commit at the end of its file, if anything is.
pub(super) fn missing_end(file: &PageFile, meta: Meta) -> Result<Option<String>, StoreError> {
    let length = file.length()?;
    let wanted = meta.last_page.saturating_add(1).saturating_mul(file.page_size() as u64);
    if length >= wanted || tail_is_free(file, meta, length)? {
        return Ok(None);
    }
    Ok(Some(format!(
        "the file is truncated: it has {length} bytes of {wanted}"
    )))
}

/// Whether all pages between the file's end and the last page are free. Pages that were freed before they were written
/// are missing, and that does no harm.
fn tail_is_free(file: &PageFile, meta: Meta, length: u64) -> Result<bool, StoreError> {
    let there = length / file.page_size() as u64;
    let mut missing = meta.last_page.saturating_add(1).saturating_sub(there);
    let mut findings = CheckFindings::default();
    let mut walk = Walk::new(file, meta, &mut findings)?;
    free_pages(&mut walk, &mut |_, page| {
        missing -= u64::from(page >= there && missing > 0);
    })?;
    Ok(missing == 0 && findings.is_empty())
}

/// Calls `visit` with each free page.
fn free_pages(walk: &mut Walk<'_>, visit: &mut dyn FnMut(&mut Walk<'_>, u64)) -> Result<(), StoreError> {
    let root = walk.meta.free;
    walk.tree("free pages", root, Order::Numbers, &mut |walk, _, value| {
        let read;
        let list = match value {
            Value::Here(list) => list,
            Value::Overflow(first, length) => {
                read = long_value(walk.file, first, length)?;
                &read
            }
            Value::Tree(_) => {
                walk.findings.add("free pages: there is a tree among them");
                return Ok(());
            }
        };
        // The number of pages, then the pages in descending order.
        let count = u64_at(list, 0).and_then(|count| usize::try_from(count).ok());
        let Some(numbers) = count.and_then(|count| list.get(8..)?.get(..count.checked_mul(8)?)) else {
            walk.findings.add("free pages: a list is shorter than its header says");
            return Ok(());
        };
        let mut before = u64::MAX;
        for page in numbers.chunks_exact(8).filter_map(|bytes| u64_at(bytes, 0)) {
            if page >= before || page < FIRST || page > walk.meta.last_page {
                walk.findings
                    .add(format!("free pages: {page} should not be among them"));
                return Ok(());
            }
            before = page;
            visit(walk, page);
        }
        Ok(())
    })
}

/// A value on overflow pages. Its length has been compared with the file's.
fn long_value(file: &PageFile, first: u64, length: u64) -> Result<Vec<u8>, StoreError> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut value = Vec::new();
    let room = value.try_reserve_exact(length);
    room.map_err(|_| StoreError::Format(format!("no memory for a value of {length} bytes")))?;
    value.resize(length, 0);
    file.read(first * file.page_size() as u64 + HEADER as u64, &mut value)?;
    Ok(value)
}

/// Checks every page of a data file that nobody writes to.
///
/// # Errors
/// It cannot be read.
pub fn check_unused(path: &Path) -> Result<CheckFindings, StoreError> {
    let mut findings = CheckFindings::default();
    if let Some(what) = truncation(path)? {
        findings.add(what);
    } else if !check(path, None, &mut findings)? {
        findings.add("both meta pages are unreadable");
    }
    Ok(findings)
}

/// Checks every page of a data file as of one commit. That is commit number `transaction`, which some reader must hold,
/// or the last commit of a file that nobody writes to. `false`: the commit is no longer there.
pub(crate) fn check(path: &Path, transaction: Option<u64>, findings: &mut CheckFindings) -> Result<bool, StoreError> {
    let Some(file) = PageFile::open(path)? else {
        findings.add("not a data file of LMDB, or its beginning is damaged");
        return Ok(true);
    };
    let meta = match transaction {
        None => file.newest()?,
        Some(wanted) => {
            let mut metas = file.metas()?.into_iter().flatten();
            metas.find(|meta| meta.transaction == wanted)
        }
    };
    let Some(meta) = meta else { return Ok(false) };
    every_page(&file, meta, findings)?;
    Ok(true)
}

/// Checks every page of the commit that a meta page names.
pub(super) fn every_page(file: &PageFile, meta: Meta, findings: &mut CheckFindings) -> Result<(), StoreError> {
    let mut walk = Walk::new(file, meta, findings)?;
    for (name, root) in top(&mut walk)? {
        walk.tree(&name, root, Order::Bytes, &mut |_, _, _| Ok(()))?;
    }
    Ok(())
}

/// Checks the free pages and the main table. Returns the tables.
pub(super) fn top(walk: &mut Walk<'_>) -> Result<Vec<(String, Root)>, StoreError> {
    free_pages(walk, &mut |walk, page| {
        if !walk.pages.mark(page) {
            walk.findings.add(format!("free pages: page {page} is in use twice"));
        }
    })?;
    let is_ours = |name: &str| NAMES.contains(&name) || LOG_NAMES.contains(&name);
    let mut tables = Vec::new();
    let main = walk.meta.main;
    walk.tree("tables", main, Order::Bytes, &mut |walk, key, value| {
        let name = String::from_utf8_lossy(key).into_owned();
        match value {
            Value::Tree(root) if root.flags == 0 && is_ours(&name) => tables.push((name, root)),
            _ => walk.findings.add(format!("tables: `{name}` is unknown")),
        }
        Ok(())
    })?;
    let count_of = |names: &[&str]| {
        names
            .iter()
            .filter(|name| tables.iter().any(|(found, _)| found == *name))
            .count()
    };
    let (base, log) = (count_of(&NAMES), count_of(&LOG_NAMES));
    // A file that has just been made has no tables yet. A file of an older format has no tables of the log.
    if (base != 0 && base < NAMES.len()) || (log != 0 && log < LOG_NAMES.len()) {
        walk.findings.add("tables: some are missing");
    }
    Ok(tables)
}
