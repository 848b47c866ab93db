//! All that is found in a configuration.

mod indexes;
mod old;
mod passwords;
mod protection;
mod secrets;
mod statements;

use std::path::PathBuf;

use crate::{error::ReviewError, finding::Findings, log, written::WrittenConfiguration};

/// All that is found in a configuration, by place.
///
/// `listeners`: the URLs that the server will have, if they are known. `logs`: files that a server under this
/// configuration has logged to.
///
/// # Errors
/// A log that cannot be read.
pub fn review(
    written: &WrittenConfiguration,
    listeners: Option<&str>,
    logs: &[PathBuf],
) -> Result<Findings, ReviewError> {
    let mut findings = Findings::default();
    statements::find(written, &mut findings);
    old::find(written, &mut findings);
    secrets::find(written, &mut findings);
    passwords::find(written, &mut findings);
    protection::find(written, listeners, &mut findings);
    indexes::find(written, &mut findings);
    log::find(written, logs, &mut findings)?;
    findings.sort();
    Ok(findings)
}
