//! One commit of a file, as a meta page names it: its own meta pages may name another.

use super::{
    file::{Meta, PageFile, Root},
    findings::CheckFindings,
    pages::{every_page, missing_end, top},
    tree::{Order, Value, Walk},
};
use crate::StoreError;

/// Checks every page of a commit whose pages nobody writes to.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn check_commit(file: &PageFile, meta: Meta) -> Result<CheckFindings, StoreError> {
    let mut findings = CheckFindings::default();
    match missing_end(file, meta)? {
        Some(what) => findings.add(what),
        None => every_page(file, meta, &mut findings)?,
    }
    Ok(findings)
}

/// Checks the end of the file, the free pages, and the root page of each table. Unlike [`check_commit`], this takes no
/// longer for a large file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn check_roots(file: &PageFile, meta: Meta) -> Result<CheckFindings, StoreError> {
    let mut findings = CheckFindings::default();
    if let Some(what) = missing_end(file, meta)? {
        findings.add(what);
        return Ok(findings);
    }
    let mut walk = Walk::new(file, meta, &mut findings)?;
    for (name, root) in top(&mut walk)? {
        walk.root(&name, root)?;
    }
    Ok(findings)
}

/// Calls `visit` with key and value of each row of a table. `false`: there is no such table, or not all of it can be
/// read.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn rows_of(
    file: &PageFile,
    meta: Meta,
    table: &str,
    visit: &mut dyn FnMut(&[u8], Value<'_>),
) -> Result<bool, StoreError> {
    let mut findings = CheckFindings::default();
    let mut walk = Walk::new(file, meta, &mut findings)?;
    let mut found: Option<Root> = None;
    walk.tree("tables", meta.main, Order::Bytes, &mut |_, key, value| {
        if let (true, Value::Tree(root)) = (key == table.as_bytes(), value) {
            found = Some(root);
        }
        Ok(())
    })?;
    let Some(root) = found else { return Ok(false) };
    walk.tree(table, root, Order::Bytes, &mut |_, key, value| {
        visit(key, value);
        Ok(())
    })?;
    Ok(findings.is_empty())
}
