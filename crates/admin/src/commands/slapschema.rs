//! slapschema: the entries of a database that break the rules of the present schema.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write},
    process::ExitCode,
};

use ironbark_model::{
    Entry, ResultCode,
    schema::entry_check::{CheckedAttribute, EntryCheck},
};
use ironbark_store::{Record, StoreError, View};

use crate::shared::{
    chosen::{Chosen, keeps_dynamic_entries},
    filter::{Part, Selection},
    open::open_for_tool,
    options::{Grammar, Options, Told},
    progress::Progress,
};

const GRAMMAR: Grammar = Grammar {
    program: "slapschema",
    letters: "a:b:cd:f:F:gH:l:n:o:s:v",
    usage: "slapschema [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-c]\n\
        \t[-g] [-n databasenumber | -b suffix] [-l errorfile] [-a filter] [-s subtree] [-H url]",
    generic: &[],
    operands: false,
};

/// Runs slapschema; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    match check_all(&mut options) {
        Ok(code) => ExitCode::from(code),
        Err(text) => {
            if !text.is_empty() {
                eprintln!("{text}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The result code of the last entry that breaks the schema. (slapd returns the code of the last entry, whether or not
/// it is valid.)
fn check_all(options: &mut Options) -> Result<u8, String> {
    Selection::base_of(options)?;
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    let selection = Selection::new(options, &chosen.configuration)?;
    let mut out: Box<dyn Write> = match &options.file {
        None => Box::new(io::stdout().lock()),
        Some(path) => Box::new(File::create(path).map_err(|error| format!("{}: {error}", path.display()))?),
    };
    let failed = |error: &dyn std::fmt::Display| format!("slapschema: {error}");
    let mut status = 0;
    for (_, settings) in chosen.databases() {
        let Some(database) = open_for_tool(settings, &chosen, "slapschema")? else {
            continue;
        };
        let progress = Progress::entries(database.stat().ok().map(|stat| stat.entries));
        let snapshot = database.snapshot().map_err(|error| failed(&error))?;
        let view = snapshot.view();
        let part = selection
            .part(&view, &settings.suffixes)
            .map_err(|error| failed(&error))?;
        let mut checked = Checked {
            view,
            selection: &selection,
            part,
            may_be_dynamic: keeps_dynamic_entries(settings),
            scratch: Vec::new(),
        };
        let mut done = 0u64;
        for record in view.entries(0).map_err(|error| failed(&error))? {
            match record.and_then(|record| checked.check(&record)) {
                Ok(None) => {}
                Ok(Some((code, text))) => {
                    status = u8::try_from(code).unwrap_or(1);
                    out.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
                }
                Err(error) if options.keep_going > 0 => {
                    status = 1;
                    progress.line(&failed(&error));
                }
                Err(error) => return Err(failed(&error)),
            }
            done += 1;
            if done.is_multiple_of(1000) {
                progress.set(done);
            }
        }
    }
    out.flush().map_err(|error| failed(&error))?;
    Ok(status)
}

/// The part of a database that is checked.
struct Checked<'a> {
    view: View<'a>,
    selection: &'a Selection,
    part: Part,
    may_be_dynamic: bool,
    scratch: Vec<u8>,
}

impl Checked<'_> {
    /// The fault of an entry: its result code and slapschema's text, a comment that begins with `(code)`, and the
    /// entry's name.
    fn check(&mut self, record: &Record<'_>) -> Result<Option<(u32, String)>, StoreError> {
        let view = &self.view;
        if !self.selection.holds(view, self.part, record, &mut self.scratch)? {
            return Ok(None);
        }
        let entry = record.to_entry(view.dn(record.id)?)?;
        let fault = self.fault(&entry);
        Ok(fault.map(|(code, text)| (code, format!("# ({code}) {text}\ndn: {}\n\n", entry.dn.pretty()))))
    }

    fn fault(&self, entry: &Entry) -> Option<(u32, String)> {
        let schema = self.view.schema();
        let object_class = schema.attribute_description(b"objectClass").ok()?;
        let Some(classes) = entry.attribute(&object_class) else {
            let code = ResultCode::OBJECT_CLASS_VIOLATION.0;
            return Some((code, "no objectClass attribute".to_owned()));
        };
        let former = schema
            .attribute_description(b"structuralObjectClass")
            .ok()
            .and_then(|name| entry.attribute(&name));
        let former = former
            .and_then(|found| found.values.first())
            .and_then(|name| schema.find_object_class(name));
        let attributes: Vec<_> = entry.attributes.iter().map(CheckedAttribute::from).collect();
        let collective = schema.find_object_class(b"collectiveAttributeSubentry");
        let check = EntryCheck {
            former_class: former.map(|class| class.number),
            collective_allowed: collective.is_some_and(|class| entry.is_of_class(schema, class.number)),
            relax: false,
            may_be_dynamic: self.may_be_dynamic,
        };
        let classes = classes.values.iter().map(Vec::as_slice);
        let placed = check.check_places(schema, &classes, &attributes);
        let checked = placed.and_then(|()| check.check(schema, classes, &attributes).map(|_| ()));
        checked
            .err()
            .map(|error| (error.result_code.0, error.diagnostic_message))
    }
}
