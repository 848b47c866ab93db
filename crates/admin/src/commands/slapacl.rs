//! slapacl: what the access rules grant a subject on an entry, and which rule decides.

use std::{ffi::OsString, process::ExitCode};

use ironbark_config::{
    LoadedConfiguration,
    access::{AccessLevel, AccessRule, Privileges},
};
use ironbark_directory::{Appraisal, Asker, Granted, Peer, Strength};
use ironbark_model::{Dn, Entry, Schema, schema::Source};
use ironbark_store::{Database, Location};

use crate::shared::{
    chosen::read_configuration,
    names::{Names, normal, open_all, own_value},
    options::{Grammar, Options, Told},
};

const GRAMMAR: Grammar = Grammar {
    program: "slapacl",
    letters: "b:d:D:f:F:o:uU:vX:",
    usage: "slapacl [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]]\n\
        \t[-U authcID | -D authcDN] [-X authzID | -o authzDN=<DN>]\n\
        \t-b DN [-u] [attr[/access][:value]] [...]",
    generic: &[
        "authzDN",
        "domain",
        "peername",
        "sasl_ssf",
        "sockname",
        "sockurl",
        "ssf",
        "tls_ssf",
        "transport_ssf",
    ],
    operands: true,
};

/// Runs slapacl; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    match check(&mut options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{}", failure.text);
            ExitCode::from(failure.status)
        }
    }
}

/// Why there is no answer, and slapd's exit status for it.
struct Failure {
    text: String,
    status: u8,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, status: 1 }
    }
}

/// The subject and the entry.
struct Question<'c> {
    configuration: &'c LoadedConfiguration,
    appraisal: Appraisal,
    /// Number of the database. `None`: only the frontend's rules.
    number: usize,
    asker: Asker,
    entry: Entry,
}

fn check(options: &mut Options) -> Result<(), Failure> {
    let base = options.suffix.take();
    let base = base.ok_or_else(|| "slapacl: -b is missing: the entry to check".to_owned())?;
    let bad = |error: String| format!("{error}\nslapacl: bad configuration file!");
    let configuration = read_configuration(options).map_err(bad)?.configuration;
    let schema = &*configuration.schema;
    let dn = name(schema, "base", &base)?;
    let position = configuration.database_holding(&dn);
    let mut databases = Vec::new();
    let mut fetched = None;
    if !options.dry_run {
        databases = open_all(&configuration, "slapacl")?;
        fetched = Some(match position {
            Some(position) => fetch(databases.get(position).and_then(Option::as_ref), schema, &dn),
            None => Err(format!(
                "{base}: no target database has been found for baseDN=\"slapacl\"; you may try with \"-u\" (dry run)."
            )),
        });
    }
    let appraisal = Appraisal::with_databases(&configuration, databases).map_err(|error| error.to_string())?;
    let asker = asker(options, schema, &appraisal)?;
    let entry = fetched.transpose()?;
    let is_fake = entry.is_none();
    let question = Question {
        configuration: &configuration,
        appraisal,
        number: position.map_or(usize::MAX, |position| position + 1),
        asker,
        entry: entry.unwrap_or_else(|| Entry {
            dn,
            attributes: Vec::new(),
        }),
    };
    if options.operands.is_empty() {
        question.everything(is_fake);
    }
    for word in &options.operands {
        question.one(word)?;
    }
    Ok(())
}

fn name(schema: &Schema, what: &str, text: &str) -> Result<Dn, String> {
    Dn::parse(schema, text.as_bytes())
        .map_err(|_| format!("{what}=\"{text}\" normalization failed 34 (Invalid DN syntax)"))
}

/// Exactly one of two ways to name a subject: an identity that is mapped, or a DN.
fn either(
    what: &str,
    id: Option<&str>,
    dn: Option<&str>,
    map: impl Fn(&str) -> Result<Dn, String>,
    schema: &Schema,
) -> Result<Option<Dn>, String> {
    match (id, dn) {
        (Some(id), Some(dn)) => Err(format!("both {what}ID=\"{id}\" and {what}DN=\"{dn}\" provided")),
        (Some(id), None) => {
            let mapped = map(id).map_err(|error| format!("{what}ID: <{id}> {error}"))?;
            Ok(Some(mapped).filter(|dn| !dn.is_root()))
        }
        (None, Some(dn)) => Ok(Some(name(schema, &format!("{what}DN"), dn)?)),
        (None, None) => Ok(None),
    }
}

/// `-D`, `-U`, `-X` and `-o`.
fn asker(options: &Options, schema: &Schema, appraisal: &Appraisal) -> Result<Asker, String> {
    let own = |letter| own_value(options, letter);
    let generic = |name: &str| options.generic_value(name);
    let names = Names {
        appraisal,
        realm: None,
        mechanism: None,
    };
    let (id, dn) = (own('U')?, own('D')?);
    let authenticated = either(
        "authc",
        id.as_deref(),
        dn.as_deref(),
        |id| names.authenticated(id).map(Option::unwrap_or_default),
        schema,
    )?;
    let id = own('X')?;
    let map = |id: &str| names.named(id);
    let authorized = either("authz", id.as_deref(), generic("authzDN"), map, schema)?;
    if let Some(dn) = &authenticated {
        eprintln!("authcDN: \"{}\"", normal(schema, dn));
    }
    if let Some(dn) = &authorized {
        eprintln!("authzDN: \"{}\"", normal(schema, dn));
    }
    let number = |name: &str| {
        let given = generic(name).map(|text| text.parse().map_err(|_| format!("unable to parse {name}=\"{text}\"")));
        Ok::<u32, String>(given.transpose()?.unwrap_or_default())
    };
    let peer_name = generic("peername").unwrap_or_default();
    let address = peer_name
        .strip_prefix("IP=")
        .and_then(|text| text.parse::<core::net::SocketAddr>().ok());
    let dn = authorized.clone().or(authenticated.clone()).unwrap_or_default();
    Ok(Asker {
        real_dn: authenticated.unwrap_or_else(|| dn.clone()),
        dn,
        peer: Peer {
            name: peer_name.into(),
            socket_name: generic("sockname").unwrap_or_default().into(),
            listener_url: generic("sockurl").unwrap_or_default().into(),
            domain: generic("domain").map(Into::into),
            address: address.map(|address| address.ip()),
            credentials: None,
        },
        strength: Strength {
            ssf: number("ssf")?,
            transport: number("transport_ssf")?,
            tls: number("tls_ssf")?,
            sasl: number("sasl_ssf")?,
        },
    })
}

fn fetch(database: Option<&Database>, schema: &Schema, dn: &Dn) -> Result<Entry, String> {
    let unable = |why: String| format!("slapacl: unable to fetch entry \"{}\" ({why})", normal(schema, dn));
    let database = database
        .ok_or("slapacl: target database doesn't support necessary operations; you may try with \"-u\" (dry run).")?;
    let snapshot = database.snapshot().map_err(|error| unable(error.to_string()))?;
    let view = snapshot.view();
    match view.locate(dn).map_err(|error| unable(error.to_string()))? {
        Location::Entry(id) => {
            let record = view.record(id).map_err(|error| unable(error.to_string()))?;
            let record = record.ok_or_else(|| unable("it has gone".to_owned()))?;
            let name = view.dn(id).map_err(|error| unable(error.to_string()))?;
            record.to_entry(name).map_err(|error| unable(error.to_string()))
        }
        Location::Missing { .. } => Err(format!("slapacl: unable to fetch ID of DN \"{}\"", normal(schema, dn))),
    }
}

impl Question<'_> {
    /// Prints the entry, its children, and each of its values.
    fn everything(&self, is_fake: bool) {
        self.show("entry", None, "");
        if is_fake {
            return;
        }
        self.show("children", None, "");
        let schema = &*self.configuration.schema;
        for attribute in &self.entry.attributes {
            let name = schema.description_text(&attribute.description);
            let is_secret = name.eq_ignore_ascii_case("userPassword");
            for value in &attribute.values {
                let shown = if is_secret {
                    "****".into()
                } else {
                    String::from_utf8_lossy(value)
                };
                self.show(&name, Some(value), &format!("={shown}"));
            }
        }
    }

    /// `attr[/access][:value]`.
    fn one(&self, word: &str) -> Result<(), Failure> {
        let (left, value) = word
            .split_once(':')
            .map_or((word, None), |(left, value)| (left, Some(value)));
        let (attribute, access) = left
            .split_once('/')
            .map_or((left, None), |(left, access)| (left, Some(access)));
        let shown = value.map_or_else(String::new, |value| format!("={value}"));
        let Some(access) = access else {
            return match self.granted(attribute, value.map(str::as_bytes)) {
                Some(_) => {
                    self.show(attribute, value.map(str::as_bytes), &shown);
                    Ok(())
                }
                None => Err(unknown(attribute)),
            };
        };
        let wanted =
            level(access).ok_or_else(|| format!("unknown access \"{access}\" for attribute \"{attribute}\""))?;
        if wanted == Privileges::default() {
            return Err(format!("\"none\" not allowed for attribute \"{attribute}\"").into());
        }
        let granted = self
            .granted(attribute, value.map(str::as_bytes))
            .ok_or_else(|| unknown(attribute))?;
        let verdict = if granted.privileges.contains(wanted) {
            "ALLOWED"
        } else {
            "DENIED"
        };
        eprintln!("{access} access to {attribute}{shown}: {verdict}");
        self.reason(&granted);
        Ok(())
    }

    fn granted(&self, attribute: &str, value: Option<&[u8]>) -> Option<Granted> {
        self.appraisal
            .granted_to(self.number, &self.asker, &self.entry, attribute, value)
    }

    fn show(&self, attribute: &str, value: Option<&[u8]>, shown: &str) {
        if let Some(granted) = self.granted(attribute, value) {
            eprintln!("{attribute}{shown}: {}", text(&granted));
            self.reason(&granted);
        }
    }

    /// Prints the rule and the clause.
    fn reason(&self, granted: &Granted) {
        let own = self
            .number
            .checked_sub(1)
            .and_then(|at| self.configuration.databases.get(at));
        let own = own.map_or(&[][..], |database| &database.access);
        let rules: Vec<&AccessRule> = own.iter().chain(&self.configuration.frontend.access).collect();
        let place = granted.rule.and_then(|number| Some((number, rules.get(number)?)));
        // A file of slapd.d has one line number for all rules of an entry, so the rules' own numbers are shown.
        let shown = |(number, rule): (usize, &&AccessRule)| {
            let Source { file, line } = &rule.location;
            let number = number.checked_sub(own.len()).unwrap_or(number);
            let is_entry = std::path::Path::new(&**file)
                .extension()
                .is_some_and(|end| end == "ldif");
            let value = if is_entry {
                format!(" olcAccess {{{number}}}:")
            } else {
                String::new()
            };
            format!("{file}: line {line}:{value}")
        };
        match (place, granted.clause) {
            (Some(place), 0) => eprintln!("\t{} no clause matches (by * none)", shown(place)),
            (Some(place), clause) => eprintln!("\t{} by clause {clause}", shown(place)),
            (None, _) if rules.is_empty() => eprintln!("\tno rules: everyone may read"),
            (None, _) if granted.privileges == AccessLevel::Manage.privileges() => eprintln!("\tthe rootdn"),
            (None, _) => eprintln!("\tno rule applies (to * by * none)"),
        }
    }
}

fn unknown(attribute: &str) -> Failure {
    Failure {
        text: format!("slap_str2ad({attribute}) failed 17 (Undefined attribute type)"),
        status: 17,
    }
}

/// The privilege that a level adds to the lower levels. An operation of that kind needs it.
fn level(word: &str) -> Option<Privileges> {
    Some(match word.to_ascii_lowercase().as_str() {
        "none" => Privileges::default(),
        "disclose" => Privileges::DISCLOSE,
        "auth" => Privileges::AUTH,
        "compare" => Privileges::COMPARE,
        "search" => Privileges::SEARCH,
        "read" => Privileges::READ,
        "write" => Privileges::ADD.with(Privileges::DELETE),
        "add" => Privileges::ADD,
        "delete" => Privileges::DELETE,
        "increment" => Privileges::INCREMENT,
        "manage" => Privileges::MANAGE,
        _ => return None,
    })
}

/// `read(=rscxd)`. As in slapd, the word is left out unless the last clause grants a level.
fn text(granted: &Granted) -> String {
    let letters = match granted.privileges.words().concat() {
        nothing if nothing.is_empty() => "0".to_owned(),
        letters => letters,
    };
    match AccessLevel::of(granted.privileges).filter(|_| granted.is_level) {
        Some(AccessLevel::None) if granted.clause == 0 => "=0".to_owned(),
        Some(level) => format!("{}(={letters})", level.word()),
        None => format!("={letters}"),
    }
}
