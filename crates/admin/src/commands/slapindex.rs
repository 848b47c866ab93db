//! slapindex: rebuilds indexes in steps. A running server does it itself, and goes on between the steps.

use std::{ffi::OsString, ops::ControlFlow, process::ExitCode};

use ironbark_config::DatabaseConfig;
use ironbark_directory::open;
use ironbark_ldap_proto::tool;

use crate::shared::{
    chosen::Chosen,
    options::{Grammar, Options, Told},
    owner::{self, Use},
    progress::Progress,
    running::RunningServer,
};

const GRAMMAR: Grammar = Grammar {
    program: "slapindex",
    letters: "b:cd:f:F:gn:o:qtv",
    usage: "slapindex [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]] [-c]\n\
        \t[-g] [-n databasenumber | -b suffix] [attr ...] [-q] [-t]",
    generic: &[],
    operands: true,
};

/// Runs slapindex; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    match index_all(&options) {
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

/// False when a database could not be indexed, or not all requested attributes.
fn index_all(options: &Options) -> Result<bool, String> {
    let chosen = Chosen::new(options).map_err(|()| String::new())?;
    for attribute in &options.operands {
        if chosen.schema().find_attribute_type(attribute.as_bytes()).is_none() {
            return Err(format!("slap_str2ad({attribute}) failed 17 (Undefined attribute type)"));
        }
    }
    let mut is_complete = true;
    for (_, settings) in chosen.databases() {
        is_complete &= match index(options, &chosen, settings) {
            Err(error) if options.keep_going > 0 => {
                eprintln!("{error}");
                false
            }
            other => other?,
        };
    }
    Ok(is_complete)
}

/// Rebuilds all indexes, or those of the named attributes that are indexed in this database. An index is always emptied
/// before it is built (`-t`). Its steps are transactions even with `-q`. False if a named attribute is not indexed.
fn index(options: &Options, chosen: &Chosen, settings: &DatabaseConfig) -> Result<bool, String> {
    let defined: Vec<String> = open::options(settings)
        .indexes
        .iter()
        .map(|index| index.attribute.to_string())
        .collect();
    let type_of = |name: &str| {
        chosen
            .schema()
            .find_attribute_type(name.as_bytes())
            .map(|found| found.number)
    };
    let wanted = |name: &&String| {
        options.operands.is_empty() || options.operands.iter().any(|operand| type_of(operand) == type_of(name))
    };
    let attributes: Vec<&str> = defined.iter().filter(wanted).map(String::as_str).collect();
    let mut is_complete = true;
    for operand in &options.operands {
        if !defined.iter().any(|name| type_of(name) == type_of(operand)) {
            eprintln!(
                "slapindex: {operand}: no index is defined in database \"{}\"",
                suffix(settings)
            );
            is_complete = false;
        }
    }
    if !attributes.is_empty() {
        build(options, chosen, settings, &attributes)?;
    }
    Ok(is_complete)
}

/// Builds indexes anew. If a server has the database open, it does that.
fn build(options: &Options, chosen: &Chosen, settings: &DatabaseConfig, attributes: &[&str]) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("slapindex: {error}");
    let text = format!("indexing \"{}\": {}", suffix(settings), attributes.join(" "));
    if let Some(mut server) = RunningServer::of(settings, "slapindex", false)? {
        if options.verbose > 0 {
            eprintln!("{text}");
        }
        let mut words: Vec<&[u8]> = vec![suffix(settings).as_bytes()];
        words.extend(attributes.iter().map(|name| name.as_bytes()));
        return server.ask(tool::REINDEX, &words).map_err(|error| failed(&error));
    }
    let mut database_options = open::options(settings);
    database_options.no_sync |= options.quick;
    let database = owner::opening(&[settings], Use::Write, "slapindex", || {
        ironbark_store::Database::open(database_options, chosen.schema().clone())
    });
    let database = database.map_err(|error| failed(&format!("could not open database: {error}")))?;
    let total = database.stat().map_err(|error| failed(&error))?.entries;
    let progress = Progress::entries(Some(total));
    if options.verbose > 0 {
        progress.line(&text);
    }
    let mut step = |done| {
        progress.set(done);
        ControlFlow::Continue(())
    };
    database
        .reindex(attributes, &mut step)
        .map_err(|error| failed(&error))?;
    database.sync().map_err(|error| failed(&error))
}

fn suffix(settings: &DatabaseConfig) -> &str {
    settings.suffixes.first().map_or("", ironbark_model::Dn::pretty)
}
