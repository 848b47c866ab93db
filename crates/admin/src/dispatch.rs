//! Decides which program runs: by the name of the call, by `slapd -T`, or by a subcommand of `ironbark`.

use std::{ffi::OsString, process::ExitCode};

use crate::{
    commands::{self, slapd},
    shared::getopt::{GetOpt, base_name},
    tools,
};

/// A program of OpenLDAP, or ourselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Program {
    /// The server with slapd's options.
    Slapd,
    /// A tool, by its full name.
    Tool(&'static str),
    /// `ironbark` with its subcommands.
    Command,
}

impl Program {
    /// The program with this name, as a file (`/usr/sbin/slapd`, libtool's `lt-slapd`) or a subcommand.
    fn of_name(name: &str) -> Self {
        let name = name.strip_prefix("lt-").unwrap_or(name);
        if name == "slapd" {
            return Self::Slapd;
        }
        tools::TOOLS
            .iter()
            .find(|tool| tool.name == name)
            .map_or(Self::Command, |tool| Self::Tool(tool.name))
    }
}

/// Runs the program that the command line names. `arguments` begin with the program's name.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let program = arguments
        .first()
        .map_or(Program::Command, |name| Program::of_name(&base_name(name)));
    match program {
        Program::Slapd => run_slapd(arguments),
        Program::Tool(name) => tools::run(name, arguments),
        Program::Command => {
            let subcommand = arguments
                .get(1)
                .and_then(|word| word.to_str())
                .map_or(Program::Command, Program::of_name);
            match subcommand {
                Program::Slapd => run_slapd(arguments.into_iter().skip(1).collect()),
                Program::Tool(name) => tools::run(name, arguments.into_iter().skip(1).collect()),
                Program::Command => commands::run(&arguments),
            }
        }
    }
}

/// slapd itself, or the tool of its `-T`.
fn run_slapd(arguments: Vec<OsString>) -> ExitCode {
    let Some(word) = tool_word(&arguments) else {
        return slapd::run(arguments);
    };
    let Some(name) = tools::name_of_word(&word) else {
        eprintln!("program name \"slap{word}\" unrecognized; aborting...");
        slapd::print_usage();
        return ExitCode::FAILURE;
    };
    let mut rest = without_tool_option(arguments);
    if let Some(first) = rest.first_mut() {
        *first = OsString::from(name);
    }
    tools::run(name, rest)
}

/// The value of `-T`, which may follow other options of slapd. slapd reports a mistake before it.
fn tool_word(arguments: &[OsString]) -> Option<String> {
    GetOpt::new(slapd::OPTIONS, arguments.iter().skip(1).cloned())
        .map_while(Result::ok)
        .find(|opt| opt.letter == 'T')
        .map(|opt| opt.value.to_string_lossy().into_owned())
}

/// The tool's own command line: the arguments after `-T` and its value. The options before it are slapd's. Only `-d`
/// has a meaning for a tool.
fn without_tool_option(arguments: Vec<OsString>) -> Vec<OsString> {
    let total = arguments.len();
    let mut options = GetOpt::new(slapd::OPTIONS, arguments.iter().skip(1).cloned());
    let mut kept: Vec<OsString> = arguments.first().cloned().into_iter().collect();
    for opt in options.by_ref() {
        match opt {
            Ok(opt) if opt.letter == 'T' => {
                // A word is identified by the number of words after it.
                let behind = total - options.remaining();
                kept.extend(arguments.into_iter().skip(behind));
                return kept;
            }
            Ok(opt) if opt.letter == 'd' => kept.extend(["-d".into(), opt.value]),
            Ok(_) | Err(_) => {}
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn programs_have_names() {
        assert_eq!(Program::of_name("slapd"), Program::Slapd);
        assert_eq!(Program::of_name("lt-slapd"), Program::Slapd);
        assert_eq!(Program::of_name("lt-slapcat"), Program::Tool("slapcat"));
        assert_eq!(Program::of_name("ironbark"), Program::Command);
        assert_eq!(Program::of_name("slapfoo"), Program::Command);
    }

    #[test]
    fn a_tool_may_be_named_among_slapds_options() {
        for (line, word, rest) in [
            ("slapd -Ta -f x -l y", "a", "slapd -f x -l y"),
            ("slapd -T add -q", "add", "slapd -q"),
            ("slapd -s0 -Tt -f x", "t", "slapd -f x"),
            ("slapd -s 0 -T test -u", "test", "slapd -u"),
            ("slapd -d 0 -6Tcat -n 1", "cat", "slapd -d 0 -n 1"),
            ("slapd -f x -Tc other", "c", "slapd other"),
        ] {
            assert_eq!(tool_word(&words(line)).as_deref(), Some(word), "{line}");
            assert_eq!(without_tool_option(words(line)), words(rest), "{line}");
        }
        assert_eq!(tool_word(&words("slapd -d 0 -n T")), None);
        assert_eq!(tool_word(&words("slapd -f -Ta")), None);
    }
}
