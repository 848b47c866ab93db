//! `ironbark changes`: the log of changes of a database, for people and for other systems.

mod json;
mod ldif;

use std::{
    io::{self, Write},
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use clap::Args;
use ironbark_store::{ChangeRecord, Csn, Database, LogState, Version, View};

use super::backup::backed_up;
use crate::shared::{open::open_to_read, target::Target};

/// Options of `ironbark changes`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Changes {
    #[command(flatten)]
    target: Target,
    /// Only changes after the one with this CSN
    #[arg(long, value_name = "CSN")]
    since: Option<String>,
    /// Continue with future changes
    #[arg(long)]
    follow: bool,
    /// One JSON object per line for each change, with the removed values
    #[arg(long, conflicts_with = "ldif")]
    json: bool,
    /// LDIF change records (the default)
    #[arg(long)]
    ldif: bool,
}

const EXAMPLES: &str = "Examples:
  ironbark changes -f directory/slapd.conf
  ironbark changes -f directory/slapd.conf --follow --json";

/// Time between two looks for new changes.
const PAUSE: Duration = Duration::from_millis(200);

impl Changes {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let settings = backed_up(&chosen)?;
        let Some(database) = open_to_read(settings, &chosen)? else {
            return Err("the database is empty".to_owned());
        };
        let mut next = self.first(&database)?;
        // Nothing is ever sent on this channel. It only serves to wait.
        let (_kept, never) = channel::<()>();
        loop {
            let shown;
            (shown, next) = self.print_from(&database, next)?;
            if !self.follow {
                return Ok(());
            }
            while version_of(&database)? == shown {
                if never.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                    return Ok(());
                }
            }
        }
    }

    /// The number of the first change to show.
    fn first(&self, database: &Database) -> Result<u64, String> {
        let snapshot = database.snapshot().map_err(|error| error.to_string())?;
        let view = snapshot.view();
        let state = view.log_state().map_err(|error| error.to_string())?;
        let Some(first) = state.first else {
            return Err(
                "no log of changes is kept: set changelog-size or changelog-age for the database, and change something"
                    .to_owned(),
            );
        };
        match &self.since {
            None => Ok(first),
            Some(text) => {
                let since = Csn::parse(text.as_bytes()).ok_or_else(|| {
                    format!("--since {text}: a CSN such as 20260101000000.000000Z#000000#001#000000 is wanted")
                })?;
                behind(&view, &state, since)
                    .map_err(|error| error.to_string())?
                    .ok_or_else(|| {
                        format!(
                            "--since {text}: the log no longer has all changes after it; it begins with number {first}"
                        )
                    })
            }
        }
    }

    /// Shows the changes from a number on. Returns the version that has no more, and the number after the last one.
    fn print_from(&self, database: &Database, from: u64) -> Result<(Version, u64), String> {
        let failed = |error: ironbark_store::StoreError| error.to_string();
        let mut next = from;
        let mut out = io::stdout().lock();
        loop {
            // The snapshot is released before the output, which may block.
            let (version, records, first) = {
                let snapshot = database.snapshot().map_err(failed)?;
                let view = snapshot.view();
                let rows = view.changes(next).map_err(failed)?.take(BATCH);
                let records: Vec<ChangeRecord> = rows.collect::<Result<_, _>>().map_err(failed)?;
                (snapshot.version(), records, view.log_state().map_err(failed)?.first)
            };
            if first.is_none_or(|first| first > next) {
                return Err(format!("the log no longer has the changes from number {next} on"));
            }
            let mut text = Vec::new();
            for record in &records {
                if self.json {
                    json::put(record, &mut text);
                } else {
                    ldif::put(record, &mut text);
                }
                next = record.position.sequence + 1;
            }
            match out.write_all(&text).and_then(|()| out.flush()) {
                // The reader of the output has gone. There is nobody to tell.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(String::new()),
                written => written.map_err(|error| format!("standard output: {error}"))?,
            }
            if records.len() < BATCH {
                return Ok((version, next));
            }
        }
    }
}

fn version_of(database: &Database) -> Result<Version, String> {
    let snapshot = database.snapshot().map_err(|error| error.to_string())?;
    Ok(snapshot.version())
}

/// The number of changes that are read at once.
const BATCH: usize = 256;

/// The number of the first change after a CSN. `None`: the log does not reach back so far.
fn behind(view: &View<'_>, state: &LogState, since: Csn) -> Result<Option<u64>, ironbark_store::StoreError> {
    let first = state.first.unwrap_or(state.last + 1);
    let position = view.position_of(since)?;
    Ok(position.map(|position| position + 1).filter(|next| *next >= first))
}
