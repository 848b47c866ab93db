//! Finds the indexes that a log shows to be needed. The log is slapd's, or ours in any format.

mod line;
mod record;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs::File,
    io::{BufRead, BufReader, Read},
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

use ironbark_config::{DatabaseConfig, IndexKinds};

use self::record::Record;
use crate::{
    error::ReviewError,
    finding::{FindingClass, Findings},
    index::{self, DatabaseStatistics, Index, IndexLine, IndexType, Proposal, Term},
    written::WrittenConfiguration,
};

/// A longer line is not from a log. The rest of it is ignored.
const MOST_LINE_BYTES: u64 = 64 << 10;
/// Filters that are shown for one index.
const MOST_FILTERS: usize = 3;

/// Reads logs, and adds the indexes that they show to be needed under this configuration.
///
/// # Errors
/// A log that cannot be read.
pub(super) fn find(
    written: &WrittenConfiguration,
    logs: &[PathBuf],
    findings: &mut Findings,
) -> Result<(), ReviewError> {
    let mut record = Record::new(&written.configuration);
    for path in logs {
        read(path, &mut record).map_err(|source| ReviewError::Log {
            path: path.clone(),
            source,
        })?;
        // The next file may come from another server, whose connections have the same numbers.
        record.end_of_log();
    }
    for (position, searches) in record.into_searches() {
        let settings = position.and_then(|position| written.configuration.databases.get(position));
        let database = DatabaseStatistics {
            suffix: String::new(),
            number: String::new(),
            entries: 0,
            indexes: settings.map(indexes).unwrap_or_default(),
            searches,
        };
        let proposals = index::proposals(&database, index::THRESHOLD);
        for line in index::lines(&database, &proposals) {
            report(written, &line, &proposals, position, findings);
        }
    }
    Ok(())
}

fn read(path: &Path, record: &mut Record<'_>) -> std::io::Result<()> {
    let file = File::open(path)?;
    // The output of a decompressor is a pipe. A device may have no end.
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        let text = "a file or a pipe is expected";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, text));
    }
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        reader.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut bytes)?;
        let is_cut = !bytes.ends_with(b"\n");
        if bytes.is_empty() {
            return Ok(());
        }
        record.line(&String::from_utf8_lossy(bytes.trim_ascii_end()));
        if is_cut {
            skip_line(&mut reader)?;
        }
    }
}

/// Skips to the next line without storing anything.
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let held = reader.fill_buf()?;
        let (used, is_end) = match memchr_newline(held) {
            Some(at) => (at + 1, true),
            None => (held.len(), held.is_empty()),
        };
        reader.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

fn memchr_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n')
}

/// The indexes of the configuration in the adviser's form.
fn indexes(database: &DatabaseConfig) -> Vec<Index> {
    let mut found = Vec::new();
    for index in &database.mdb.indexes {
        for kind in [
            IndexType::Equality,
            IndexType::Substring,
            IndexType::Approximate,
            IndexType::Presence,
        ] {
            if index.built().0 & kinds_of(kind).0 != 0 {
                let attribute = index.attribute.clone();
                found.push(Index {
                    term: Term { attribute, kind },
                    uses: 0,
                });
            }
        }
    }
    found
}

/// The kinds of index that serve a kind of match.
fn kinds_of(kind: IndexType) -> IndexKinds {
    match kind {
        IndexType::Equality => IndexKinds::EQUALITY,
        IndexType::Substring => IndexKinds::SUBSTRINGS,
        IndexType::Approximate => IndexKinds::APPROXIMATE,
        IndexType::Presence => IndexKinds::PRESENCE,
    }
}

fn report(
    written: &WrittenConfiguration,
    line: &IndexLine,
    proposals: &[Proposal],
    position: Option<usize>,
    findings: &mut Findings,
) {
    let place = position.map_or_else(|| written.whole(), |position| written.database(position));
    let is_about = |proposal: &&Proposal| proposal.indexes.iter().any(|term| term.attribute == line.attribute);
    let of_it: Vec<&Proposal> = proposals.iter().filter(is_about).collect();
    let sum = |count: fn(&Proposal) -> u64| {
        of_it
            .iter()
            .map(|proposal| count(proposal))
            .fold(0, u64::saturating_add)
    };
    let (searches, candidates) = (sum(|proposal| proposal.searches), sum(|proposal| proposal.candidates));
    let filters: BTreeSet<&str> = of_it
        .iter()
        .flat_map(|proposal| &proposal.filters)
        .map(String::as_str)
        .collect();
    let shown: Vec<&str> = filters.iter().copied().take(MOST_FILTERS).collect();
    let plural = if searches == 1 { "" } else { "es" };
    let mut reason = format!(
        "the log has {searches} search{plural} that found no index, such as {}",
        shown.join(", ")
    );
    // Writing to a string cannot fail.
    if candidates > 0 {
        let returned = sum(|proposal| proposal.entries);
        let _ = write!(reason, "; {candidates} entries were looked at and {returned} returned");
    }
    let mut advice = format!("write {}", written.line("index", &line.text()));
    if !line.before.is_empty() {
        let before = format!("{} {}", line.attribute, index::words(&line.before));
        let _ = write!(advice, " in place of {}", written.line("index", &before));
    }
    if position.is_none() {
        advice.push_str(" in the right database: the log does not name it");
    }
    findings.note(FindingClass::Missing, place, written.name("index"), reason, advice);
}
