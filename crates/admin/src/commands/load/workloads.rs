//! The workloads on the command line, and their data sets.

use std::{collections::BTreeMap, fs, fs::File, io::BufReader, path::PathBuf};

use clap::{Args, Subcommand};
use ironbark_client::TlsSessions;
use ironbark_load::{
    generate::{DataSet, DataSetKind, PasswordStorage},
    workload::{
        DirectoryMark, EntryOrder, FilterMix, Filters, Groups, Load, Mix, OperationKind, Operations, Population,
        Replay, Scan, SearchWorkload, SessionWorkload, TlsReuse, Workload, WorkloadError, Ycsb, YcsbMix,
    },
};
use ironbark_runtime::Clock;

use super::{
    Failure,
    run::{Connecting, Defaults, Run, credentials, usage},
    sessions,
};

/// A workload.
#[derive(Debug, Subcommand)]
pub(super) enum WorkloadCommand {
    /// Mail accounts (data set zimbra) by delivery address and by alias, half and half
    #[command(after_help = "Examples:\n  ironbark load search --entries 100000 -c 1,4,16,64")]
    Search {
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// Whole sessions of people (data set zimbra): connect, StartTLS (-Z) or ldaps:// or neither, bind as a random one,
    /// search of that one, unbind
    #[command(after_help = "Examples:\n  ironbark load session -H ldaps://localhost/ --ca-file ca.crt --resume -c 16")]
    Session {
        /// Resume the TLS sessions of earlier connections
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// One basic operation on subscribers (data set telco) or others: add, search, compare, bind, bind-admin, modify
    #[command(after_help = "Examples:\n  ironbark load telco modify --entries 50000 -D cn=admin,dc=example,dc=com -W")]
    Telco {
        /// add, search, compare, bind (as the entries), bind-admin (as -D), or modify
        operation: OperationKind,
        /// sequential or random
        #[arg(long, default_value = "random")]
        order: EntryOrder,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// A scenario of DirectoryMark (data set directorymark): messaging, addressing, mixed
    #[command(after_help = "Examples:\n  ironbark load directorymark mixed --entries 100000 -D cn=admin,o=x -W")]
    Directorymark {
        /// messaging, addressing or mixed
        scenario: Mix,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// Add the entries of a data set over the protocol; its containers must exist
    #[command(after_help = "Examples:\n  ironbark load populate --entries 100000 -D cn=admin,dc=example,dc=com -W")]
    Populate {
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// Whole-database searches, all attributes, counted in entries
    #[command(after_help = "Examples:\n  ironbark load scan --expect 100000 -Z --ca-file directory/tls/ca.crt")]
    Scan {
        /// Fewest entries that each search must return
        #[arg(long, default_value_t = 1)]
        expect: u32,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// Change records of an LDIF file, each once; changes of one entry keep their order
    #[command(after_help = "Examples:\n  ironbark load replay changes.ldif -D cn=admin,dc=example,dc=com -W -c 4")]
    Replay {
        /// The LDIF; `ironbark load changes` writes one
        file: PathBuf,
        #[command(flatten)]
        run: Run,
    },
    /// Key-value workloads on records of 4,000 bytes (data set ycsb): a, b, c, d, e, f, 80-20
    #[command(after_help = "Examples:\n  ironbark load ycsb a --entries 100000 --seconds 300 -D cn=admin,o=x -W")]
    Ycsb {
        /// a, b, c, d, e, f or 80-20
        mix: YcsbMix,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// Add a member to a group and remove it again (data set groups; --entries is the size of the largest)
    #[command(after_help = "Examples:\n  ironbark load groups --entries 1000000 -H ldapi:/// -Y EXTERNAL")]
    Groups {
        /// Members of the smallest group that is changed
        #[arg(long, default_value_t = 1_000)]
        smallest: u64,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
    /// Searches with the filters of a file, or with filters made from a data set
    #[command(after_help = "Examples:\n  ironbark load filters --filter-file filters.txt --rate 1000")]
    Filters {
        /// A file with one filter on each line
        #[arg(long, value_name = "FILE", required_unless_present = "mix", conflicts_with = "mix")]
        filter_file: Option<PathBuf>,
        /// substring, range, and, or-N (N equalities)
        #[arg(long)]
        mix: Option<FilterMix>,
        /// Most entries that a search returns
        #[arg(long, default_value_t = 0)]
        size_limit: u32,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        run: Run,
    },
}

/// The data set on the server, with the options of `ironbark generate`.
#[derive(Debug, Args)]
pub(super) struct Data {
    /// Data set, for workloads that work with several
    #[arg(long = "data")]
    kind: Option<DataSetKind>,
    /// Its entries (--count of generate)
    #[arg(long, default_value_t = 10_000)]
    entries: u64,
    /// Its naming context
    #[arg(long, default_value = "dc=example,dc=com", value_name = "DN")]
    suffix: String,
    /// Its seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How its passwords are stored, for added entries
    #[arg(long, default_value = "usual")]
    passwords: PasswordStorage,
    /// Most entries that are used, chosen at random
    #[arg(long, default_value_t = 100_000)]
    sample: u64,
    /// Number of the first new entry [default: from the clock, so that runs use different numbers]
    #[arg(long, value_name = "NUMBER")]
    first_new: Option<u64>,
}

impl Data {
    /// The data set. `own` is the workload's own data set.
    fn set(&self, own: DataSetKind) -> Result<DataSet, Failure> {
        let kind = self.kind.unwrap_or(own);
        DataSet::new(kind, self.seed, &self.suffix, self.passwords).map_err(usage)
    }

    /// The entries on the server.
    pub(super) fn population(&self, own: DataSetKind) -> Result<Population, Failure> {
        let first_new = self.first_new.unwrap_or_else(first_new);
        Population::new(self.set(own)?, self.entries, self.sample, self.seed, first_new).map_err(usage)
    }

    fn settings(&self, own: DataSetKind) -> BTreeMap<String, String> {
        let kind = self.kind.unwrap_or(own);
        BTreeMap::from([
            ("data".to_owned(), kind.name().to_owned()),
            ("entries".to_owned(), self.entries.to_string()),
            ("suffix".to_owned(), self.suffix.clone()),
            ("seed".to_owned(), self.seed.to_string()),
            ("sample".to_owned(), self.sample.min(self.entries).to_string()),
        ])
    }
}

/// A number that grows with time, is larger than any data set, and has fewer than ten digits, as the IMSIs of
/// subscribers need it.
fn first_new() -> u64 {
    let tens_of_us = u64::try_from(Clock::system().now().unix_micros()).unwrap_or(0) / 10;
    1_000_000_000 + tens_of_us % 8_000_000_000
}

impl WorkloadCommand {
    pub(super) fn run(self, mut command_line: Vec<String>) -> Result<(), Failure> {
        let own = self.own_data();
        let connection = self.options().connection()?;
        let (workload, run, defaults): (Result<Box<dyn Workload>, WorkloadError>, Run, Defaults) = match self {
            Self::Search { data, run } => (boxed(SearchWorkload::new(data.population(own)?)), run, of(&data, own)),
            Self::Session { resume, data, run } => {
                let reuse = if resume { TlsReuse::Resumed } else { TlsReuse::None };
                let made = SessionWorkload::new(data.population(own)?, sessions::protection(&connection), reuse);
                (boxed(made), run, connecting_anew(reuse, of(&data, own)))
            }
            Self::Telco {
                operation,
                order,
                data,
                run,
            } => {
                let credentials = credentials(&connection);
                let made = Operations::new(data.population(own)?, operation, order, credentials.as_ref());
                (boxed(made), run, of(&data, own))
            }
            Self::Directorymark { scenario, data, run } => {
                let made = DirectoryMark::new(data.population(own)?, scenario);
                (boxed(made), run, with_clients(&[1, 3, 10, 30, 100], of(&data, own)))
            }
            Self::Populate { data, run } => {
                let made = Load::new(data.set(own)?, data.entries);
                (boxed(Ok(made)), run, finite(&[4], of(&data, own)))
            }
            Self::Scan { expect, data, run } => {
                let made = Scan::new(&data.suffix, expect);
                (boxed(Ok(made)), run, with_clients(&[1, 2, 4, 8], of(&data, own)))
            }
            Self::Replay { file, run } => {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let input = File::open(&file).map_err(|error| usage(format!("{}: {error}", file.display())))?;
                let made = Replay::new(&name, BufReader::new(input));
                command_line
                    .iter_mut()
                    .filter(|word| file.as_os_str() == word.as_str())
                    .for_each(|word| word.clone_from(&name));
                let settings = BTreeMap::from([("file".to_owned(), name)]);
                (boxed(made), run, finite(&[1], Defaults { settings, ..none() }))
            }
            Self::Ycsb { mix, data, run } => {
                let made = Ycsb::new(data.population(own)?, mix);
                (boxed(made), run, of(&data, own))
            }
            Self::Groups { smallest, data, run } => {
                let tag = data.first_new.unwrap_or_else(first_new);
                let made = Groups::new(&data.set(own)?, smallest, data.entries, tag);
                (boxed(made), run, with_clients(&[1], of(&data, own)))
            }
            Self::Filters {
                filter_file,
                mix,
                size_limit,
                data,
                run,
            } => {
                let made = filters(filter_file, mix, size_limit, &data, own)?;
                (boxed(made), run, of(&data, own))
            }
        };
        run.run(&*workload.map_err(usage)?, connection, defaults, command_line)
    }

    fn options(&self) -> &Run {
        match self {
            Self::Search { run, .. }
            | Self::Session { run, .. }
            | Self::Telco { run, .. }
            | Self::Directorymark { run, .. }
            | Self::Populate { run, .. }
            | Self::Scan { run, .. }
            | Self::Replay { run, .. }
            | Self::Ycsb { run, .. }
            | Self::Groups { run, .. }
            | Self::Filters { run, .. } => run,
        }
    }

    /// The data set that a workload uses by default.
    fn own_data(&self) -> DataSetKind {
        match self {
            Self::Search { .. }
            | Self::Session { .. }
            | Self::Filters { .. }
            | Self::Scan { .. }
            | Self::Replay { .. } => DataSetKind::Zimbra,
            Self::Telco { .. } => DataSetKind::Telco,
            Self::Directorymark { .. } | Self::Populate { .. } => DataSetKind::DirectoryMark,
            Self::Ycsb { .. } => DataSetKind::Ycsb,
            Self::Groups { .. } => DataSetKind::Groups,
        }
    }
}

/// Searches with the filters of a file, or with filters of a mix.
fn filters(
    file: Option<PathBuf>,
    mix: Option<FilterMix>,
    size_limit: u32,
    data: &Data,
    own: DataSetKind,
) -> Result<Result<Filters, WorkloadError>, Failure> {
    Ok(match (file, mix) {
        (Some(path), _) => {
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| usage(format!("{}: {error}", path.display())))?;
            Filters::from_lines(&text, &data.suffix, size_limit, data.seed)
        }
        (None, mix) => {
            let mix = mix.unwrap_or(FilterMix::Substring);
            Filters::from_population(&data.population(own)?, mix, size_limit)
        }
    })
}

fn boxed<'w, W: Workload + 'w>(workload: Result<W, WorkloadError>) -> Result<Box<dyn Workload + 'w>, WorkloadError> {
    workload.map(|workload| Box::new(workload) as Box<dyn Workload + 'w>)
}

fn none() -> Defaults {
    Defaults {
        clients: &[16],
        is_finite: false,
        settings: BTreeMap::new(),
        connecting: Connecting::Once,
    }
}

fn of(data: &Data, own: DataSetKind) -> Defaults {
    Defaults {
        settings: data.settings(own),
        ..none()
    }
}

fn connecting_anew(reuse: TlsReuse, defaults: Defaults) -> Defaults {
    let connecting = Connecting::ForEachSession(match reuse {
        TlsReuse::None => TlsSessions::New,
        TlsReuse::Resumed => TlsSessions::Resumed,
    });
    Defaults { connecting, ..defaults }
}

fn with_clients(clients: &'static [u32], defaults: Defaults) -> Defaults {
    Defaults { clients, ..defaults }
}

fn finite(clients: &'static [u32], defaults: Defaults) -> Defaults {
    Defaults {
        clients,
        is_finite: true,
        ..defaults
    }
}
