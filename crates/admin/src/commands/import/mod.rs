//! `ironbark import`: a new directory from the exports of another server, with a report of what was changed and why.
//!
//! The data is read twice, one record at a time: first for what it names, so that schema and configuration can be made,
//! then to convert it. Memory does not grow with the number of entries.

mod configuration;
mod convert;
mod dse;
mod dse_plugins;
mod load;
mod locking;
mod opendj_config;
mod report;
mod rules;
mod schema;
mod settings;
mod source;
mod survey;
mod tally;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use ironbark_model::Schema;

use self::{
    configuration::{Database, Parts, configuration, databases, fit},
    convert::Converter,
    load::Output,
    report::{Report, report},
    schema::{Candidates, Imported},
    settings::{ConfigEntry, Settings},
    source::Source,
    survey::{Survey, is_within, plain},
};
use super::init::{self, Foundation};
use crate::shared::{access_options::USUAL_URL, shell};

/// Options of `ironbark import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// What has written the data; recognized from the data without it
    #[arg(long, value_enum)]
    from: Option<Source>,
    /// The configuration of the old server: dse.ldif of 389 Directory Server, config.ldif of OpenDJ
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Schema of the old server: a file of cn=schema, or a folder of them. May be given more than once
    #[arg(long, value_name = "FILE|DIR")]
    schema: Vec<PathBuf>,
    /// The directory to create; it must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// The suffix; without it, those of the configuration or of the data
    #[arg(long, value_name = "DN")]
    suffix: Option<String>,
    /// The exported entries
    #[arg(required = true, value_name = "DATA.ldif")]
    data: Vec<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  ironbark import --output ./directory data.ldif
  ironbark import --config dse.ldif --output ./directory userroot.ldif";

/// The file with the definitions of the old server.
const IMPORTED: &str = "imported.schema";
/// The configuration until all has been loaded. No server starts with what an import has left that was cut off.
const UNFINISHED: &str = "slapd.conf.unfinished";

impl Import {
    pub(super) fn run(&self) -> Result<(), String> {
        // All that is only read comes first: a mistake leaves nothing behind.
        let survey = Survey::of(&self.data)?;
        let entries = match &self.config {
            Some(path) => Some(settings::read(path)?),
            None => None,
        };
        let source = self
            .from
            .or_else(|| survey.marks.source())
            .or_else(|| entries.as_deref().and_then(source_of))
            .ok_or("the data does not show what has written it: give --from slapcat, 389 or opendj")?;
        if let (Some(path), Some(entries)) = (&self.config, &entries) {
            check_configuration(source, entries).map_err(|text| format!("{}: {text}", path.display()))?;
        }
        let settings = settings_of(source, entries.as_deref())?;
        let suffixes = self.suffixes(&survey, &settings)?;
        let candidates = Candidates::read(&self.schema)?;
        let foundation = init::lay_foundation(&self.output, &[])?;
        self.build(source, &survey, settings, &suffixes, &candidates, &foundation)
            .map_err(|text| {
                let output = self.output.display();
                format!("{text}\nThe import has failed. Put right what the message names, delete {output}, and import again.")
            })
    }

    /// Suffixes as asked for, configured, or found.
    fn suffixes(&self, survey: &Survey, settings: &Settings) -> Result<Vec<String>, String> {
        let has_data = |suffix: &String| {
            survey
                .suffixes
                .iter()
                .any(|found| is_within(&plain(found), &plain(suffix)))
        };
        let is_below = |suffix: &String| {
            survey
                .suffixes
                .iter()
                .any(|found| is_within(&plain(suffix), &plain(found)))
        };
        if let Some(suffix) = &self.suffix {
            return if has_data(suffix) || is_below(suffix) {
                Ok(vec![suffix.clone()])
            } else {
                let found = survey.suffixes.join("\" and \"");
                Err(format!(
                    "--suffix {suffix}: the data has no entry there; it has \"{found}\""
                ))
            };
        }
        let configured = settings.bases.iter().map(|base| base.suffix.clone());
        let mut suffixes: Vec<String> = configured
            .filter(|suffix| has_data(suffix) || is_below(suffix))
            .collect();
        for found in &survey.suffixes {
            if !suffixes.iter().any(|suffix| is_within(&plain(found), &plain(suffix))) {
                suffixes.push(found.clone());
            }
        }
        Ok(suffixes)
    }

    fn build(
        &self,
        source: Source,
        survey: &Survey,
        mut settings: Settings,
        suffixes: &[String],
        candidates: &Candidates,
        foundation: &Foundation,
    ) -> Result<(), String> {
        let directory = foundation.directory.as_path();
        let mut databases = databases(suffixes, &settings);
        make_folders(directory, &databases)?;
        let is_top = |suffix: &&String| {
            databases
                .iter()
                .any(|one| !one.is_subordinate && one.suffix == **suffix)
        };
        let first = suffixes.iter().find(is_top).ok_or("the data has no suffix")?;
        let policy = format!("cn=imported password policy,{first}");
        let site = Site {
            file: directory.join(UNFINISHED),
            administrator: format!("cn=admin,{first}"),
            policy: (source != Source::Slapcat).then_some(policy),
            overlays: overlays(source, survey, &settings),
            foundation,
        };
        let imported = site.add_schema(&databases, |schema| candidates.choose(source, survey, schema))?;
        let refused_indexes = fit(source, &mut databases, &*load_schema(&site.file)?);
        site.drop_refused_overlays(&databases, &mut settings)?;
        if source == Source::Ds389 {
            for (what, becomes) in survey.roles.notes() {
                settings.note(what, becomes);
            }
        }
        site.write(&databases, &settings)?;

        let mut converter = Converter::new(source, load_schema(&site.file)?, survey.roles.locking());
        let mut output = Output::new(directory, &databases, &site.file)?;
        self.convert(&mut converter, &mut output, suffixes)?;
        if let Some(policy) = &site.policy {
            output.policy(policy, first, &settings.policy)?;
        }
        output.load()?;
        let text = report(&Report {
            source,
            is_given: self.from.is_some(),
            directory,
            databases: &databases,
            administrator: &site.administrator,
            tally: &converter.tally,
            settings: &settings,
            has_configuration: self.config.is_some(),
            imported: &imported,
            unreadable: &candidates.unreadable,
            has_schema: !self.schema.is_empty(),
            refused_indexes: &refused_indexes,
            overlays: &site.overlays,
        });
        init::replace_private(&directory.join("report.md"), text.as_bytes())?;
        std::fs::rename(&site.file, directory.join("slapd.conf"))
            .map_err(|error| format!("{}: {error}", site.file.display()))?;
        print!("{}", farewell(foundation, &site.administrator, converter.tally.written));
        Ok(())
    }

    fn convert(&self, converter: &mut Converter, output: &mut Output, suffixes: &[String]) -> Result<(), String> {
        for path in &self.data {
            survey::each_record(path, &mut |dn, attributes, line| {
                let dn = std::str::from_utf8(dn)
                    .map_err(|_| format!("{}: line {line}: the name is not UTF-8", path.display()))?;
                let shown = plain(dn);
                if !suffixes.iter().any(|suffix| is_within(&shown, &plain(suffix))) {
                    converter.tally.read += 1;
                    converter.tally.outside.add(dn);
                    return output.left_out(dn, &attributes);
                }
                let made = converter.convert(dn, attributes);
                if !made.left_out.is_empty() {
                    output.left_out(dn, &made.left_out)?;
                }
                match made.entry {
                    Some(entry) => output.entry(dn, &shown, &entry),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }
}

/// The new directory, and what its configuration has in any case.
struct Site<'s> {
    file: PathBuf,
    administrator: String,
    policy: Option<String>,
    overlays: Vec<String>,
    foundation: &'s Foundation,
}

impl Site<'_> {
    fn write(&self, databases: &[Database], settings: &Settings) -> Result<(), String> {
        let files: Vec<&str> = init::SCHEMA.iter().map(|(name, _)| *name).chain([IMPORTED]).collect();
        let parts = Parts {
            directory: &self.foundation.directory,
            settings,
            databases,
            hash: &self.foundation.hash,
            administrator: &self.administrator,
            overlays: &self.overlays,
            policy: self.policy.as_deref(),
        };
        init::replace_private(&self.file, configuration(&parts, &files)?.as_bytes())
    }

    /// Writes a configuration without indexes and settings, and adds the definitions that its schema lacks.
    fn add_schema(&self, databases: &[Database], choose: impl FnOnce(&Schema) -> Imported) -> Result<Imported, String> {
        let mut bare = databases.to_vec();
        for database in &mut bare {
            database.indexes.clear();
        }
        let file = self.foundation.directory.join("schema").join(IMPORTED);
        init::replace_private(&file, b"")?;
        self.write(&bare, &Settings::default())?;
        let imported = choose(&*load_schema(&self.file)?);
        init::replace_private(&file, imported.text.as_bytes())?;
        Ok(imported)
    }

    /// Takes overlays away that this server refuses, such as those that name unknown attributes, and notes why.
    fn drop_refused_overlays(&self, databases: &[Database], settings: &mut Settings) -> Result<(), String> {
        let mut notes = Vec::new();
        for overlay in std::mem::take(&mut settings.overlays) {
            let alone = Settings {
                overlays: vec![overlay.clone()],
                ..Settings::default()
            };
            self.write(databases, &alone)?;
            match load_schema(&self.file) {
                Ok(_) => settings.overlays.push(overlay),
                Err(text) => notes.push((overlay.text, format!("not taken: {text}"))),
            }
        }
        settings.notes.extend(notes);
        Ok(())
    }
}

/// The source of a configuration.
fn source_of(entries: &[ConfigEntry]) -> Option<Source> {
    entries.iter().find_map(|entry| {
        if entry.one("nsslapd-rootdn").is_some() {
            Some(Source::Ds389)
        } else if entry.has_class("ds-cfg-root-config") || entry.one("ds-cfg-backend-id").is_some() {
            Some(Source::Opendj)
        } else {
            None
        }
    })
}

/// Whether this is a configuration of the source: settings that are not found would be lost without a word.
fn check_configuration(source: Source, entries: &[ConfigEntry]) -> Result<(), String> {
    let server = source.server();
    match source_of(entries) {
        _ if source == Source::Slapcat => Ok(()),
        Some(found) if found != source => {
            let found = found.server();
            Err(format!(
                "this is a configuration of {found}, and the data is of {server}"
            ))
        }
        _ if entries.iter().any(|entry| entry.dn == "cn=config") => Ok(()),
        _ => Err(format!(
            "there is no entry cn=config: it is no configuration of {server}"
        )),
    }
}

fn settings_of(source: Source, entries: Option<&[ConfigEntry]>) -> Result<Settings, String> {
    match (source, entries) {
        (_, None) => Ok(Settings::default()),
        (Source::Ds389, Some(entries)) => Ok(dse::settings(entries)),
        (Source::Opendj, Some(entries)) => Ok(opendj_config::settings(entries)),
        (Source::Slapcat, Some(_)) => {
            Err("--config is for 389 and OpenDJ: Ironbark serves slapd.conf and slapd.d as they are".to_owned())
        }
    }
}

/// Overlays for what the data has.
fn overlays(source: Source, survey: &Survey, settings: &Settings) -> Vec<String> {
    let mut overlays = Vec::new();
    let member_of = survey.types.contains("memberof") || survey.types.contains("ismemberof");
    if source == Source::Slapcat {
        overlays.push("overlay memberof".to_owned());
    } else if member_of || !settings.member_attributes.is_empty() {
        let has = |name: &str| {
            settings
                .member_attributes
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        if settings.member_attributes.is_empty() || has("member") {
            overlays.push("overlay memberof\nmemberof-computed on".to_owned());
        }
        if has("uniqueMember") || (settings.member_attributes.is_empty() && survey.types.contains("uniquemember")) {
            overlays.push(
                "overlay memberof\nmemberof-group-oc groupOfUniqueNames\nmemberof-member-ad uniqueMember\n\
                 memberof-computed on"
                    .to_owned(),
            );
        }
    }
    let roles = [
        "nsmanagedroledefinition",
        "nsfilteredroledefinition",
        "nsnestedroledefinition",
    ];
    if survey.has_class(&roles) || survey.types.contains("nsroledn") {
        overlays.push("overlay roles".to_owned());
    }
    let cos = [
        "cospointerdefinition",
        "cosclassicdefinition",
        "cosindirectdefinition",
        "costemplate",
    ];
    if survey.has_class(&cos) {
        overlays.push("overlay cos".to_owned());
    }
    overlays
}

/// The schema of a configuration.
fn load_schema(file: &Path) -> Result<Arc<Schema>, String> {
    let loaded = ironbark_server::load_configuration(Some(file), None).map_err(|error| error.to_string())?;
    Ok(loaded.configuration.schema)
}

fn make_folders(directory: &Path, databases: &[Database]) -> Result<(), String> {
    if databases.len() > 1 {
        for number in 0..databases.len() {
            init::make_private(&directory.join("data").join(number.to_string()))?;
        }
    }
    Ok(())
}

fn farewell(foundation: &Foundation, administrator: &str, entries: u64) -> String {
    let config = shell::quoted_path(&foundation.directory.join("slapd.conf"));
    let directory = foundation.directory.display();
    format!(
        "{entries} entries are in {directory}. Read {directory}/report.md: it says what was changed and why.

  administrator  {administrator}
  password       {}

The password is shown only once; {directory}/slapd.conf has only its hash. Next:

  ironbark serve -f {config} -H {USUAL_URL}
",
        String::from_utf8_lossy(&foundation.password)
    )
}
