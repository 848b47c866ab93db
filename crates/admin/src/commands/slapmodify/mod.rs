//! slapmodify: applies LDIF change records to a database. The operations are the server's own. The server that has the
//! database open executes them; otherwise a directory in this process does, as the database's rootdn.

mod executor;
mod waiting;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader},
    process::ExitCode,
    sync::Arc,
};

use ironbark_config::{
    DatabaseConfig, EnvironmentFlags, LoadedConfiguration, Restrict, SettingError, overlay::OverlayConfig,
};
use ironbark_directory::{Factories, OpenOptions, Service, open, overlay::Overlay};
use ironbark_ldap_proto::{
    AddRequest, EncodeControl, List, MessageId, ModifyChange, ModifyDnRequest, ModifyOperation, ModifyRequest,
    PartialAttribute, Request,
    controls::{Control as Attached, NoOp, RelaxRules},
    message::encode_request,
};
use ironbark_ldif::{
    FileResolver, LdifChange, LdifError, LdifErrorKind, LdifReader, LdifRecord, ModifyKind, RecordKind,
};
use ironbark_model::{Dn, ResultCode, Schema};
use ironbark_runtime::{Clock, Randomness};

use self::{
    executor::Executor,
    waiting::{Sent, Waiting},
};
use crate::shared::{
    chosen::Chosen,
    config_database::{self, NextRecord},
    context_csn,
    load_options::LoadOptions,
    members,
    options::{Grammar, Options, Told},
    owner::{self, Use},
    running::RunningServer,
};

const GRAMMAR: Grammar = Grammar {
    program: "slapmodify",
    letters: "b:cd:f:F:gj:l:n:o:qsS:uvw",
    usage: "slapmodify [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-c]\n\
        \t[-g] [-n databasenumber | -b suffix]\n\
        \t[-l ldiffile] [-j linenumber] [-q] [-u] [-s] [-S serverid] [-w]",
    generic: &["schema-check", "value-check"],
    operands: false,
};

/// Runs slapmodify; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    let settings = match load_options(&options) {
        Ok(settings) => settings,
        Err(text) => return options.usage(&GRAMMAR, &text).0,
    };
    options.start_log();
    match modify(&options, &settings) {
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

fn load_options(options: &Options) -> Result<LoadOptions, String> {
    // slapd's makes the change without a look at the classes. Its value-check=no has no effect either.
    options.switch("value-check")?;
    let mut is_unchecked = options.switch("schema-check")? == Some(false);
    let settings = LoadOptions::read(options, &mut |opt, _| {
        is_unchecked |= opt.letter == 's';
        Ok(())
    })?;
    if is_unchecked {
        eprintln!(
            "slapmodify: -s and schema-check=no have no effect: operations are always checked; load unchecked entries \
             with slapadd -s"
        );
    }
    Ok(settings)
}

fn modify(options: &Options, settings: &LoadOptions) -> Result<bool, String> {
    if config_database::is_chosen(options) {
        return config_database::change(options, settings, true);
    }
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    let input: Box<dyn BufRead> = match &options.file {
        None => Box::new(io::stdin().lock()),
        Some(path) => {
            let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Box::new(BufReader::with_capacity(1 << 18, file))
        }
    };
    let mut reader = LdifReader::new(input, FileResolver::default()).with_modify_by_default();
    apply(options, settings, &chosen, &mut || reader.read().and_then(changes_only))
}

/// As in slapd, a record without changetype is a modification, never an entry to add.
fn changes_only(record: Option<LdifRecord>) -> Result<Option<LdifRecord>, LdifError> {
    match record {
        Some(LdifRecord {
            line,
            kind: RecordKind::Content(_),
            ..
        }) => Err(LdifError {
            file: None,
            line,
            offset: 0,
            kind: LdifErrorKind::MissingLine("changetype, or the type of a modification"),
        }),
        other => Ok(other),
    }
}

/// Applies records to the chosen databases. False if some were skipped.
///
/// # Errors
/// The message for the user; it names the line.
pub(crate) fn apply(
    options: &Options,
    settings: &LoadOptions,
    chosen: &Chosen,
    next: &mut NextRecord<'_>,
) -> Result<bool, String> {
    let stops = options.keep_going == 0;
    let database = chosen.databases().next();
    let running = match database {
        Some((_, database)) => RunningServer::of(database, "slapmodify", stops)?,
        None => None,
    };
    let executor = match running {
        Some(server) => Executor::Server(server),
        None => Executor::here(open_here(options, settings, chosen)?, stops),
    };
    let mut changes = Changes {
        options,
        chosen,
        executor,
        request: Vec::new(),
        next_id: 1,
        waiting: Waiting::new(records_at_once(options)),
        database: None,
        clean: true,
    };
    let result = changes.all(next, settings.first_line);
    // A process may open a file only once, so it is closed before the CSNs are written.
    let running = changes.executor.end();
    let clean = result?;
    if settings.writes_context_csn && !options.dry_run {
        let csns = context_csn::collect(chosen);
        let written = csns.and_then(|csns| match running {
            Some(mut server) => context_csn::send(&mut server, chosen, &csns),
            None => context_csn::write(chosen, csns),
        });
        written.map_err(|error| format!("slapmodify: could not update contextCSN: {error}"))?;
    }
    Ok(clean)
}

/// Opens the databases in this process.
fn open_here(options: &Options, settings: &LoadOptions, chosen: &Chosen) -> Result<Arc<Service>, String> {
    members::refuse(chosen.databases().map(|(_, database)| database), chosen, "slapmodify")?;
    let server_id = settings.server_id;
    let databases = chosen.databases().map(|(_, database)| database).chain(logs_of(chosen));
    let databases: Vec<_> = databases.collect();
    let directory = owner::opening(&databases, Use::Write, "slapmodify", || {
        Service::open(OpenOptions {
            bare: false,
            configuration: for_tool(chosen, options),
            clock: Clock::system(),
            randomness: Randomness::system(),
            factories: Factories {
                overlays: Arc::new(make_overlay),
                external: Arc::new(ironbark_backends::make),
                server_id: Arc::new(move |_, _| Ok(server_id)),
                ..Factories::default()
            },
        })
    });
    directory.map_err(|error| format!("slapmodify: {error}"))
}

/// The chosen databases without the settings that refuse writes of clients, and the databases of their logs.
fn for_tool(chosen: &Chosen, options: &Options) -> LoadedConfiguration {
    let mut configuration = chosen.configuration.clone();
    configuration.databases = chosen.databases().map(|(_, database)| database.clone()).collect();
    for database in &mut configuration.databases {
        database.read_only = false;
        database.hidden = false;
        // It has not joined yet.
        database.cluster = None;
        database.restrict = Restrict::default();
        if options.quick {
            database.mdb.flags = database.mdb.flags.with(EnvironmentFlags::NO_SYNC);
        }
        if options.dry_run {
            keep_indexes(database, chosen);
        }
        if database.root_dn.is_none() {
            database.root_dn = Dn::parse(chosen.schema(), NO_ROOT.as_bytes()).ok();
        }
    }
    for log in logs_of(chosen) {
        let mut log = log.clone();
        if options.quick {
            log.mdb.flags = log.mdb.flags.with(EnvironmentFlags::NO_SYNC);
        }
        configuration.databases.push(log);
    }
    configuration
}

/// Lets a database have the indexes that its file has: a dry run defines none, and drops none.
fn keep_indexes(settings: &mut DatabaseConfig, chosen: &Chosen) {
    // What cannot be opened here is reported when it is opened for the run.
    if let Ok(Some(database)) = open::to_read(settings, chosen.schema()) {
        let definitions = database.index_definitions();
        settings.mdb.indexes = definitions.iter().map(open::setting_of).collect();
    }
}

/// Makes an overlay. A log gets the changes alone, as the tool has no clients: not what was refused, or only tried.
fn make_overlay(config: &OverlayConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let mut overlay = ironbark_overlays::make(config, schema)?;
    if ironbark_overlays::log_database(config).is_some() {
        (overlay.responses, overlay.unbinds) = (None, None);
    }
    Ok(overlay)
}

/// The databases, other than the chosen ones, that overlays of the chosen ones log to. The changes must come into the
/// logs: consumers may follow those.
fn logs_of(chosen: &Chosen) -> impl Iterator<Item = &DatabaseConfig> {
    let overlays = chosen.databases().flat_map(|(_, database)| &database.overlays);
    let names: Vec<&Dn> = overlays.filter_map(ironbark_overlays::log_database).collect();
    let all = chosen.configuration.databases.iter().enumerate();
    let others = all.filter(|(position, _)| !chosen.positions.contains(position));
    others
        .map(|(_, database)| database)
        .filter(move |database| database.suffixes.iter().any(|suffix| names.contains(&suffix)))
}

/// The name of the author where a database has no rootdn.
const NO_ROOT: &str = "cn=slapmodify";

/// The state of a run.
struct Changes<'a> {
    options: &'a Options,
    chosen: &'a Chosen,
    executor: Executor,
    request: Vec<u8>,
    next_id: i32,
    waiting: Waiting,
    /// Position of the last record's database.
    database: Option<usize>,
    /// Whether no record was refused.
    clean: bool,
}

/// The most records that the writer may have. A record that is refused half done makes the writer begin its transaction
/// again. So the number is small where many may be refused, and one where each is refused (a dry run).
fn records_at_once(options: &Options) -> usize {
    match (options.dry_run, options.keep_going) {
        (true, _) => 1,
        (false, 0) => 2_048,
        (false, _) => 64,
    }
}

/// Why a record was not applied, for the user.
type Refused = String;

impl Changes<'_> {
    fn all(&mut self, next: &mut NextRecord<'_>, first_line: u64) -> Result<bool, String> {
        loop {
            let refused = match next() {
                Ok(None) => {
                    self.settle_all()?;
                    return Ok(self.clean);
                }
                Ok(Some(record)) if record.line < first_line => continue,
                Ok(Some(record)) => self.one(&record)?,
                Err(error) if error.line < first_line => continue,
                Err(error) => Some(format!("slapmodify: {error}")),
            };
            if let Some(text) = refused {
                self.settle_all()?;
                self.refuse(text)?;
            }
        }
    }

    /// Prints that a record was refused, or ends with that message.
    fn refuse(&mut self, text: Refused) -> Result<(), String> {
        if self.options.keep_going == 0 {
            return Err(text);
        }
        self.clean = false;
        eprintln!("{text}");
        Ok(())
    }

    /// Hands a record to the writer of its database. Returns the reason if that was not possible.
    fn one(&mut self, record: &LdifRecord) -> Result<Option<Refused>, String> {
        let named = |text: &str| {
            let shown = String::from_utf8_lossy(&record.dn);
            Some(format!("slapmodify: dn=\"{shown}\" (line={}): {text}", record.line))
        };
        let Ok(dn) = Dn::parse(self.chosen.schema(), &record.dn) else {
            return Ok(named("(34) invalid DN"));
        };
        let position = self
            .chosen
            .configuration
            .database_holding(&dn)
            .filter(|found| self.chosen.positions.contains(found));
        let Some((position, settings)) =
            position.and_then(|found| Some((found, self.chosen.configuration.databases.get(found)?)))
        else {
            return Ok(named("the database is not configured to hold it"));
        };
        if self.database.replace(position) != Some(position) {
            // Each database has its own writer, but the order of the file is kept.
            self.settle_all()?;
            let root = match &settings.root_dn {
                Some(root) => root.clone(),
                None => Dn::parse(self.chosen.schema(), NO_ROOT.as_bytes()).unwrap_or_default(),
            };
            self.executor.act_for(root);
        }
        let word = self.encode(record);
        self.settle_until(Waiting::has_room)?;
        let (progress, response) = self.executor.start(&self.request)?;
        self.waiting.push(Sent {
            progress,
            response,
            word,
            dn: dn.pretty().to_owned(),
            shown: String::from_utf8_lossy(&record.dn).into_owned(),
            line: record.line,
            octets: self.request.len(),
        });
        Ok(None)
    }

    fn settle_all(&mut self) -> Result<(), String> {
        self.settle_until(|waiting, _| waiting.is_empty())
    }

    /// Waits for the results of the first records until there is enough room.
    fn settle_until(&mut self, enough: impl Fn(&Waiting, usize) -> bool) -> Result<(), String> {
        while !enough(&self.waiting, self.request.len())
            && let Some(mut sent) = self.waiting.pop()
        {
            let is_accepted =
                |code| code == ResultCode::SUCCESS || (self.options.dry_run && code == ResultCode::NO_OPERATION);
            let refused = match self.executor.result(&mut sent) {
                Ok((code, _)) if is_accepted(code) => None,
                Ok((code, text)) => Some(sent.named(&format!("({}) {text}", code.0))),
                Err(text) => Some(sent.named(&text)),
            };
            match refused {
                Some(text) => self.refuse(text)?,
                None if self.options.verbose > 0 => eprintln!("{}: \"{}\"", sent.word, sent.dn),
                None => {}
            }
        }
        Ok(())
    }

    /// Encodes the record's operation into the request. Returns the operation's name.
    fn encode(&mut self, record: &LdifRecord) -> &'static str {
        let dn = record.dn.as_slice();
        match &record.kind {
            RecordKind::Content(attributes) => self.add(dn, attributes, &[]),
            RecordKind::Change { controls, change } => match change {
                LdifChange::Add(attributes) => self.add(dn, attributes, controls),
                LdifChange::Delete => self.put("delete", &Request::Delete(dn), controls),
                LdifChange::ModifyDn {
                    new_rdn,
                    delete_old_rdn,
                    new_superior,
                } => {
                    let request = ModifyDnRequest {
                        entry: dn,
                        new_rdn,
                        delete_old_rdn: *delete_old_rdn,
                        new_superior: new_superior.as_deref(),
                    };
                    self.put("modrdn", &Request::ModifyDn(request), controls)
                }
                LdifChange::Modify(modifications) => {
                    let values: Vec<Vec<&[u8]>> = modifications
                        .iter()
                        .map(|modification| modification.values.iter().map(Vec::as_slice).collect())
                        .collect();
                    let changes: Vec<_> = modifications
                        .iter()
                        .zip(&values)
                        .map(|(modification, values)| ModifyChange {
                            operation: match modification.kind {
                                ModifyKind::Add => ModifyOperation::Add,
                                ModifyKind::Delete => ModifyOperation::Delete,
                                ModifyKind::Replace => ModifyOperation::Replace,
                                ModifyKind::Increment => ModifyOperation::Increment,
                            },
                            attribute: &modification.attribute,
                            values: List::new(values),
                        })
                        .collect();
                    let request = ModifyRequest {
                        object: dn,
                        changes: List::new(&changes),
                    };
                    self.put("modify", &Request::Modify(request), controls)
                }
            },
        }
    }

    fn add(
        &mut self,
        dn: &[u8],
        pairs: &[(Vec<u8>, Vec<u8>)],
        controls: &[ironbark_ldif::LdifControl],
    ) -> &'static str {
        let mut grouped: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
        for (name, value) in pairs {
            match grouped.iter_mut().find(|(found, _)| found.eq_ignore_ascii_case(name)) {
                Some((_, values)) => values.push(value),
                None => grouped.push((name, vec![value])),
            }
        }
        let attributes: Vec<_> = grouped
            .iter()
            .map(|(name, values)| PartialAttribute {
                description: name,
                values: List::new(values),
            })
            .collect();
        let request = AddRequest {
            entry: dn,
            attributes: List::new(&attributes),
        };
        self.put("add", &Request::Add(request), controls)
    }

    /// Relax Rules allow the operational attributes of a dump to be written.
    fn put(
        &mut self,
        word: &'static str,
        request: &Request<'_>,
        controls: &[ironbark_ldif::LdifControl],
    ) -> &'static str {
        self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        let id = MessageId::new(self.next_id).unwrap_or_default();
        let own: Vec<RecordControl<'_>> = controls.iter().map(RecordControl).collect();
        let relax = Attached {
            critical: true,
            value: RelaxRules,
        };
        let no_op = Attached {
            critical: true,
            value: NoOp,
        };
        let mut attached: Vec<&dyn EncodeControl> = own.iter().map(|control| control as &dyn EncodeControl).collect();
        if !controls.iter().any(|control| control.oid.as_bytes() == relax.oid()) {
            attached.push(&relax);
        }
        if self.options.dry_run && !controls.iter().any(|control| control.oid.as_bytes() == no_op.oid()) {
            attached.push(&no_op);
        }
        self.request.clear();
        encode_request(&mut self.request, id, request, &attached);
        word
    }
}

/// A `control:` line on its way into a request.
struct RecordControl<'a>(&'a ironbark_ldif::LdifControl);

impl EncodeControl for RecordControl<'_> {
    fn oid(&self) -> &[u8] {
        self.0.oid.as_bytes()
    }
    fn critical(&self) -> bool {
        self.0.critical
    }
    fn has_value(&self) -> bool {
        self.0.value.is_some()
    }
    fn write_value(&self, writer: &mut ironbark_ber::Writer<'_>) {
        writer.raw(self.0.value.as_deref().unwrap_or_default());
    }
}
