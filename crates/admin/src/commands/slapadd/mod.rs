//! slapadd: loads LDIF into a database, offline.
//!
//! An empty database is built in bulk, in order and on all cores. A database with entries is changed in transactions.
//! Without `-c` a failed load leaves nothing behind.

mod draft;
mod entry;
mod pipeline;
mod record;
mod remote;
mod sink;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read},
    process::ExitCode,
    sync::Arc,
};

use ironbark_config::DatabaseConfig;
use ironbark_directory::{open::OpenDatabase, stamp::StampBlock};
use ironbark_ldif::{FileResolver, LdifReader, Resolver as _};
use ironbark_runtime::available_cores;
use ironbark_store::{Database, StoreError};

use self::{
    entry::{Place, Refused, Rules, unparsable},
    pipeline::{ItemBatch, Pipeline},
    record::{Item, Plan, Ready, RecordReader},
    remote::Remote,
    sink::{Opened, Sink, Stored},
};
use crate::shared::{
    chosen::Chosen,
    config_database,
    context_csn::{self, ContextCsns},
    load_options::{LoadOptions, parse_sid},
    members,
    options::{Grammar, Options, Told},
    owner::{self, Use},
    progress::Progress,
    running::RunningServer,
};

const GRAMMAR: Grammar = Grammar {
    program: "slapadd",
    letters: "b:cd:f:F:gj:l:n:o:qsS:uvw",
    usage: "slapadd [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-c]\n\
        \t[-g] [-n databasenumber | -b suffix]\n\
        \t[-l ldiffile] [-j linenumber] [-q] [-u] [-s] [-S serverid] [-w]\n\
        \t-o schema-check={yes|no}, value-check={yes|no}, remove-sids=<sid>[,<sid>...], memory-limit=<bytes>[K|M|G]",
    generic: &["schema-check", "value-check", "remove-sids", "memory-limit"],
    operands: false,
};

/// Default of the bytes of index keys that a bulk build holds in memory.
const MEMORY_LIMIT: usize = 512 << 20;
/// The most missing superiors that are named.
const NAMED_MISSING: usize = 20;

/// slapadd's own options.
struct Settings {
    load: LoadOptions,
    rules: Rules,
    memory_limit: usize,
}

/// Runs slapadd; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    let settings = match Settings::new(&options) {
        Ok(settings) => settings,
        Err(text) => return options.usage(&GRAMMAR, &text).0,
    };
    options.start_log();
    match load(&options, settings) {
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

impl Settings {
    fn new(options: &Options) -> Result<Self, String> {
        let mut rules = Rules {
            schema_check: options.switch("schema-check")?.unwrap_or(true),
            value_check: options.switch("value-check")?.unwrap_or(false),
            removed_sids: Vec::new(),
        };
        let load = LoadOptions::read(options, &mut |opt, _| {
            rules.schema_check &= opt.letter != 's';
            Ok(())
        })?;
        let mut settings = Self {
            load,
            rules,
            memory_limit: MEMORY_LIMIT,
        };
        if let Some(list) = options.generic_value("remove-sids") {
            let sids = list.split(',').map(parse_sid).collect::<Option<_>>();
            settings.rules.removed_sids =
                sids.ok_or_else(|| format!("-o remove-sids={list}: server IDs are expected"))?;
            settings.load.writes_context_csn = true;
        }
        if let Some(text) = options.generic_value("memory-limit") {
            settings.memory_limit =
                parse_bytes(text).ok_or_else(|| format!("-o memory-limit={text}: bytes are expected"))?;
        }
        if options.quick && settings.rules.value_check {
            eprintln!("slapadd: value-check incompatible with quick mode; disabled.");
            settings.rules.value_check = false;
        }
        Ok(settings)
    }
}

/// A number of bytes, with `K`, `M` or `G` for powers of 1024.
fn parse_bytes(text: &str) -> Option<usize> {
    let (digits, factor) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (text.get(..text.len() - 1)?, 1 << 10),
        b'M' => (text.get(..text.len() - 1)?, 1 << 20),
        b'G' => (text.get(..text.len() - 1)?, 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(factor)
}

/// Loads. False: the load continued without an entry that the database refused, or without superiors. By slapd's rule,
/// records that cannot be read or break the schema do not count under `-c`. The text of an error is empty if the error
/// has been printed.
fn load(options: &Options, settings: Settings) -> Result<bool, String> {
    if config_database::is_chosen(options) {
        return config_database::change(options, &settings.load, false);
    }
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    let running = running_servers(options, &chosen)?;
    look_before(&settings, &chosen, &running)?;
    let (input, total) = open_input(options)?;
    let opened = open_all(options, &settings, &chosen, running)?;
    let preparers = opened.iter().map(|one| match one {
        Opened::Bulk(builder) => Some(builder.preparers()),
        Opened::Database(_) | Opened::Files(_) | Opened::Server(_) | Opened::Nothing => None,
    });
    let preparers = preparers.collect();
    let threads = chosen
        .configuration
        .global
        .tool_threads
        .map_or(available_cores(), |count| usize::try_from(count).unwrap_or(1).max(1));
    let plan = Arc::new(Plan {
        chosen,
        rules: settings.rules,
        first_line: settings.load.first_line,
        preparers,
        served: opened.iter().map(|one| matches!(one, Opened::Server(_))).collect(),
        collects_csns: settings.load.writes_context_csn,
    });
    let pipeline =
        Pipeline::start(input, &plan, threads, settings.load.server_id).map_err(|error| format!("slapadd: {error}"))?;
    let result = {
        let (builders, databases, servers) = sinks(opened);
        let schema = plan.chosen.schema();
        let sinks = builders
            .into_iter()
            .zip(databases.iter())
            .zip(servers)
            .map(|((builder, written), server)| match server {
                Some(server) => Sink::Server(Box::new(Remote::new(server, Arc::clone(schema)))),
                None => sink(builder, written),
            });
        let mut load = Load {
            options,
            plan: Arc::clone(&plan),
            sinks: sinks.collect(),
            includes: None,
            csns: ContextCsns::default(),
            progress: Progress::bytes(total),
            added: 0,
            is_complete: true,
            servers: Vec::new(),
        };
        load.run(pipeline).and_then(|()| load.finish())
    };
    let own = plan.chosen.databases().zip(&plan.served);
    for ((_, database), _) in own.filter(|(_, served)| !options.dry_run && !**served) {
        owner::adopt_database(database, "slapadd");
    }
    let Loaded {
        is_complete: complete,
        csns,
        servers,
    } = result?;
    if settings.load.writes_context_csn && !options.dry_run {
        let is_served = plan.served.first().is_some_and(|served| *served);
        write_csns(&plan.chosen, csns, servers.into_iter().next().filter(|_| is_served))?;
    }
    Ok(complete)
}

/// Refuses what would miss the log of a cluster, and says what a running server does not obey.
fn look_before(settings: &Settings, chosen: &Chosen, running: &[Option<RunningServer>]) -> Result<(), String> {
    let is_changed_here = |(database, server): (_, &Option<RunningServer>)| server.is_none().then_some(database);
    let databases = chosen.databases().map(|(_, database)| database);
    members::refuse(databases.zip(running).filter_map(is_changed_here), chosen, "slapadd")?;
    if !settings.rules.schema_check && running.iter().any(Option::is_some) {
        eprintln!("slapadd: the running server checks the schema: -s and schema-check=no have no effect");
    }
    Ok(())
}

/// `-w`. `server`: the one that has the first database open.
fn write_csns(chosen: &Chosen, csns: ContextCsns, server: Option<RunningServer>) -> Result<(), String> {
    let written = match server {
        Some(mut server) => context_csn::send(&mut server, chosen, &csns),
        None => context_csn::write(chosen, csns),
    };
    written.map_err(|error| format!("slapadd: could not update contextCSN: {error}"))
}

/// Opens the chosen databases that no server has open.
fn open_all(
    options: &Options,
    settings: &Settings,
    chosen: &Chosen,
    running: Vec<Option<RunningServer>>,
) -> Result<Vec<Opened>, String> {
    let open = |((_, database), running): ((_, &DatabaseConfig), Option<RunningServer>)| {
        if options.dry_run {
            return Ok(Opened::Nothing);
        }
        if let Some(server) = running {
            return Ok(Opened::Server(server));
        }
        let made = owner::opening(&[database], Use::Write, "slapadd", || {
            Opened::new(database, chosen.schema(), settings.memory_limit, options.quick)
        });
        made.map_err(|error| format!("slapadd: could not open database: {error}"))
    };
    chosen.databases().zip(running).map(open).collect()
}

type Builders = Vec<Option<Box<ironbark_store::BulkBuilder>>>;
type Databases = Vec<Written>;

/// The databases that are written in transactions.
enum Written {
    Store(Box<Database>),
    Files(Box<OpenDatabase>),
    Nothing,
}

/// Moves the builders and borrows the databases.
fn sinks(opened: Vec<Opened>) -> (Builders, Databases, Vec<Option<RunningServer>>) {
    let split = opened.into_iter().map(|one| match one {
        Opened::Bulk(builder) => (Some(builder), Written::Nothing, None),
        Opened::Database(database) => (None, Written::Store(database), None),
        Opened::Files(opened) => (None, Written::Files(opened), None),
        Opened::Server(server) => (None, Written::Nothing, Some(server)),
        Opened::Nothing => (None, Written::Nothing, None),
    });
    split.collect()
}

/// The servers that have chosen databases open.
fn running_servers(options: &Options, chosen: &Chosen) -> Result<Vec<Option<RunningServer>>, String> {
    let stops = options.keep_going == 0;
    let connect = |(_, settings)| {
        if options.dry_run {
            Ok(None)
        } else {
            RunningServer::of(settings, "slapadd", stops)
        }
    };
    chosen.databases().map(connect).collect()
}

fn sink(bulk: Option<Box<ironbark_store::BulkBuilder>>, written: &Written) -> Sink<'_> {
    match (bulk, written) {
        (Some(builder), _) => Sink::Bulk(builder),
        (None, Written::Store(database)) => Sink::Transaction {
            database,
            open: None,
            pending: 0,
        },
        (None, Written::Files(opened)) => Sink::Files {
            opened,
            open: None,
            loaded: Vec::new(),
        },
        (None, Written::Nothing) => Sink::Nothing,
    }
}

/// The input, and its length when it is a file.
fn open_input(options: &Options) -> Result<(Box<dyn Read + Send>, Option<u64>), String> {
    match &options.file {
        None => Ok((Box::new(io::stdin()), None)),
        Some(path) => {
            let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let total = file
                .metadata()
                .ok()
                .filter(std::fs::Metadata::is_file)
                .map(|found| found.len());
            Ok((Box::new(file), total))
        }
    }
}

/// The state of a load.
struct Load<'a> {
    options: &'a Options,
    plan: Arc<Plan>,
    sinks: Vec<Sink<'a>>,
    /// For included files.
    includes: Option<RecordReader>,
    csns: ContextCsns,
    progress: Progress,
    added: u64,
    /// Whether the databases have accepted every entry.
    is_complete: bool,
    /// Servers that have added entries.
    servers: Vec<RunningServer>,
}

/// What a load has done.
struct Loaded {
    /// Whether no entry is missing.
    is_complete: bool,
    csns: ContextCsns,
    /// Servers that have added entries.
    servers: Vec<RunningServer>,
}

impl Load<'_> {
    fn run(&mut self, mut pipeline: Pipeline) -> Result<(), String> {
        while let Some(batch) = pipeline.next() {
            match batch {
                Ok(batch) => self.batch(batch)?,
                Err(error) => return Err(format!("slapadd: {error}")),
            }
        }
        pipeline.finish().map_err(|text| format!("slapadd: {text}"))
    }

    fn batch(&mut self, batch: ItemBatch) -> Result<(), String> {
        for item in batch.items {
            match item {
                Item::Include { url, line, count } => self.include(&url, line, &batch.stamp, count)?,
                other => self.item(other)?,
            }
        }
        self.progress.set(batch.end);
        self.progress.message(format!("{} entries", self.added));
        Ok(())
    }

    fn item(&mut self, item: Item) -> Result<(), String> {
        match item {
            Item::Entry(ready) => self.entry(&ready),
            Item::Refused(refused) => self.refuse(&refused),
            Item::Include { .. } => Ok(()),
        }
    }

    fn entry(&mut self, ready: &Ready) -> Result<(), String> {
        let keep_going = self.options.keep_going > 0;
        let Some(sink) = self.sinks.get_mut(ready.target) else {
            return Ok(());
        };
        match sink.put(ready, keep_going) {
            Ok(Stored::Now(id)) => {
                self.is_stored(ready.dn(), id, ready.csn.as_deref());
                Ok(())
            }
            Ok(Stored::Later) => self.settle(ready.target, false),
            Err(error) => {
                let refused = |reason: &str| not_added(ready.dn(), &ready.place, reason);
                match error {
                    StoreError::Inapplicable(reason) => {
                        self.is_complete = false;
                        let prefix = format!("{}: ", ready.dn());
                        self.refuse(&refused(reason.strip_prefix(&prefix).unwrap_or(&reason)))
                    }
                    other => Err(format!("slapadd: {}", refused(&other.to_string()).message)),
                }
            }
        }
    }

    /// Counts an entry that is stored.
    fn is_stored(&mut self, dn: &str, id: Option<u64>, csn: Option<&[u8]>) {
        self.added += 1;
        if let Some(csn) = csn {
            self.csns.add(csn);
        }
        if self.options.verbose > 0 {
            let id = id.map(|id| format!(" ({id:08x})")).unwrap_or_default();
            self.progress.line(&format!("added: \"{dn}\"{id}"));
        }
    }

    /// Takes up what has become of the entries that a server has.
    fn settle(&mut self, target: usize, is_end: bool) -> Result<(), String> {
        let Some(sink) = self.sinks.get_mut(target) else {
            return Ok(());
        };
        let settled = sink.settled(is_end).map_err(|error| format!("slapadd: {error}"))?;
        for one in settled {
            let Some(reason) = &one.refused else {
                self.is_stored(&one.dn, None, one.csn.as_deref());
                continue;
            };
            self.is_complete = false;
            let refused = self.refuse(&not_added(&one.dn, &one.place, reason));
            let added = self.added;
            // The server has committed what came before.
            refused.map_err(|text| format!("{text}\nslapadd: {added} entries have been added before"))?;
        }
        Ok(())
    }

    /// Prints the refusal, and continues if `-c` was given.
    fn refuse(&mut self, refused: &Refused) -> Result<(), String> {
        let text = refused_text(refused);
        if self.options.keep_going > 0 {
            self.progress.line(&text);
            Ok(())
        } else {
            Err(text)
        }
    }

    /// Loads the records of an included file.
    fn include(&mut self, url: &str, line: u64, stamp: &StampBlock, count: u32) -> Result<(), String> {
        let file = match FileResolver::default().open(url) {
            Ok(file) => file,
            // slapd ends here, even with `-c`.
            Err(reason) => {
                let refused = unparsable(&format!("include: {url}: {reason}"), &line);
                return Err(refused_text(&refused));
            }
        };
        let mut records = LdifReader::new(file, FileResolver::default());
        let url: Arc<str> = url.into();
        let mut inner = 0;
        loop {
            inner += 1;
            match records.read() {
                Ok(None) => return Ok(()),
                Ok(Some(record)) => {
                    let reader = match &mut self.includes {
                        Some(reader) => reader,
                        none => {
                            none.insert(RecordReader::new(&self.plan).map_err(|error| format!("slapadd: {error}"))?)
                        }
                    };
                    let item = reader.read_included(&record, &url, stamp, count, inner);
                    self.item(item)?;
                }
                Err(error) => self.refuse(&unparsable(&error.to_string(), &format!("{} of {url}", error.line)))?,
            }
        }
    }

    /// Completes the databases. Returns whether no entry is missing, and the CSNs.
    fn finish(&mut self) -> Result<Loaded, String> {
        let failed = |error: StoreError| format!("slapadd: {error}");
        for target in 0..self.sinks.len() {
            self.settle(target, true)?;
        }
        let mut missing = Vec::new();
        for sink in &self.sinks {
            missing.extend(sink.missing_superiors(NAMED_MISSING).map_err(failed)?);
        }
        if !missing.is_empty() {
            let mut text = "Error, entries missing!".to_owned();
            for name in &missing {
                text.push_str("\n  entry: ");
                text.push_str(name);
            }
            if self.options.keep_going == 0 || !self.sinks.iter().all(Sink::keeps_places) {
                return Err(format!("{text}\nslapadd: nothing has been added"));
            }
            self.progress.line(&text);
        }
        for sink in std::mem::take(&mut self.sinks) {
            match sink {
                Sink::Server(remote) => self.servers.push(remote.into_server()),
                sink => sink.finish().map_err(|error| format!("slapadd: {error}"))?,
            }
        }
        Ok(Loaded {
            is_complete: self.is_complete && missing.is_empty(),
            csns: std::mem::take(&mut self.csns),
            servers: std::mem::take(&mut self.servers),
        })
    }
}

fn not_added(dn: &str, place: &Place, reason: &str) -> Refused {
    Refused {
        details: String::new(),
        message: format!("could not add entry dn=\"{dn}\" (line={place}): {reason}"),
    }
}

fn refused_text(refused: &Refused) -> String {
    let details = if refused.details.is_empty() {
        String::new()
    } else {
        format!("{}\n", refused.details)
    };
    format!("{details}slapadd: {}", refused.message)
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, path::Path};

    use ironbark_config::MemoryFiles;
    use ironbark_runtime::listen_for_tools;

    use super::*;

    /// `cn=x` and, glued below it, a database that has joined a cluster. Nothing but the folders is there of `cn=x`.
    fn glued_to_a_cluster(folder: &Path) -> Chosen {
        let (above, below) = (folder.join("a"), folder.join("b"));
        for folder in [&above, &below] {
            std::fs::create_dir(folder).unwrap();
        }
        let text = format!(
            "database mdb\nsuffix cn=b,cn=x\nsubordinate\ncluster http://127.0.0.1:1\ndirectory {}\n\
             database mdb\nsuffix cn=x\ndirectory {}\n",
            below.display(),
            above.display()
        );
        let source = MemoryFiles::file("slapd.conf", text);
        let chosen = Chosen {
            configuration: ironbark_config::load("slapd.conf", &source, &ironbark_overlays::registry()).unwrap(),
            positions: vec![1, 0],
        };
        let (_, joined) = chosen.databases().last().unwrap();
        let opened = ironbark_directory::open::database(joined, chosen.schema()).unwrap();
        let mut write = opened.database.write().unwrap();
        write.put_chain([1; 16]).unwrap();
        write.commit().unwrap();
        chosen
    }

    /// The connection to what has a folder open. It takes any request, and says yes to the first.
    fn connection(database: &DatabaseConfig) -> RunningServer {
        const YES: [u8; 14] = [0x30, 12, 2, 1, 1, 0x78, 7, 10, 1, 0, 4, 0, 4, 0];
        let listener = listen_for_tools(&database.directory).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(&YES).unwrap();
                stream
            });
            let server = RunningServer::of(database, "slapadd", true).unwrap().unwrap();
            other.join().unwrap();
            server
        })
    }

    #[test]
    fn a_database_of_a_cluster_is_refused_beside_one_that_a_server_has_open() {
        let folder = tempfile::tempdir().unwrap();
        let chosen = glued_to_a_cluster(folder.path());
        let settings = Settings::new(&Options::default()).unwrap();
        let databases: Vec<_> = chosen.databases().map(|(_, database)| database).collect();
        let refused = look_before(&settings, &chosen, &[Some(connection(databases[0])), None]).unwrap_err();
        assert!(
            refused.contains("cn=b,cn=x: the database is part of a cluster"),
            "{refused}"
        );
        // What a server has open it changes itself.
        look_before(&settings, &chosen, &[None, Some(connection(databases[1]))]).unwrap();
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(parse_bytes("1000"), Some(1000));
        assert_eq!(parse_bytes("64M"), Some(64 << 20));
        assert_eq!(parse_bytes("1g"), Some(1 << 30));
        assert_eq!(parse_bytes(""), None);
        assert_eq!(parse_bytes("1T"), None);
    }
}
