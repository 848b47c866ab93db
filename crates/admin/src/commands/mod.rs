//! The subcommands, and the programs of OpenLDAP: one file or folder each.

mod advise;
mod backup;
mod changes;
mod check_migration;
mod cluster;
mod compare_replicas;
mod completions;
mod config_file;
mod container;
mod explain;
mod first_page;
mod generate;
mod health;
mod help;
mod import;
mod init;
mod load;
mod replica;
mod restore;
mod serve;
pub(crate) mod slapacl;
pub(crate) mod slapadd;
pub(crate) mod slapauth;
pub(crate) mod slapcat;
pub(crate) mod slapd;
pub(crate) mod slapdn;
pub(crate) mod slapindex;
pub(crate) mod slapmodify;
pub(crate) mod slappasswd;
pub(crate) mod slapschema;
pub(crate) mod slaptest;
mod support_bundle;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

/// An LDAP directory server that takes an OpenLDAP deployment as it stands.
///
/// With the name slapd, or with slapd as the first word (`ironbark slapd -f slapd.conf`), it takes slapd's options. So
/// do OpenLDAP's tools, slapadd, slapcat and the others.
#[derive(Debug, Parser)]
#[command(name = "ironbark", version, arg_required_else_help = true)]
struct Ironbark {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a secure new directory, with database and administrator
    Init(init::Init),
    /// Serve a directory
    ///
    /// It stays in the foreground, with one log line per request on stderr.
    Serve(serve::Serve),
    /// Run as the entry point of a container
    ///
    /// Makes the directory that environment variables describe, and serves it.
    Container(container::Container),
    /// Print a script by which a shell completes our commands
    Completions(completions::Completions),
    /// Ask a server whether it answers, or check a database's files
    ///
    /// A server is asked for its root DSE, as a monitor would do it, or whether it is ready.
    Health(health::Health),
    /// Show how a search is answered: plan, candidates, time
    Explain(explain::Explain),
    /// Say which indexes would pay, and which nobody uses
    ///
    /// It reads in cn=Monitor what a running server was asked. The identity must be one that may read it.
    Advise(advise::Advise),
    /// Show the log of changes of a database
    Changes(changes::Changes),
    /// Write what a helper needs to know, without passwords
    SupportBundle(support_bundle::SupportBundle),
    /// Print the version
    #[command(after_help = "Examples:\n  ironbark version")]
    Version,
    /// Copy a database while the server runs, and verify the copy
    Backup(backup::Backup),
    /// Restore a verified backup where the database is missing
    Restore(restore::Restore),
    /// Watch and repair replication
    Replica(replica::Replica),
    /// Compare what servers hold that replicate each other
    CompareReplicas(Box<compare_replicas::CompareReplicas>),
    /// Show how a cluster is doing, and let its log begin
    Cluster(cluster::Cluster),
    /// Say whether an installation of OpenLDAP can be taken
    ///
    /// As it stands; and what will differ, and how long it will take.
    CheckMigration(check_migration::CheckMigration),
    /// Make a new directory of the exports of another server
    ///
    /// Of slapcat, 389 Directory Server or OpenDJ. It reports what was changed.
    Import(import::Import),
    /// Write a configuration directory as a slapd.conf file
    ConfigFile(config_file::ConfigFile),
    /// Serve with the options of slapd(8)
    #[command(disable_help_flag = true, after_help = slapd::EXAMPLES)]
    Slapd {
        /// Options of slapd(8)
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
    /// Write an LDIF data set of any size
    Generate(generate::Generate),
    /// Measure an LDAP server under load
    Load(Box<load::Load>),
}

/// The command line: its grammar, and the first page.
fn grammar() -> clap::Command {
    first_page::put(help::name_pages(Ironbark::command()))
}

fn parse(arguments: &[OsString]) -> Result<Ironbark, clap::Error> {
    let mut grammar = grammar();
    let mut matches = grammar.try_get_matches_from_mut(arguments)?;
    Ironbark::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut grammar))
}

/// Runs a subcommand; `arguments` begin with the program's name.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    if let Some(status) = help::run(arguments, &grammar()) {
        return status;
    }
    let command = match parse(arguments) {
        Ok(Ironbark { command }) => command,
        Err(error) => {
            // There is nobody to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let result = match command {
        Command::Serve(serve) => return serve.run(arguments),
        Command::Slapd { options } => {
            return slapd::run(std::iter::once(OsString::from("slapd")).chain(options).collect());
        }
        Command::Load(load) => {
            // The location of the program does not belong in a result.
            let words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
            return load.run(std::iter::once("ironbark".to_owned()).chain(words).collect());
        }
        Command::Version => {
            println!("ironbark {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Command::Init(init) => init.run(),
        Command::Import(import) => import.run(),
        Command::Generate(generate) => generate.run(),
        Command::Explain(explain) => explain.run(),
        Command::Advise(advise) => advise.run(),
        Command::ConfigFile(config_file) => config_file.run(),
        Command::Container(container) => container.run(),
        Command::Backup(backup) => backup.run(),
        Command::Changes(changes) => changes.run(),
        Command::CheckMigration(check) => check.run(),
        Command::CompareReplicas(compare) => return compare.run(),
        Command::Cluster(cluster) => cluster.run(),
        Command::Replica(replica) => replica.run(),
        Command::Restore(restore) => restore.run(),
        Command::Health(health) => health.run(),
        Command::SupportBundle(bundle) => bundle.run(),
        Command::Completions(completions) => completions.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            if !text.is_empty() {
                anstream::eprintln!("ironbark: {text}");
            }
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Command {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&words).unwrap().command
    }

    #[test]
    fn the_command_line_is_consistent() {
        grammar().debug_assert();
    }

    #[test]
    fn serve_stays_in_the_foreground_unless_told() {
        let options = |line: &str| match parsed(line) {
            Command::Serve(serve) => serve.options(&[]),
            other => panic!("serve was asked for, not {other:?}"),
        };
        let given = options("ironbark serve -f x -H ldap://:1/ -H ldapi:/// --log stats,sync");
        assert_eq!(given.debug, Some(256 | 16384));
        assert_eq!(given.urls.as_deref(), Some("ldap://:1/ ldapi:///"));
        assert_eq!(given.config_file.as_deref(), Some("x".as_ref()));
        let usual = options("ironbark serve -F d --detach");
        assert_eq!(
            (usual.debug, usual.urls.as_deref()),
            (None, Some("ldap://127.0.0.1:3890/"))
        );
        assert_eq!(usual.config_directory.as_deref(), Some("d".as_ref()));
    }

    /// The help of a command and of all below it, with its words.
    fn helps(command: &mut clap::Command, words: &str, found: &mut Vec<(String, String)>) {
        found.push((words.to_owned(), command.render_long_help().to_string()));
        for below in command.get_subcommands_mut().filter(|one| one.get_name() != "help") {
            let words = format!("{words} {}", below.get_name());
            helps(below, &words, found);
        }
    }

    #[test]
    fn each_help_has_examples_that_are_understood() {
        let mut found = Vec::new();
        let mut grammar = grammar();
        grammar.build();
        helps(&mut grammar, "ironbark", &mut found);
        assert!(found.len() > 30, "{}", found.len());
        for (words, help) in found {
            let examples = help
                .split("Examples:\n")
                .nth(1)
                .unwrap_or_else(|| panic!("{words}: {help}"));
            let lines = examples.lines().take_while(|line| !line.is_empty());
            let own: Vec<&str> = lines
                .map(str::trim)
                .filter(|line| line.starts_with("ironbark "))
                .collect();
            assert!(!own.is_empty(), "{words}: {help}");
            for line in own {
                assert!(line.starts_with(&words) && line.len() <= 78, "{words}: {line}");
                let line = line.split(" >").next().unwrap();
                let line: Vec<OsString> = shlex::split(line).unwrap().into_iter().map(OsString::from).collect();
                if let Err(error) = parse(&line) {
                    panic!("{line:?}: {error}");
                }
            }
        }
    }
}
