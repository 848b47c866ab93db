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
mod generate;
mod health;
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

use clap::{Parser, Subcommand};

/// An LDAP directory server that takes an OpenLDAP deployment as it stands.
///
/// With the name slapd, or with slapd as the first word (`ironbark slapd -f slapd.conf`), it takes slapd's options.
#[derive(Debug, Parser)]
#[command(name = "ironbark", version, arg_required_else_help = true)]
struct Ironbark {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a directory, in the foreground, with one log line per request on stderr
    Serve(serve::Serve),
    /// Serve with the options of slapd(8)
    #[command(disable_help_flag = true)]
    Slapd {
        /// Options of slapd(8)
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
    /// Measure an LDAP server under load
    Load(Box<load::Load>),
    /// Make a secure new directory: configuration, database, administrator
    Init(init::Init),
    /// Make a new directory of the exports of slapcat, 389 Directory Server or OpenDJ, and report what was changed
    Import(import::Import),
    /// Write an LDIF data set of any size
    Generate(generate::Generate),
    /// Show how a search is answered: plan, candidates, time
    Explain(explain::Explain),
    /// Say which indexes would pay and which are unused, from the searches of a running server
    Advise(advise::Advise),
    /// Write a configuration directory as a slapd.conf file
    ConfigFile(config_file::ConfigFile),
    /// Run as the entry point of a container: make the directory that environment variables describe, and serve it
    Container(container::Container),
    /// Copy a database while the server runs, and verify the copy
    Backup(backup::Backup),
    /// Say whether an installation of OpenLDAP can be taken as it stands, what will differ, and how long it will take
    CheckMigration(check_migration::CheckMigration),
    /// Show the log of changes of a database
    Changes(changes::Changes),
    /// Compare what servers hold that replicate each other
    CompareReplicas(Box<compare_replicas::CompareReplicas>),
    /// Show how a cluster is doing
    Cluster(cluster::Cluster),
    /// Watch and repair replication
    Replica(replica::Replica),
    /// Restore a verified backup where the database is missing
    Restore(restore::Restore),
    /// Ask a server for its root DSE, or check a database's files
    Health(health::Health),
    /// Write what a helper needs to know of a server into one text file, without passwords
    SupportBundle(support_bundle::SupportBundle),
    /// Print a script by which a shell completes the command line of ironbark
    Completions(completions::Completions),
}

/// Runs a subcommand; `arguments` begin with the program's name.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let command = match Ironbark::try_parse_from(arguments) {
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
                eprintln!("ironbark: {text}");
            }
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Ironbark::command().debug_assert();
    }

    #[test]
    fn serve_stays_in_the_foreground_unless_told() {
        let parse = |line: &str| match Ironbark::try_parse_from(line.split(' ')).unwrap().command {
            Command::Serve(serve) => serve.options(&[]),
            other => panic!("serve was asked for, not {other:?}"),
        };
        let options = parse("ironbark serve -c x -l ldap://:1/ -l ldapi:/// --log stats,sync");
        assert_eq!(options.debug, Some(256 | 16384));
        assert_eq!(options.urls.as_deref(), Some("ldap://:1/ ldapi:///"));
        assert_eq!(parse("ironbark serve --detach").debug, None);
    }
}
