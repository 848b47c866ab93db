//! All findings about a configuration.

mod certificates;
mod definitions;
mod indexes;
mod old;
mod passwords;
mod protection;
mod samples;
pub(crate) mod secrets;
mod statements;

use std::path::PathBuf;

use crate::{error::ReviewError, finding::Findings, log, written::WrittenConfiguration};

/// All findings about a configuration, sorted by place.
///
/// `listeners`: the URLs of the server, if they are known. `logs`: log files of a server with this configuration.
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
    definitions::find(written, &mut findings);
    protection::find(written, listeners, &mut findings);
    certificates::find(written, &mut findings);
    indexes::find(written, &mut findings);
    log::find(written, logs, &mut findings)?;
    findings.sort();
    Ok(findings)
}
