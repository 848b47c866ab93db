//! The options that the slap* tools share. They are read as in OpenLDAP's tools.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use ironbark_runtime::Clock;
use ironbark_server::log::{Facility, Log, LogOptions, Severity, SyslogOptions, level};

use super::getopt::{GetOpt, Opt};

/// The options that a tool accepts in addition to `-d -f -F -o -v`, and the tool's name.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// The program's name.
    pub(crate) program: &'static str,
    /// Its option letters in the form of getopt(3), the shared ones included.
    pub(crate) letters: &'static str,
    /// Printed on a wrong command line.
    pub(crate) usage: &'static str,
    /// Names that `-o` takes besides those of the log.
    pub(crate) generic: &'static [&'static str],
    /// Whether words that are not options are allowed.
    pub(crate) operands: bool,
}

/// A command line after reading.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The program's name, for messages.
    pub(crate) program: &'static str,
    /// `-f`.
    pub(crate) config_file: Option<PathBuf>,
    /// `-F`.
    pub(crate) config_directory: Option<PathBuf>,
    /// `-b`.
    pub(crate) suffix: Option<String>,
    /// `-n`: 0 is cn=config, 1 the first database.
    pub(crate) number: Option<usize>,
    /// `-g`: only the database itself, without those glued to it.
    pub(crate) unglued: bool,
    /// How often `-v` was given.
    pub(crate) verbose: u32,
    /// How often `-c` was given.
    pub(crate) keep_going: u32,
    /// `-u`.
    pub(crate) dry_run: bool,
    /// `-q`.
    pub(crate) quick: bool,
    /// `-l`.
    pub(crate) file: Option<PathBuf>,
    /// `-o name[=value]` for the tool's own names.
    pub(crate) generic: Vec<(String, Option<String>)>,
    /// The tool's own options, in order.
    pub(crate) own: Vec<Opt>,
    /// Words that are not options.
    pub(crate) operands: Vec<String>,
    /// `-d`, or the levels of `-o syslog=` if a tool uses them.
    pub(crate) debug: Option<u32>,
}

/// The command line was wrong. The user has been told.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) ExitCode);

impl Options {
    /// Reads a command line. `arguments` begin with the name of the call.
    pub(crate) fn read(grammar: &Grammar, arguments: Vec<OsString>) -> Result<Self, Told> {
        match Self::parse(grammar, arguments) {
            Ok(options) => Ok(options),
            Err(Refusal::Plain(text)) => {
                eprintln!("{}: {text}", grammar.program);
                Err(Told(ExitCode::FAILURE))
            }
            Err(Refusal::Usage(text)) => {
                if !text.is_empty() {
                    eprintln!("{}: {text}", grammar.program);
                }
                eprintln!("usage: {}", grammar.usage);
                Err(Told(ExitCode::FAILURE))
            }
            Err(Refusal::Help) => {
                println!("usage: {}", grammar.usage);
                Err(Told(ExitCode::SUCCESS))
            }
        }
    }

    fn parse(grammar: &Grammar, arguments: Vec<OsString>) -> Result<Self, Refusal> {
        if arguments.iter().skip(1).any(|word| word == "--help") {
            return Err(Refusal::Help);
        }
        let mut options = Self {
            program: grammar.program,
            ..Self::default()
        };
        let mut line = GetOpt::new(grammar.letters, arguments.into_iter().skip(1));
        for opt in line.by_ref() {
            options.take(grammar, opt.map_err(|error| Refusal::Usage(error.to_string()))?)?;
        }
        for word in line.into_operands() {
            match word.into_string() {
                Ok(word) if grammar.operands => options.operands.push(word),
                Ok(word) => return Err(Refusal::Usage(format!("unexpected argument {word}"))),
                Err(word) => return Err(Refusal::Plain(format!("{} is not UTF-8", word.display()))),
            }
        }
        if options.suffix.is_some() && options.number.is_some() {
            return Err(Refusal::Usage("-b and -n exclude each other".to_owned()));
        }
        Ok(options)
    }

    fn take(&mut self, grammar: &Grammar, opt: Opt) -> Result<(), Refusal> {
        let text = || {
            opt.text()
                .map(str::to_owned)
                .map_err(|error| Refusal::Plain(error.to_string()))
        };
        match opt.letter {
            'b' => self.suffix = Some(text()?),
            'c' if !grammar.letters.contains("c:") => self.keep_going += 1,
            'd' => {
                let mask = level::add_levels(self.debug.unwrap_or(0), &text()?);
                self.debug = Some(mask.map_err(|error| Refusal::Plain(error.to_string()))?);
            }
            'f' => self.config_file = Some(PathBuf::from(&opt.value)),
            'F' => self.config_directory = Some(PathBuf::from(&opt.value)),
            'g' if grammar.program != "slappasswd" => self.unglued = true,
            'l' => self.file = Some(PathBuf::from(&opt.value)),
            'n' if grammar.letters.contains("n:") => {
                let number = text()?;
                let read = number.parse();
                self.number =
                    Some(read.map_err(|_| Refusal::Usage(format!("-n {number}: a database number is expected")))?);
            }
            'o' => self.take_generic(grammar, &text()?)?,
            'q' => self.quick = true,
            'u' if grammar.program != "slappasswd" => self.dry_run = true,
            'v' => self.verbose += 1,
            _ => self.own.push(opt),
        }
        Ok(())
    }

    /// `-o name[=value]`.
    fn take_generic(&mut self, grammar: &Grammar, text: &str) -> Result<(), Refusal> {
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        let wrong = || Refusal::Usage(format!("-o {text}: wrong value"));
        let known = match name.to_ascii_lowercase().as_str() {
            // A tool writes to stderr; syslog is for the server. But the value must still be valid.
            "syslog" => value.is_some_and(|value| level::add_levels(0, value).is_ok()),
            "syslog-level" => value.is_some_and(|value| Severity::parse(value).is_some()),
            "syslog-user" => value.is_some_and(|value| Facility::parse(value).is_some()),
            _ => {
                let own = grammar.generic.iter().find(|own| own.eq_ignore_ascii_case(name));
                let own = own.ok_or_else(|| Refusal::Usage(format!("unknown option -o {name}")))?;
                self.generic.push(((*own).to_owned(), value.map(str::to_owned)));
                true
            }
        };
        if known { Ok(()) } else { Err(wrong()) }
    }

    /// Prints that the command line is wrong.
    pub(crate) fn usage(&self, grammar: &Grammar, text: &str) -> Told {
        eprintln!("{}: {text}\nusage: {}", self.program, grammar.usage);
        Told(ExitCode::FAILURE)
    }

    /// Installs the log for `-d`. Without `-d` nothing is logged.
    pub(crate) fn start_log(&self) {
        let log = LogOptions {
            debug: self.debug.unwrap_or(0),
            syslog_levels: 0,
            syslog: SyslogOptions::default(),
            has_plain_time: false,
        };
        // This fails if there is already a log, which is then used.
        let _ = Log::install(log, Clock::system());
    }

    /// `-o name=yes|no`; `None`: the option was not given.
    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, String> {
        let Some((_, value)) = self.generic.iter().rev().find(|(found, _)| found == name) else {
            return Ok(None);
        };
        match value.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("yes" | "on" | "true") => Ok(Some(true)),
            Some("no" | "off" | "false") => Ok(Some(false)),
            _ => Err(format!("-o {name}: yes or no is expected")),
        }
    }

    /// The value of `-o name=value`.
    pub(crate) fn generic_value(&self, name: &str) -> Option<&str> {
        let found = self.generic.iter().rev().find(|(found, _)| found == name);
        found.and_then(|(_, value)| value.as_deref())
    }
}

/// Why a command line is refused.
#[derive(Debug)]
enum Refusal {
    /// The usage must be shown.
    Usage(String),
    /// The text is enough.
    Plain(String),
    /// `--help`.
    Help,
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: Grammar = Grammar {
        program: "slapcat",
        letters: "a:b:cd:f:F:gH:l:n:o:s:v",
        usage: "slapcat",
        generic: &["ldif-wrap"],
        operands: false,
    };

    fn parse(line: &str) -> Result<Options, Refusal> {
        Options::parse(&GRAMMAR, line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn shared_options_and_own_ones_are_told_apart() {
        let options = parse("slapcat -f x -n 2 -ccg -v -o ldif-wrap=no -o syslog=stats -a (cn=x) -l out").unwrap();
        assert_eq!(options.config_file, Some(PathBuf::from("x")));
        assert_eq!(
            (options.number, options.keep_going, options.unglued, options.verbose),
            (Some(2), 2, true, 1)
        );
        assert_eq!(options.generic_value("ldif-wrap"), Some("no"));
        assert_eq!(options.own.len(), 1);
        assert_eq!(options.file, Some(PathBuf::from("out")));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "slapcat -n x",
            "slapcat -n 1 -b dc=x",
            "slapcat -x",
            "slapcat word",
            "slapcat -o nothing=1",
            "slapcat -o syslog=nothing",
            "slapcat -f",
        ] {
            assert!(matches!(parse(line), Err(Refusal::Usage(_))), "{line}");
        }
        assert!(matches!(parse("slapcat -d nothing"), Err(Refusal::Plain(_))));
        assert!(matches!(parse("slapcat --help"), Err(Refusal::Help)));
    }

    #[test]
    fn switches_are_yes_or_no() {
        let options = parse("slapcat -o ldif-wrap=yes").unwrap();
        assert_eq!(options.switch("ldif-wrap"), Ok(Some(true)));
        assert_eq!(options.switch("other"), Ok(None));
        assert!(
            parse("slapcat -o ldif-wrap=maybe")
                .unwrap()
                .switch("ldif-wrap")
                .is_err()
        );
    }
}
