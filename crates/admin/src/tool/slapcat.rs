//! slapcat: a database as LDIF, from one snapshot each, while the server goes on.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufWriter, Write},
    ops::ControlFlow,
    process::ExitCode,
};

use ironbark_config::DatabaseConfig;
use ironbark_directory::open;
use ironbark_ldif::{Wrap, Writer};
use ironbark_store::{Database, Record, StoreError, View};

use super::{
    chosen::Chosen,
    filter::Selection,
    options::{Grammar, Options, Told},
    owner,
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

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

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
    match write(&mut options, Writer { wrap }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            if !text.is_empty() {
                eprintln!("{text}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Writes what was asked for; false when entries could not be read though it went on.
fn write(options: &mut Options, writer: Writer) -> Result<bool, String> {
    Selection::base_of(options)?;
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    let selection = Selection::new(options, &chosen.configuration)?;
    let mut dump = Dump {
        options,
        writer,
        selection,
        out: output(options)?,
        text: Vec::with_capacity(BUFFER),
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
    dump.flush()?;
    dump.out.flush().map_err(|error| complaint(&error))?;
    Ok(dump.clean)
}

/// What to say of an output that takes no more; nothing when its reader (`| head`) has seen enough.
fn complaint(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::BrokenPipe {
        String::new()
    } else {
        format!("slapcat: {error}")
    }
}

fn output(options: &Options) -> Result<Box<dyn Write>, String> {
    match &options.file {
        None => Ok(Box::new(io::stdout().lock())),
        Some(path) => {
            let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(Box::new(BufWriter::with_capacity(0, file)))
        }
    }
}

/// Opens a database for reading; `None` when none has been made yet.
pub(crate) fn open_to_read(
    settings: &DatabaseConfig,
    chosen: &Chosen,
    program: &str,
) -> Result<Option<Database>, String> {
    let mut options = open::options(settings);
    options.read_only = true;
    let data = options.directory.join("data.mdb");
    if std::fs::metadata(&data).is_ok_and(|found| found.len() == 0) {
        return Ok(None);
    }
    let database = Database::open(options, chosen.schema().clone());
    // A reader makes the lock file when there is none.
    if let Err(error) = owner::adopt(&settings.mdb.directory) {
        let directory = settings.mdb.directory.display();
        eprintln!("{program}: {directory}: the files could not be given to the owner of the directory: {error}");
    }
    database
        .map(Some)
        .map_err(|error| format!("{program}: could not open database: {error}"))
}

/// A dump under way.
struct Dump<'o> {
    options: &'o Options,
    writer: Writer,
    selection: Selection,
    out: Box<dyn Write>,
    text: Vec<u8>,
    progress: Progress,
    written: u64,
    clean: bool,
}

impl Dump<'_> {
    fn database(&mut self, settings: &DatabaseConfig, chosen: &Chosen) -> Result<(), String> {
        let Some(database) = open_to_read(settings, chosen, "slapcat")? else {
            return Ok(());
        };
        let failed = |error: StoreError| format!("slapcat: {error}");
        let snapshot = database.snapshot().map_err(failed)?;
        let view = snapshot.view();
        let part = self.selection.part(&view, &settings.suffixes).map_err(failed)?;
        let mut scratch = Vec::new();
        for record in view.entries(0).map_err(failed)? {
            let result = record.and_then(|record| {
                if self.selection.holds(&view, part, &record, &mut scratch)? {
                    self.entry(&view, &record)?;
                }
                Ok(())
            });
            match result {
                Ok(()) => {}
                Err(error) if self.options.keep_going > 0 => {
                    self.clean = false;
                    self.progress.line(&format!("slapcat: {error}"));
                }
                Err(error) => return Err(failed(error)),
            }
            if self.text.len() >= BUFFER {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Appends an entry; leaves the text as it was when it cannot be read.
    fn entry(&mut self, view: &View<'_>, record: &Record<'_>) -> Result<(), StoreError> {
        let start = self.text.len();
        if self.options.verbose > 0 {
            self.text
                .extend_from_slice(format!("# id={:08x}\n", record.id).as_bytes());
        }
        let result = write_entry(self.writer, view, record, &mut self.text);
        if result.is_err() {
            self.text.truncate(start);
        } else {
            self.written += 1;
        }
        result
    }

    fn flush(&mut self) -> Result<(), String> {
        self.out.write_all(&self.text).map_err(|error| complaint(&error))?;
        self.text.clear();
        self.progress.set(self.written);
        Ok(())
    }
}

/// Appends an entry and the blank line after it.
pub(crate) fn write_entry(
    writer: Writer,
    view: &View<'_>,
    record: &Record<'_>,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let mut name = Vec::with_capacity(128);
    view.pretty_dn(record.id, &mut name)?;
    writer.dn(out, &name);
    for attribute in record.attributes() {
        attribute.for_each(&mut |value| {
            writer.attribute(out, attribute.name(), value);
            ControlFlow::Continue(())
        })?;
    }
    out.push(b'\n');
    Ok(())
}
