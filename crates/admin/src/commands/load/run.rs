//! How a workload is run: server, shape of the load, length, and the output of results.

use std::{
    collections::BTreeMap,
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use clap::Args;
use ironbark_client::{BindMethod, Client, ConnectSettings, TlsSessions};
use ironbark_load::{
    engine::{Arrival, EngineError, Measurement},
    machine,
    result::{self, Point, RunResult},
    steps::{self, Steps},
    target::{BoundStream, ConnectFailure, SimpleCredentials, Target},
    workload::Workload,
};
use ironbark_runtime::{Clock, MonotonicTime, UtcTime, process::raise_open_files_limit};

use super::{
    Failure,
    follow::Followed,
    report::{failed, write_page},
    sessions,
    show::{ProgressLine, print_header, print_operations, print_point},
};
use crate::shared::access_options::{ServerOptions, found};

/// Options that all workloads have.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    server: ServerOptions,
    /// Connections; several numbers are measured one after the other
    #[arg(short, long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Requests under way on each connection
    #[arg(short = 'k', long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=32_000))]
    in_flight: u16,
    /// Open loop: total number of requests a second, whatever the answers; latency counts from the time when a request
    /// was due
    #[arg(long, value_name = "PER-SECOND", conflicts_with = "optimize")]
    rate: Option<f64>,
    /// Raise the number of clients step by step, until three steps bring no gain
    #[arg(long)]
    optimize: bool,
    /// Clients that each step of --optimize adds
    #[arg(long, default_value_t = 1, requires = "optimize", value_parser = clap::value_parser!(u32).range(1..))]
    increment: u32,
    /// Clients of the last step of --optimize, if every step brings a gain
    #[arg(long, default_value_t = 512, requires = "optimize")]
    most_clients: u32,
    /// Seconds of each measurement [default: 10, or until all requests are answered]
    #[arg(short, long)]
    seconds: Option<f64>,
    /// Seconds of the same load before each measurement [default: 1, or 0 where the number of requests is given]
    #[arg(long)]
    warm_up: Option<f64>,
    /// Requests after which a measurement ends
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Seconds without any answer after which a measurement ends
    #[arg(long, default_value_t = 60.0)]
    patience: f64,
    /// Threads that generate the load
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
    /// The server's process on this machine: its processor time and memory are measured
    #[arg(long, value_name = "PROCESS")]
    pid: Option<u32>,
    /// A consumer of the server: how far it is behind is measured by contextCSN, by the same identity; may be
    /// repeated
    #[arg(long, value_name = "URL")]
    follow: Vec<String>,
    /// The entry whose contextCSN --follow reads [default: the first naming context that has one]
    #[arg(long, value_name = "DN", requires = "follow")]
    follow_base: Option<String>,
    /// A result code that is no error, in addition to those that the workload expects; may be repeated
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<u32>,
    /// A text that distinguishes this run from others of the workload; it is appended to the workload's name
    #[arg(long, value_name = "TEXT")]
    variant: Option<String>,
    /// The name of the run in reports
    #[arg(long, default_value = "server")]
    label: String,
    /// The output file of the result, as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The output file of an HTML page of the result
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The defaults of a workload.
pub(super) struct Defaults {
    /// Clients when none are given.
    pub(super) clients: &'static [u32],
    /// Whether it ends by itself.
    pub(super) is_finite: bool,
    /// The description of its data, for the result.
    pub(super) settings: BTreeMap<String, String>,
    /// How clients connect.
    pub(super) connecting: Connecting,
}

/// How the clients of a workload connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Connecting {
    /// Once each, before the measurement.
    Once,
    /// For each session, with this use of TLS sessions.
    ForEachSession(TlsSessions),
}

impl Run {
    /// The settings of all connections, as they were given.
    pub(super) fn connection(&self) -> Result<ConnectSettings, Failure> {
        self.server.settings().map_err(usage)
    }

    /// Runs the workload, prints the result and stores it.
    pub(super) fn run(
        &self,
        workload: &dyn Workload,
        connection: ConnectSettings,
        defaults: Defaults,
        command_line: Vec<String>,
    ) -> Result<(), Failure> {
        let plan = self.plan(defaults.is_finite)?;
        plan.check().map_err(usage)?;
        if defaults.connecting != Connecting::Once {
            self.check_sessions(&connection)?;
        }
        let steps = self.steps(defaults.clients);
        let (url, connection) = found(connection).map_err(Failure::Run)?;
        let followed = self.followed(&connection)?;
        let target = match defaults.connecting {
            Connecting::Once => target(url, connection.clone())?,
            Connecting::ForEachSession(tls) => sessions::target(url, &connection, tls).map_err(Failure::Run)?,
        };
        raise_open_files_limit().map_err(|error| Failure::Run(format!("the limit of open files: {error}")))?;
        let clock = Clock::system();
        let started = timestamp(clock.now().utc());
        let mut live = ProgressLine::new(clock.clone());
        let counts = workload.unit();
        let name = match &self.variant {
            Some(variant) => format!("{}, {variant}", workload.name()),
            None => workload.name(),
        };
        print_header(&name, target.url(), counts);
        let points = steps::run(
            workload,
            &plan,
            &steps,
            &target,
            &mut |clients, progress| live.show(clients, progress, counts),
            &mut |point| {
                if let Some(followed) = &followed {
                    let end = clock.monotonic();
                    point.lags = followed.between(begin_of(point, end), end);
                }
                print_point(point, counts);
            },
        );
        drop(live);
        let points = points.map_err(|error| match error {
            EngineError::Plan(text) => Failure::Usage(text),
            other => Failure::Run(other.to_string()),
        })?;
        let result = RunResult {
            format: result::FORMAT,
            label: self.label.clone(),
            workload: name,
            unit: counts,
            server: target.url().to_owned(),
            started,
            command: for_reports(command_line),
            settings: self.settings(&plan, &connection, defaults),
            machine: machine::describe(),
            points,
        };
        print_operations(&result);
        self.keep(&result)?;
        self.judge(&result.points)
    }

    /// Options that sessions do not obey are refused.
    fn check_sessions(&self, connection: &ConnectSettings) -> Result<(), Failure> {
        if self.in_flight > 1 {
            return Err(usage("a session has one request under way: -k cannot be obeyed"));
        }
        if connection.bind.method != BindMethod::None && self.follow.is_empty() {
            return Err(usage("sessions bind as the entries: -D and -Y are for --follow only"));
        }
        Ok(())
    }

    /// The consumers that are watched, if there are any.
    fn followed(&self, settings: &ConnectSettings) -> Result<Option<Followed>, Failure> {
        if self.follow.is_empty() {
            return Ok(None);
        }
        Followed::begin(settings, &self.follow, self.follow_base.as_deref())
            .map(Some)
            .map_err(usage)
    }

    fn plan(&self, is_finite: bool) -> Result<Measurement, Failure> {
        let is_counted = is_finite || self.requests.is_some();
        let length = |seconds: f64| {
            let length = Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|length| *length <= LONGEST);
            length.ok_or_else(|| usage(format!("{seconds} seconds cannot be measured")))
        };
        Ok(Measurement {
            connections: 1,
            in_flight: self.in_flight,
            arrival: self.rate.map_or(Arrival::Closed, |rate| Arrival::Open { rate }),
            warm_up: length(self.warm_up.unwrap_or(if is_counted { 0.0 } else { 1.0 }))?,
            duration: match self.seconds {
                Some(seconds) => length(seconds)?,
                None if is_counted => LONGEST,
                None => Duration::from_secs(10),
            },
            requests: self.requests,
            patience: length(self.patience)?,
            threads: self.threads,
            server: self.pid,
        })
    }

    fn steps(&self, default: &[u32]) -> Steps {
        if self.optimize {
            return Steps::Optimize {
                start: self.clients.first().copied().unwrap_or(1),
                increment: self.increment,
                most: self.most_clients,
            };
        }
        Steps::Given(if self.clients.is_empty() {
            default.to_vec()
        } else {
            self.clients.clone()
        })
    }

    fn settings(
        &self,
        plan: &Measurement,
        connection: &ConnectSettings,
        defaults: Defaults,
    ) -> BTreeMap<String, String> {
        let Defaults {
            mut settings,
            connecting,
            ..
        } = defaults;
        let mut add = |name: &str, value: String| settings.insert(name.to_owned(), value);
        add("warm-up", format!("{} s", plan.warm_up.as_secs_f64()));
        if self.requests.is_none() && plan.duration < LONGEST {
            add("seconds", plan.duration.as_secs_f64().to_string());
        }
        if let Some(requests) = self.requests {
            add("requests", requests.to_string());
        }
        if let Some(rate) = self.rate {
            add("rate", rate.to_string());
        }
        add("threads", self.threads.to_string());
        add(
            "bind",
            match connection.bind.method {
                _ if connecting != Connecting::Once => "each session as an entry".to_owned(),
                BindMethod::None => "anonymous".to_owned(),
                BindMethod::Simple => connection.bind.dn.clone(),
                BindMethod::Sasl => format!("SASL {}", connection.bind.mechanisms),
            },
        );
        settings
    }

    fn keep(&self, result: &RunResult) -> Result<(), Failure> {
        if let Some(path) = &self.output {
            let write = || result.write(&mut BufWriter::new(File::create(path)?));
            write().map_err(|error| failed(path, error))?;
        }
        if let Some(path) = &self.html {
            write_page(path, &result.workload, std::slice::from_ref(result), None)?;
        }
        Ok(())
    }

    fn judge(&self, points: &[Point]) -> Result<(), Failure> {
        let mut problems = Vec::new();
        for point in points {
            let of_point = point.problems(&self.allow);
            problems.extend(
                of_point
                    .into_iter()
                    .map(|text| format!("{} clients: {text}", point.clients)),
            );
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(Failure::Run(format!(
            "NOT WHAT WAS EXPECTED:\n  {}",
            problems.join("\n  ")
        )))
    }
}

/// Name and password of a simple bind, if that is the bind.
pub(super) fn credentials(connection: &ConnectSettings) -> Option<SimpleCredentials> {
    let bind = &connection.bind;
    (bind.method == BindMethod::Simple).then(|| SimpleCredentials {
        dn: bind.dn.clone(),
        password: bind.credentials.0.clone(),
    })
}

/// The server with the connections of these settings. They are made one after the other, before the measurement.
fn target(shown: String, settings: ConnectSettings) -> Result<Target, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = Mutex::new(runtime.map_err(|error| Failure::Run(error.to_string()))?);
    Ok(Target::new(shown, move || {
        let runtime = runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = runtime.block_on(Client::connect_raw(&settings));
        let stream = stream.map_err(|error| ConnectFailure(error.to_string()))?;
        Ok(Box::new(stream) as Box<dyn BoundStream>)
    }))
}

/// When a measurement began that has just ended.
fn begin_of(point: &Point, end: MonotonicTime) -> MonotonicTime {
    let length = Duration::try_from_secs_f64(point.seconds).unwrap_or_default();
    let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    MonotonicTime::from_nanos(end.nanos().saturating_sub(nanos))
}

/// The command line for reports: without passwords, and without the folders of this machine.
fn for_reports(command_line: Vec<String>) -> Vec<String> {
    let mut before = None;
    let shown = |word: String| {
        if let Some(shown) = before.take().map(|show: Show| show(&word)) {
            return shown;
        }
        for (option, show) in HIDDEN {
            let Some(value) = word.strip_prefix(option) else {
                continue;
            };
            let is_long = option.starts_with("--");
            match value.strip_prefix('=').filter(|_| is_long) {
                Some(value) => return format!("{option}={}", show(value)),
                None if value.is_empty() => before = Some(show),
                None if !is_long => return format!("{option}{}", show(value)),
                None => {}
            }
        }
        word
    };
    command_line.into_iter().map(shown).collect()
}

type Show = fn(&str) -> String;

/// Options whose values are shown in another form.
const HIDDEN: [(&str, Show); 8] = [
    ("-w", stars),
    ("--password", stars),
    ("-y", file_name),
    ("--password-file", file_name),
    ("-o", file_name),
    ("--output", file_name),
    ("--html", file_name),
    ("--filter-file", file_name),
];

fn stars(_: &str) -> String {
    "***".to_owned()
}

fn file_name(path: &str) -> String {
    Path::new(path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn timestamp(time: UtcTime) -> String {
    let UtcTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        ..
    } = time;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A failure about the command line.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn usage(reason: impl ToString) -> Failure {
    Failure::Usage(reason.to_string())
}

/// The longest measurement.
const LONGEST: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_folders_do_not_go_into_results() {
        let hidden = |line: &str| for_reports(line.split(' ').map(str::to_owned).collect()).join(" ");
        assert_eq!(hidden("load -D cn=a -w secret -c 3"), "load -D cn=a -w *** -c 3");
        assert_eq!(hidden("load -wsecret --warm-up 1"), "load -w*** --warm-up 1");
        assert_eq!(hidden("load --password=secret x"), "load --password=*** x");
        assert_eq!(hidden("load --password secret x"), "load --password *** x");
        assert_eq!(
            hidden("load --optimize -y /a/b -o /c/d.json -o/c/d --html=/e/f --output ../g --password-file /h/i"),
            "load --optimize -y b -o d.json -od --html=f --output g --password-file i"
        );
    }
}
