//! slapd(8): its options.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use ironbark_directory::SyncCookie;
use ironbark_server::{
    ServeOptions, VERSION,
    listener::AddressFamily,
    log::{Facility, Severity, level},
};

use crate::shared::getopt::{GetOpt, Opt};

/// slapd's option letters. `-T` is handled earlier.
pub(crate) const OPTIONS: &str = "c:d:f:F:h:n:o:s:tT:V46r:S:l:u:g:";

/// For `ironbark help slapd`.
pub(super) const EXAMPLES: &str = "Examples:
  ironbark slapd -F /etc/ldap/slapd.d -u openldap -h 'ldap:/// ldapi:///'
  ironbark slapd -f slapd.conf -h ldap://127.0.0.1:3890/ -d stats";

/// The request that the options make.
#[derive(Debug)]
enum Request {
    /// Serve.
    Serve(ServeOptions),
    /// `-V` once: print the version, then serve.
    Announce(ServeOptions),
    /// `-d ?` or `-s ?`.
    ListLevels,
    /// `-V`, more than once.
    Version(u32),
    /// `-t`: only check the configuration.
    Check(ServeOptions),
}

/// Why the options are refused.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// The usage must be shown.
    Usage(String),
    /// The text is enough.
    Plain(String),
}

/// Runs slapd; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    match parse(arguments) {
        Ok(Request::Serve(options)) => ironbark_server::serve(&options),
        Ok(Request::Announce(options)) => {
            print_version(1);
            ironbark_server::serve(&options)
        }
        Ok(Request::ListLevels) => {
            print!("{}", level::list());
            ExitCode::SUCCESS
        }
        Ok(Request::Version(times)) => {
            print_version(times);
            ExitCode::SUCCESS
        }
        Ok(Request::Check(options)) => {
            eprintln!("option -t deprecated; use slaptest command instead");
            match ironbark_server::load_configuration(
                options.config_file.as_deref(),
                options.config_directory.as_deref(),
            ) {
                Ok(_) => {
                    eprintln!("config check succeeded");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("{error}\nconfig check failed");
                    ExitCode::FAILURE
                }
            }
        }
        Err(Refusal::Usage(message)) => {
            eprintln!("slapd: {message}");
            print_usage();
            ExitCode::FAILURE
        }
        Err(Refusal::Plain(message)) => {
            eprintln!("slapd: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Prints slapd's message for options that it does not understand.
pub(crate) fn print_usage() {
    eprintln!("{USAGE}");
}

fn print_version(times: u32) {
    eprintln!("@(#) ${VERSION} $\n");
    if times > 2 {
        eprintln!("Included static overlays:");
        for name in ironbark_server::built_in_overlays() {
            eprintln!("    {name}");
        }
        eprintln!("Included static backends:");
        for name in ironbark_server::BACKENDS {
            eprintln!("    {name}");
        }
    }
}

#[derive(Debug, Default)]
struct Parsed {
    options: ServeOptions,
    versions: u32,
    lists_levels: bool,
    checks: bool,
}

fn parse(arguments: Vec<OsString>) -> Result<Request, Refusal> {
    let mut parsed = Parsed::default();
    let mut line = GetOpt::new(OPTIONS, arguments.iter().skip(1).cloned());
    for opt in line.by_ref() {
        let opt = opt.map_err(|error| Refusal::Usage(error.to_string()))?;
        parsed.take(&opt)?;
    }
    if let Some(operand) = line.into_operands().first() {
        return Err(Refusal::Usage(format!("unexpected argument {}", operand.display())));
    }
    parsed.options.arguments = arguments;
    if parsed.versions > 1 {
        return Ok(Request::Version(parsed.versions));
    }
    if parsed.lists_levels {
        return Ok(Request::ListLevels);
    }
    Ok(if parsed.checks {
        Request::Check(parsed.options)
    } else if parsed.versions == 1 {
        Request::Announce(parsed.options)
    } else {
        Request::Serve(parsed.options)
    })
}

impl Parsed {
    fn take(&mut self, opt: &Opt) -> Result<(), Refusal> {
        let text = || {
            opt.text()
                .map(str::to_owned)
                .map_err(|error| Refusal::Plain(error.to_string()))
        };
        let options = &mut self.options;
        match opt.letter {
            '4' => options.family = AddressFamily::V4,
            '6' => options.family = AddressFamily::V6,
            'h' => options.urls = Some(text()?),
            'f' => options.config_file = Some(PathBuf::from(&opt.value)),
            'F' => options.config_directory = Some(PathBuf::from(&opt.value)),
            'r' => options.chroot = Some(PathBuf::from(&opt.value)),
            'u' => options.user = Some(text()?),
            'g' => options.group = Some(text()?),
            'n' => options.name = Some(text()?),
            'd' | 's' if opt.value == "?" => self.lists_levels = true,
            'd' => options.debug = Some(levels(options.debug.unwrap_or(0), &text()?)?),
            's' => options.syslog_levels = Some(levels(options.syslog_levels.unwrap_or(level::STATS), &text()?)?),
            'S' => {
                let unknown = |text| Refusal::Plain(format!("unknown syslog level \"{text}\""));
                options.syslog_severity = Some(Severity::parse(&text()?).ok_or_else(|| unknown(opt.value.display()))?);
            }
            'l' => {
                let unknown = |text| Refusal::Plain(format!("unrecognized syslog user \"{text}\""));
                options.syslog_facility = Some(Facility::parse(&text()?).ok_or_else(|| unknown(opt.value.display()))?);
            }
            'o' => generic(&text()?)?,
            'c' => self.add_cookie(&text()?)?,
            't' => self.checks = true,
            'V' => self.versions += 1,
            other => return Err(Refusal::Usage(format!("invalid option -- '{other}'"))),
        }
        Ok(())
    }
}

impl Parsed {
    /// `-c rid=001[,sid=002][,csn=...;...]`: what a consumer begins with.
    fn add_cookie(&mut self, text: &str) -> Result<(), Refusal> {
        let cookie = SyncCookie::parse(text.as_bytes());
        let Some(cookie) = cookie.filter(|cookie| cookie.deletion.is_none()) else {
            return Err(Refusal::Plain(format!("-c: invalid cookie \"{text}\"")));
        };
        let cookies = &mut self.options.cookies;
        if cookies.iter().any(|known| known.rid == cookie.rid) {
            return Err(Refusal::Plain(format!("-c: a second cookie for rid={:03}", cookie.rid)));
        }
        cookies.push(cookie);
        Ok(())
    }
}

fn levels(mask: u32, text: &str) -> Result<u32, Refusal> {
    level::add_levels(mask, text).map_err(|error| Refusal::Plain(error.to_string()))
}

/// `-o name[=value]`.
fn generic(text: &str) -> Result<(), Refusal> {
    let (name, value) = text
        .split_once('=')
        .map_or((text, None), |(name, value)| (name, Some(value)));
    if !name.eq_ignore_ascii_case("slp") {
        return Err(Refusal::Usage(format!("unknown option -o {name}")));
    }
    // `off` is the only state. For `on` it prints the message of a slapd without SLP, and continues.
    if value.is_none_or(|value| !value.eq_ignore_ascii_case("off")) {
        eprintln!("slapd: SLP support is not available");
    }
    Ok(())
}

const USAGE: &str = "usage: slapd options
\t-4\t\tIPv4 only
\t-6\t\tIPv6 only
\t-T tool\t\tRun as that tool: acl, add, auth, cat, dn, index, modify, passwd, schema or test
\t-d level\tStay in the foreground and log to stderr; levels are names, numbers or any; ? lists them
\t-f filename\tConfiguration file
\t-F dir\t\tConfiguration directory
\t-g group\tGroup (name or number) to run as
\t-h URLs\t\tURLs to serve, separated by blanks
\t-l facility\tSyslog facility (LOCAL4)
\t-n serverName\tName in log lines
\t-o opt[=val]\tFurther options: slp={on|off}
\t-r directory\tDirectory to change root to
\t-s level\tSyslog level
\t-S severity\tSeverity of syslog messages (DEBUG)
\t-u user\t\tUser (name or number) to run as
\t-V\t\tPrint the version and go on; -VV exits then; -VVV also lists overlays and backends";

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> ServeOptions {
        match parse(line.split(' ').map(OsString::from).collect()) {
            Ok(Request::Serve(options)) => options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str) -> Refusal {
        parse(line.split(' ').map(OsString::from).collect()).unwrap_err()
    }

    #[test]
    fn options_are_those_of_slapd() {
        let line =
            "slapd -4 -f slapd.conf -h ldap://:9011 -d stats,sync -d1 -s0 -S err -l local3 -n me -r /r -u u -g 7 -F d";
        let parsed = options(line);
        assert_eq!(parsed.family, AddressFamily::V4);
        assert_eq!(parsed.config_file.as_deref(), Some("slapd.conf".as_ref()));
        assert_eq!(parsed.config_directory.as_deref(), Some("d".as_ref()));
        assert_eq!(parsed.urls.as_deref(), Some("ldap://:9011"));
        assert_eq!(parsed.debug, Some(256 | 16384 | 1));
        assert_eq!(parsed.syslog_levels, Some(0));
        assert_eq!(parsed.syslog_severity, Severity::parse("ERR"));
        assert_eq!(parsed.syslog_facility, Facility::parse("LOCAL3"));
        assert_eq!(
            (parsed.user.as_deref(), parsed.group.as_deref()),
            (Some("u"), Some("7"))
        );
        assert_eq!(
            (parsed.name.as_deref(), parsed.chroot),
            (Some("me"), Some(PathBuf::from("/r")))
        );
        assert_eq!(parsed.arguments.len(), line.split(' ').count());
    }

    #[test]
    fn each_cookie_is_for_one_consumer() {
        let csn = "20260101000000.000000Z#000000#001#000000";
        let cookies = options(&format!("slapd -c rid=1,sid=00f,csn={csn} -c rid=2")).cookies;
        let texts: Vec<String> = cookies.iter().map(SyncCookie::text).collect();
        assert_eq!(texts, [format!("rid=001,sid=00f,csn={csn}"), "rid=002".to_owned()]);
    }

    #[test]
    fn without_d_it_detaches() {
        assert_eq!(options("slapd -f x").debug, None);
        assert_eq!(options("slapd -f x -d 0").debug, Some(0));
    }

    #[test]
    fn what_cannot_be_obeyed_is_refused() {
        for wrong in ["-c sid=001", "-c rid=1000", "-c rid=1,csn=x", "-c rid=1 -c rid=001"] {
            assert!(
                matches!(refusal(&format!("slapd {wrong}")), Refusal::Plain(_)),
                "{wrong}"
            );
        }
        assert!(matches!(refusal("slapd -o foo=1"), Refusal::Usage(_)));
        assert!(matches!(refusal("slapd -x"), Refusal::Usage(_)));
        assert!(matches!(refusal("slapd start"), Refusal::Usage(_)));
        assert_eq!(
            refusal("slapd -d foo"),
            Refusal::Plain("unrecognized log level \"foo\"".to_owned())
        );
        assert!(matches!(refusal("slapd -l kern"), Refusal::Plain(_)));
    }

    #[test]
    fn questions_are_answered_without_serving() {
        let parse = |line: &str| parse(line.split(' ').map(OsString::from).collect());
        assert!(matches!(parse("slapd -VVV"), Ok(Request::Version(3))));
        assert!(matches!(parse("slapd -VV"), Ok(Request::Version(2))));
        assert!(matches!(parse("slapd -V -f x"), Ok(Request::Announce(_))));
        assert!(matches!(parse("slapd -d ?"), Ok(Request::ListLevels)));
        assert!(matches!(parse("slapd -t -f x"), Ok(Request::Check(_))));
    }
}
