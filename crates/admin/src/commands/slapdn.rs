//! slapdn: whether names are valid in the schema, and their normal and pretty forms.

use std::{ffi::OsString, process::ExitCode};

use ironbark_model::{Dn, Schema};

use crate::shared::{
    chosen::read_configuration,
    names::normal,
    options::{Grammar, Options, Told},
};

const GRAMMAR: Grammar = Grammar {
    program: "slapdn",
    letters: "d:f:F:No:Pv",
    usage: "slapdn [-v] [-d debuglevel] [-f configfile] [-F configdir] [-o <name>[=<value>]]\n\t[-N | -P] DN [...]",
    generic: &[],
    operands: true,
};

/// The form that is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Both,
    Normalized,
    Pretty,
}

/// Runs slapdn; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    let has = |letter| options.own.iter().any(|opt| opt.letter == letter);
    let form = match (has('N'), has('P')) {
        (true, true) => return options.usage(&GRAMMAR, "-N and -P exclude each other").0,
        (true, false) => Form::Normalized,
        (false, true) => Form::Pretty,
        (false, false) => Form::Both,
    };
    if options.operands.is_empty() {
        return options.usage(&GRAMMAR, "no DN is given").0;
    }
    let configuration = match read_configuration(&options) {
        Ok(loaded) => loaded.configuration,
        Err(error) => {
            eprintln!("{error}\nslapdn: bad configuration file!");
            return ExitCode::FAILURE;
        }
    };
    for name in &options.operands {
        match describe(&configuration.schema, name, form) {
            Ok(text) => println!("{text}"),
            Err(text) => {
                eprintln!("{text}");
                // slapdn returns -1 here.
                return ExitCode::from(255);
            }
        }
    }
    ExitCode::SUCCESS
}

fn describe(schema: &Schema, name: &str, form: Form) -> Result<String, String> {
    let dn =
        Dn::parse(schema, name.as_bytes()).map_err(|_| format!("DN: <{name}> check failed 21 (Invalid syntax)"))?;
    let normalized = normal(schema, &dn);
    let pretty = dn.pretty();
    Ok(match form {
        Form::Normalized => normalized,
        Form::Pretty => pretty.to_owned(),
        Form::Both => format!("DN: <{name}> check succeeded\nnormalized: <{normalized}>\npretty:     <{pretty}>"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_in_the_wanted_form() {
        let schema = Schema::system();
        let show = |form| describe(&schema, "CN=A,  cn=X", form);
        assert_eq!(show(Form::Normalized).as_deref(), Ok("cn=a,cn=x"));
        assert_eq!(show(Form::Pretty).as_deref(), Ok("cn=A,cn=X"));
        assert_eq!(
            show(Form::Both).as_deref(),
            Ok("DN: <CN=A,  cn=X> check succeeded\nnormalized: <cn=a,cn=x>\npretty:     <cn=A,cn=X>")
        );
        assert_eq!(
            describe(&schema, "foo", Form::Both),
            Err("DN: <foo> check failed 21 (Invalid syntax)".to_owned())
        );
    }
}
