//! Reads all data as slapadd would, and stores nothing.

use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    time::Duration,
};

use ironbark_ldif::{LdifReader, NoFiles};
use ironbark_runtime::Clock;

use crate::shared::shell;

/// Complaints that are shown; the others are counted.
const SHOWN: usize = 10;
/// What slapadd says after the reason; the line of the record follows.
const NOT_PARSED: &str = "could not parse entry";
/// Longest line of a complaint that is shown.
const LONGEST: usize = 500;

/// What reading the data has told.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Entries in all.
    pub(super) entries: u64,
    /// Octets of LDIF.
    pub(super) octets: u64,
    /// Entries and lines that slapadd would refuse; the first of their complaints.
    pub(super) refused: u64,
    pub(super) complaints: Vec<String>,
    pub(super) took: Duration,
}

/// Where data comes from.
pub(super) enum Source<'s> {
    File(&'s Path),
    /// slapcat, and the suffix of a database.
    Slapcat(&'s Path, &'s str),
}

impl Source<'_> {
    /// A name that the database of this source holds: the first one of a file. `None`: slapadd says what is wrong.
    fn name(&self) -> Result<Option<String>, String> {
        match self {
            Self::Slapcat(_, suffix) => Ok(Some((*suffix).to_owned())),
            Self::File(path) => {
                let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
                let first = LdifReader::new(BufReader::new(file), NoFiles).read();
                let name = first.ok().flatten().map(|record| String::from_utf8(record.dn));
                Ok(name.and_then(Result::ok).filter(|name| !name.is_empty()))
            }
        }
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Slapcat(_, suffix) => write!(formatter, "slapcat -b {}", shell::quoted(suffix)),
        }
    }
}

/// The configuration, as an option of slapadd and slapcat.
#[derive(Clone, Copy)]
pub(super) struct ConfigurationOption<'a> {
    /// `-f` or `-F`.
    pub(super) option: &'static str,
    pub(super) path: &'a Path,
}

/// Checks one source.
///
/// # Errors
/// A program cannot be run, or failed; the file cannot be read.
pub(super) fn check(
    source: &Source<'_>,
    configuration: ConfigurationOption<'_>,
    clock: &Clock,
    checked: &mut Checked,
) -> Result<(), String> {
    let before = clock.monotonic();
    let own = std::env::current_exe().map_err(|error| format!("the program itself: {error}"))?;
    let mut slapadd = Command::new(own);
    slapadd
        .args(["slapadd", "-u", "-c", configuration.option])
        .arg(configuration.path);
    // Without a name slapadd takes the first database.
    if let Some(held) = source.name()? {
        slapadd.args(["-b", &held]);
    }
    slapadd
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut slapadd = spawned(&mut slapadd, OsStr::new("slapadd"))?;
    let sink = slapadd.stdin.take();
    let complaints = slapadd.stderr.take();
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| complaints.map_or_else(|| Ok((0, Vec::new())), collect));
        let fed = feed(source, configuration, sink);
        let collected = reader
            .join()
            .unwrap_or_else(|_| Err("slapadd cannot be read".to_owned()));
        Ok::<_, String>((fed?, collected?))
    });
    let ended = slapadd.wait().map_err(|error| format!("slapadd: {error}"))?;
    let ((octets, entries), (refused, complaints)) = read?;
    if !ended.success() && refused == 0 {
        return Err(format!("slapadd ended with {ended}"));
    }
    checked.octets += octets;
    checked.entries += entries;
    checked.refused += refused;
    let told = complaints.iter().map(|complaint| format!("{source}: {complaint}"));
    checked.complaints.extend(told);
    checked.complaints.truncate(SHOWN);
    checked.took += clock.monotonic().saturating_since(before);
    Ok(())
}

fn spawned(command: &mut Command, name: &OsStr) -> Result<Child, String> {
    command.spawn().map_err(|error| format!("{}: {error}", name.display()))
}

/// Gives slapadd the LDIF, and counts it: octets, entries.
fn feed(
    source: &Source<'_>,
    configuration: ConfigurationOption<'_>,
    sink: Option<ChildStdin>,
) -> Result<(u64, u64), String> {
    match source {
        Source::File(path) => {
            let failed = |error: io::Error| format!("{}: {error}", path.display());
            copy(BufReader::new(File::open(path).map_err(failed)?), sink).map_err(failed)
        }
        Source::Slapcat(program, suffix) => {
            let mut slapcat = Command::new(program);
            slapcat
                .args(["-o", "ldif-wrap=no", configuration.option])
                .arg(configuration.path);
            slapcat.args(["-b", suffix]).stdin(Stdio::null()).stdout(Stdio::piped());
            let mut slapcat = spawned(&mut slapcat, program.as_os_str())?;
            let copied = match slapcat.stdout.take() {
                Some(output) => copy(BufReader::new(output), sink),
                None => Ok((0, 0)),
            };
            let ended = slapcat
                .wait()
                .map_err(|error| format!("{}: {error}", program.display()))?;
            if !ended.success() {
                return Err(format!(
                    "{} -b {} ended with {ended}",
                    program.display(),
                    shell::quoted(suffix)
                ));
            }
            copied.map_err(|error| format!("{}: {error}", program.display()))
        }
    }
}

/// Copies to the end of the input, also if slapadd has ended. Returns the numbers of octets and of entries.
fn copy(mut input: impl BufRead, mut sink: Option<ChildStdin>) -> io::Result<(u64, u64)> {
    const BEGIN: &[u8] = b"dn:";
    let (mut octets, mut entries) = (0, 0);
    // How much of an entry's begin the line has so far; `None`: it begins otherwise.
    let mut seen = Some(0);
    loop {
        let read = input.fill_buf()?;
        if read.is_empty() {
            return Ok((octets, entries));
        }
        for octet in read {
            seen = match seen {
                _ if *octet == b'\n' => Some(0),
                Some(place) if BEGIN.get(place) == Some(&octet.to_ascii_lowercase()) => {
                    entries += u64::from(place + 1 == BEGIN.len());
                    Some(place + 1)
                }
                _ => None,
            };
        }
        if sink.as_mut().is_some_and(|sink| sink.write_all(read).is_err()) {
            sink = None;
        }
        let length = read.len();
        octets += length as u64;
        input.consume(length);
    }
}

/// The number of complaints, and the first of them.
fn collect(output: impl Read) -> Result<(u64, Vec<String>), String> {
    let (mut count, mut first) = (0_u64, Vec::<String>::new());
    for line in BufReader::new(output).split(b'\n') {
        let line = line.map_err(|error| format!("slapadd: {error}"))?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches("slapadd: ");
        // The reason stands on the line before this one, which says where.
        if let Some(place) = line.strip_prefix(NOT_PARSED).filter(|_| count > 0) {
            if let Some(last) = first.last_mut().filter(|_| count <= SHOWN as u64)
                && !last.starts_with("line ")
            {
                last.push_str(place);
            }
            continue;
        }
        count += 1;
        if first.len() < SHOWN {
            first.push(line.chars().take(LONGEST).collect());
        }
    }
    Ok((count, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_cannot_be_parsed_is_one_complaint_with_its_line() {
        let said = "no cn (line=1)\nfoo: unknown type\nslapadd: could not parse entry (line=10)\nline 15: no ':'\n\
                    slapadd: could not parse entry (line=15)\n";
        let complaints = ["no cn (line=1)", "foo: unknown type (line=10)", "line 15: no ':'"];
        assert_eq!(
            collect(said.as_bytes()).unwrap(),
            (3, complaints.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn entries_are_counted_wherever_pieces_end() {
        let ldif = "dn: a\ncn: dn: x\n\nDN:: b\n dn: folded\n\n# dn: no\ndn: c";
        for capacity in 1..ldif.len() {
            let input = BufReader::with_capacity(capacity, ldif.as_bytes());
            assert_eq!(copy(input, None).unwrap(), (ldif.len() as u64, 3), "{capacity}");
        }
    }
}
