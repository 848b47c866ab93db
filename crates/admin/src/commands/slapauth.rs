//! slapauth: the identity of a client after `authz-regexp`, and whether `authz-policy` lets it act for another one.

use std::{ffi::OsString, process::ExitCode};

use ironbark_directory::Appraisal;
use ironbark_model::{Dn, Schema};

use crate::shared::{
    chosen::read_configuration,
    names::{Names, failed, normal, open_all, own_value},
    options::{Grammar, Options, Told},
};

const GRAMMAR: Grammar = Grammar {
    program: "slapauth",
    letters: "d:f:F:M:o:R:U:vX:",
    usage: "slapauth [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]]\n\
        \t[-U authcID] [-X authzID] [-R realm] [-M mech] ID [...]",
    generic: &[],
    operands: true,
};

/// Runs slapauth; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    match examine(&options) {
        Ok(code) => code,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn examine(options: &Options) -> Result<ExitCode, String> {
    let (authenticated, authorized) = (own_value(options, 'U')?, own_value(options, 'X')?);
    if authenticated.is_none() && options.operands.is_empty() {
        return Ok(options.usage(&GRAMMAR, "no ID is given").0);
    }
    if authenticated.is_some() && authorized.is_some() && !options.operands.is_empty() {
        return Ok(options.usage(&GRAMMAR, "-U and -X together allow no ID").0);
    }
    let (realm, mechanism) = (own_value(options, 'R')?, own_value(options, 'M')?);
    let bad = |error: String| format!("{error}\nslapauth: bad configuration file!");
    let configuration = read_configuration(options).map_err(bad)?.configuration;
    let databases = open_all(&configuration, "slapauth")?;
    let appraisal = Appraisal::with_databases(&configuration, databases).map_err(|error| error.to_string())?;
    let names = Names {
        appraisal: &appraisal,
        realm,
        mechanism,
    };
    check(
        &names,
        &configuration.schema,
        authenticated.as_deref(),
        authorized.as_deref(),
        &options.operands,
    )
}

/// Each ID is the missing part: with -U the identity to act for, otherwise the client.
fn check(
    names: &Names<'_>,
    schema: &Schema,
    authenticated: Option<&str>,
    authorized: Option<&str>,
    ids: &[String],
) -> Result<ExitCode, String> {
    let somebody = |id: &str| {
        let dn = names.named(id).map_err(|error| format!("authzID: <{id}> {error}"))?;
        // slapd does not check whether a client may act as anonymous.
        Ok::<_, String>(Some(dn).filter(|dn| !dn.is_root()))
    };
    let other = authorized.map(somebody).transpose()?.flatten();
    let Some(own) = authenticated else {
        ids.iter().try_for_each(|id| one(names, schema, id, other.as_ref()))?;
        return Ok(ExitCode::SUCCESS);
    };
    if ids.is_empty() {
        one(names, schema, own, other.as_ref())?;
    }
    for id in ids {
        match somebody(id) {
            Ok(other) => one(names, schema, own, other.as_ref())?,
            Err(text) => {
                eprintln!("{text}");
                // slapauth returns -1 here.
                return Ok(ExitCode::from(255));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn one(names: &Names<'_>, schema: &Schema, id: &str, other: Option<&Dn>) -> Result<(), String> {
    let own = names.authenticated(id).map_err(|error| format!("ID: <{id}> {error}"))?;
    let shown = own.as_ref().map_or_else(|| id.to_owned(), |own| normal(schema, own));
    let Some(other) = other else {
        eprintln!("ID: <{id}> check succeeded\nauthcID:     <{shown}>");
        return Ok(());
    };
    // A client whose ID is not a name may not act for others.
    let may = own.map_or(Ok(false), |own| names.appraisal.may_act_for(&own, other));
    let may = may.map_err(|error| format!("ID: <{id}> {}", failed(&error)))?;
    let verdict = if may { "OK" } else { "failed" };
    eprintln!(
        "ID:      <{id}>\nauthcDN: <{shown}>\nauthzDN: <{}>\nauthorization {verdict}",
        normal(schema, other)
    );
    Ok(())
}
