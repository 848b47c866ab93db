//! slaptest: reads the configuration, opens the databases, and says whether that succeeded. With `--explain` it reviews
//! the configuration.

mod explain;
pub(super) mod report;

use std::{ffi::OsString, process::ExitCode};

use ironbark_config::{DatabaseConfig, database::EntryPlace};
use ironbark_server::{Loaded, missing_folder, rehearse};
use ironbark_store::Database;

use self::explain::Explain;
use crate::shared::{
    chosen::{Chosen, read_configuration},
    getopt::Opt,
    options::{Grammar, Options, Told},
    owner::{self, Use},
};

const GRAMMAR: Grammar = Grammar {
    program: "slaptest",
    letters: "d:f:F:h:n:o:Quv",
    usage: "slaptest [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-n databasenumber] [-u] [-Q]\n\
            \x20      slaptest --explain[=json] [--log logfile]... [-h URLs] [-f configfile | -F configdir] [-Q]\n\
            \x20        says what is wrong, unknown, ignored, unsafe, missing or old. Exit status: 0 nothing of it unsafe,\n\
            \x20        1 the configuration does not load, 2 something is unsafe",
    generic: &[],
    operands: false,
};

/// Runs slaptest; `arguments` begin with the program's name.
pub(crate) fn run(mut arguments: Vec<OsString>) -> ExitCode {
    let explain = match Explain::take(&mut arguments) {
        Ok(explain) => explain,
        Err(text) => {
            eprintln!("slaptest: {text}\nusage: {}", GRAMMAR.usage);
            return ExitCode::FAILURE;
        }
    };
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    let quiet = options.own.iter().any(|opt| opt.letter == 'Q');
    let listeners = options.own.iter().rev().find(|opt| opt.letter == 'h');
    match (&explain, listeners) {
        (Some(explain), _) => return explained(explain, &options, listeners, quiet),
        (None, Some(_)) => return options.usage(&GRAMMAR, "-h is for --explain").0,
        (None, None) => {}
    }
    let say = |text: &str| {
        if !quiet {
            eprintln!("{text}");
        }
    };
    match test(&options, &say) {
        Ok(()) => {
            say("config file testing succeeded");
            ExitCode::SUCCESS
        }
        Err(text) => {
            // As in slapd, `-Q` only hides the reasons.
            let shown = if quiet {
                text.lines().last().unwrap_or_default()
            } else {
                &text
            };
            eprintln!("{shown}");
            ExitCode::FAILURE
        }
    }
}

/// `--explain`.
fn explained(explain: &Explain, options: &Options, listeners: Option<&Opt>, quiet: bool) -> ExitCode {
    if options.number.is_some() {
        return options
            .usage(&GRAMMAR, "--explain is about all databases, without -n")
            .0;
    }
    let (file, folder) = (options.config_file.as_deref(), options.config_directory.as_deref());
    let listeners = listeners.map(Opt::text).transpose().map_err(|error| error.to_string());
    let code = listeners.and_then(|listeners| explain.run(file, folder, listeners, quiet));
    code.unwrap_or_else(|text| {
        eprintln!("slaptest: {text}");
        ExitCode::FAILURE
    })
}

fn test(options: &Options, say: &dyn Fn(&str)) -> Result<(), String> {
    let loaded = read_configuration(options).map_err(|error| format!("{error}\nslaptest: bad configuration file!"))?;
    let rehearsed = rehearse(&loaded).map_err(|error| error.to_string());
    let missing = missing_folder(&loaded.configuration.global);
    match rehearsed.and_then(|warning| missing.map_or(Ok(warning), Err)) {
        Ok(None) => {}
        Ok(Some(warning)) => say(&format!("slaptest: {warning}")),
        Err(error) if options.dry_run => say(&format!("slaptest: {error}")),
        Err(error) => {
            return Err(format!(
                "slaptest: {error}\nslap_startup failed (test would succeed using the -u switch)"
            ));
        }
    }
    let Loaded { configuration, .. } = loaded;
    for notice in configuration.notices.iter().filter(|_| options.verbose > 0) {
        say(&notice.to_string());
    }
    let count = configuration.databases.len();
    let positions = match options.number {
        Some(0) => Vec::new(),
        // As in slapd, the status is that of the configuration.
        Some(number) if number > count => {
            say(&format!(
                "slaptest: -n {number}: the databases have the numbers 0 to {count}"
            ));
            Vec::new()
        }
        Some(number) => vec![number - 1],
        None => (0..count).collect(),
    };
    let chosen = Chosen {
        configuration,
        positions,
    };
    for (at, settings) in chosen.databases().filter(|(_, settings)| settings.kind.is_stored()) {
        let directory = &settings.directory;
        // As in slapd, this is a fault of the configuration, also for a dry run.
        if settings.kind.entries == EntryPlace::Store && !directory.is_dir() {
            return Err(format!(
                "slaptest: database #{}: directory {}: there is no such directory\nslaptest: bad configuration file!",
                at + 1,
                directory.display()
            ));
        }
        match open(settings, &chosen) {
            Ok(()) => {}
            Err(error) if options.dry_run => say(&format!("slaptest: database #{}: {error}", at + 1)),
            Err(error) => {
                return Err(format!(
                    "slaptest: database #{}: {error}\nslap_startup failed (test would succeed using the -u switch)",
                    at + 1
                ));
            }
        }
    }
    Ok(())
}

/// Opens a database for reading. Nothing is created: as in slapd, a missing database is a failure.
fn open(settings: &DatabaseConfig, chosen: &Chosen) -> Result<(), String> {
    if settings.kind.entries == EntryPlace::Files {
        let opened = ironbark_directory::open::to_read(settings, chosen.schema());
        return opened.map(drop).map_err(|error| error.to_string());
    }
    let directory = &settings.directory;
    if !directory.join("data.mdb").exists() {
        return Err(format!("{}: there is no database here yet", directory.display()));
    }
    let mut options = ironbark_directory::open::options(settings);
    options.read_only = true;
    let opened = owner::opening(&[settings], Use::Read, "slaptest", || {
        Database::open(options, chosen.schema().clone())
    });
    opened.map(drop).map_err(|error| error.to_string())
}
