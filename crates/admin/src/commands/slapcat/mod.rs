//! slapcat: writes databases as LDIF, each from one commit, while the server runs.

mod pieces;
mod text;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    process::ExitCode,
};

use ironbark_config::DatabaseConfig;
use ironbark_ldif::{LdifWriter, Wrap};
use ironbark_runtime::available_cores;
use ironbark_store::StoreError;

use self::pieces::{Job, Piece};
use crate::shared::{
    chosen::Chosen,
    config_database,
    filter::Selection,
    open::open_for_tool,
    options::{Grammar, Options, Told},
    progress::Progress,
};

const GRAMMAR: Grammar = Grammar {
    program: "slapcat",
    letters: "a:b:cd:f:F:gH:l:n:o:s:v",
    usage: "slapcat [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-c]\n\
        \t[-g] [-n databasenumber | -b suffix] [-l ldiffile] [-a filter] [-s subtree] [-H url]\n\
        \t-o ldif-wrap={no|<columns>}",
    generic: &["ldif-wrap", "ldif_wrap"],
    operands: false,
};

/// The number of entries for which a further thread pays.
const ENTRIES_EACH: u64 = 2000;
/// The shell's exit status for an end by SIGPIPE. Other programs end like this when their reader has gone.
const READER_ENDED: u8 = 128 + 13;

/// Runs slapcat; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    let wrap = options
        .generic_value("ldif-wrap")
        .or_else(|| options.generic_value("ldif_wrap"));
    let wrap = match wrap.map(|text| (text, Wrap::from_option(text))) {
        None => Wrap::default(),
        Some((_, Some(wrap))) => wrap,
        Some((text, None)) => {
            return options
                .usage(&GRAMMAR, &format!("unable to parse ldif-wrap=\"{text}\""))
                .0;
        }
    };
    match write(&mut options, LdifWriter { wrap }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Ended::ByReader) => ExitCode::from(READER_ENDED),
        Err(Ended::With(text)) => {
            if !text.is_empty() {
                eprintln!("{text}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Why writing ends.
enum Ended {
    /// The reader of the output has gone. There is nobody to tell.
    ByReader,
    /// The message for the user; empty if it has been printed.
    With(String),
}

impl From<String> for Ended {
    fn from(text: String) -> Self {
        Self::With(text)
    }
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::With(format!("slapcat: {error}"))
    }
}

/// Writes the selected entries. False: some entries could not be read, and it continued.
fn write(options: &mut Options, writer: LdifWriter) -> Result<bool, Ended> {
    Selection::base_of(options)?;
    if config_database::is_chosen(options) {
        let mut out = Output::new(options)?;
        config_database::cat(options, writer, &mut |text| out.write(text))?;
        return Ok(true);
    }
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    let selection = Selection::new(options, &chosen.configuration)?;
    let mut dump = Dump {
        out: Output::new(options)?,
        options,
        writer,
        selection,
        progress: Progress::entries(None),
        written: 0,
        clean: true,
    };
    if options.file.is_none() && io::IsTerminal::is_terminal(&io::stdout()) {
        dump.progress = Progress::hidden();
    }
    for (_, settings) in chosen.databases() {
        dump.database(settings, &chosen)?;
    }
    Ok(dump.clean)
}

/// The file of `-l`, or standard output.
struct Output {
    file: File,
    name: String,
}

impl Output {
    fn new(options: &Options) -> Result<Self, String> {
        let (file, name) = match &options.file {
            // This bypasses the line buffer of stdout.
            None => (
                io::stdout().as_fd().try_clone_to_owned().map(File::from),
                "standard output".to_owned(),
            ),
            Some(path) => (File::create(path), path.display().to_string()),
        };
        match file {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(format!("slapcat: {name}: {error}")),
        }
    }

    fn write(&mut self, text: &[u8]) -> Result<(), Ended> {
        self.file.write_all(text).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ended::ByReader,
            _ => Ended::With(format!("slapcat: {}: {error}", self.name)),
        })
    }
}

/// The state of a dump.
struct Dump<'o> {
    options: &'o Options,
    writer: LdifWriter,
    selection: Selection,
    out: Output,
    progress: Progress,
    written: u64,
    clean: bool,
}

impl Dump<'_> {
    fn database(&mut self, settings: &DatabaseConfig, chosen: &Chosen) -> Result<(), Ended> {
        let Some(database) = open_for_tool(settings, chosen, "slapcat")? else {
            return Ok(());
        };
        let entries = database.snapshot()?.view().entry_count()?;
        let useful = usize::try_from(entries / ENTRIES_EACH + 1).unwrap_or(usize::MAX);
        let threads = chosen.configuration.global.tool_threads;
        let threads = threads.map_or(available_cores(), |count| usize::try_from(count).unwrap_or(1).max(1));
        let snapshots = pieces::equal_snapshots(&database, threads.min(useful))?;
        let Some(first) = snapshots.first() else { return Ok(()) };
        let part = self.selection.part(&first.view(), &settings.suffixes)?;
        let selection = std::mem::take(&mut self.selection);
        let job = Job {
            writer: self.writer,
            selection: &selection,
            part,
            ids: self.options.verbose > 0,
            keep_going: self.options.keep_going > 0,
        };
        let result = pieces::for_each(snapshots, job, &mut |piece| self.piece(piece));
        self.selection = selection;
        result
    }

    fn piece(&mut self, piece: &mut Piece) -> Result<(), Ended> {
        self.out.write(&piece.text)?;
        self.written += piece.entries;
        self.progress.set(self.written);
        match piece.error.take() {
            None => Ok(()),
            Some(error) if self.options.keep_going > 0 => {
                self.clean = false;
                self.progress.line(&format!("slapcat: {error}"));
                Ok(())
            }
            Some(error) => Err(error.into()),
        }
    }
}
