//! slapmodify: LDIF change records into a database, offline. The operations are the server's own, done by a directory in this process
//! in the name of the database's rootdn.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader},
    process::ExitCode,
    sync::Arc,
};

use ironbark_config::{Configuration, EnvironmentFlags, Restrict};
use ironbark_directory::{Directory, Identity, OpenOptions, Peer, Session, Started, Worker};
use ironbark_ldap_proto::{
    AddRequest, Attribute, DecodeLimits, EncodeControl, List, MessageId, Modification, ModifyDnRequest,
    ModifyOperation, ModifyRequest, Request, Response, ResponseMessage,
    controls::{Control as Attached, NoOp, RelaxRules},
    message::encode_request,
};
use ironbark_ldif::{Change, FileResolver, ModifyKind, Reader, Record, RecordKind};
use ironbark_model::{Dn, ResultCode};
use ironbark_runtime::{Clock, Randomness};

use super::{
    chosen::{Chosen, database_of},
    context_csn,
    load_options::LoadOptions,
    options::{Grammar, Options, Told},
    owner,
};

const GRAMMAR: Grammar = Grammar {
    program: "slapmodify",
    letters: "b:cd:f:F:gj:l:n:o:qsS:uvw",
    usage: "slapmodify [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-c]\n\
        \t[-g] [-n databasenumber | -b suffix]\n\
        \t[-l ldiffile] [-j linenumber] [-q] [-u] [-S serverid] [-w]",
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
    let always = "operations are always checked; load unchecked entries with slapadd -s";
    for name in ["schema-check", "value-check"] {
        if options.switch(name)? == Some(false) {
            return Err(format!("-o {name}=no: {always}"));
        }
    }
    LoadOptions::read(options, &mut |opt, _| match opt.letter {
        's' => Err(format!("-s: {always}")),
        _ => Ok(()),
    })
}

fn modify(options: &Options, settings: &LoadOptions) -> Result<bool, String> {
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    let input: Box<dyn BufRead> = match &options.file {
        None => Box::new(io::stdin().lock()),
        Some(path) => {
            let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Box::new(BufReader::with_capacity(1 << 18, file))
        }
    };
    let directory = Directory::open(OpenOptions {
        bare: false,
        configuration: for_tool(&chosen, options),
        clock: Clock::system(),
        randomness: Randomness::system(),
        overlays: &ironbark_overlays::make,
        monitor: &|_| None,
        server_id: settings.server_id,
        root_dse: Vec::new(),
    });
    for (_, database) in chosen.databases() {
        let path = &database.mdb.directory;
        if let Err(error) = owner::adopt(path) {
            eprintln!(
                "slapmodify: {}: the files could not be given to the owner of the directory: {error}",
                path.display()
            );
        }
    }
    let directory = directory.map_err(|error| format!("slapmodify: {error}"))?;
    let mut changes = Changes {
        options,
        chosen: &chosen,
        worker: Worker::new(Arc::clone(&directory)),
        session: Session::new(0, Arc::new(peer())),
        request: Vec::new(),
        response: Vec::new(),
        next_id: 1,
    };
    let result = changes.all(Reader::new(input, FileResolver::default()), settings.first_line);
    drop(changes);
    directory.close();
    // A file is open once in a process: it is opened again for the CSNs.
    drop(directory);
    let clean = result?;
    if settings.writes_context_csn && !options.dry_run {
        let written = context_csn::collect(&chosen).and_then(|csns| context_csn::write(&chosen, csns));
        written.map_err(|error| format!("slapmodify: could not update contextCSN: {error}"))?;
    }
    Ok(clean)
}

/// The chosen databases alone, without what keeps clients from writing.
fn for_tool(chosen: &Chosen, options: &Options) -> Configuration {
    let mut configuration = chosen.configuration.clone();
    configuration.databases = chosen.databases().map(|(_, database)| database.clone()).collect();
    for database in &mut configuration.databases {
        database.read_only = false;
        database.hidden = false;
        database.restrict = Restrict::default();
        if options.quick {
            database.mdb.flags = database.mdb.flags.with(EnvironmentFlags::NO_SYNC);
        }
        if database.root_dn.is_none() {
            database.root_dn = Dn::parse(chosen.schema(), NO_ROOT.as_bytes()).ok();
        }
    }
    configuration
}

/// In whose name a database without rootdn is changed.
const NO_ROOT: &str = "cn=slapmodify";

fn peer() -> Peer {
    Peer {
        name: "slapmodify".into(),
        socket_name: "slapmodify".into(),
        listener_url: "".into(),
        address: None,
        credentials: None,
    }
}

/// Change records on their way.
struct Changes<'a> {
    options: &'a Options,
    chosen: &'a Chosen,
    worker: Worker,
    session: Session,
    request: Vec<u8>,
    response: Vec<u8>,
    next_id: i32,
}

/// Why a record was not applied, for the user.
type Refused = String;

impl Changes<'_> {
    fn all(&mut self, mut reader: Reader<'_, FileResolver>, first_line: u64) -> Result<bool, String> {
        let mut clean = true;
        loop {
            let refused = match reader.read() {
                Ok(None) => return Ok(clean),
                Ok(Some(record)) if record.line < first_line => continue,
                Ok(Some(record)) => self.one(&record),
                Err(error) if error.line < first_line => continue,
                Err(error) => Err(format!("slapmodify: {error}")),
            };
            if let Err(text) = refused {
                if self.options.keep_going == 0 {
                    return Err(text);
                }
                clean = false;
                eprintln!("{text}");
            }
        }
    }

    fn one(&mut self, record: &Record) -> Result<(), Refused> {
        let shown = String::from_utf8_lossy(&record.dn).into_owned();
        let named = |text: &str| format!("slapmodify: dn=\"{shown}\" (line={}): {text}", record.line);
        let dn = Dn::parse(self.chosen.schema(), &record.dn).map_err(|_| named("(34) invalid DN"))?;
        let settings = database_of(&self.chosen.configuration, &dn)
            .filter(|found| self.chosen.positions.contains(found))
            .and_then(|found| self.chosen.configuration.databases.get(found))
            .ok_or_else(|| named("the database is not configured to hold it"))?;
        let root = match &settings.root_dn {
            Some(root) => root.clone(),
            None => Dn::parse(self.chosen.schema(), NO_ROOT.as_bytes()).unwrap_or_default(),
        };
        self.session.identity = Arc::new(Identity {
            dn: root,
            authentication_dn: None,
        });
        let (word, code, text) = self.apply(record).map_err(|text| named(&text))?;
        if code != ResultCode::SUCCESS && !(self.options.dry_run && code == ResultCode::NO_OPERATION) {
            return Err(named(&format!("({}) {text}", code.0)));
        }
        if self.options.verbose > 0 {
            eprintln!("{word}: \"{}\"", dn.pretty());
        }
        Ok(())
    }

    /// Sends the record's operation; its name, and the result.
    fn apply(&mut self, record: &Record) -> Result<(&'static str, ResultCode, String), String> {
        let dn = record.dn.as_slice();
        match &record.kind {
            RecordKind::Content(attributes) => self.add(dn, attributes, &[]),
            RecordKind::Change { controls, change } => match change {
                Change::Add(attributes) => self.add(dn, attributes, controls),
                Change::Delete => self.send("delete", &Request::Delete(dn), controls),
                Change::ModifyDn {
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
                    self.send("modrdn", &Request::ModifyDn(request), controls)
                }
                Change::Modify(modifications) => {
                    let values: Vec<Vec<&[u8]>> = modifications
                        .iter()
                        .map(|modification| modification.values.iter().map(Vec::as_slice).collect())
                        .collect();
                    let changes: Vec<_> = modifications
                        .iter()
                        .zip(&values)
                        .map(|(modification, values)| Modification {
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
                    self.send("modify", &Request::Modify(request), controls)
                }
            },
        }
    }

    fn add(
        &mut self,
        dn: &[u8],
        pairs: &[(Vec<u8>, Vec<u8>)],
        controls: &[ironbark_ldif::Control],
    ) -> Result<(&'static str, ResultCode, String), String> {
        let mut grouped: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
        for (name, value) in pairs {
            match grouped.iter_mut().find(|(found, _)| found.eq_ignore_ascii_case(name)) {
                Some((_, values)) => values.push(value),
                None => grouped.push((name, vec![value])),
            }
        }
        let attributes: Vec<_> = grouped
            .iter()
            .map(|(name, values)| Attribute {
                description: name,
                values: List::new(values),
            })
            .collect();
        let request = AddRequest {
            entry: dn,
            attributes: List::new(&attributes),
        };
        self.send("add", &Request::Add(request), controls)
    }

    /// Relax Rules let the operational attributes of a dump be written.
    fn send(
        &mut self,
        word: &'static str,
        request: &Request<'_>,
        controls: &[ironbark_ldif::Control],
    ) -> Result<(&'static str, ResultCode, String), String> {
        self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        let id = MessageId::new(self.next_id).unwrap_or_default();
        let own: Vec<LdifControl<'_>> = controls.iter().map(LdifControl).collect();
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
        self.response.clear();
        encode_request(&mut self.request, id, request, &attached);
        if let Started::Submitted(submitted) = self.worker.start(&mut self.session, &self.request, &mut self.response) {
            let completion = submitted
                .receiver
                .blocking_recv()
                .map_err(|_| "the writer has ended".to_owned())?;
            self.worker.finish(&mut self.session, completion, &mut self.response);
        }
        let limits = DecodeLimits::default();
        let message = ResponseMessage::decode(&self.response, &limits).map_err(|_| "no answer".to_owned())?;
        match message.operation {
            Response::Done(_, result) => {
                let text = String::from_utf8_lossy(result.diagnostic_message).into_owned();
                let text = if text.is_empty() {
                    result.code.name().unwrap_or_default().to_owned()
                } else {
                    text
                };
                Ok((word, result.code, text))
            }
            _ => Err("no answer".to_owned()),
        }
    }
}

/// A `control:` line on its way into a request.
struct LdifControl<'a>(&'a ironbark_ldif::Control);

impl EncodeControl for LdifControl<'_> {
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
