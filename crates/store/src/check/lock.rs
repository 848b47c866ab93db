//! Whether `lock.mdb` is that of the data file beside it.

use std::path::Path;

use super::file::PageFile;
use crate::{StoreError, tables::Environment};

/// How often the meta pages are read again because commits go on.
const ATTEMPTS: usize = 100;

/// Refuses an environment that has just been opened if another process still has a former file of this name open.
///
/// LMDB takes the number of the last commit from `lock.mdb`, and thereby chooses one of the file's meta pages. The
/// first process that opens `lock.mdb` sets the number anew. A process that has the former file open keeps its number
/// there: then a reader would see the wrong commit, and a writer would overwrite pages of the last one.
pub(crate) fn refuse_foreign_lock(env: &Environment, directory: &Path) -> Result<(), StoreError> {
    let path = directory.join("data.mdb");
    for _ in 0..ATTEMPTS {
        let reader = env.read_txn()?;
        let Some(file) = PageFile::open(&path)? else {
            return Ok(());
        };
        let mut metas = file.metas()?.into_iter().flatten();
        if metas.any(|meta| meta.transaction == reader.id() as u64) {
            return Ok(());
        }
    }
    Err(StoreError::Format(format!(
        "{}: another process still has a former file of this name open; end it first",
        path.display()
    )))
}
